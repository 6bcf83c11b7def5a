"""Items that a person reads to meet planted errors, of patterns and single rows."""

import numpy as np
import pytest

from metaod.wrong_cells import Finding, Pattern
from research.commands.evaluate_patterns import items_to_read

SCORES = np.linspace(1, 0, 100)


def pattern(rows, score=0.5):
    cells = tuple(Finding(row, "a", 1, "", "far", score) for row in rows)
    return Pattern(tuple(rows), ("a",), "a", cells)


@pytest.mark.parametrize(
    ("patterns", "n_items"),
    [
        ([], 18),  # nine of ten wrong rows, every second one from row 1 on
        ([pattern(range(1, 20, 2))], 1),
        ([pattern(range(20))], 1),  # half of its rows are right
        ([pattern(range(22, 42))], 19),  # read for nothing
        ([pattern([1, 3, 5, 7])], 15),  # the other five of nine are single rows
        ([pattern([1, 3, 5, 7], 0.01)], 93),  # the pattern comes late, and is needed
    ],
)
def test_right_patterns_are_one_item_and_wrong_ones_one_more(patterns, n_items):
    wrong = np.zeros(100, dtype=bool)
    wrong[1:20:2] = True
    assert items_to_read(patterns, SCORES, wrong) == n_items
