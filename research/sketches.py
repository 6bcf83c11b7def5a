"""Sketches of tables: small samples of hashes from which shared rows and columns are found.

A sketch holds four samples. Each is the part of a large set of hashes that lies below a bound
(the k smallest), so two tables sample the same elements of what they share:

==========  ===================================================================================
``raw``     triples of rare values in one row, to 11 bits
``scaled``  the same with each column scaled to [0, 1], either way round
``rows``    whole rows, each column scaled to [0, 1]: for columns of few levels
``ends``    for each column, the relative positions of two of its lowest and two of its highest
            values: they do not depend on scale, sign or the order of rows, and 1 in 16 stays
            when half of the rows are left out
==========  ===================================================================================

A hash is a sum over values, so the order of columns does not matter. A value is rare if at most
2 % of the rows have it, and a triple of different rare values is used if at most two rows have it.

Unrelated tables share elements by chance. How often is estimated from each table alone: by the
elements that it shares with a copy of itself in which every column is shuffled, and for whole
rows also by the share of elements that occur more than once, which is the chance that one more
element of the same distribution is there already (Good and Turing).
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter

SKETCH_VERSION = 1
"""Version of the recipe; sketches of different versions are not comparable."""

SAMPLE_SIZES = {"raw": 284, "scaled": 72, "rows": 40, "ends": 104}
"""The samples of a sketch and the largest number of hashes in each."""

_Hashes = npt.NDArray[np.uint64]
_Floats = npt.NDArray[np.float64]

_NONE: _Hashes = np.empty(0, np.uint64)
_BOUND = 2**32
_RARE = 0.02
# values of a row that are combined, those with the smallest hashes
_PER_ROW = 8
# not a round number: scaled integers then never lie on the border of two bins
_LEVELS = 1013.7419
_END_LEVELS = 16384.4142
_MAX_ROWS = 50_000
_ENOUGH = 10_000
_MIN_DISTINCT = 50
# share of distinct values: others have ends such as 0, 0.5 and 1, as many columns do
_CONTINUOUS = 0.3
_MIN_GAP = 1 / 256
_GRID = 30_000


@dataclass(frozen=True, eq=False)
class Sample:
    """The smallest hashes of a set: those below `bound`, in order.

    `chance` estimates how often an element of an unrelated table of the same kind of values is
    in the set.
    """

    hashes: npt.NDArray[np.uint32]
    bound: int
    chance: float


@dataclass(frozen=True, eq=False)
class Sketch:
    """The samples of one table, by name."""

    samples: Mapping[str, Sample]

    def to_bytes(self) -> bytes:
        """Return the sketch as about 2 KB, which :meth:`from_bytes` reads."""
        parts = [bytes([SKETCH_VERSION])]
        for name in SAMPLE_SIZES:
            sample = self.samples[name]
            head = np.array([len(sample.hashes)], "<u2").tobytes()
            head += np.array([sample.bound - 1], "<u4").tobytes()
            parts.append(head + np.array([sample.chance], "<f4").tobytes())
            parts.append(sample.hashes.astype("<u4").tobytes())
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Sketch":
        """Read a sketch; raise ValueError for anything else."""
        if data[:1] != bytes([SKETCH_VERSION]):
            raise ValueError(f"is not a sketch of version {SKETCH_VERSION}")
        samples, start = {}, 1
        for name, size in SAMPLE_SIZES.items():
            if len(data) < start + 10:
                raise ValueError("is a sketch whose end is cut off")
            count = int(np.frombuffer(data, "<u2", 1, start)[0])
            bound = int(np.frombuffer(data, "<u4", 1, start + 2)[0]) + 1
            chance = float(np.frombuffer(data, "<f4", 1, start + 6)[0])
            start += 10
            if count > size or len(data) < start + 4 * count or not 0 <= chance <= 1:
                raise ValueError("is a damaged sketch")
            hashes = np.frombuffer(data, "<u4", count, start).astype(np.uint32)
            start += 4 * count
            samples[name] = Sample(hashes, bound, chance)
        if start != len(data):
            raise ValueError("is a damaged sketch")
        return cls(samples)


def sketch(X: Any) -> Sketch:
    """Compute the sketch of a table.

    Parameters
    ----------
    X : pandas.DataFrame or array-like of shape (n_rows, n_columns)
        The columns without the label, as read. Names, dtypes and the index do not matter.
    """
    values = _distinct_rows(_numbers(X))
    shuffled = np.random.default_rng(0).permuted(values, axis=0)
    found, by_chance = _elements(values), _elements(shuffled)
    return Sketch({name: _smallest(name, found[name], by_chance[name]) for name in SAMPLE_SIZES})


def _distinct_rows(values: _Floats) -> _Floats:
    """Return each row once, in an order given by its content, without constant columns."""
    filled = np.nan_to_num(values, nan=np.inf)
    values = values[:, (filled != filled[0]).any(axis=0)]
    _, first = np.unique(_row_sums(_raw_codes(values, exact=True)), return_index=True)
    return values[first[:_MAX_ROWS]]


def _elements(values: _Floats) -> dict[str, _Hashes]:
    unit, missing = _to_unit(values), np.isnan(values)
    return {
        "raw": _combinations(_raw_codes(values), missing),
        "scaled": _combinations(_bins(_turned(unit)), missing),
        "rows": _row_sums(_bins(unit)) if values.shape[1] > 1 else _NONE,
        "ends": np.concatenate([_NONE, *map(_ends, values.T)]),
    }


def _numbers(X: Any) -> _Floats:
    """Return the columns as numbers; a text is a number made from its characters."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if frame.shape[1] == 0 or frame.shape[0] == 0:
        raise BadParameter("sketch", "X", "a table with rows and columns", frame.shape)
    columns = [_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    values = np.column_stack(columns).astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    return values + 0.0  # -0.0 becomes 0.0


def _column(series: "pd.Series[Any]") -> _Floats:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    codes, texts = pd.factorize(series, use_na_sentinel=True)
    numbers = pd.to_numeric(pd.Series([str(text) for text in texts], dtype=object), errors="coerce")
    if numbers.notna().all():
        found = numbers.to_numpy(dtype=np.float64)
    else:
        hashed = [zlib.crc32(str(text).encode("utf-8", "surrogatepass")) for text in texts]
        found = np.array(hashed, dtype=np.float64)
    return np.append(found, np.nan)[codes]


def _mix(h: _Hashes) -> _Hashes:
    """Mix the bits of 64-bit numbers (the finaliser of SplitMix64)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _hash(integers: npt.NDArray[np.int64]) -> _Hashes:
    return _mix(integers.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def _raw_codes(values: _Floats, *, exact: bool = False) -> _Hashes:
    """Hash values to 11 bits of their mantissa, integers up to 2048 exactly; or to 24 bits."""
    bits = 2.0**24 if exact else 2.0**11
    mantissa, exponent = np.frexp(np.nan_to_num(values, nan=np.pi))
    rounded = np.rint(mantissa * bits)
    carry = np.abs(rounded) == bits
    rounded, exponent = np.where(carry, rounded / 2, rounded), exponent + carry
    return _hash(rounded.astype(np.int64) * 4096 + exponent)


def _to_unit(values: _Floats) -> _Floats:
    """Scale each column to [0, 1]; a missing value becomes 2."""
    if not values.size:
        return values
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    # halved first: the range of the largest numbers would overflow
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: _Floats = (values / 2 - low / 2) / (high / 2 - low / 2)
    unit[~np.isfinite(unit)] = 2.0
    return unit


def _turned(unit: _Floats) -> _Floats:
    """Turn columns round so that their mean is below the middle of their range."""
    known = unit <= 1
    high = (unit * known).sum(axis=0) > 0.5 * known.sum(axis=0)
    return np.where(high & known, 1 - unit, unit)


def _bins(unit: _Floats) -> _Hashes:
    return _hash(np.rint(unit * _LEVELS).astype(np.int64))


def _row_sums(codes: _Hashes) -> _Hashes:
    return _mix(_mix(codes).sum(axis=1, dtype=np.uint64))


def _combinations(codes: _Hashes, missing: npt.NDArray[np.bool_]) -> _Hashes:
    """Combine the rare values of each row by three."""
    absent = np.uint64(2**64 - 1)
    n_rows, n_columns = codes.shape
    chosen = np.full((n_rows, n_columns), absent)
    for j in range(n_columns):
        _, positions, counts = np.unique(codes[:, j], return_inverse=True, return_counts=True)
        rare = (counts <= max(1.0, _RARE * n_rows))[positions] & ~missing[:, j]
        chosen[rare, j] = codes[rare, j]
    chosen.sort(axis=1)
    # each value of a row once: columns that are nearly equal repeat it in unrelated tables too
    chosen[:, 1:][chosen[:, 1:] == chosen[:, :-1]] = absent
    chosen = np.sort(chosen, axis=1)[:, :_PER_ROW]
    found = [_NONE]
    for columns in combinations(range(chosen.shape[1]), 3):
        values = chosen[:, columns]
        found.append(_row_sums(values[(values != absent).all(axis=1)]))
    return np.concatenate(found)


def _ends(column: _Floats) -> _Hashes:
    """Hash the gaps between two of the four lowest and between two of the four highest values."""
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) < max(_MIN_DISTINCT, _CONTINUOUS * len(column)) or _is_on_grid(distinct):
        return _NONE
    pairs = np.array(list(combinations(range(4), 2)))
    low, high = distinct[:4][pairs] / 2, distinct[-4:][pairs] / 2
    length = high[None, :, 1] - low[:, None, 0]
    gaps = np.stack(
        [(low[:, 1] - low[:, 0])[:, None] / length, (high[:, 1] - high[:, 0])[None, :] / length],
        axis=-1,
    ).reshape(-1, 2)
    # small gaps are alike in unrelated columns
    gaps = gaps[(gaps > _MIN_GAP).all(axis=1)]
    # a sum of hashes: a column turned round has the same two gaps
    return np.unique(_row_sums(_hash(np.rint(gaps * _END_LEVELS).astype(np.int64))))


def _is_on_grid(distinct: _Floats) -> bool:
    """Whether all values are multiples of a coarse step, as small integers are."""
    steps = np.diff(distinct / 2)
    step = steps.min()
    if distinct[-1] / 2 - distinct[0] / 2 > _GRID * step:
        return False
    places = steps / step
    return bool(np.all(np.abs(places - np.rint(places)) < 0.05))


def _smallest(name: str, elements: _Hashes, by_chance: _Hashes) -> Sample:
    # only small hashes are needed, and sorting all would take most of the time
    limit = np.uint64(2**64 - 1 if len(elements) <= _ENOUGH else 2**64 // len(elements) * _ENOUGH)
    distinct, share_of_repeated = _distinct(name, elements[elements <= limit])
    if not len(distinct):
        return Sample(distinct.astype(np.uint32), _BOUND, 0.0)
    chance = share_of_repeated if name == "rows" else 0.0
    if name != "ends":  # shuffling changes no column, and so no ends
        others, _ = _distinct(name, by_chance[by_chance <= limit])
        shared = len(np.intersect1d(distinct, others, assume_unique=True))
        chance = max(chance, shared / len(distinct))
    hashes = np.unique(distinct >> np.uint64(32))
    size = SAMPLE_SIZES[name]
    bound = int(hashes[size]) if len(hashes) > size else int(limit >> np.uint64(32)) + 1
    return Sample(hashes[:size].astype(np.uint32), bound, chance)


def _distinct(name: str, elements: _Hashes) -> tuple[_Hashes, float]:
    distinct, counts = np.unique(elements, return_counts=True)
    share_of_repeated = 1.0 - float((counts == 1).sum()) / max(1, len(elements))
    return distinct[counts <= 2] if name in ("raw", "scaled") else distinct, share_of_repeated
