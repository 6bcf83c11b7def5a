"""Scores of many models on one table, computed together where models share work.

A shared scorer scores many specs from one computation on one scaled matrix: one neighbour search
for every kNN, LOF, COF and ABOD; one nested forest for every size of IForest.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter
from typing import Protocol

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError
from metaod.models._arrays import Matrix, Scores
from metaod.models._costs import Cost, why_too_costly
from metaod.models._model_id import AVERAGE
from metaod.models._parameters import check_fixed
from metaod.models._scaling import fit_scaling
from metaod.models._score_scale import REPAIRABLE, ScoreScale
from metaod.models._spec import ModelSpec


class Mode(StrEnum):
    """How closely shared scorers must reproduce PyOD's scores."""

    FAST = "fast"
    """Deterministic detectors as PyOD's; random ones equal to PyOD's in distribution."""
    EXACT = "exact"
    """The scores of PyOD's detector with that seed, to 1e-9, where PyOD itself is reproducible."""


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
        Time that the model alone would have taken: the shared step once, and its own.
    reason : str
        Why there are no scores, how they were repaired, or which rows they were computed from.
    """

    spec: ModelSpec
    trial: int
    state: CellState
    scores: Scores | None = None
    seconds: float = 0.0
    reason: str = ""


class SharedScorer(Protocol):
    """Scores many specs from one computation on one scaled matrix."""

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether this scorer can score the spec with all of its hyperparameters."""

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score specs that :meth:`serves` accepts and that apply to the table's size.

        ``X`` is scaled already: finite, float64, C-ordered, no constant column. A random model
        is yielded ``trials`` times, once with each seed 0 ... trials - 1; any other once. Each is
        yielded before the next is computed, to save memory.
        """


def why_over_budget(budget: Budget, *, seconds: float, n_bytes: float) -> str | None:
    """Return why a model of that expected cost is not started; None if the budget allows it."""
    return why_too_costly(Cost(seconds, n_bytes), budget.seconds, budget.bytes)


def _trials(specs: Iterable[ModelSpec], trials: int) -> list[tuple[ModelSpec, int]]:
    return [(spec, t) for spec in specs for t in range(trials if spec.is_random else 1)]


def without_scores(
    specs: Iterable[ModelSpec], trials: int, state: CellState, reason: str
) -> Iterator[Scored]:
    """Yield the outcome of models that have no scores, once a trial."""
    for spec, trial in _trials(specs, trials):
        yield Scored(spec, trial, state, reason=reason)


def score_models(
    X: npt.ArrayLike,
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    mode: Mode | str = Mode.FAST,
    budget: Budget = DEFAULT_BUDGET,
    fixed: npt.NDArray[np.bool_] | None = None,
) -> Iterator[Scored]:
    """Score models on a table; each is yielded once a trial, in no particular order.

    Models share the scaling and, through shared scorers, neighbour searches and forests. A model
    without a shared scorer is scored by the detector's own ``fit``.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The table: prepared, finite, not scaled.
    specs : iterable of ModelSpec
        The models; a model named twice is scored once.
    trials : int, default=5
        Trials of a random model; trial t uses seed t.
    mode : {"fast", "exact"}, default="fast"
        Whether random models have PyOD's scores in distribution, or for that seed.
    budget : Budget, optional
        Limits for one model in one trial. A detector without a shared scorer is not limited.
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
    if type(trials) is not int or trials < 1:
        raise BadParameter("score_models", "trials", "an int in the range [1, inf)", trials)
    if mode not in tuple(Mode):
        raise BadParameter("score_models", "mode", [str(item) for item in Mode], mode)
    X = _checked(X)
    fixed = check_fixed("score_models", fixed, X.shape[1])
    return _score(X, list(dict.fromkeys(specs)), trials, Mode(mode), budget, fixed)


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
    mode: Mode,
    budget: Budget,
    fixed: npt.NDArray[np.bool_] | None,
) -> Iterator[Scored]:
    by_scaling: dict[str, list[ModelSpec]] = defaultdict(list)
    for spec in specs:
        by_scaling[spec.scaling].append(spec)
    for scaling, group in by_scaling.items():
        try:
            scaled = fit_scaling(scaling, X, fixed).transform(X)
        except UserError as error:
            yield from without_scores(group, trials, CellState.FAILED, _describe(error))
            continue
        # models with the same scores are computed once, as the model that represents them
        equivalent: dict[ModelSpec, list[ModelSpec]] = defaultdict(list)
        for spec in group:
            reason = spec.why_not(*scaled.shape)
            if reason is not None:
                yield from without_scores([spec], trials, CellState.NOT_APPLICABLE, reason)
            else:
                equivalent[spec.equivalence].append(spec)
        by_scorer: dict[SharedScorer, list[ModelSpec]] = defaultdict(list)
        one_by_one = []
        for spec in equivalent:
            shared = None if spec.detector == AVERAGE else spec.family.shared_scorer
            if shared is not None and shared.serves(spec):
                by_scorer[shared].append(spec)
            else:
                one_by_one.append(spec)
        for scorer, served in by_scorer.items():
            for scored in _shared(scorer, scaled, served, trials, mode, budget):
                yield from _for_each(scored, equivalent[scored.spec], len(X))
        for spec in one_by_one:
            for scored in _fitted(X, spec, trials, fixed):
                yield from _for_each(scored, equivalent[spec], len(X))


