"""The score above which rows are flagged: by a gap in the scores, few, or a given share."""

import math
from typing import Any, Literal

import numpy as np

from metaod.errors import percent
from metaod.models import Scores
from metaod.options import Fitting

Contamination = float | Literal["auto"]

FEW_SHARE, FEW_ROWS = 0.01, 100
"""Most rows that are flagged if nothing tells how many: a share of the rows, and a number."""

Rule = Literal["gap", "few", "share", "number", "answers", "before", "saved"]

RULES: dict[Rule, str] = {
    "gap": "the rows above a clear gap in the scores",
    "few": "no clear gap in the scores, so only the highest 1% (at most 100 rows)",
    "share": "the share that was asked for",
    "number": "the number that was asked for",
    "answers": "as many as the answers suggest",
    "before": "as many as without answers, because the table is large",
    "saved": "scores above the threshold of the saved pick",
}
"""What decides how many rows are flagged for their scores, as people read it."""

_CLEAR_FALL = 1 / 3
_ROUNDING = 1e-6  # of the height of the highest score: smaller falls are no gaps


def check_contamination(value: Any) -> Contamination:
    """Check a share of outliers and return it: ``"auto"``, or a plain float in (0, 0.5].

    Examples
    --------
    >>> check_contamination(np.float32(0.25)), check_contamination("auto")
    (0.25, 'auto')
    """
    found: Contamination = Fitting.declared()["contamination"].checked(value, "MetaOD")
    return found


def automatic_share(scores: Scores, n_all: int | None = None) -> float:
    """Return the share of rows to flag: those above a clear gap in the scores, else few.

    The scores may be those of a sample of `n_all` rows.

    Scores do not tell how many outliers a table has: their distribution is the same with and
    without the labelled outliers. So few rows are flagged where no gap says otherwise.
    docs/selection.md has the comparison of rules.

    Examples
    --------
    >>> automatic_share(np.arange(700.0)), automatic_share(np.append(np.arange(99.0), 400.0))
    (0.01, 0.01)
    >>> automatic_share(np.arange(1_000_000.0))
    0.0001
    """
    n_above = clear_gap(scores)
    if n_above:
        return n_above / len(scores)
    n_all = max(len(scores), n_all or 0)
    return min(FEW_ROWS, int(FEW_SHARE * n_all)) / n_all


def clear_gap(scores: Scores) -> int | None:
    """Return how many rows lie above the lowest clear gap in the upper tenth, or None.

    A gap is clear if the score falls by a third of its height above the median or more; in small
    tables by more, because chance makes wider gaps there: 1 / 3 + 1.5 / √rows. Tables of 10 to 19
    rows are searched below two rows, of 5 to 9 below one; smaller ones cannot show a gap.

    Examples
    --------
    >>> clear_gap(np.array([*range(100), 400, 420.0]))
    2
    >>> clear_gap(np.arange(100.0)) is None
    True
    """
    falling = np.sort(scores / max(1.0, float(np.abs(scores).max(initial=0.0))))[::-1]
    n_gaps = max(len(falling) // 10, min(len(falling) // 5, 2))
    if n_gaps < 1:
        return None
    gaps = falling[:n_gaps] - falling[1 : n_gaps + 1]
    heights = falling[:n_gaps] - np.median(falling)
    clear_fall = _CLEAR_FALL + 1.5 / math.sqrt(len(falling))
    is_clear = (gaps >= clear_fall * heights) & (gaps > _ROUNDING * heights[0])
    return int(np.flatnonzero(is_clear)[-1]) + 1 if is_clear.any() else None


def ties_note(n_flagged: int, n_rows: int, share: float) -> str | None:
    """Say that far fewer rows are flagged than meant, because many share a score; or None."""
    n_meant = round(share * n_rows)
    if 2 * n_flagged >= n_meant:
        return None
    rows = f"{n_flagged:,} of {n_rows:,} rows are flagged instead of {n_meant:,} ({percent(share)})"
    return f"{rows}: too many rows share the score at the threshold."


def threshold_of(scores: Scores, share: float) -> float:
    """Return the score above which rows are flagged: as in PyOD, a quantile of the scores."""
    return float(np.quantile(scores, 1 - share))


def threshold_below(rising: Scores, n_flagged: int) -> float:
    """Return the middle between the lowest score that is flagged and the next, where both exist.

    Examples
    --------
    >>> [threshold_below(np.array([1.0, 2.0, 4.0]), n) for n in range(4)]
    [4.0, 3.0, 1.5, 1.0]
    """
    n_below = len(rising) - n_flagged
    return float(rising[max(n_below - 1, 0) : n_below + 1].mean())
