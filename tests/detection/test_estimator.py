"""``MetaOD`` keeps the conventions of scikit-learn and PyOD."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from made_selection import MODELS
from mixed_frames import large_frames
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from metaod.detection import MetaOD, check, detect, load
from metaod.errors import BadParameter, UserError
from metaod.models import SpecDetector
from metaod.selection import make_selection
from metaod.tables import read_table

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(76, 3)), RNG.normal(8, 1, size=(4, 3))])
NEW = np.vstack([RNG.normal(size=(5, 3)), [[30.0, -30.0, 30.0]]])
MIXED = pd.DataFrame(
    {
        "age": [31.0, None, 44.0, 29.0, 51.0, 38.0] * 5 + [400.0, 33.0],
        "sex": ["f", "m", None, "f", "m", "f"] * 5 + ["m", "x"],
        "member": [True, False] * 16,
    }
)


pytestmark = pytest.mark.usefixtures("quick_pick")


@parametrize_with_checks([MetaOD(), MetaOD(rows_only=True)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# signs


def test_signs_of_scikit_learn_and_pyod():
    model = MetaOD(contamination=0.05).fit(X)
    assert model.labels_.tolist() == [0] * 76 + [1] * 4
    assert model.fit_predict(X).tolist() == [1] * 76 + [-1] * 4
    assert model.predict(X).tolist() == [1] * 76 + [-1] * 4
    np.testing.assert_array_equal(model.labels_ == 1, model.decision_scores_ > model.threshold_)
    np.testing.assert_array_equal(model.score_samples(X), -model.decision_scores_)
    assert model.offset_ == -model.threshold_
    scores = model.score_samples(NEW)
    np.testing.assert_array_equal(model.decision_function(NEW), scores - model.offset_)
    np.testing.assert_array_equal(model.predict(NEW) == -1, model.decision_function(NEW) < 0)
    assert model.predict(NEW)[-1] == -1
    assert scores.argmin() == len(NEW) - 1


def test_parameters_reach_the_selection():
    model = MetaOD(pick="learned-single", exclude=["LOF"], space="paper", max_seconds=3.0).fit(X)
    expected = {"space": "paper", "exclude": ["LOF"], "max_seconds": 3.0, "pick": "learned-single"}
    assert model.selection_.picking.given() == expected


# tables


def test_text_and_missing_values():
    model = MetaOD(contamination=0.04).fit(MIXED)
    assert model.labels_.argmax() == 30
    assert model.feature_names_in_.tolist() == ["age", "sex", "member"]
    assert model.n_features_in_ == 3
    new = pd.DataFrame({"age": [None, 35.0], "sex": ["never seen", None], "member": [True, False]})
    assert model.predict(new).shape == (2,)
    np.testing.assert_allclose(
        np.concatenate([model.score_samples(new[:1]), model.score_samples(new[1:])]),
        model.score_samples(new),
    )


def test_columns_in_use_are_found_by_name():
    frame = MIXED.assign(one=1, id=range(len(MIXED)))
    model = MetaOD(ignore="sex").fit(frame)
    expected = model.score_samples(frame)
    for new in (
        frame[["member", "id", "sex", "one", "age"]],
        frame[["age", "member"]],
        frame[["member", "age"]].assign(more="x"),
        read_table(frame[["member", "age"]]),
        pl.from_pandas(frame[["member", "age"]]),
        pa.Table.from_pandas(frame[["member", "age"]]),
        pa.Table.from_pandas(frame[["member", "age"]]).to_reader(),
        duckdb.connect().from_arrow(pa.Table.from_pandas(frame[["member", "age"]])),
    ):
        np.testing.assert_array_equal(model.score_samples(new), expected)
    with pytest.raises(ValueError, match=r"names should match(.|\n)*now missing:\n- age\n$"):
        model.predict(frame[["sex", "member"]])
    with pytest.raises(ValueError, match="3 features"):
        MetaOD().fit(X).predict(X[:, :2])


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        pd.DataFrame,
        read_table,
        scipy.sparse.csr_matrix,
    ],
    ids=["list", "object", "frame", "table", "sparse"],
)
def test_the_form_of_a_table_does_not_matter(form):
    expected = MetaOD().fit(X)
    model = MetaOD().fit(form(X))
    np.testing.assert_allclose(model.decision_scores_, expected.decision_scores_)
    np.testing.assert_allclose(model.score_samples(form(NEW)), expected.score_samples(NEW))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="minimum of 2"):
        MetaOD().fit(X[:1])
    with pytest.raises(UserError, match="only one row"):
        MetaOD().fit(MIXED[:1])


def test_notes_describe_the_preparation():
    frame = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["a", "b"])
    assert MetaOD().fit(frame).notes_ == ()
    frame.loc[5, "a"] = np.inf
    assert MetaOD().fit(frame).notes_ == ("Treated as missing: 1 infinite value in 'a'.",)
    frame["c"] = np.nan
    frame["d"] = frame["b"].where(frame.index < 120)
    notes = MetaOD().fit(frame).notes_
    assert "Columns that the scores do not use: empty: 'c'." in notes
    assert "Missing in most rows and filled in: 'd'." in notes
    frame.loc[100:, "b"] = np.nan
    assert any("of the values were missing" in str(note) for note in MetaOD().fit(frame).notes_)


# conventions


def test_nothing_is_checked_before_fit():
    model = MetaOD(contamination="much", random_state="dice")
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(BadParameter, match="contamination"):
        model.fit(X)
    with pytest.raises(BadParameter, match="random_state"):
        MetaOD(random_state="dice").fit(X)


@pytest.mark.parametrize("n_jobs", [0, "a", 1.5, True], ids=repr)
def test_illegal_n_jobs_are_refused(n_jobs):
    with pytest.raises(BadParameter, match="'n_jobs' parameter of MetaOD"):
        MetaOD(n_jobs=n_jobs).fit(X)
    with pytest.raises(BadParameter, match="'n_jobs' parameter of SpecDetector"):
        SpecDetector(MODELS[0], n_jobs=n_jobs).fit(X)
    assert MetaOD(n_jobs=-1).fit(X).labels_.sum()


@pytest.mark.parametrize(
    "parameters", [{"learner": "nobody"}, {"max_seconds": 0}, {"exclude": 5}, {"pick": "both"}]
)
def test_errors_of_picking_name_the_estimator(monkeypatch, parameters):
    monkeypatch.setattr("metaod.detection._estimator.make_selection", make_selection)
    [name] = parameters
    with pytest.raises(BadParameter, match=f"'{name}' parameter of MetaOD "):
        MetaOD(**parameters).fit(X)


def test_not_fitted_yet():
    with pytest.raises(NotFittedError):
        MetaOD().predict(X)
    with pytest.raises(NotFittedError):
        MetaOD().save("nowhere")
    for use in (check, detect):
        with pytest.raises(NotFittedError):
            use(read_table(X), **{"pick" if use is check else "model": MetaOD()})


def test_an_int_is_the_seed_and_a_random_state_gives_one_a_fit():
    for seed in (7, np.int64(7)):
        assert MetaOD(random_state=seed).fit(X).fitted_.seed == 7
    state = np.random.RandomState(3)
    seeds = [MetaOD(random_state=state).fit(X).fitted_.seed for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert MetaOD(random_state=np.random.RandomState(3)).fit(X).fitted_.seed == seeds[0]
    assert MetaOD(random_state=None).fit(X).fitted_.seed >= 0


def test_in_a_pipeline_with_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), MetaOD(contamination=0.05)).set_output(
        transform="pandas"
    )
    assert pipeline.fit_predict(frame).tolist() == [1] * 76 + [-1] * 4
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    assert pipeline.score_samples(frame[:4]).shape == (4,)


def test_scores_of_new_rows_do_not_depend_on_the_rows_beside_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=200),
            "zone": rng.choice(["1.0", "2.0", "2.5", "north"], 200),
            "ward": rng.choice([*"123456789", "A", "B", "C"], 200),
        }
    )
    model = MetaOD(space=["PCA"], pick="learned-single").fit(frame)
    digits = frame[frame["ward"].str.isdigit()].head(19)
    batch = pd.concat([digits, frame[frame["ward"] == "A"].head(1)]).assign(a=lambda t: t.a + 0.1)
    alone = [float(model.score_samples(batch.iloc[[row]])[0]) for row in range(len(batch))]
    np.testing.assert_allclose(model.score_samples(batch), alone)


# roles of columns


def test_roles_survive_clone_and_reach_the_preparation():
    roles = {"ignore": ["member"], "category": ("age",)}
    model = clone(MetaOD(**roles)).fit(MIXED)
    assert {name: model.get_params()[name] for name in roles} == roles
    kinds = {column.name: column.kind for column in model.preparation_.record_.columns}
    assert kinds == {"age": "category", "sex": "category", "member": "ignored"}
    model.set_params(ignore=None, category=None).fit(MIXED)
    assert model.preparation_.record_.columns[0].kind == "numeric"


def test_a_saved_pick_keeps_the_roles(tmp_path):
    model = MetaOD(ignore="member", id="sex").fit(MIXED)
    model.save(tmp_path / "pick.mod")
    loaded = load(tmp_path / "pick.mod")
    assert (loaded.ignore, loaded.id, loaded.only) == (["member"], ["sex"], None)
    np.testing.assert_array_equal(loaded.predict(MIXED), model.predict(MIXED))


# frames and arrays


def test_rows_are_taken_by_position_with_a_warning_if_one_side_has_no_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    without, with_names = "X does not have valid feature names, but", "X has feature names, but"
    forms = [(frame, rows, without) for rows in (X, X.tolist(), scipy.sparse.csr_matrix(X))]
    for fitted, rows, told in [*forms, (X, frame, with_names)]:
        model = MetaOD().fit(fitted)
        with pytest.warns(UserWarning, match=f"{told} MetaOD"):
            scores = model.score_samples(rows)
        np.testing.assert_array_equal(scores, -model.decision_scores_)


def test_drift_is_a_warning_and_a_method():
    model = MetaOD().fit(X[:76])
    assert model.drift(X[:76]) == ()
    moved = X[:76] + np.array([0, 50, 0])
    with pytest.warns(UserWarning, match=r"'x2'.*100.0"):
        model.predict(moved)
    [drift] = model.drift(moved)
    assert (drift.column, drift.kind, drift.n_rows) == ("x2", "range", 76)
    with pytest.raises(NotFittedError):
        MetaOD().drift(X)


@pytest.mark.parametrize("name", large_frames())
def test_frames_of_every_kind_give_finite_scores_or_a_clear_error(name):
    frame = large_frames()[name]
    try:
        model = MetaOD().fit(frame)
    except UserError as error:
        assert "\n" not in str(error)
        return
    assert np.isfinite(model.decision_scores_).all()
    assert np.isfinite(model.score_samples(frame)).all()


# what users give


def test_masked_values_are_missing():
    masked = np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) % 7 == 0)
    model = MetaOD(rows_only=True).fit(masked)
    expected = MetaOD(rows_only=True).fit(masked.filled(np.nan))
    np.testing.assert_array_equal(model.decision_scores_, expected.decision_scores_)
    later = model.score_samples(np.ma.masked_greater(NEW, 20))
    np.testing.assert_array_equal(later, model.score_samples(np.where(NEW > 20, np.nan, NEW)))


def test_rows_to_explain_are_positions_or_a_mask():
    model = MetaOD(rows_only=True).fit(X)
    expected = model.explain_rows([78, 79])
    assert model.explain_rows(pd.Series([78, 79])) == expected
    assert model.explain_rows(np.arange(len(X)) > 77) == expected
    for wrong in ([1.0], [True, False], 0.5, ["a"]):
        with pytest.raises(BadParameter) as found:
            model.explain_rows(wrong)
        assert (found.value.name, found.value.got) == ("rows", wrong)


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        (pl.DataFrame({"a": [1, 2]}).lazy(), "collect()"),
        (pl.Series([1, 2]), "to_frame()"),
        (None, ""),
    ],
    ids=["lazy", "column", "nothing"],
)
def test_what_is_no_table_is_refused(table, remedy):
    with pytest.raises(BadParameter) as found:
        MetaOD().fit(table)
    assert remedy in (found.value.remedy or "")


def test_a_word_is_no_switch():
    with pytest.raises(BadParameter) as found:
        MetaOD(rows_only="no").fit(X)
    assert found.value.name == "rows_only"
    assert MetaOD(rows_only=np.bool_(True)).fit(X).cells_ is None
