"""Any frame in: a finite matrix out, or an error that the caller can fix."""

import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mixed_frames import mixed_frames, object_columns, typed_columns

from metaod.errors import UserError
from metaod.models import ModelSpec
from metaod.tables import Preparation, prepare, read_table

steady = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

FLOATS = st.floats(allow_nan=True, allow_infinity=True)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
WORDS = st.sampled_from(["a", "b", "c", "", "missing", "a=b", "1", "2.5", "2020-01-01", "nan"])


def optional(values):
    return st.none() | values


def listed(values, n_rows):
    return st.lists(values, min_size=n_rows, max_size=n_rows)


def arrays(values, n_rows, dtype):
    return listed(values, n_rows).map(lambda cells: np.array(cells, dtype=dtype))


def numeric_columns(n_rows):
    return st.one_of(
        arrays(FLOATS, n_rows, "float64"),
        arrays(st.floats(width=32), n_rows, "float32"),
        arrays(INTEGERS, n_rows, "int64"),
        arrays(st.integers(0, 2**64 - 1), n_rows, "uint64"),
        arrays(st.integers(0, 3), n_rows, "int8"),
        arrays(st.booleans(), n_rows, "bool"),
    )


def columns(n_rows):
    """Columns of every type, most of them with gaps."""
    return numeric_columns(n_rows) | typed_columns(n_rows) | object_columns(n_rows)


NAMES = st.one_of(
    st.text(max_size=6),
    st.integers(-2, 5),
    st.sampled_from(["id", "row_id", "key", "a", "a surprisal", "gaps", "gaps (2)", "index"]),
)


@st.composite
def frames(draw, kinds=columns, max_rows=12):
    n_rows = draw(st.integers(1, max_rows))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str))
    index = draw(
        st.sampled_from([pd.RangeIndex(n_rows), pd.RangeIndex(n_rows)[::-1], ["r"] * n_rows])
    )
    cells = {place: pd.Series(draw(kinds(n_rows))) for place in range(len(names))}
    frame = pd.DataFrame(cells)
    frame.columns = pd.Index(names, dtype=object)
    return frame.set_axis(pd.Index(index), axis=0)


def prepared_or_refused(frame, **options):
    """Prepare, or None where the error is one that the caller can fix."""
    preparation = Preparation(**options)
    try:
        return preparation, preparation.fit_transform(frame)
    except UserError as error:
        assert "\n" not in str(error)
        return None


@steady
@given(frames(), st.booleans())
def test_any_frame_becomes_a_finite_matrix_or_a_clear_error(frame, name_all):
    before = frame.copy(deep=True)
    named = [str(name) for name in frame] if name_all else None  # then unrelated text is kept
    done = prepared_or_refused(frame, only=named)
    pd.testing.assert_frame_equal(frame, before)
    if done is None:
        return
    _, prepared = done
    assert prepared.X.dtype == np.float64
    assert prepared.X.flags.c_contiguous
    assert np.isfinite(prepared.X).all()
    assert prepared.X.shape == (len(frame), len(prepared.names))
    assert prepared.index.equals(frame.index)
    # no number is constant: it would tell nothing
    fixed = np.zeros(prepared.X.shape[1], bool) if prepared.fixed is None else prepared.fixed
    assert fixed.shape == (prepared.X.shape[1],)
    assert (prepared.X.min(axis=0) < prepared.X.max(axis=0))[~fixed].all()
    assert (prepared.X[:, fixed] >= 0).all()


@steady
@given(frames())
def test_the_record_has_every_column_once_and_every_output_once(frame):
    done = prepared_or_refused(frame)
    if done is None:
        return
    preparation, prepared = done
    record = prepared.record
    assert [column.name for column in record.columns] == [str(name) for name in frame.columns]
    outputs = tuple(name for column in record.columns for name in column.outputs)
    assert (*outputs, *record.evidence) == prepared.names
    assert len(set(prepared.names)) == len(prepared.names)
    assert 0 <= record.categorical_share <= 1
    assert 0 <= record.imputed_share < 1
    assert record.n_rows == len(frame)
    for column in record.columns:
        assert column.sentence().startswith(f"{column.name!r} ({column.kind}) was ")
        assert (column.action == "dropped") == (column.outputs == ())
        assert (column.action == "surprisal") == (column.n_levels > 0)
    assert preparation.transform(frame).record.columns == record.columns


@steady
@given(mixed_frames())
def test_any_frame_can_be_read_first_and_is_scored(frame):
    try:
        prepared = prepare(read_table(frame))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            detector = ModelSpec("HBOS", {"n_bins": 10}).to_pyod().fit(prepared.X)
    except UserError as error:  # two categories of equal frequency are a constant
        assert "\n" not in str(error)
        assert len(str(error)) < 2000
        return
    assert np.isfinite(detector.decision_function(prepared.X)).all()


