"""Roles of columns: what users name, earlier outputs, identifiers that count rows."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables import Preparation, prepare

N = 60
GENERATOR = np.random.default_rng(0)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "price": GENERATOR.normal(10, 2, N),
            "weight": GENERATOR.normal(5, 1, N),
            "zone": GENERATOR.integers(1, 5, N),
            "day": [20240101 + int(day) for day in GENERATOR.integers(0, 28, N)],
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(GENERATOR.uniform(0, 30, N), "D"),
            "note": GENERATOR.choice(["a", "b"], N),
        }
    )


def used(prepared):
    return {column.name for column in prepared.record.columns if column.is_used}


def record_of(prepared, name):
    return next(column for column in prepared.record.columns if column.name == name)


# what users name


def test_ignored_columns_and_ids_are_not_used(frame):
    frame.loc[::2, "price"] = np.nan  # no indicator of gaps either
    prepared = prepare(frame, ignore="price", id=["note"])
    assert used(prepared) == {"weight", "zone"}
    assert not any("price" in name or "note" in name for name in prepared.names)
    assert record_of(prepared, "price").role == "ignored"
    assert record_of(prepared, "note").role == "id"
    assert record_of(prepared, "weight").role == "used"
    assert record_of(prepared, "price").reason == "named in 'ignore'"


@pytest.mark.parametrize("role", ["ignore", "id"])
def test_a_column_that_is_not_used_changes_nothing(frame, role):
    odd = frame.assign(odd=np.where(np.arange(N) < 3, np.nan, GENERATOR.normal(size=N)))
    fitted = Preparation(**{role: "odd"}).fit(odd)
    without = Preparation().fit(frame)
    assert fitted.names_ == without.names_
    for later in (odd, odd.assign(odd=np.nan), odd.assign(odd="word"), frame):
        np.testing.assert_array_equal(fitted.transform(later).X, without.transform(frame).X)


def test_only_the_named_columns_are_used(frame):
    prepared = prepare(frame, only=["price", "zone"], category="zone")
    assert used(prepared) == {"price", "zone"}
    assert record_of(prepared, "weight").reason == "not named in 'only'"


def test_a_column_of_codes_is_a_category(frame):
    codes = frame["zone"]
    as_text = frame[["price"]].assign(zone=pd.Categorical(codes.map(str)))
    assert prepare(as_text).names == ("price",)  # unrelated to the price, and not named
    expected = prepare(as_text, category="zone")
    got = prepare(frame[["price", "zone"]], category="zone")
    assert record_of(got, "zone").kind == "category"
    assert got.names == expected.names
    np.testing.assert_array_equal(got.X, expected.X)
    with_gap = frame[["price"]].assign(zone=codes.where(codes.index > 0))  # 2 is now 2.0
    assert set(prepare(with_gap, category="zone").names) >= set(got.names)


def test_dates_are_used_only_as_time(frame):
    assert record_of(prepare(frame), "seen").role == "not used"
    assert "'time'" in record_of(prepare(frame), "seen").reason
    days = prepare(frame, time="seen")
    expected = (frame["seen"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(days.X[:, days.names.index("seen")], expected)


def test_numbers_can_be_dates(frame):
    assert record_of(prepare(frame, date="day"), "day").role == "not used"
    fitted = Preparation(time="day").fit(frame)
    later = frame.assign(day=20240301)
    column = fitted.names_.index("day")
    assert set(fitted.transform(later).X[:, column]) == {19783.0}
    assert set(fitted.read(later.assign(day=20241301)).misfits["day"].texts) == {"20241301"}


def test_a_named_date_that_is_none_is_an_error(frame):
    told = r"column 'note': is named in 'date', but .* are not dates, such as '[ab]'"
    with pytest.raises(BadColumn, match=told):
        prepare(frame, date="note")


def test_unknown_names_are_one_error_with_close_names(frame):
    with pytest.raises(BadColumn, match=r"'pric'.*'price'"):
        prepare(frame, ignore="pric")
    with pytest.raises(UserError, match=r"'pric'.*'Zones'.*'price'.*'zone'"):
        prepare(frame, ignore="pric", category="Zones")
    with pytest.raises(BadColumn, match=r"'price'.*'weight'"):
        prepare(frame, id="qqq")


@pytest.mark.parametrize(
    "roles",
    [{"ignore": "zone", "id": "zone"}, {"category": "zone", "date": "zone"},
     {"only": "zone", "ignore": "zone"}, {"only": "zone", "id": "zone"}],
)  # fmt: skip
def test_two_roles_for_one_column_are_refused(frame, roles):
    with pytest.raises(BadColumn, match="'zone'"):
        prepare(frame, **roles)


def test_if_nothing_is_left_the_error_first_says_why_the_named_columns_are_not_used(frame):
    with pytest.raises(UserError, match=r"'seen'.*'time'"):
        prepare(frame, only="seen")


def test_a_date_may_be_named_as_time_too(frame):
    assert "seen" in prepare(frame, date="seen", time="seen").names


@pytest.mark.parametrize("names", [3, b"zone", {"zone": 1}])
def test_names_that_are_none_are_refused(frame, names):
    with pytest.raises(BadParameter, match="'ignore'"):
        prepare(frame, ignore=names)


def test_roles_are_saved(frame):
    fitted = Preparation(ignore="price", id="note", category=["zone"], time=("seen",)).fit(frame)
    read = Preparation.from_dict(json.loads(json.dumps(fitted.to_dict())))
    roles = read.roles
    named = (roles.ignore, roles.id, roles.category, roles.time, roles.only)
    assert named == (["price"], ["note"], ["zone"], ["seen"], None)
    assert read.columns_ == fitted.columns_
    np.testing.assert_array_equal(read.transform(frame).X, fitted.transform(frame).X)
    without = frame.drop(columns=["price", "note"])  # unused columns may be absent
    np.testing.assert_array_equal(read.transform(without).X, fitted.transform(frame).X)


# earlier outputs


def earlier_output(frame):
    columns = prepare(frame).record.columns
    return tuple(column.name for column in columns if column.kind == "ignored")


def scored(n, generator, ending=("", "", "")):
    score = generator.normal(size=n).round(2)
    ranks = np.array([1 + int((score > value).sum()) for value in score])
    flag = (score > np.quantile(score, 0.9)).astype(int)
    names = [name + end for name, end in zip(("score", "rank", "flag"), ending, strict=True)]
    return pd.DataFrame(dict(zip(names, (score, ranks, flag), strict=True)))


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 1000),
    ending=st.tuples(*[st.sampled_from(["", "_", "__", "_2", ".1"])] * 3),
    kept=st.sampled_from(["all", "flagged", "top", "shuffled"]),
)
def test_an_earlier_output_is_found(seed, ending, kept):
    generator = np.random.default_rng(seed)
    frame = scored(40, generator, ending)
    frame.insert(0, "price", generator.normal(size=40))
    if kept == "top":
        frame = frame.nsmallest(12, f"rank{ending[1]}")
    if kept == "flagged":
        frame = frame[frame[f"flag{ending[2]}"] == 1]
    if kept == "shuffled":
        frame = frame.sample(frac=1, random_state=seed)
    if frame[f"score{ending[0]}"].is_unique or kept != "flagged":
        assert earlier_output(frame) == tuple(frame.columns[1:])


def test_columns_that_disagree_are_no_earlier_output():
    frame = scored(40, np.random.default_rng(0))
    for name in ("score", "rank", "flag"):
        assert earlier_output(frame.drop(columns=name)) == ()
        assert earlier_output(frame.assign(**{name: frame[name].to_numpy()[::-1]})) == ()
    assert earlier_output(frame.assign(rank="first")) == ()
    assert earlier_output(frame.assign(score=1.0)) == ()


def test_an_own_column_called_score_is_kept():
    generator = np.random.default_rng(1)
    frame = scored(40, generator, ("_", "", "")).assign(score=generator.normal(size=40))
    assert earlier_output(frame) == ("score_", "rank", "flag")


def test_an_earlier_output_is_left_out_with_a_note(frame):
    fed_back = pd.concat([frame, scored(N, GENERATOR)], axis=1)
    prepared = prepare(fed_back)
    np.testing.assert_array_equal(prepared.X, prepare(frame).X)
    assert "earlier-output" in [message.code for message in prepared.record.messages]
    assert "score" in prepare(fed_back, only=["price", "score"]).names


# numbers that count the rows


def counts_rows(values):
    frame = pd.DataFrame({"v": values.astype(int), "w": np.arange(len(values)) % 7.0})
    return record_of(prepare(frame), "v").kind == "identifier"


@settings(deadline=None, max_examples=50)
@given(
    start=st.integers(-(10**6), 10**9),
    largest=st.integers(1, 9),
    falling=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_numbers_that_grow_evenly_count_the_rows(start, largest, falling, seed):
    steps = np.random.default_rng(seed).integers(1, largest, 100, endpoint=True)
    values = np.cumsum([start, *steps]).astype(float)
    assert counts_rows(values[::-1] if falling else values)


def test_deleted_rows_and_blocks_still_count():
    numbers = np.arange(500.0)
    assert counts_rows(np.delete(numbers, GENERATOR.integers(0, 500, 200)))
    assert counts_rows(np.concatenate([numbers + 20230000, numbers + 20240000]))


@pytest.mark.parametrize("draw", ["normal", "exponential", "lognormal"])
def test_a_table_sorted_by_a_measurement_keeps_it(draw):
    values = np.unique((getattr(GENERATOR, draw)(size=400) * 1e4).astype(int)).astype(float)
    assert not counts_rows(values)


def test_unsorted_few_or_repeated_numbers_do_not_count_rows():
    assert not counts_rows(np.arange(19.0))
    assert not counts_rows(GENERATOR.permutation(100).astype(float))
    assert not counts_rows(np.repeat(np.arange(50.0), 2))


def test_a_column_that_counts_the_rows_is_an_identifier_unless_named(frame):
    numbered = frame.assign(order=np.arange(5000, 5000 + N))
    assert record_of(prepare(numbered), "order").kind == "identifier"
    assert "order" in prepare(numbered, only=["order", "price"]).names
    assert "order" in prepare(numbered.assign(order=lambda table: table["order"] * 1.0)).names
