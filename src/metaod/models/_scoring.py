"""Scores of many models on one table, from as few computations as they can share.

A shared scorer scores many specs of one or more families from one computation on one scaled matrix:
one neighbour search for every kNN, LOF, COF and ABOD; one nested forest for every size of IForest.
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
from metaod.models._model_id import AVERAGE
from metaod.models._scaling import fit_scaling
from metaod.models._score_scale import REPAIRABLE
from metaod.models._spec import ModelSpec

__all__ = [
    "DEFAULT_BUDGET",
    "Budget",
    "CellState",
    "Mode",
    "Scored",
    "SharedScorer",
    "score_models",
    "why_over_budget",
    "without_scores",
]


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
        Time for one model on one table, one trial, on one core.
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
        Time that the model alone would have taken here: the shared step once, and its own.
    reason : str
        Why there are no scores; or how they were repaired, or which rows they were computed from
        if not from the whole table.
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
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,
        mode: Mode,
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score specs that :meth:`serves` accepts and that apply to the table's size.

        ``X`` is scaled already: finite, float64, C-ordered, no constant column. A random model
        is yielded ``trials`` times, once with each seed 0 ... trials - 1; any other once. Scores
        are yielded one by one, so that the caller can drop each before the next is made.
        """


def why_over_budget(budget: Budget, *, seconds: float, n_bytes: float) -> str | None:
    """Return why a model of that expected cost is not started; None if the budget allows it.

    Examples
    --------
    >>> why_over_budget(Budget(seconds=60), seconds=90, n_bytes=0)
    'would take about 90 s, the budget allows 60 s'
    """
    if seconds > budget.seconds:
        return f"would take about {seconds:.3g} s, the budget allows {budget.seconds:.3g} s"
    if n_bytes > budget.bytes:
        needed, allowed = n_bytes / 2**20, budget.bytes / 2**20
        return f"would take about {needed:.3g} MiB, the budget allows {allowed:.3g} MiB"
    return None


def without_scores(
    specs: Iterable[ModelSpec], trials: int, state: CellState, reason: str
) -> Iterator[Scored]:
    """Yield the outcome of models that have no scores, once a trial."""
    for spec in specs:
        for trial in range(trials if spec.is_random else 1):
            yield Scored(spec, trial, state, reason=reason)


def score_models(
    X: npt.ArrayLike,
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    mode: Mode | str = Mode.FAST,
    budget: Budget = DEFAULT_BUDGET,
) -> Iterator[Scored]:
    """Score models on a table; each is yielded once a trial, in no particular order.

    Models share what they can: the scaling, the neighbour search of all that need neighbours, the
    forest of all isolation forests. A model without a shared scorer is scored by the detector's
    own ``fit``.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The table: prepared, finite, not scaled.
    specs : iterable of ModelSpec
        The models; a model named twice is scored once.
    trials : int, default=5
        Trials of a random model; trial t uses seed t.
    mode : {"fast", "exact"}, default="fast"
        Whether a random model's scores need only have the distribution of PyOD's, or must be
        PyOD's own for that seed.
    budget : Budget, optional
        Limits for one model in one trial. A detector without a shared scorer is not limited.

    Yields
    ------
    Scored
        The scores (read-only), or why there are none. Scores that are NaN or infinite
        make the model failed, unless they are at most 1 % of the rows: then NaN becomes the
        median of the finite scores, an infinite score the largest or smallest of them, and the
        reason says so.

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
    return _score(_checked(X), list(dict.fromkeys(specs)), trials, Mode(mode), budget)


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
        raise BadParameter(
            "score_models",
            "X",
            legal,
            f"{n_missing} values that are NaN or infinite",
            remedy="Prepare the table with metaod.prepare first",
        )
    return matrix


def _score(
    X: Matrix, specs: Sequence[ModelSpec], trials: int, mode: Mode, budget: Budget
) -> Iterator[Scored]:
    by_scaling: dict[str, list[ModelSpec]] = defaultdict(list)
    for spec in specs:
        by_scaling[spec.scaling].append(spec)
    for scaling, group in by_scaling.items():
        try:
            scaled = fit_scaling(scaling, X).transform(X)
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
            for scored in _fitted(X, spec, trials):
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
    missing = {
        (spec, trial): None for spec in specs for trial in range(trials if spec.is_random else 1)
    }
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


def _fitted(X: Matrix, spec: ModelSpec, trials: int) -> Iterator[Scored]:
    """Fit the detector that a user would get on the unscaled table, once with each seed.

    The cost of an unknown detector cannot be predicted, so there is no budget here; a caller that
    needs one runs this in its own process.
    """
    for seed in range(trials if spec.is_random else 1):
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = spec.to_pyod(random_state=seed).fit(X).decision_scores_
        except Exception as error:
            # a detector may raise anything
            seconds = perf_counter() - start
            yield Scored(spec, seed, CellState.FAILED, seconds=seconds, reason=_describe(error))
        else:
            yield Scored(spec, seed, CellState.OK, scores, perf_counter() - start)


def _describe(error: Exception) -> str:
    """Return an exception's type and message in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")


def _for_each(scored: Scored, specs: Iterable[ModelSpec], n_rows: int) -> Iterator[Scored]:
    if scored.state == CellState.OK:
        scored = _repaired(scored, n_rows)
    for spec in specs:
        yield replace(scored, spec=spec)


def _repaired(scored: Scored, n_rows: int) -> Scored:
    """Repair a few scores that are not finite; fail if there are too many, or none at all."""
    scores: Scores = np.asarray(scored.scores, dtype=np.float64)
    if scores.shape != (n_rows,):
        reason = f"scores of shape {scores.shape} for {n_rows} rows"
        return replace(scored, state=CellState.FAILED, scores=None, reason=reason)
    finite = np.isfinite(scores)
    n_bad = n_rows - np.count_nonzero(finite)
    if n_bad > REPAIRABLE * n_rows:
        reason = f"{n_bad} of {n_rows} scores are NaN or infinite"
        return replace(scored, state=CellState.FAILED, scores=None, reason=reason)
    reason = scored.reason
    if n_bad:
        good = scores[finite]
        n_nan = np.count_nonzero(np.isnan(scores))
        scores = np.nan_to_num(
            scores, nan=float(np.median(good)), posinf=good.max(), neginf=good.min()
        )
        reason = (
            f"repaired: {n_nan} NaN scores set to the median, {n_bad - n_nan} infinite ones to "
            "the largest or smallest"
        )
    # all equivalent models get the same array
    scores = scores.view()
    scores.flags.writeable = False
    return replace(scored, scores=scores, reason=reason)
