"""``metaod.check``: later rows against a fitted table."""

import io
import json
from collections import Counter

import numpy as np
import pytest
from made_findings import FarFinder
from made_months import orders
from made_selection import pick_with

import metaod
from metaod.artifacts import read_container, write_container
from metaod.detection import _cells as cells
from metaod.detection import _held_out as held_out
from metaod.errors import BadParameter, UserError
from metaod.wrong_cells import WrongCells

FOREST = "IForest(n_estimators=20, max_features=0.5)"


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Pick without a learner, and find far numbers as wrong cells."""
    with pytest.MonkeyPatch.context() as patch:
        pick_with(patch, FOREST)
        patch.setattr(cells, "WrongCellFinder", FarFinder)
        yield


@pytest.fixture(scope="module")
def model():
    """A fitted estimator, whose rows are held out once."""
    return metaod.MetaOD().fit(orders("2024-01", 0, 600))


@pytest.fixture
def later():
    return orders("2024-02", 1, 400)


def kinds(found):
    return Counter(own.kind for own in found.schema)


def test_ordinary_rows_pass_and_planted_errors_fail(model, later):
    clean = metaod.check(later, model)
    assert clean.passed
    assert clean.n_flagged <= 0.01 * 400 + 3
    assert clean.schema == clean.drift == clean.problems == ()
    wrong = [3, 70, 200, 201, 333, 350, 360, 380]
    later.loc[wrong[:4], "price"] *= 1000
    later.loc[wrong[4:], "weight"] = -99_000
    found = metaod.check(later, model)
    assert not found.passed
    assert found.flags[wrong].all()
    assert {found.findings[row][0].column for row in wrong} == {"price", "weight"}
    assert set(found.findings) <= set(found.rows.tolist())
    assert (np.diff(found.p_values[found.rows]) >= 0).all()
    document = json.loads(json.dumps(found.to_dict()))
    assert document["n_flagged"] == len(document["rows"]) == found.flags.sum()
    assert document["rows"][0]["row"] == found.rows[0] + 1
    assert {"price", "weight"} & {cell["column"] for cell in document["rows"][0]["wrong"]}


def test_a_saved_pick_gives_the_same_p_values(model, later, tmp_path):
    model.save(tmp_path / "pick.mod")
    later.to_csv(tmp_path / "later.csv", index=False)
    expected = metaod.check(later, model).p_values
    np.testing.assert_array_equal(metaod.check(later, tmp_path / "pick.mod").p_values, expected)
    read = metaod.check(tmp_path / "later.csv", str(tmp_path / "pick.mod"))
    np.testing.assert_array_equal(read.p_values, expected)


def test_rows_do_not_depend_on_the_order_of_columns(model, later):
    found = metaod.check(later[later.columns[::-1]], model)
    assert kinds(found) == {"order": 1}
    assert "'price'" in found.schema[0].detail
    assert found.passed
    np.testing.assert_array_equal(found.p_values, metaod.check(later, model).p_values)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda f: f.drop(columns="weight"), {"missing": 1}),
        (lambda f: f.drop(columns="row"), {"missing": 1}),  # not used for scores
        (lambda f: f.rename(columns={"weight": "Weight "}), {"missing": 1, "new": 1}),
        (lambda f: f.assign(price=[f"no. {p}" for p in f["price"]]), {"type": 1}),
        (lambda f: f.assign(plant=range(len(f))), {"type": 1}),
    ],
    ids=["missing", "missing, unused", "renamed", "number to text", "text to number"],
)
def test_changed_columns_are_findings(model, later, change, expected):
    found = metaod.check(change(later), model)
    assert kinds(found) == expected
    assert not found.passed
    assert found.problems[0] == found.schema[0].sentence()
    if "new" in expected:
        assert "'Weight '" in found.schema[0].detail
    has_scores = "weight" in change(later)
    assert (found.found is not None) == has_scores == (len(found.p_values) == 400)
    json.dumps(found.to_dict())


def test_numbers_with_a_unit_are_described_as_such(model, later):
    text = io.StringIO(
        later.assign(weight=[f"{own:.2f} kg" for own in later["weight"]]).to_csv(index=False)
    )
    [change] = metaod.check(metaod.read_table(text), model).schema
    assert (
        change.detail
        == "400 of 400 values are numbers with the unit 'kg', and were not in the first table"
    )


def test_new_columns_and_columns_that_the_user_ignores_are_no_findings(later):
    model = metaod.MetaOD(ignore="clerk").fit(orders("2024-01", 0, 300))
    found = metaod.check(later.drop(columns="clerk").assign(note="x"), model)
    assert found.passed
    assert kinds(found) == {"new": 1}


def test_drift_is_a_finding(model, later):
    found = metaod.check(later.assign(humidity=later["humidity"] + 0.5), model)
    assert {own.column for own in found.drift} == {"humidity"}
    assert any("humidity" in text for text in found.problems)


def test_the_number_of_flagged_rows_that_pass_is_the_users_choice(model, later):
    later.loc[:2, "price"] *= 1000
    n_flagged = metaod.check(later, model).n_flagged
    assert n_flagged >= 3
    assert metaod.check(later, model, max_findings=n_flagged).passed
    assert not metaod.check(later, model, max_findings=n_flagged - 1).passed


def test_false_discoveries_are_another_promise(model, later):
    later.loc[:29, "price"] *= 1000
    found = metaod.check(later, model, false_discoveries=0.1)
    assert found.flags[:30].all()
    assert found.flags[30:].sum() <= 9
    assert not found.passed
    few = metaod.check(later.iloc[29:], model, false_discoveries="5%")
    assert (few.certain.tolist(), len(few.notes)) == (few.flags.tolist(), 1)


def test_a_small_table_promises_what_it_can(later):
    model = metaod.MetaOD().fit(orders("2024-01", 0, 100))
    found = metaod.check(later, model)
    assert found.promise.false_alarms == pytest.approx(1 - 0.05 ** (1 / 100))
    assert [note.code for note in found.notes] == ["few-rows"]
    with pytest.raises(UserError) as error:
        metaod.check(later, model, false_alarms="1%")
    assert error.value.code == "few-rows"
    assert error.value.remedy.values["set"].value == 0.03
    assert metaod.check(later, model, false_alarms=0.03).notes == ()


def test_marked_outliers_are_not_compared_with():
    frame = orders("2024-01", 0, 200)
    frame.loc[:9, "price"] *= 1000
    marks = dict.fromkeys(range(10), True) | {50: False}
    marked, plain = (metaod.MetaOD().fit(frame, marks=own) for own in (marks, None))
    assert (marked.calibration().n_rows, plain.calibration().n_rows) == (190, 200)
    new = frame.iloc[[3, 60]].assign(price=lambda rows: rows["price"] + 0.01)
    found, before = metaod.check(new, marked), metaod.check(new, plain)
    assert found.p_values[0] <= 2 / 191
    assert before.p_values[0] > 2 / 201


def test_rows_are_scored_by_marks_with_their_wrong_cells(later):
    frame = orders("2024-01", 0, 200)
    frame.loc[[7, 9], "price"] *= 1000
    model = metaod.MetaOD().fit(frame, marks={7: True, 50: False, 51: False})
    later.loc[3, "price"] *= 1000
    scores = metaod.check(later, model).found.scores
    np.testing.assert_allclose(scores, -model.score_samples(later))


def test_arrays_are_taken_by_position():
    rng = np.random.default_rng(0)
    model = metaod.MetaOD(rows_only=True).fit(rng.normal(size=(120, 3)))
    found = metaod.check(np.array([[9.0, 9, 9], [0, 0, 0]]), model)
    assert found.flags.tolist() == [True, False]
    assert found.by_answer.shape == (2, 1)
    assert (found.schema, found.findings) == ((), {})


def test_a_pick_without_held_out_rows_is_refused(model, later, tmp_path):
    model.save(tmp_path / "pick.mod")
    content = read_container(tmp_path / "pick.mod", "pick")
    content["calibration"] = None
    write_container(tmp_path / "old.mod", "pick", content)
    with pytest.raises(UserError) as error:
        metaod.check(later, tmp_path / "old.mod")
    assert error.value.code == "no-calibration"
    content["calibration"] = {"statistics": np.zeros((5, 1)), "n_block": 1}
    write_container(tmp_path / "bad.mod", "pick", content)
    with pytest.raises(UserError, match="other statistics"):
        metaod.check(later, tmp_path / "bad.mod")


@pytest.mark.parametrize(
    "given",
    [{"false_alarms": 0}, {"false_alarms": "auto"}, {"false_discoveries": 0.9},
     {"max_findings": -1}],
    ids=str,
)  # fmt: skip
def test_wrong_promises_are_refused(model, later, given):
    with pytest.raises(BadParameter) as error:
        metaod.check(later, model, **given)
    assert error.value.owner == "check"


def test_one_promise_is_kept(model, later):
    with pytest.raises(UserError) as error:
        metaod.check(later, model, false_alarms=0.1, false_discoveries=0.1)
    assert error.value.code == "two-promises"


def test_copies_of_a_row_are_judged_together(model, later):
    later.loc[300] = later.loc[3].where(later.columns != "number", 7)  # a number of its own
    order = model.cells_.arranged(metaod.read_table(later)).tolist()
    assert sorted(order) == list(range(400))
    assert abs(order.index(3) - order.index(300)) == 1


def test_large_tables_are_held_out_in_part(monkeypatch):
    monkeypatch.setattr(held_out, "_ENOUGH", 100)
    model = metaod.MetaOD().fit(orders("2024-01", 0, 700))
    assert model.calibration().n_rows == 100  # one part, of which as many as are enough
    assert metaod.check(orders("2024-02", 1, 300), model, false_alarms=0.05).n_flagged <= 30


def test_rows_of_a_new_group_are_noted_and_do_not_drift(later):
    model = metaod.MetaOD(by="plant").fit(orders("2024-01", 0, 300))
    is_new = later["plant"] == "Oslo"
    later = later.assign(plant=later["plant"].mask(is_new, "Kyiv"))
    later.loc[is_new, "weight"] += 2
    found = metaod.check(later, model)
    [note] = [own for own in found.notes if getattr(own, "code", "") == "new-groups"]
    assert (note.values["n"], note.values["names"]) == (f"{is_new.sum()}", "'Kyiv'")
    assert {own.column for own in found.drift}.isdisjoint({"weight", "price"})
    assert str(note) in found.to_dict()["notes"]


def test_equal_errors_are_certain_if_the_whole_file_says_so(model, later, monkeypatch):
    def find(self, table, *args, **options):
        found = FarFinder.find(self, table)
        score = 0.95 if len(found.cells) >= 20 else 0.5  # as in a block of the rows
        return WrongCells(found.cells.assign(score=score), found.row_scores)

    wrong = np.arange(0, 400, 20)
    later.loc[wrong, "price"] *= 10_000
    monkeypatch.setattr(model.cells_._finder, "find", find.__get__(model.cells_._finder))
    found = metaod.check(later, model)
    assert found.certain.nonzero()[0].tolist() == wrong.tolist()
    assert not found.passed


def test_the_column_of_file_names_is_neither_checked_nor_required(later, tmp_path):
    for place, part in enumerate(np.array_split(np.arange(400), 2)):
        later.iloc[part].to_csv(tmp_path / f"part{place}.csv", index=False)
    later.to_csv(tmp_path / "all.csv", index=False)
    files, one = tmp_path / "part*.csv", tmp_path / "all.csv"
    of_files, of_one = (metaod.MetaOD().fit(metaod.read_table(own)) for own in (files, one))
    assert "file" not in of_files.cells_.names
    changed = metaod.update(of_files, orders("2024-03", 2, 200))
    for model, own in ((of_files, one), (of_one, files), (of_files, files), (changed, one)):
        assert metaod.check(own, model).schema == ()


def test_rows_with_the_same_error_are_one_pattern(model, later):
    later.loc[[3, 70, 200], "price"] = 99_000_000.0
    later.loc[300, "weight"] = -99_000
    found = metaod.check(later, model)
    assert [sorted(own.rows) for own in found.patterns] == [[3, 70, 200]]
    assert found.to_dict()["patterns"][0]["columns"] == ["price"]
