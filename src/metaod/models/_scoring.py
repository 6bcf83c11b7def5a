"""Scores of many models on one table, computed together where models share work.

One neighbour search serves every kNN, LOF, COF and ABOD; one nested forest every size of IForest.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole, check_parameters
from metaod.errors import BadParameter, UserError
from metaod.models._arrays import Matrix, Scores
from metaod.models._costs import expected_costs
from metaod.models._estimator import Estimator, check_fixed, grouped
from metaod.models._scaling import FittedScaling, ScoreScale, fit_scaling
from metaod.models._spec import ModelSpec
from metaod.tables import canonical_order


class CellState(StrEnum):
    """Outcome of scoring one model on one table."""

    OK = "ok"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    OVER_BUDGET = "over budget"


@dataclass(frozen=True)
class Budget:
    """Limits for one model on one table; a model expected to exceed them is not started.

    Parameters
    ----------
    seconds : float
        Time for one trial on one core.
    bytes : int
        Memory beyond the table itself.
    """

    seconds: float = 60.0
    bytes: int = 2 * 2**30


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True)
class Scored:
    """The scores of one model in one trial, or why there are none.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    trial : int
        Trial t uses seed t; a model that is not random has the one trial 0.
    state : CellState
        The outcome.
    scores : ndarray of float or None
        Scores of the rows, higher is more outlying; None unless the state is ok.
    seconds : float
        Time from the start of the computation that it shares with others to its scores.
    reason : str
        Why there are no scores, or how they were repaired.
    """

    spec: ModelSpec
    trial: int
    state: CellState
    scores: Scores | None = None
    seconds: float = 0.0
    reason: str = ""


def score_models(
    X: npt.ArrayLike,
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    budget: Budget = DEFAULT_BUDGET,
    fixed: npt.NDArray[np.bool_] | None = None,
) -> Iterator[Scored]:
    """Score models on a table; each is yielded once a trial, in no particular order.

    Models share the scaling and, through :meth:`Estimator.fit_many`, neighbour searches and
    forests. The scores are those of the detector that :meth:`ModelSpec.to_pyod` fits.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The table: prepared, finite, not scaled.
    specs : iterable of ModelSpec
        The models; a model named twice is scored once.
    trials : int, default=5
        Trials of a random model; trial t uses seed t.
    budget : Budget, optional
        Limits for one model in one trial. A family without a law of its cost is not limited.
    fixed : ndarray of bool, optional
        Columns in fixed units, which scalings do not stretch: ``PreparedTable.fixed``.

    Yields
    ------
    Scored
        The scores (read-only), or why there are none. A model fails if more than 1 % of its scores
        are NaN or infinite. Otherwise NaN becomes the median of the finite scores, and an infinite
        score the largest or smallest of them; the reason then mentions it.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0]])
    >>> [scored] = score_models(X, [ModelSpec("HBOS", {"n_bins": 5, "alpha": 0.1})])
    >>> scored.scores.argmax(), str(scored.state)
    (np.int64(3), 'ok')
    """
    if not Whole(1).allows(trials):
        raise BadParameter("score_models", "trials", str(Whole(1)), trials)
    X = _checked(X)
    fixed = check_fixed("score_models", fixed, X.shape[1])
    return _score(X, list(dict.fromkeys(specs)), trials, budget, fixed)


def _checked(X: npt.ArrayLike) -> Matrix:
    legal = "a matrix of finite numbers with at least one row and one column"
    try:
        matrix = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadParameter("score_models", "X", legal, X) from error
    if np.ndim(X) != 2 or matrix.size == 0:
        raise BadParameter("score_models", "X", legal, f"an array of shape {np.shape(X)}")
    n_missing = matrix.size - np.count_nonzero(np.isfinite(matrix))
    if n_missing:
        shown = f"{n_missing} values that are NaN or infinite"
        remedy = "Prepare the table with metaod.prepare first"
        raise BadParameter("score_models", "X", legal, shown, remedy=remedy)
    return matrix


def _score(
    X: Matrix,
    specs: Sequence[ModelSpec],
    trials: int,
    budget: Budget,
    fixed: npt.NDArray[np.bool_] | None,
) -> Iterator[Scored]:
    rows, columns = canonical_order(X)  # in which a detector is fitted too
    ordered = np.ascontiguousarray(X[rows][:, columns])
    places = np.argsort(rows)
    for name, group in grouped(specs, lambda spec: spec.scaling).items():
        try:
            scaling = fit_scaling(name, ordered, None if fixed is None else fixed[columns])
        except UserError as error:
            yield from _without_scores(group, trials, CellState.FAILED, _describe(error))
            continue
        scaled = scaling.transform(ordered)
        possible = []
        for spec, cost in zip(group, expected_costs(group, *scaled.shape), strict=True):
            reason = spec.why_not(*scaled.shape)
            over = cost.why_over(budget.seconds, budget.bytes)
            if reason is not None:
                yield from _without_scores([spec], trials, CellState.NOT_APPLICABLE, reason)
            elif over is not None:
                yield from _without_scores([spec], trials, CellState.OVER_BUDGET, over)
            else:
                possible.append(spec)
        # models with the same scores are computed once, as the model that represents them
        equivalent = grouped(possible, lambda spec: spec.equivalence)
        own = [spec for spec in equivalent if spec.is_builtin]
        others = [spec for spec in equivalent if not spec.is_builtin]
        found = chain(
            (_reordered(found, places) for found in _together(scaled, scaling, own, trials)),
            _one_by_one(X, others, trials, fixed),
        )
        for scored in found:
            for spec in equivalent[scored.spec]:
                yield replace(scored, spec=spec)


def _reordered(scored: Scored, places: npt.NDArray[np.intp]) -> Scored:
    if scored.scores is None:
        return scored
    scores = scored.scores[places]
    scores.flags.writeable = False
    return replace(scored, scores=scores)


def _together(
    X: Matrix, scaling: FittedScaling, specs: Sequence[ModelSpec], trials: int
) -> Iterator[Scored]:
    """Score models of the package's own families on the scaled table."""
    named: dict[int, tuple[ModelSpec, int]] = {}
    models: list[Estimator] = []
    for spec, trial in _trials(specs, trials):
        try:
            model = spec.build(trial, scaling)
            check_parameters(model, model.legal)
        except BadParameter as error:
            yield Scored(spec, trial, CellState.FAILED, reason=_describe(error))
            continue
        models.append(model)
        named[id(model)] = spec, trial
    for sharing, alike in grouped(models, _sharing).items():
        # models that share nothing are timed one by one
        parts = [[model] for model in alike] if sharing is Estimator else [alike]
        for part in parts:
            missing = {id(model): named[id(model)] for model in part}
            reason = "no scores were computed"
            seconds, start = 0.0, perf_counter()
            try:
                for model, result in sharing.fit_many(X, part):
                    seconds += perf_counter() - start
                    yield _outcome(*missing.pop(id(model)), result, seconds, len(X))
                    start = perf_counter()
            except Exception as error:  # an error in one family must not stop the others
                reason = _describe(error)
            for spec, trial in missing.values():
                yield Scored(spec, trial, CellState.FAILED, reason=reason)


