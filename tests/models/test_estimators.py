"""What holds for every one of the package's detectors, whatever it computes."""

import numpy as np
import pytest
from made_matrices import SCALINGS

from metaod.errors import BadParameter, UserError
from metaod.models import CellState, ModelSpec, model_space, registered_families, score_models
from metaod.models._estimator import Estimator
from metaod.models.families import ocsvm
from metaod.models.families.iforest import IForest
from metaod.testing.detectors import detector_contract, tables

RNG = np.random.default_rng(5)
FAMILIES = {name: item for name, item in registered_families().items() if item.builtin}
TRAIN = np.vstack([RNG.normal(size=(120, 3)), RNG.normal(0, 4, size=(12, 3))])
NEW = RNG.normal(0, 2, size=(25, 3))


def build(name, **params):
    item = FAMILIES[name]
    return item.load()(**params, **({"random_state": 0} if item.random else {}))


def some_models(name, count):
    specs = model_space("all", detectors=name)
    return specs[:: max(1, len(specs) // count)]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_contract_of_detectors(name):
    for check in detector_contract(name):
        check()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("table", ["plain", "tied", "few levels", "duplicated rows", "wide"])
def test_models_fitted_together_have_the_scores_of_each_alone(name, table):
    X = tables()[table]
    item = FAMILIES[name]
    models = [
        item.load()(**dict(spec.params), **({"random_state": seed} if item.random else {}))
        for spec in reversed(some_models(name, 12))
        for seed in range(2 if item.random else 1)
        if spec.why_not(*X.shape) is None
    ]
    found = list(item.load().fit_many(X, models))
    assert {id(model) for model, _ in found} == {id(model) for model in models}
    assert len(found) == len(models)
    for model, together in found:
        alone = model.fit(X).decision_scores_
        np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_score_of_a_new_row_does_not_depend_on_the_others(name):
    detector = build(name).fit(TRAIN)
    together = detector.decision_function(NEW)
    alone = np.concatenate([detector.decision_function(row[None]) for row in NEW])
    # scikit-learn's search and its clusters round by block
    exact = name not in ("LOF", "COF", "ABOD", "OCSVM", "CBLOF", "PCA")
    np.testing.assert_allclose(alone, together, rtol=0 if exact else 1e-9)


@pytest.mark.parametrize(
    "name", ["ABOD", "CBLOF", "COPOD", "ECOD", "ExtendedIForest", "HBOS", "IForest", "LODA", "MCD",
             "OCSVM", "PCA", "SCiForest"],
)  # fmt: skip
def test_training_rows_have_their_training_scores_as_new_ones(name):
    detector = build(name).fit(TRAIN)
    np.testing.assert_allclose(
        detector.decision_function(TRAIN), detector.decision_scores_, rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_refitting_forgets_the_former_table(name):
    detector = build(name).fit(TRAIN)
    detector.decision_function(NEW)
    again, fresh = detector.fit(TRAIN[:60]), build(name).fit(TRAIN[:60])
    np.testing.assert_array_equal(again.decision_function(NEW), fresh.decision_function(NEW))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("KNN", {"n_neighbors": 0}), ("KNN", {"n_neighbors": 7.0}), ("KNN", {"n_neighbors": True}),
        ("KNN", {"method": "smallest"}), ("LOF", {"metric": "cosine"}), ("COF", {"n_neighbors": 0}),
        ("HBOS", {"n_bins": 1}), ("HBOS", {"n_bins": "auto"}), ("HBOS", {"alpha": 2.0}),
        ("LODA", {"n_random_cuts": 0}), ("LODA", {"n_bins": True}), ("OCSVM", {"nu": 1.0}),
        ("OCSVM", {"nu": 0.0}), ("OCSVM", {"kernel": "precomputed"}),
        ("KDE", {"gamma_scale": 0.0}), ("KDE", {"gamma_scale": True}),
        ("KDE", {"gamma_scale": float("inf")}), ("KDE", {"gamma_scale": None}),
        ("IForest", {"n_estimators": 0}), ("IForest", {"max_features": 1.5}),
        ("IForest", {"max_features": 0}), ("IForest", {"max_features": 4}),
        ("IForest", {"max_features": 0.0}),
        ("SCiForest", {"n_trials": 0}), ("SCiForest", {"max_depth": 0}),
        ("SCiForest", {"n_dims": None}), ("ExtendedIForest", {"max_samples": 1}),
        ("MCD", {"core": 0}), ("MCD", {"core": 1.5}), ("MCD", {"core": float("nan")}),
        ("CBLOF", {"n_clusters": 0}), ("CBLOF", {"use_weights": "no"}), ("PCA", {"weighted": "no"}),
    ],
    ids=str,
)  # fmt: skip
def test_illegal_hyperparameters_are_named(name, params):
    with pytest.raises(BadParameter) as error:
        build(name, **params).fit(TRAIN)
    assert error.value.name == next(iter(params))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("KNN(n_neighbors=0)", "BadParameter: The 'n_neighbors'"),
        ("KNN(metric=manhattan)", "BadParameter: The 'params' parameter of KNN"),
        ("IForest(max_features=9)", "BadParameter: The 'max_features'"),
        ("MCD(n_fixed=2)", "BadParameter: The 'params' parameter of MCD"),
        ("ABOD(n_neighbors=true)", "BadParameter: The 'n_neighbors'"),
        ("CBLOF(n_clusters=few)", "BadParameter: The 'n_clusters'"),
    ],
)
def test_illegal_hyperparameters_fail_only_their_model(text, reason):
    good = ModelSpec(text.partition("(")[0])
    found = {
        item.spec: item for item in score_models(TRAIN, [ModelSpec.parse(text), good], trials=1)
    }
    assert found[good].state == CellState.OK
    assert found[ModelSpec.parse(text)].state == CellState.FAILED
    assert found[ModelSpec.parse(text)].reason.startswith(reason)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_works_on_every_scaling(name, scaling):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] = 9.0
    scores = ModelSpec(name, {}, scaling).to_pyod(random_state=0).fit(X).decision_scores_
    assert np.isfinite(scores).all()
    assert scores.argmax() == 0 or name == "LODA"  # whose last bins look at the one before


