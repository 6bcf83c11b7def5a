"""A spec that no kernel serves goes through the detector's own ``fit``, model by model."""

import warnings
from collections.abc import Iterator
from time import perf_counter

from metaod.models._base import CellState, Matrix, Scored
from metaod.models._spec import ModelSpec

__all__ = ["fallback", "in_words"]


def fallback(X: Matrix, spec: ModelSpec, *, trials: int) -> Iterator[Scored]:
    """Fit the detector that a user would get, once with each seed where it is random.

    What a foreign detector costs cannot be foreseen, so no budget is kept here; a caller that
    must keep one runs this in a process of its own.

    Parameters
    ----------
    X : ndarray of float64
        The table, *not* scaled: the detector applies the spec's scaling itself.
    spec : ModelSpec
        The model.
    trials : int
        Seeds 0 ... trials - 1 are used; only seed 0 where the detector is not random.
    """
    for seed in range(trials if spec.is_random else 1):
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = spec.to_pyod(random_state=seed).fit(X).decision_scores_
        except Exception as error:
            # foreign code may raise anything
            taken = perf_counter() - start
            yield Scored(spec, seed, CellState.FAILED, seconds=taken, reason=in_words(error))
        else:
            yield Scored(spec, seed, CellState.OK, scores, perf_counter() - start)


def in_words(error: Exception) -> str:
    """An exception's type and message in one line.

    Examples
    --------
    >>> in_words(ValueError("no rows"))
    'ValueError: no rows'
    """
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
