"""The detector a user gets: PyOD's interface, the spec's scaling inside."""

import numpy as np
import pytest
from pyod.models.base import BaseDetector
from pyod.models.knn import KNN
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from metaod.errors import BadParameter, UserError
from metaod.models import ModelSpec, SpecDetector, register_family, unregister_family

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(140, 4)), RNG.normal(6, 1, size=(8, 4))]) * [1, 100, 1e-3, 5] + 7


def test_the_interface_is_pyods():
    spec = ModelSpec.parse("KNN(n_neighbors=5, method=mean)")
    detector = spec.to_pyod(random_state=3, contamination=0.05).fit(X)
    assert isinstance(detector, BaseDetector)
    plain = KNN(n_neighbors=5, method="mean").fit(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(detector.decision_scores_, plain.decision_scores_, rtol=1e-9)
    assert detector.threshold_ == pytest.approx(np.percentile(plain.decision_scores_, 95))
    assert detector.labels_.sum() == 8
    assert detector.predict(X).shape == (148,)
    assert detector.predict_proba(X).shape == (148, 2)


def test_new_rows_are_scaled_by_the_training_table():
    detector = ModelSpec.parse("IForest(n_estimators=50, max_features=0.5)").to_pyod(random_state=0)
    detector.fit(X)
    np.testing.assert_allclose(detector.decision_function(X), detector.decision_scores_)
    assert detector.decision_function(X[:1] + 1e6)[0] > np.median(detector.decision_scores_)


@pytest.mark.parametrize("model", ["KNN()", 'ZAverage(members="ECOD() + KNN()")'])
@pytest.mark.parametrize("columns", [[0, 1, 2], [0, 1, 2, 3, 3]])
def test_new_rows_with_other_columns_are_refused(model, columns):
    detector = ModelSpec.parse(model).to_pyod().fit(X)
    with pytest.raises(BadParameter) as caught:
        detector.decision_function(X[:, columns])
    assert (caught.value.name, caught.value.legal) == ("X", "a matrix of 4 columns")


def test_cloneable_with_scikit_learns_parameters():
    detector = ModelSpec.parse("COF(n_neighbors=5)").to_pyod(random_state=1, contamination=0.2)
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert copy.spec == detector.spec


def test_a_model_that_does_not_apply_says_why():
    spec = ModelSpec.parse("KNN(n_neighbors=100, method=mean)")
    with pytest.raises(UserError) as caught:
        spec.to_pyod().fit(X[:20])
    assert spec.why_not(20, 4) in str(caught.value)


@pytest.mark.parametrize("contamination", [0, 0.6, -1, "auto", None])
def test_contamination_out_of_range_is_refused(contamination):
    with pytest.raises(BadParameter, match="contamination"):
        ModelSpec("LOF").to_pyod(contamination=contamination)


def test_contamination_is_checked_in_fit():
    detector = ModelSpec("LOF").to_pyod().set_params(contamination="auto")
    assert SpecDetector("LOF()", contamination="auto").get_params() == detector.get_params() | {
        "spec": "LOF()"
    }
    with pytest.raises(BadParameter, match="contamination"):
        detector.fit(X)


@pytest.mark.parametrize("spec", [None, 3])
def test_what_is_no_spec_is_refused(spec):
    with pytest.raises(BadParameter, match="DETECTOR"):
        SpecDetector(spec).fit(X)


@pytest.mark.parametrize(
    ("text", "name"), [("KNN(method=x)", "method"), ("HBOS(n_bins=0)", "n_bins"),
                       ("KNN(metric=manhattan)", "params")],
)  # fmt: skip
def test_an_illegal_value_is_named(text, name):
    with pytest.raises(BadParameter) as caught:
        ModelSpec.parse(text).to_pyod().fit(X)
    assert caught.value.name == name


class Odd:
    """Its scores are what ``give`` says of the rows; an exception is raised, None is left out."""

    def __init__(self, give="nan"):
        self.give = give

    def fit(self, X):
        given = GIVEN[self.give](len(X))
        if isinstance(given, BaseException):
            raise given
        if given is not None:
            self.decision_scores_ = given
        return self


GIVEN = {
    "nothing": lambda n: None,
    "too few": lambda n: np.zeros(n - 1),
    "two columns": lambda n: np.zeros((n, 2)),
    "words": lambda n: ["high"] * n,
    "nan": lambda n: np.full(n, np.nan),
    "infinite": lambda n: np.full(n, np.inf),
    "some nan": lambda n: np.where(np.arange(n) < 3, np.nan, 1.0),
    "column": lambda n: np.arange(n)[:, None],
    "no memory": lambda n: MemoryError(),
    "interrupt": lambda n: KeyboardInterrupt(),
}


@pytest.fixture
def odd():
    register_family("Odd", Odd)
    yield lambda give: ModelSpec("Odd", {"give": give})
    unregister_family("Odd")


@pytest.mark.parametrize(
    ("give", "words"),
    [
        ("nothing", "no decision_scores_"),
        ("too few", "147 scores for 148 rows"),
        ("two columns", "296 scores for 148 rows"),
        ("words", "not numbers"),
        ("nan", "all 148 scores are NaN"),
        ("infinite", "all 148 scores are NaN or infinite"),
    ],
)
def test_a_detector_without_usable_scores_is_refused(odd, give, words):
    with pytest.raises(UserError, match=words) as caught:
        odd(give).to_pyod().fit(X)
    assert caught.value.where == odd(give).id
    undefined = {"nan": "undefined-scores", "infinite": "infinite-scores"}
    assert caught.value.code == undefined.get(give, caught.value.code)


def test_some_undefined_scores_are_told_and_kept(odd):
    with pytest.warns(UserWarning, match="148 rows") as told:
        detector = odd("some nan").to_pyod().fit(X)
    assert np.isnan(detector.decision_scores_).sum() == 3
    assert [item.filename for item in told] == [__file__]


@pytest.mark.parametrize(
    ("give", "error"), [("no memory", MemoryError), ("interrupt", KeyboardInterrupt)]
)
def test_what_is_no_fault_of_the_model_passes(odd, give, error):
    with pytest.raises(error):
        odd(give).to_pyod().fit(X)


def test_missing_values_are_refused_not_scored():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ModelSpec("LOF").to_pyod().fit(bad)


def test_a_constant_table_says_so():
    with pytest.raises(UserError, match="constant"):
        ModelSpec("LOF").to_pyod().fit(np.ones((30, 3)))