@pytest.mark.parametrize(
    ("text", "shape", "reason"),
    [
        ("CBLOF(n_clusters=8)", (8, 2), "n_clusters=8 needs at least 9 rows"),
        ("MCD()", (30, 20), "20 columns need at least 42 rows"),
        ("MCD()", (5000, 301), "at most 300 columns"),
        ("KNN(n_neighbors=20)", (20, 2), "n_neighbors=20 needs at least 21 rows"),
        ("LOF()", (12, 2), "n_neighbors=20 needs at least 21 rows"),
    ],
)
def test_models_that_do_not_apply_are_known_before_the_fit(text, shape, reason):
    spec = ModelSpec.parse(text)
    assert reason in spec.why_not(*shape)
    assert spec.why_not(5000, 10) is None


def test_shares_that_mean_as_many_columns_have_one_forest():
    X = RNG.normal(size=(50, 4))
    models = [IForest(10, share, random_state=0) for share in (0.1, 0.4, 1)]
    low, high, whole = (scores for _, scores in IForest.fit_many(X, models))
    assert low.tolist() == high.tolist() == whole.tolist()


def test_a_problem_that_is_not_solved_has_no_scores(monkeypatch):
    monkeypatch.setattr(ocsvm, "_MOST_WORK", 200)
    with pytest.raises(UserError, match="not solved"):
        build("OCSVM").fit(TRAIN)


def test_models_without_shared_work_fail_one_by_one():
    class Picky(Estimator):
        def __init__(self, number):
            self.number = number

        def _fit(self, X):
            if self.number == 1:
                raise ArithmeticError("no")
            return X[:, 0] * self.number

        def _score(self, X):
            return X[:, 0]

    found = [result for _, result in Picky.fit_many(TRAIN, [Picky(n) for n in range(3)])]
    assert isinstance(found[1], ArithmeticError)
    assert found[2].tolist() == (TRAIN[:, 0] * 2).tolist()
