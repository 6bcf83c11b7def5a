"""Numbers apart from all others are found; those in the tail of their column are not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.wrong_cells import find_wrong_cells

SEEDS = st.integers(0, 2**32 - 1)


def findings(**columns):
    return find_wrong_cells(read_table(pd.DataFrame(columns))).findings()


@settings(max_examples=10)
@given(SEEDS, st.sampled_from([0, 0.5, 0.7, 0.9]), st.sampled_from([2, 3, 10]), st.booleans())
def test_a_number_far_beyond_all_others_comes_first(seed, zeros, decimals, is_large):
    rng = np.random.default_rng(seed)
    n = 3_000 if is_large else 600
    v = np.where(rng.random(n) < zeros, 0, rng.normal(0, 1, n).round(3))
    v[133] = round(20 * np.abs(v).max() + 0.0249990577, decimals)
    found = findings(v=v, x=rng.normal(size=n))
    assert (found[0].row, found[0].column) == (133, "v")


TAILS = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "crossing 0": lambda rng, n: rng.normal(5, 2, n).round(2),
    "counts": lambda rng, n: rng.poisson(6, n),
    "beside zeros": lambda rng, n: np.where(rng.random(n) < 0.7, 0, rng.normal(0, 1, n).round(3)),
    "incomes": lambda rng, n: np.where(rng.random(n) < 0.01, 0, rng.lognormal(10, 0.5, n).round(2)),
}


@pytest.mark.parametrize("name", TAILS)
def test_the_tail_of_a_column_is_not_wrong(name):
    rng = np.random.default_rng(0)
    n = 2_000
    found = findings(v=TAILS[name](rng, n), x=rng.normal(50, 9, n).round(2), y=rng.normal(size=n))
    assert len(found) <= 1


DAYS = pd.date_range("2022-01-01", periods=900)
CODES = {
    "voltage": (lambda rng, n: rng.normal(230, 2, n).round(1), 0.0),
    "distance": (lambda rng, n: rng.integers(300, 2400, n), 0),
    "height": (lambda rng, n: rng.normal(170, 8, n).round(), 999),
    "day": (lambda rng, n: DAYS[rng.integers(0, 900, n)], pd.Timestamp("1900-01-01")),
}


@pytest.mark.parametrize("name", CODES)
def test_a_code_apart_from_all_values_is_found_in_a_hundredth_of_the_rows(name):
    rng = np.random.default_rng(1)
    draw, code = CODES[name]
    n = 2_000
    v, rows = pd.Series(draw(rng, n)), np.sort(rng.choice(n, 20, replace=False))
    v[rows] = code
    found = findings(v=v, x=rng.normal(50, 9, n).round(2))
    assert {own.row for own in found if own.kind == "code"} == set(rows.tolist())
    assert len(found) <= len(rows) + 1
