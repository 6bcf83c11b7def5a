"""Fitting the pick, and the next model of the ranking if it fails."""

import numpy as np
import pytest
from made_selection import MODELS, MadeSelection

from metaod.detection._fitted import fit_models, fit_selection
from metaod.detection._sampling import RowIndex
from metaod.detection._threshold import automatic_share
from metaod.errors import BadParameter, UserError
from metaod.models import (
    AverageDetector,
    ModelSpec,
    SpecDetector,
    average_of,
    register_family,
    unregister_family,
)
from metaod.tables import prepare

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(110, 3)), RNG.normal(6, 1, size=(6, 3))])
NEW = np.vstack([RNG.normal(size=(5, 3)), [[20.0, -20.0, 20.0]]])
PREPARED = prepare(X)


class Broken:
    """Fails as ``how`` says."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X):
        if self.how == "raises":
            raise ZeroDivisionError("no\nway")
        if self.how == "memory":
            raise MemoryError
        self.decision_scores_ = X[:, 0].copy()
        self.decision_scores_[: 1 if self.how == "one" else len(X) // 2] = np.nan
        return self

    def decision_function(self, X):
        return np.full(len(X), np.nan)


@pytest.fixture
def broken():
    register_family("Broken", Broken)
    yield lambda how: ModelSpec("Broken", {"how": how}).id
    unregister_family("Broken")


def test_the_pick_is_fitted():
    fitted = fit_selection(MadeSelection(PREPARED), contamination=0.1)
    own = SpecDetector(MODELS[0]).fit(X)
    np.testing.assert_array_equal(fitted.scores, own.decision_scores_)
    assert fitted.threshold == own.threshold_ == fitted.detector.threshold_
    assert fitted.labels.tolist() == own.labels_.tolist()
    assert fitted.weights == {MODELS[0]: 1.0}
    assert fitted.notes == ()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "the detector failed with ZeroDivisionError"),
        ("nan", "58 of 116 scores are NaN or infinite"),
        ("memory", "not enough memory"),
    ],
)
def test_a_failing_model_is_replaced_by_the_next(broken, how, words):
    fitted = fit_selection(MadeSelection(PREPARED, (broken(how), *MODELS)))
    assert list(fitted.weights) == [MODELS[0]]
    assert len(fitted.notes) == 2
    assert fitted.notes[0].startswith(f"{broken(how)} was not used: ")
    assert words in fitted.notes[0]
    assert fitted.notes[1] == f"Used instead: {MODELS[0]}."


def test_undefined_scores_among_duplicates_lead_to_the_next_model():
    table = prepare(np.repeat(RNG.normal(size=(12, 3)), 10, axis=0))
    fitted = fit_selection(MadeSelection(table, ("ABOD(n_neighbors=5)", *MODELS)))
    assert list(fitted.weights) == [MODELS[0]]
    assert "NaN" in fitted.notes[0]
    assert np.isfinite(fitted.scores).all()


def test_other_members_are_averaged_if_one_fails(broken):
    members = (broken("raises"), MODELS[0], MODELS[2])
    average = average_of(*map(ModelSpec.parse, members)).id
    fitted = fit_selection(MadeSelection(PREPARED, (average, *MODELS)))
    assert fitted.weights == {MODELS[2]: 0.5, MODELS[0]: 0.5}
    assert fitted.notes[-1] == f"Used instead: {MODELS[2]} + {MODELS[0]}."
    expected = AverageDetector([MODELS[2], MODELS[0]]).fit(X)
    np.testing.assert_allclose(fitted.scores, expected.decision_scores_)
    np.testing.assert_allclose(fitted.score(NEW), expected.decision_function(NEW))


def test_if_all_members_fail_the_next_average_is_fitted_without_them(broken):
    bad = broken("raises")
    average = average_of(ModelSpec.parse(bad), ModelSpec.parse(MODELS[0])).id
    other = average_of(*map(ModelSpec.parse, MODELS[1:])).id
    fitted = fit_selection(MadeSelection(PREPARED, (bad, average, other)))
    assert fitted.weights == {MODELS[0]: 1.0}
    assert sum(bad in note for note in fitted.notes) == 1
    fitted = fit_selection(MadeSelection(PREPARED, (bad, other, MODELS[0])))
    assert set(fitted.weights) == set(MODELS[1:])


def test_error_if_all_models_fail(broken):
    models = (broken("raises"), broken("nan"))
    with pytest.raises(UserError, match="none of 2 models works") as caught:
        fit_selection(MadeSelection(PREPARED, models))
    assert "\n" not in str(caught.value)


def test_a_few_undefined_scores_are_repaired_and_noted(broken):
    fitted = fit_selection(MadeSelection(PREPARED, (broken("one"),)))
    assert fitted.scores[0] == np.median(fitted.detector.decision_scores_[1:])
    assert fitted.notes == (
        f"{broken('one')} has no score for 1 of 116 rows; they got the median.",
    )
    # new rows without a score likewise
    assert fitted.score(NEW).tolist() == [np.median(fitted.scores)] * len(NEW)


def test_training_rows_keep_their_scores_and_others_are_scored_alone():
    fitted = fit_selection(MadeSelection(PREPARED))
    np.testing.assert_array_equal(fitted.score(X), fitted.scores)
    np.testing.assert_array_equal(fitted.score(X[7:8]), fitted.scores[7:8])
    mixed = fitted.score(np.vstack([X[:3], NEW, X[-2:]]))
    expected = [*fitted.scores[:3], *fitted.detector.decision_function(NEW), *fitted.scores[-2:]]
    np.testing.assert_allclose(mixed, expected)


def test_the_row_index_finds_equal_rows_only():
    index = RowIndex(np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 3.0]]))
    rows = np.array([[-0.0, 1.0], [1.0, 0.0], [np.nextafter(2.0, 3.0), 3.0], [2.0, 3.0]])
    places, is_known = index.find(rows)
    assert is_known.tolist() == [True, False, False, True]
    assert places[is_known].tolist() == [0, 2]


def test_the_seed_reaches_random_models():
    models = (MODELS[1],)
    scores = [
        fit_selection(MadeSelection(PREPARED, models), random_state=seed).scores
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


def test_jobs_do_not_change_scores():
    models = (MODELS[1],)
    one, two = (fit_selection(MadeSelection(PREPARED, models), n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    assert two.detector.n_jobs == 2


def test_exactly_these_models(broken):
    models = [ModelSpec.parse(MODELS[n]) for n in (0, 2)]
    fitted = fit_models(models, X, contamination=0.2, n_reference=len(X))
    assert isinstance(fitted.detector, AverageDetector)
    assert fitted.labels.sum() == 23
    with pytest.raises(UserError, match="ZeroDivisionError"):
        fit_models([ModelSpec.parse(broken("raises"))], X, n_reference=len(X))


@pytest.mark.parametrize("members", [MODELS[:1], MODELS[::2]], ids=["one", "two"])
@pytest.mark.parametrize("share", ["auto", 0.03])
def test_the_detector_flags_what_is_flagged(members, share):
    specs = [ModelSpec.parse(name) for name in members]
    pick = specs[0] if len(specs) == 1 else average_of(*specs)
    fitted = fit_selection(MadeSelection(PREPARED, (pick.id,)), contamination=share)
    assert fitted.detector.threshold_ == fitted.threshold
    assert fitted.detector.labels_.tolist() == fitted.labels.tolist()
    expected = automatic_share(fitted.scores) if share == "auto" else share
    assert fitted.detector.contamination == expected
    assert fitted.detector.predict(NEW).tolist() == [0] * 5 + [1]


def test_ties_that_keep_rows_from_being_flagged_are_noted():
    tied = np.repeat([[0.0], [1.0]], 60, axis=0)
    fitted = fit_selection(MadeSelection(prepare(tied), (MODELS[2],)), contamination=0.1)
    assert fitted.labels.sum() == 0
    assert fitted.ties.startswith("0 of 120 rows are flagged instead of 12 (10.0%): too many")
    assert fitted.all_notes == (fitted.ties,)
    assert fit_selection(MadeSelection(PREPARED), contamination=0.1).all_notes == ()


@pytest.mark.parametrize("share", [0, 0.6, "much", None, True])
def test_illegal_shares_are_refused_before_fitting(share, broken):
    with pytest.raises(BadParameter, match="contamination"):
        fit_selection(MadeSelection(PREPARED, (broken("memory"),)), contamination=share)