def _sharing(model: Estimator) -> type[Estimator]:
    """Return the class whose models can be fitted together with this one."""
    return next(kind for kind in type(model).__mro__ if "fit_many" in vars(kind))


def _one_by_one(
    X: Matrix, specs: Sequence[ModelSpec], trials: int, fixed: npt.NDArray[np.bool_] | None
) -> Iterator[Scored]:
    """Fit the detectors of averages and registered families on the unscaled table."""
    for spec, seed in _trials(specs, trials):
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result: Any = spec.to_pyod(random_state=seed, fixed=fixed).fit(X).decision_scores_
        except Exception as error:  # a detector may raise anything
            result = error
        yield _outcome(spec, seed, result, perf_counter() - start, len(X))


def _trials(specs: Iterable[ModelSpec], trials: int) -> list[tuple[ModelSpec, int]]:
    return [(spec, t) for spec in specs for t in range(trials if spec.is_random else 1)]


def _without_scores(
    specs: Iterable[ModelSpec], trials: int, state: CellState, reason: str
) -> Iterator[Scored]:
    for spec, trial in _trials(specs, trials):
        yield Scored(spec, trial, state, reason=reason)


def _describe(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")


def _outcome(
    spec: ModelSpec, trial: int, result: Scores | Exception, seconds: float, n_rows: int
) -> Scored:
    """Return the scores, a few of which may be repaired, or that the model failed."""
    if isinstance(result, Exception):
        return Scored(spec, trial, CellState.FAILED, None, seconds, _describe(result))
    scores: Scores = np.asarray(result, dtype=np.float64)
    if scores.shape != (n_rows,):
        reason = f"scores of shape {scores.shape} for {n_rows} rows"
        return Scored(spec, trial, CellState.FAILED, None, seconds, reason)
    reason = ""
    n_bad = n_rows - np.count_nonzero(np.isfinite(scores))
    if n_bad > ScoreScale.REPAIRABLE * n_rows:
        reason = f"{n_bad} of {n_rows} scores are NaN or infinite"
        return Scored(spec, trial, CellState.FAILED, None, seconds, reason)
    if n_bad:
        n_nan = np.count_nonzero(np.isnan(scores))
        scores = ScoreScale.of(scores, where=spec.id).repaired(scores)
        reason = f"repaired: {n_nan} NaN scores set to the median, "
        reason += f"{n_bad - n_nan} infinite ones to the largest or smallest"
    # all equivalent models get the same array
    scores = scores.view()
    scores.flags.writeable = False
    return Scored(spec, trial, CellState.OK, scores, seconds, reason)
