"""Scores of many models on one table, from as few computations as they can share."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError
from metaod.models._base import Budget, CellState, Kernel, Matrix, Mode, Scored, Scores
from metaod.models._fallback import fallback, in_words
from metaod.models._kernels import all_kernels
from metaod.models._scaling import fit_scaling
from metaod.models._spec import ModelSpec

__all__ = ["DEFAULT_BUDGET", "REPAIRABLE", "score_models"]

DEFAULT_BUDGET = Budget()

REPAIRABLE = 0.01
"""Largest share of the rows whose scores may be NaN or infinite and are then repaired."""


def score_models(
    X: npt.ArrayLike,
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    mode: Mode | str = Mode.FAST,
    budget: Budget = DEFAULT_BUDGET,
) -> Iterator[Scored]:
    """Score models on a table; each comes out once a trial, in no particular order.

    Models share what they can: the scaling, the neighbour search of all that need neighbours, the
    forest of all isolation forests. What no kernel serves goes through the detector's own ``fit``.

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
        What one model may cost in one trial. A detector of your own is not held to it.

    Yields
    ------
    Scored
        The scores (not to be written to), or why there are none. Scores that are NaN or infinite
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
            yield from _without_scores(group, trials, CellState.FAILED, in_words(error))
            continue
        # models with the same scores are computed once, under the name of their common stand-in
        alike: dict[ModelSpec, list[ModelSpec]] = defaultdict(list)
        for spec in group:
            reason = spec.why_not(*scaled.shape)
            if reason is not None:
                yield from _without_scores([spec], trials, CellState.NOT_APPLICABLE, reason)
            else:
                alike[spec.equivalence].append(spec)
        left = list(alike)
        for kernel in all_kernels():
            served = [spec for spec in left if _serves(kernel, spec)]
            left = [spec for spec in left if not _serves(kernel, spec)]
            if served:
                for scored in _from_kernel(kernel, scaled, served, trials, mode, budget):
                    yield from _given_out(scored, alike[scored.spec], len(X))
        for spec in left:
            for scored in fallback(X, spec, trials=trials):
                yield from _given_out(scored, alike[spec], len(X))


def _serves(kernel: Kernel, spec: ModelSpec) -> bool:
    return spec.detector in kernel.families and kernel.serves(spec)


def _without_scores(
    specs: Iterable[ModelSpec], trials: int, state: CellState, reason: str
) -> Iterator[Scored]:
    for spec in specs:
        for trial in range(trials if spec.is_random else 1):
            yield Scored(spec, trial, state, reason=reason)


def _from_kernel(
    kernel: Kernel,
    X: Matrix,
    specs: Sequence[ModelSpec],
    trials: int,
    mode: Mode,
    budget: Budget,
) -> Iterator[Scored]:
    """What the kernel gives; a model that it owes at the end, or at an exception, has failed."""
    owed = {
        (spec, trial): None for spec in specs for trial in range(trials if spec.is_random else 1)
    }
    reason = "the kernel gave no scores"
    try:
        for scored in kernel.score(X, specs, trials=trials, mode=mode, budget=budget):
            del owed[scored.spec, scored.trial]
            yield scored
    except Exception as error:
        # one family must not take the others down with it
        reason = in_words(error)
    for spec, trial in owed:
        yield Scored(spec, trial, CellState.FAILED, reason=reason)


def _given_out(scored: Scored, specs: Iterable[ModelSpec], n_rows: int) -> Iterator[Scored]:
    if scored.state == CellState.OK:
        scored = _finite(scored, n_rows)
    for spec in specs:
        yield replace(scored, spec=spec)


def _finite(scored: Scored, n_rows: int) -> Scored:
    """Repair a few scores that are not finite; fail where there are too many, or none at all."""
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
    # the same array goes out for every model that is alike
    scores = scores.view()
    scores.flags.writeable = False
    return replace(scored, scores=scores, reason=reason)
