"""Numbers compared in context: groups, order, other columns, and one side."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadParameter, UserError
from metaod.tables import Preparation

CONTEXTS = [
    {"by": "plant"},
    {"by": ["plant", "line"]},
    {"over": "time"},
    {"by": "plant", "over": "time"},
    {"target": "load"},
    {"by": "plant", "target": "load", "over": "time", "high": "load"},
    {"low": ["load", "heat"]},
]


def made(seed=0, n=240):
    """Make rows of three plants, one of which has ten; two have hourly times, the third repeats."""
    rng = np.random.default_rng(seed)
    plant = np.repeat(["A", "B", "C"], [10, n // 2, n - 10 - n // 2])
    hours = np.concatenate([np.arange(np.sum(plant == own)) for own in "ABC"])
    hours += rng.integers(0, 2, n) * 5  # steps differ, and some times are shared
    heat = 20 + 5 * np.sin(hours / 24 * 2 * np.pi) + rng.normal(0, 0.3, n)
    frame = pd.DataFrame(
        {
            "plant": plant,
            "line": rng.choice(["x", "y"], n),
            "time": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h"),
            "heat": heat.round(3),
            "load": (3 * heat - 60 + rng.normal(0, 0.5, n)).round(3),
            "other": rng.normal(0, 1, n).round(3),
        }
    )
    frame.loc[rng.choice(n, 5, replace=False), "heat"] = np.nan
    frame.loc[rng.choice(n, 3, replace=False), "time"] = pd.NaT
    return frame


def matrix(prepared):
    return pd.DataFrame(prepared.X, columns=prepared.names).sort_index(axis=1).to_numpy()


@pytest.mark.parametrize("context", CONTEXTS, ids=str)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_positions_of_rows_and_columns_do_not_count(context, seed):
    frame, rng = made(seed), np.random.default_rng(seed)
    order = rng.permutation(len(frame))
    moved = frame.iloc[order, rng.permutation(frame.shape[1])]
    found = matrix(Preparation(**context).fit_transform(moved))
    np.testing.assert_array_equal(found, matrix(Preparation(**context).fit_transform(frame))[order])


@pytest.mark.parametrize("context", CONTEXTS, ids=str)
def test_fitted_rows_come_back_alone_and_from_a_saved_preparation(context):
    frame = made()
    fitted = Preparation(**context).fit(frame)
    X, part = fitted.transform(frame).X, np.arange(3, len(frame), 7)
    for preparation in (fitted, Preparation.from_dict(fitted.to_dict())):
        np.testing.assert_array_equal(preparation.transform(frame.iloc[part]).X, X[part])
    assert np.isfinite(X).all()


@settings(max_examples=10)
@given(seed=st.integers(0, 99), by=st.sampled_from(["plant", ["plant", "line"]]))
def test_what_all_rows_of_a_group_have_more_of_does_not_count(seed, by):
    frame = made(seed)
    frame["plant"] = np.repeat(["A", "B", "C", "D"], 60)  # ten rows or more in each combination
    before = Preparation(by=by).fit_transform(frame).X
    frame["other"] += frame["plant"].map({"A": 0, "B": 1024, "C": -512, "D": 32})
    np.testing.assert_allclose(Preparation(by=by).fit_transform(frame).X, before, atol=1e-9)


@settings(max_examples=15)
@given(value=st.floats(-1e6, 1e6), less=st.floats(0, 1e6))
@pytest.mark.parametrize("context", [{}, {"by": "plant"}, {"target": "load"}], ids=str)
def test_only_high_values_count(context, value, less):
    frame = made()
    fitted = Preparation(high="load", **context).fit(frame)
    rows = frame.iloc[[20, 20]].assign(load=[value, value - less])
    prepared = fitted.transform(rows)
    before, after = prepared.X[:, prepared.names.index("load")]
    assert before >= after >= 0
    low = fitted.transform(rows.assign(load=[-1e6, -1e3])).X
    np.testing.assert_array_equal(low[0], low[1])


def test_a_value_that_is_ordinary_elsewhere_in_a_group_of_ten_rows():
    rng = np.random.default_rng(1)
    levels = np.repeat([1000.0, 200.0, 50.0, 900.0], [10, 200, 200, 200])
    frame = pd.DataFrame({"shop": levels.astype(str), "revenue": levels * rng.normal(1, 0.05, 610)})
    frame.loc[3, "revenue"] *= 0.2
    prepared = Preparation(by="shop").fit_transform(frame)
    assert np.argmax(np.abs(prepared.X[:, 0])) == 3
    assert prepared.X[3, 0] < -5


@pytest.mark.parametrize(
    "context", [{"by": "plant"}, {"over": "time"}, {"target": "load"}], ids=str
)
def test_huge_numbers_stay_finite(context):
    frame = made().assign(time=np.linspace(-8e307, 8e307, 240))
    frame["load"] *= 1e306
    frame.loc[7, "load"] = np.inf
    assert np.isfinite(Preparation(**context).fit_transform(frame).X).all()


@pytest.mark.filterwarnings("error")
def test_numbers_without_a_past_can_be_saved():
    frame = series(time=7.0)
    frame.loc[0, "time"] = np.nan
    fitted = Preparation(over="time").fit(frame)
    again = Preparation.from_dict(fitted.to_dict())
    assert np.isfinite(again.transform(series(time=9)).X).all()


def test_rows_of_new_groups_are_judged_by_the_whole_with_a_note():
    frame = made()
    fitted = Preparation(by="plant").fit(frame)
    later = frame.head(3).assign(plant=["A", "Q", "R"], other=[0.0, 0.0, 500.0])
    prepared = fitted.transform(later)
    [note] = [own for own in prepared.record.messages if own.code == "new-groups"]
    assert note.values == {"n": "2", "names": "'Q', 'R'"}
    other = prepared.X[:, prepared.names.index("other")]
    assert abs(other[1]) < 1
    assert other[2] > 100


def series(n=400, **columns):
    rng = np.random.default_rng(0)
    stamps = pd.date_range("2024-01-01", periods=n, freq="h")
    day = 10 * np.sin(2 * np.pi * np.arange(n) / 24)
    frame = pd.DataFrame({"time": stamps, "heat": (day + rng.normal(0, 0.5, n)).round(2)})
    return frame.assign(**columns)


def test_a_season_a_shift_and_a_stuck_value():
    frame = series(n=24 * 30)
    frame.loc[300, "heat"] = frame["heat"].loc[288:311].median()  # ordinary, at another hour
    frame.loc[400:440, "heat"] += 5
    frame.loc[500:530, "heat"] = frame.loc[500, "heat"]
    shuffled = frame.sample(frac=1, random_state=0)
    fitted = Preparation(over="time").fit(shuffled)
    given = fitted.given(fitted.rows_of(frame)[0])
    distances = np.abs(given.residuals[:, 0])
    planted = np.r_[400:441, 500:531]
    assert np.isin(planted, np.argsort(-distances)[: len(planted) + 1]).mean() > 0.95
    assert given.run(515, "heat") == 31
    assert given.run(100, "heat") == 0
    assert [own.name for own in fitted.context_.past.seasons] == ["hour"]


def test_the_first_rows_of_a_group_are_not_compared_with_another_group():
    rng, hours = np.random.default_rng(0), np.arange(300)
    frame = series(300).assign(heat=4.2 - hours / 100 + rng.normal(0, 0.01, 300))
    frame = pd.concat([frame.assign(plant=own, load=hours * 3.0 + len(own)) for own in ("A", "BB")])
    frame = frame.reset_index(drop=True)
    frame.loc[[2, 450], "heat"] += 1.0
    prepared = Preparation(by="plant", over="time").fit_transform(frame)
    heat, load = (np.abs(prepared.X[:, prepared.names.index(own)]) for own in ("heat", "load"))
    assert set(np.argsort(heat)[-2:]) == {2, 450}
    assert heat[[*range(2), *range(300, 310)]].max() < 5 < heat[[2, 450]].min()
    assert load[[1, 2, 3, 301, 302, 303]].max() < 5


@pytest.mark.parametrize("context", [{"over": "time"}, {"by": "plant"}], ids=str)
def test_numbers_that_are_mostly_zero_are_not_compared_in_context(context):
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(400) < 0.9, 0.0, rng.gamma(1, 5, 400).round(1))
    frame = series(rain=rain, plant=["A", "B"] * 200)
    prepared = Preparation(**context).fit_transform(frame)
    np.testing.assert_array_equal(prepared.X[:, prepared.names.index("rain")], rain)
    assert not np.array_equal(prepared.X[:, prepared.names.index("heat")], frame["heat"])


def test_values_that_often_stay_the_same_are_not_stuck():
    rng = np.random.default_rng(0)
    rain = np.where(np.repeat(rng.random(60) < 0.8, 12), 0.0, rng.gamma(1, 5, 720).round(1))
    steps = np.repeat(rng.normal(size=72).round(2), 10)
    frame = series(n=720, rain=rain, steps=steps)
    fitted = Preparation(over="time").fit(frame)
    given = fitted.given(fitted.rows_of(frame)[0])
    assert not (given.stuck > 0).any()


def test_later_rows_have_the_past_of_fitted_and_given_ones():
    frame = series(n=480)
    fitted = Preparation(over="time").fit(frame)
    later = series(n=520).tail(40)
    later.iloc[10:, 1] = later.iloc[10, 1]
    given = fitted.given(fitted.rows_of(later)[0])
    assert given.run(39, "heat") == 30
    assert np.abs(given.residuals[:10]).max() < 4
    assert np.abs(given.residuals[10:]).min() > 10


@pytest.mark.parametrize(
    ("frame", "options", "code"),
    [
        (series().drop(range(100, 140)), {"over": "time"}, "gaps"),
        (pd.concat([series(), series()]), {"over": "time"}, "shared-times"),
        (series(heat=np.arange(400) % 200 / 7.0), {}, "order-not-used"),
    ],
)
def test_notes_on_the_sequence(frame, options, code):
    codes = [own.code for own in Preparation(**options).fit(frame).record_.messages]
    assert codes == [*(["context"] if options else []), code]


def test_the_note_on_a_gap_names_the_group():
    frame = pd.concat([series(plant="A"), series(plant="B").drop(range(100, 140))])
    [_, note] = Preparation(by="plant", over="time").fit(frame).record_.messages
    assert str(note).endswith("is 41 steps long, after 2024-01-05 03:00 with plant 'B'.")


def test_no_note_on_an_order_that_tells_nothing():
    rng = np.random.default_rng(0)
    assert not Preparation().fit(series(heat=rng.normal(size=400))).record_.messages
    people = series(heat=np.arange(400) / 7.0).take(rng.permutation(400))  # their dates of birth
    assert not Preparation().fit(people).record_.messages


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"by": "nowhere"}, "nowhere"),
        ({"by": "other"}, "other"),
        ({"by": "load", "target": "load"}, "load"),
        ({"by": "plant", "ignore": "plant"}, "plant"),
        ({"over": "plant"}, "plant"),
        ({"high": "plant"}, "plant"),
        ({"target": "time"}, "time"),
        ({"high": "load", "low": "load"}, "load"),
    ],
    ids=str,
)
def test_columns_that_cannot_be_used_so(options, column):
    with pytest.raises(UserError) as error:
        Preparation(**options).fit(made())
    assert error.value.column == column
    assert error.value.remedy


@pytest.mark.parametrize(
    "options",
    [{"over": ["load", "other"]}, {"target": ["load", "other"]}, {"target": "load", "low": "heat"}],
)
def test_only_one_column(options):
    with pytest.raises(BadParameter) as error:
        Preparation(**options).fit(made())
    assert error.value.name in options


def test_columns_of_the_context_are_needed():
    fitted = Preparation(by="plant", target="load").fit(made())
    assert set(fitted.needed) == {"plant", "line", "heat", "load", "other"}
    with pytest.raises(UserError, match="other"):
        fitted.transform(made().drop(columns="other"))
