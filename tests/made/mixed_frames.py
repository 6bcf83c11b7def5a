"""Columns of every kind that a user's frame may hold, as hypothesis strategies."""

from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st

TEXTS = st.text(
    st.characters(codec="utf-8") | st.sampled_from("😀é日\u200b\x00\x1b;,=+-@\t'\""), max_size=6
)
DATES = st.datetimes()
FLOATS = st.floats() | st.sampled_from([1e308, -1e308, 5e-324, float("inf")])
INTEGERS = st.integers() | st.sampled_from([2**63, -(2**64), 10**400])

# a value of a column of objects
VALUES = {
    "floats": FLOATS,
    "integers": INTEGERS,
    "booleans": st.booleans(),
    "texts": TEXTS,
    "numbers as text": st.one_of(st.integers(), FLOATS).map(str),
    "few texts": st.sampled_from(["a", "b", "😀", ""]),
    "bytes": st.binary(max_size=3),
    "decimals": st.decimals(allow_nan=False),
    "dates": DATES,
    "dates without a time": st.dates(),
    "times": st.times(),
    "durations": st.timedeltas(),
    "uuids": st.uuids(),
    "lists": st.lists(st.integers(), max_size=2),
    "mappings": st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
    "sets": st.frozensets(st.integers(), max_size=2),
    "complex numbers": st.complex_numbers(),
    "one value": st.just("same"),
    "gaps": st.none(),
    "mixed": st.one_of(FLOATS, TEXTS, st.booleans(), st.dates(), st.none()),
}
GAPS = st.sampled_from([None, float("nan"), pd.NA, pd.NaT])


@st.composite
def object_columns(draw, n_rows):
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    if draw(st.booleans()):
        values = values | GAPS
    column = np.empty(n_rows, dtype=object)
    column[:] = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
    return pd.Series(column, dtype=object)


@st.composite
def typed_columns(draw, n_rows):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, draw(st.sampled_from([1, 2, 3, n_rows])), size=n_rows)
    gaps = rng.random(n_rows) < draw(st.sampled_from([0.0, 0.2, 1.0]))
    texts = pd.Series([f"t{code}" for code in codes]).mask(gaps)
    whole = pd.Series(codes, dtype="Int64").mask(gaps)
    return {
        "Int64": whole,
        "Int8": whole.clip(upper=100).astype("Int8"),
        "Float32": whole.astype("Float32"),
        "boolean": (whole > 0).astype("boolean"),
        "string": texts.astype("string"),
        "category": texts.astype("category"),
        "unused levels": texts.astype("category").cat.add_categories(["never"]),
        "ordered numbers": pd.Series(pd.Categorical(whole.astype("Float64"), ordered=True)),
        "old dates": pd.Series(np.datetime64("1066-10-14", "s") + codes.astype("m8[D]")).mask(gaps),
        "zoned dates": pd.Series(pd.to_datetime(codes, unit="D", utc=True)).mask(gaps),
        "periods": pd.Series(pd.PeriodIndex.from_ordinals(codes, freq="M")).mask(gaps),
        "intervals": pd.Series(pd.IntervalIndex.from_breaks(np.arange(n_rows + 1.0))),
        "durations": pd.Series(codes.astype("m8[ms]")).mask(gaps),
        "sparse": pd.Series(pd.arrays.SparseArray(codes.astype(float))),
        "uint64": pd.Series(codes.astype("u8") + 2**63),
        "float16": pd.Series(codes.astype("f2")),
        "pyarrow": texts.astype("string[pyarrow]"),
    }[draw(st.sampled_from(KINDS))]  # fmt: skip


KINDS = [
    "Int64", "Int8", "Float32", "boolean", "string", "category", "unused levels",
    "ordered numbers", "old dates", "zoned dates", "periods", "intervals", "durations", "sparse",
    "uint64", "float16", "pyarrow",
]  # fmt: skip
NAMES = (
    TEXTS | st.sampled_from(["a", "a", "read", "shape", "score"]) | st.integers(0, 3) | st.none()
)


@st.composite
def mixed_frames(draw, min_rows=1, max_rows=12):
    """Return a frame of columns of any kind, with any names, also repeated ones."""
    n_rows = draw(st.integers(min_rows, max_rows))
    columns = draw(st.lists(object_columns(n_rows) | typed_columns(n_rows), min_size=1, max_size=4))
    frame = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    frame.columns = draw(st.lists(NAMES, min_size=len(columns), max_size=len(columns)))
    return frame


def large_frames():
    """Return frames that are too large to be drawn, by name."""
    rng = np.random.default_rng(0)
    levels = [f"level {i}" for i in rng.integers(0, 10_000, 20_000)]
    old = pd.Index(np.array(["1066-10-14", "1492-10-12", "1789-07-14"] * 10, dtype="M8[s]"))
    return {
        "10,000 levels": pd.DataFrame({"a": levels, "b": rng.normal(size=20_000)}),
        "dates before 1900": pd.DataFrame({"a": old, "b": range(30)}),
        "all text": pd.DataFrame({"a": list("abcde") * 8, "b": list("xyxz") * 10}),
        "huge integers": pd.DataFrame({"a": [10**30 + i for i in range(20)], "b": [2**63] * 20}),
        "decimals": pd.DataFrame({"a": [Decimal(i) / 7 for i in range(30)]}),
        "emoji": pd.DataFrame({"😀": ["😀", "é", "日本"] * 10, "b": [0.5, np.inf, np.nan] * 10}),
    }
