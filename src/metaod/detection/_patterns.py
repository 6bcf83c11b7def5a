"""Patterns of a result: wrong cells, and unusual rows that are set apart by the same columns."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaod.detection._reasons import RowReasons
from metaod.selection import OnProgress
from metaod.wrong_cells import Finding, Pattern, Sign, choose, find_patterns, with_shared_values

if TYPE_CHECKING:
    from metaod.detection._result import Detection

_MOST_EXPLAINED = 100  # unusual rows; the time grows with them


def cell_patterns(
    found: "Detection", without: Collection[tuple[int, str]] = ()
) -> tuple[Pattern, ...]:
    """Return patterns of wrong cells and single ones, those that hold most errors first."""
    left = [own for own in found.findings if (own.row, own.column) not in without]
    return patterns_of(found, left)


def patterns_of(found: "Detection", findings: Sequence[Finding]) -> tuple[Pattern, ...]:
    """Return patterns of some findings and single ones, those that hold most errors first."""
    return _located(found, find_patterns(findings))


def row_patterns(found: "Detection", *, progress: OnProgress | None = None) -> tuple[Pattern, ...]:
    """Return patterns of the most unusual rows that are flagged, without rows of wrong cells."""
    places = [row for row in found.top(found.n_unusual).tolist() if not found.findings_of(row)]
    explained = found.explain(places[:_MOST_EXPLAINED], progress=progress)
    signs: dict[Sign, list[int]] = {}
    for place, own in enumerate(explained):
        for sign in _signs(own):
            signs.setdefault(sign, []).append(place)
    patterns = []
    for sign, alike in choose(signs, [own.row for own in explained]):
        rows = tuple(explained[place].row for place in alike)
        columns = tuple(name for name, _ in sign.key)
        patterns.append(Pattern(rows, columns, " and ".join(map(" ".join, sign.key))))
    return _located(found, patterns)


def _signs(explained: RowReasons) -> list[Sign]:
    """Return every set of main reasons, which counts for as much as it has."""
    odd = (own for own in explained.main_reasons() if own.is_odd)
    sides = sorted((own.column, own.side or repr(own.value_text)) for own in odd)
    sets = (own for n in range(1, len(sides) + 1) for own in combinations(sides, n))
    return [Sign("reasons", own, float(len(own))) for own in sets]


def _located(found: "Detection", patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
    if found.stream is not None:  # it would be read once more
        return tuple(patterns)

    def rows_of(rows: list[int]) -> pd.DataFrame:
        return found.rows(np.array(rows, dtype=np.intp)).frame

    return with_shared_values(patterns, found.table.frame, rows_of)