def _shared(
    scorer: SharedScorer,
    X: Matrix,
    specs: Sequence[ModelSpec],
    trials: int,
    mode: Mode,
    budget: Budget,
) -> Iterator[Scored]:
    """Yield the scorer's results; models still missing at the end, or at an exception, failed."""
    missing = dict.fromkeys(_trials(specs, trials))
    reason = "the shared scorer gave no scores"
    try:
        for scored in scorer.score(X, specs, trials=trials, mode=mode, budget=budget):
            del missing[scored.spec, scored.trial]
            yield scored
    except Exception as error:
        # an error in one family must not stop the others
        reason = _describe(error)
    for spec, trial in missing:
        yield Scored(spec, trial, CellState.FAILED, reason=reason)


def _fitted(
    X: Matrix, spec: ModelSpec, trials: int, fixed: npt.NDArray[np.bool_] | None
) -> Iterator[Scored]:
    """Fit the detector that a user gets on the unscaled table, without a budget."""
    for _, seed in _trials([spec], trials):
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = spec.to_pyod(random_state=seed, fixed=fixed).fit(X).decision_scores_
        except Exception as error:
            # a detector may raise anything
            seconds = perf_counter() - start
            yield Scored(spec, seed, CellState.FAILED, seconds=seconds, reason=_describe(error))
        else:
            yield Scored(spec, seed, CellState.OK, scores, perf_counter() - start)


def _describe(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")


def _for_each(scored: Scored, specs: Iterable[ModelSpec], n_rows: int) -> list[Scored]:
    if scored.state == CellState.OK:
        scored = _repaired(scored, n_rows)
    return [replace(scored, spec=spec) for spec in specs]


def _repaired(scored: Scored, n_rows: int) -> Scored:
    """Repair a few scores that are not finite; fail if there are too many, or none at all."""
    scores: Scores = np.asarray(scored.scores, dtype=np.float64)
    if scores.shape != (n_rows,):
        reason = f"scores of shape {scores.shape} for {n_rows} rows"
        return replace(scored, state=CellState.FAILED, scores=None, reason=reason)
    n_bad = n_rows - np.count_nonzero(np.isfinite(scores))
    if n_bad > REPAIRABLE * n_rows:
        reason = f"{n_bad} of {n_rows} scores are NaN or infinite"
        return replace(scored, state=CellState.FAILED, scores=None, reason=reason)
    reason = scored.reason
    if n_bad:
        n_nan = np.count_nonzero(np.isnan(scores))
        scores = ScoreScale.of(scores, where=scored.spec.id).repaired(scores)
        reason = f"repaired: {n_nan} NaN scores set to the median, "
        reason += f"{n_bad - n_nan} infinite ones to the largest or smallest"
    # all equivalent models get the same array
    scores = scores.view()
    scores.flags.writeable = False
    return replace(scored, scores=scores, reason=reason)