@steady
@given(frames(), st.randoms(use_true_random=False))
def test_rows_and_columns_in_any_order_give_the_same_cells(frame, shuffle):
    done = prepared_or_refused(frame)
    if done is None:
        return
    preparation, prepared = done
    assert preparation.transform(frame).X.tobytes() == prepared.X.tobytes()
    places = list(range(frame.shape[1]))
    shuffle.shuffle(places)
    assert preparation.transform(frame.iloc[:, places]).X.tobytes() == prepared.X.tobytes()
    rows = list(range(len(frame)))
    shuffle.shuffle(rows)
    assert np.array_equal(preparation.transform(frame.iloc[rows]).X, prepared.X[rows])


@steady
@given(frames())
def test_a_preparation_survives_json(frame):
    done = prepared_or_refused(frame)
    if done is None:
        return
    preparation, prepared = done
    text = json.dumps(preparation.to_dict(), allow_nan=False)
    read = Preparation.from_dict(json.loads(text))
    assert read.record_ == preparation.record_
    assert read.transform(frame).X.tobytes() == prepared.X.tobytes()


@steady
@given(frames(), st.data())
def test_later_rows_of_any_type_become_finite_or_a_clear_error(frame, data):
    done = prepared_or_refused(frame)
    if done is None:
        return
    preparation, _ = done
    n_rows = data.draw(st.integers(1, 5))
    later = pd.DataFrame({str(name): pd.Series(data.draw(columns(n_rows))) for name in frame})
    try:
        prepared = preparation.transform(later)
    except UserError as error:
        assert "column '" in str(error) or 'column "' in str(error)
        return
    assert prepared.names == preparation.names_
    assert prepared.X.shape == (n_rows, len(prepared.names))
    assert np.isfinite(prepared.X).all()


@steady
@given(st.data())
def test_a_complete_numeric_array_loses_nothing_but_constants(data):
    n_rows, n_columns = data.draw(st.integers(2, 8)), data.draw(st.integers(1, 5))
    finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0])
    cells = data.draw(listed(finite, n_rows * n_columns))
    values = np.array(cells).reshape(n_rows, n_columns)
    varying = values.min(axis=0) < values.max(axis=0)
    if not varying.any():
        with pytest.raises(UserError, match="nothing is left"):
            prepare(values)
        return
    prepared = prepare(values)
    assert prepared.X.tobytes() == np.ascontiguousarray(values[:, varying]).tobytes()
    assert prepared.names == tuple(f"x{place + 1}" for place in np.flatnonzero(varying))


@steady
@given(frames(kinds=numeric_columns))
def test_numbers_stay_numbers(frame):
    done = prepared_or_refused(frame)
    if done is None:
        return
    _, prepared = done
    for place, column in enumerate(prepared.record.columns):
        assert column.kind in {"numeric", "boolean", "constant", "empty", "identifier"}
        if column.is_used:
            given_values = frame.iloc[:, place].to_numpy().astype(np.float64)
            got = prepared.X[:, prepared.names.index(column.name)]
            finite = np.isfinite(given_values)
            assert np.array_equal(got[finite], given_values[finite])
            assert (got[~finite] == column.fill).all()
        if column.kind == "identifier":
            assert frame.iloc[:, place].is_unique
            assert frame.iloc[:, place].dtype.kind in "iu"


@st.composite
def related_frames(draw):
    """Frames of a number that depends on a category, with gaps and huge values."""
    n_rows = draw(st.integers(30, 90))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    kinds = rng.integers(0, draw(st.integers(2, 4)), n_rows)
    numbers = (kinds + rng.normal(size=n_rows) / 9) * 10.0 ** draw(st.integers(-300, 307))
    odd = draw(st.lists(FLOATS, max_size=4))
    numbers[: len(odd)] = odd
    words = np.array(["a", "b", None, "none"], dtype=object)[kinds]
    return pd.DataFrame({"word": words, "number": numbers, "other": rng.normal(size=n_rows)})


@steady
@given(related_frames(), st.data())
def test_related_text_and_odd_combinations_are_finite_and_survive_json(frame, data):
    preparation = Preparation()
    prepared = preparation.fit_transform(frame)
    assert np.isfinite(prepared.X).all()
    assert (prepared.X[:, prepared.fixed] >= 0).all()
    read = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict(), allow_nan=False)))
    assert read.transform(frame).X.tobytes() == prepared.X.tobytes()
    later = frame.iloc[:3].copy()
    later["number"] = data.draw(listed(FLOATS, 3))
    later["word"] = data.draw(listed(optional(WORDS), 3))
    assert np.isfinite(preparation.transform(later).X).all()


@steady
@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=2, max_size=9, unique=True))
def test_numbers_are_the_same_however_they_are_held(values):
    floats = [float(value) for value in values]
    forms = [floats, [str(value) for value in values], [Decimal(value) for value in values]]
    matrices = [prepare(pd.DataFrame({"v": form})).X.tolist() for form in forms]
    assert matrices[0] == matrices[1] == matrices[2]
