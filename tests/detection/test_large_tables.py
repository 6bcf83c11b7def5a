"""Large tables: models learn from a sample, and all rows are scored against it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from made_selection import MODELS, MadeSelection
from scipy.stats import spearmanr

import metaod
from metaod.detection import _fitted, _sampling, detect
from metaod.detection._fitted import fit_selection
from metaod.errors import UserError
from metaod.models import ModelSpec, _new_rows, average_of, register_family, unregister_family
from metaod.models._family import ALL_ROWS_UP_TO
from metaod.tables import prepare, read_table

LEARNED_ROWS = ModelSpec.learned_rows
RNG = np.random.default_rng(0)
N = 900
X = np.vstack([RNG.normal(size=(N - 20, 4)) @ RNG.normal(size=(4, 4)), RNG.normal(9, 1, (20, 4))])
X = X[RNG.permutation(N)]
FAST = {"exclude": ["IForest", "SCiForest"]}


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    learn(monkeypatch, 320, of_more_than=400)
    monkeypatch.setattr(_sampling, "BLOCK", 128)
    monkeypatch.setattr(_new_rows, "LEAST_ROWS", 100)


def learn(monkeypatch, n_rows, *, of_more_than):
    """Set the sample of every model."""
    rule = lambda _, n: n if n <= of_more_than else n_rows  # noqa: E731 - one line
    monkeypatch.setattr(ModelSpec, "learned_rows", rule)


def fitted(table=X, **options):
    return metaod.MetaOD(**{**FAST, **options}).fit(table)


def test_a_table_at_the_limit_is_learned_whole():
    whole = fitted(X[:400])
    assert whole.fitted_.reference is None
    above = fitted(X[:401])
    assert len(above.fitted_.reference) == 320
    assert len(above.detector_.decision_scores_) == 320
    assert len(above.decision_scores_) == len(above.labels_) == 401
    assert any("learned from 320 of 401 rows" in str(note) for note in above.notes_)
    assert not any("learned from" in str(note) for note in whole.notes_)


def test_a_single_model_of_a_fast_family_learns_from_more_rows(monkeypatch):
    monkeypatch.setattr(ModelSpec, "learned_rows", LEARNED_ROWS)
    table = np.random.default_rng(1).normal(size=(ALL_ROWS_UP_TO + 1, 3))
    model = metaod.MetaOD(space=["COPOD"], pick="learned-single").fit(table)
    whole = ModelSpec("COPOD").to_pyod().fit(model.fitted_.X)
    np.testing.assert_array_equal(model.decision_scores_, whole.decision_scores_)
    assert not any("learned from" in str(note) for note in model.notes_)


@pytest.fixture(scope="module")
def long_table():
    rng = np.random.default_rng(1)
    return rng.normal(size=(ALL_ROWS_UP_TO + 500, 3))


def test_a_sampled_single_model_is_the_same_after_a_reload(monkeypatch, long_table, tmp_path):
    monkeypatch.setattr(ModelSpec, "learned_rows", LEARNED_ROWS)
    model = metaod.MetaOD(space=["KNN"], pick="learned-single").fit(long_table)
    assert len(model.fitted_.reference) == ALL_ROWS_UP_TO
    assert any("learned from 20,000 of 20,500 rows" in str(note) for note in model.notes_)
    model.save(tmp_path / "pick.mod")
    again = metaod.load(tmp_path / "pick.mod")
    new = long_table[:50] + 0.01
    np.testing.assert_allclose(again.score_samples(new), model.score_samples(new), rtol=1e-9)
    np.testing.assert_array_equal(-again.score_samples(long_table), model.decision_scores_)


def test_an_average_that_falls_back_to_a_single_model_draws_its_own_sample(monkeypatch, long_table):
    monkeypatch.setattr(ModelSpec, "learned_rows", LEARNED_ROWS)
    unfit = ModelSpec.parse("LOF(n_neighbors=20, metric=euclidean)")
    alone = ModelSpec.parse("COPOD()")
    average = average_of(unfit, ModelSpec.parse("KNN(n_neighbors=5, method=largest)"))
    selection = MadeSelection(prepare(long_table), (average.id, alone.id))
    monkeypatch.setattr(_fitted, "_fit", failing_for("LOF", "KNN"))
    fitted_to = fit_selection(selection)
    assert fitted_to.reference is None
    assert list(fitted_to.weights) == [alone.id]


def failing_for(*detectors):
    real = _fitted._fit

    def fit(spec, **options):
        if spec.detector in detectors:
            raise UserError("it fails")
        return real(spec, **options)

    return fit


def test_a_saved_pick_tells_that_its_own_table_was_large():
    found = detect(read_table(X[:50]), model=fitted())
    assert any(str(note).startswith("When the pick was fitted: The models") for note in found.notes)


def test_the_sample_is_drawn_by_the_seed_and_in_order():
    first, again, other = (_sampling.reference_rows(X, 320, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (np.diff(first) > 0).all()
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(fitted().decision_scores_, fitted().decision_scores_)


def test_rows_of_the_sample_keep_their_training_scores_and_others_are_new():
    model = fitted().fitted_
    np.testing.assert_array_equal(model.scores[model.reference], model.detector.decision_scores_)
    others = np.setdiff1d(np.arange(N), model.reference)
    np.testing.assert_array_equal(model.scores[others], model.detector.decision_function(X[others]))


def test_a_training_row_is_scored_as_in_training():
    model = fitted(exclude=None)
    np.testing.assert_array_equal(-model.score_samples(X), model.decision_scores_)
    np.testing.assert_array_equal(-model.score_samples(X[5:6]), model.decision_scores_[5:6])


def test_equal_rows_have_equal_scores():
    table = np.round(X)
    model = fitted(table)
    groups = pd.DataFrame(table).assign(score=model.decision_scores_).groupby([0, 1, 2, 3]).score
    assert len(groups) < N
    assert (groups.min() == groups.max()).all()


def test_ranks_are_those_of_the_whole_table(monkeypatch):
    sampled = fitted(exclude=None).decision_scores_
    learn(monkeypatch, 320, of_more_than=N)
    whole = fitted(exclude=None).decision_scores_
    assert spearmanr(sampled, whole).statistic > 0.9
    assert set(np.argsort(-sampled)[:20]) == set(np.argsort(-whole)[:20])


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_scores_do_not_depend_on_threads(n_jobs):
    one, many = fitted(exclude=None), fitted(exclude=None, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.decision_scores_, many.decision_scores_)
    assert one.threshold_ == many.threshold_
    new = X + 0.01
    np.testing.assert_array_equal(one.score_samples(new), many.score_samples(new))


def test_a_column_that_is_constant_in_the_sample_is_not_lost():
    rare = np.zeros(N)
    drawn = _sampling.reference_rows(X, 320, 0)
    odd = np.setdiff1d(np.arange(N), drawn)[:3]
    rare[odd] = 1.0
    table = np.column_stack([X, rare])
    model = fitted(table)
    assert {0.0, 1.0} == set(table[model.fitted_.reference, 4])
    plain = fitted(exclude=None)
    assert (model.decision_scores_[odd] > plain.decision_scores_[odd]).all()


def test_rare_categories_need_not_be_in_the_sample():
    names = pd.cut(X[:, 0], 8, labels=list("abcdefgh")).astype(object)
    odd = np.setdiff1d(np.arange(N), _sampling.reference_rows(X, 320, 0))[:3]
    names[odd] = "rare"
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(name=names)
    model = fitted(frame)
    assert len(model.preparation_.names_) > 4
    assert np.isfinite(model.decision_scores_).all()
    np.testing.assert_array_equal(-model.score_samples(frame), model.decision_scores_)


def test_saved_pick_holds_the_sample_alone(tmp_path):
    model = fitted(exclude=None)
    model.save(tmp_path / "pick.mod")
    loaded = metaod.load(tmp_path / "pick.mod", n_jobs=2)
    assert len(loaded.fitted_.X) == 320
    np.testing.assert_allclose(-loaded.score_samples(X), model.decision_scores_, rtol=1e-9)
    assert loaded.threshold_ == model.threshold_
    assert loaded.n_jobs == 2


def test_saved_marks_of_rows_outside_the_sample(tmp_path):
    model = fitted()
    outside = np.setdiff1d(np.arange(N), model.fitted_.reference)
    marks = {int(outside[3]): True, int(outside[8]): False, int(model.fitted_.reference[0]): False}
    marked = metaod.MetaOD(**{**FAST, "rows_only": True}).fit(X, marks=marks)
    marked.save(tmp_path / "pick.mod")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = metaod.load(tmp_path / "pick.mod")
    assert len(loaded.fitted_.X) == 322
    scores = -loaded.score_samples(X)
    rest = np.setdiff1d(np.arange(N), list(marks))
    np.testing.assert_allclose(scores[rest], marked.decision_scores_[rest], atol=1e-5)
    assert scores.argmax() == outside[3]
    assert scores.argmin() in marks


def test_reasons_and_report():
    model = fitted(pd.DataFrame(X, columns=list("pqrs")))
    found = model.explain_rows(top=2)
    assert all(row.reasons for row in found[:5])
    assert "learned from 320 of 900 rows" in model.report()


class WithoutNewRows:
    """Cannot score rows that it has not learned from."""

    def fit(self, X):
        self.decision_scores_ = X[:, 0].copy()
        return self


def test_a_model_that_cannot_score_new_rows_is_replaced():
    register_family("Here", WithoutNewRows)
    try:
        found = fit_selection(MadeSelection(prepare(X), ("Here()", MODELS[0])))
    finally:
        unregister_family("Here")
    assert list(found.weights) == [MODELS[0]]
    assert (
        "Here() was not used: it cannot score rows that it has not learned from" in found.notes[0]
    )


def test_members_that_become_the_same_model_keep_their_votes():
    models = [ModelSpec("KNN", {"n_neighbors": k, "method": "largest"}) for k in (10, 12, 200)]
    selection = MadeSelection(prepare(X), (average_of(*models).id,))
    weights = fit_selection(selection).weights
    assert weights["KNN(n_neighbors=10, method=largest)"] == pytest.approx(2 / 3)
    assert sum(weights.values()) == pytest.approx(1.0)
