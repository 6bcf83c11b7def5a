"""All scores in a few kilobytes: a histogram, and thresholds with the rows that each flags."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

_MOST_BINS, _FEWEST_BINS = 64, 8
_EXACT_CUTS = 400  # every number of flagged rows is offered up to this one
_STEP = 1.02  # ratio of the numbers of flagged rows beyond it
_LONG_TAIL = 25.0  # scores that reach farther are drawn on a compressed axis
_MOST_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """Where scores are drawn: 0 at the lowest, 1 at the highest.

    Parameters
    ----------
    low, high : float
        Its ends.
    centre, unit : float
        The median score, and the width of the middle half or so of the scores.
    is_linear : bool
        If not, distances from the centre are compressed (arsinh), as in a logarithmic axis.
    """

    low: float
    high: float
    centre: float
    unit: float
    is_linear: bool

    @classmethod
    def of(cls, scores: Numbers) -> "Axis":
        """Choose the axis for all scores: compressed if few of them lie far from the rest."""
        size = float(np.abs(scores).max(initial=0.0))
        scale = size if size > 1e100 else 1.0  # sums of huge scores must not overflow
        low, q10, q25, centre, q75, q90, high = np.quantile(
            scores / scale, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
        ).tolist()
        least = 1e-12 * max(abs(low), abs(high))  # a narrower width is rounding
        widths = [width for width in (q75 - q25, q90 - q10, high - low) if width > least]
        unit = widths[0] if widths else max(abs(low), abs(high)) or 1.0
        reach = max(high - centre, centre - low) / unit
        return cls(low * scale, high * scale, centre * scale, unit * scale, reach <= _LONG_TAIL)

    def n_bins(self, n_rows: int) -> int:
        """Return the number of bins for so many rows."""
        return int(np.clip(2 * np.sqrt(n_rows), _FEWEST_BINS, _MOST_BINS))

    def place(self, scores: Numbers) -> Numbers:
        """Return positions from 0 to 1."""
        low, high = self.forward(np.array([self.low, self.high]))
        if not high > low:
            return np.full(np.shape(scores), 0.5)
        return np.asarray(np.clip((self.forward(scores) - low) / (high - low), 0.0, 1.0))

    def forward(self, scores: Numbers) -> Numbers:
        """Return distances from the centre in units, compressed if the axis is."""
        distances = np.asarray(scores / self.unit - self.centre / self.unit)
        return distances if self.is_linear else np.arcsinh(distances)

    def backward(self, distances: Numbers) -> Numbers:
        """Undo :meth:`forward`."""
        plain = distances if self.is_linear else np.sinh(distances)
        return np.asarray(plain * self.unit + self.centre)

    def ticks(self) -> list[float]:
        """Return round scores to write below the axis, not too close to each other."""
        if not self.high > self.low:
            return [float(f"{self.low:.4g}")]
        found = [] if self.is_linear else self._apart(self._by_size())
        # far from 0 no size is within the axis
        return found if len(found) > 1 else self._apart(_even(self.low, self.high))

    def _apart(self, scores: list[float]) -> list[float]:
        """Keep scores within the axis that are not too close to one before, in rising order."""
        found: dict[float, float] = {}
        for score in scores:
            place = float(self.place(np.array([score]))[0])
            is_free = all(abs(place - other) >= 0.8 / _MOST_TICKS for other in found.values())
            if self.low <= score <= self.high and is_free:
                found[score] = place
        return sorted(found)

    def _by_size(self) -> list[float]:
        """Return 0, then powers of ten, then five and two times these."""
        largest = max(abs(self.low), abs(self.high))
        ends = np.floor(np.log10([self.unit, largest]))
        sizes = 10.0 ** np.arange(ends[1], ends[0] - 1, -1)
        numbers = [factor * size for factor in (1, 5, 2) for size in sizes.tolist()]
        return [0.0, *(sign * number for number in numbers for sign in (1, -1))]


def _even(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten.

    >>> _even(-1.1, 4.98)
    [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    """
    least = high / _MOST_TICKS - low / _MOST_TICKS
    power = 10.0 ** np.floor(np.log10(least))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least * 0.98)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def sketch_scores(
    scores: Numbers, *, n_flagged: int, threshold: float, gap: int | None = None
) -> dict[str, Any]:
    """Describe scores, of which the highest `n_flagged` are flagged.

    Returns
    -------
    dict
        ``low``, ``centre`` and ``high`` scores; ``is_linear``, whether the axis is; ``ticks``,
        positions on it from 0 to 1 with their scores; ``counts`` of rows in bins of equal width on
        the axis; ``cuts``, numbers of rows that can be flagged, rising, each with its threshold,
        and their ``places`` on the axis; ``chosen``, which of the cuts is the result's, with
        ``n_flagged`` and ``threshold``; ``gap``, the rows above a clear gap, or None.

    Notes
    -----
    Rows that share a score are flagged together, unless the result divides them.
    """
    axis = Axis.of(scores)
    n_bins = axis.n_bins(len(scores))
    bins = np.minimum((axis.place(scores) * n_bins).astype(np.intp), n_bins - 1)
    found = dict(_cuts(np.sort(scores)[::-1], gap))
    found[n_flagged] = threshold
    cuts = sorted(found.items())
    places = axis.place(np.array([cut for _, cut in cuts])).tolist()
    ticks = axis.ticks()
    return {
        "low": axis.low,
        "centre": axis.centre,
        "high": axis.high,
        "is_linear": axis.is_linear,
        "ticks": list(zip(axis.place(np.array(ticks)).tolist(), ticks, strict=True)),
        "counts": np.bincount(bins, minlength=n_bins).tolist(),
        "cuts": cuts,
        "places": [round(place, 5) for place in places],
        "chosen": [n for n, _ in cuts].index(n_flagged),
        "n_rows": len(scores),
        "n_flagged": n_flagged,
        "threshold": threshold,
        "gap": gap,
    }


def _cuts(falling: Numbers, gap: int | None) -> list[tuple[int, float]]:
    """Return numbers of rows that a threshold can flag, and a threshold for each."""
    n_rows = len(falling)
    # places where the score falls: a threshold can lie there
    ends = np.flatnonzero(np.diff(falling)) + 1
    kept = np.unique(np.concatenate([[0], ends, [n_rows]]))
    wanted = {*range(_EXACT_CUTS + 1), n_rows, *([] if gap is None else [gap])}
    number = float(_EXACT_CUTS)
    while (number := max(number + 1, number * _STEP)) < n_rows:
        wanted.add(int(number))
    nearest = kept[np.searchsorted(kept, sorted(n for n in wanted if n <= n_rows))]
    return [(n, _threshold_at(falling, n)) for n in sorted(set(nearest.tolist()))]


def _threshold_at(falling: Numbers, n_above: int) -> float:
    """Return a short number that `n_above` scores exceed."""
    if n_above == 0:
        return float(falling[0])
    above = float(falling[n_above - 1])
    if n_above == len(falling):
        return _short(float(np.nextafter(above, -np.inf)), above, above - max(1.0, abs(above)))
    below = float(falling[n_above])
    return _short(above / 2 + below / 2, above, below)


def _short(number: float, above: float, least: float) -> float:
    """Return the number with as few digits as leave it from `least` to below `above`."""
    for digits in range(3, 18):
        rounded = float(f"{number:.{digits}g}")
        if least <= rounded < above:
            return rounded
    return number if number < above else least
