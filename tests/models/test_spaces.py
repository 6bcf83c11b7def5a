"""The paper's 302 models exactly, as corrected; the extended space beside them."""

import inspect
from collections import Counter

import pytest

from metaod.errors import BadParameter
from metaod.models import (
    ModelSpec,
    model_space,
    register_family,
    registered_families,
    unregister_family,
)

NEIGHBOURS = [1, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100]
TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
SIZES = [10, 20, 30, 40, 50, 75, 100, 150, 200]


def _expected():
    for k in NEIGHBOURS:
        for metric in ("manhattan", "euclidean", "minkowski"):
            yield f"LOF(n_neighbors={k}, metric={metric})"
        for method in ("largest", "mean", "median"):
            yield f"KNN(n_neighbors={k}, method={method})"
    for nu in TENTHS:
        for kernel in ("linear", "poly", "rbf", "sigmoid"):
            yield f"OCSVM(kernel={kernel}, nu={nu})"
    for k in (3, 5, 10, 15, 20, 25, 50):
        yield f"COF(n_neighbors={k})"
    for k in (3, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100):
        yield f"ABOD(n_neighbors={k})"
    for trees in SIZES:
        for share in TENTHS:
            yield f"IForest(n_estimators={trees}, max_features={share})"
    for bins in (5, 10, 20, 30, 40, 50, 75, 100):
        for alpha in (0.1, 0.2, 0.3, 0.4, 0.5):
            yield f"HBOS(n_bins={bins}, alpha={alpha})"
    for bins in (5, 10, 15, 20, 25, 30):
        for cuts in SIZES:
            yield f"LODA(n_bins={bins}, n_random_cuts={cuts})"


def test_every_model_of_the_paper_and_no_other():
    assert len(model_space("paper")) == 302
    assert {spec.id for spec in model_space("paper")} == set(_expected())


def test_models_of_several_names_are_computed_once():
    space = model_space("paper")
    classes = Counter(spec.equivalence for spec in space)
    assert len(classes) == 288
    doubled = {spec for spec, count in classes.items() if count == 2}
    assert doubled == {
        ModelSpec("LOF", {"n_neighbors": k, "metric": "euclidean"}) for k in NEIGHBOURS
    }
    tripled = {spec for spec, count in classes.items() if count == 3}
    assert tripled == {ModelSpec("KNN", {"n_neighbors": 1, "method": "largest"})}


@pytest.mark.parametrize(
    "spec", [s for s in model_space("paper") if "n_neighbors" in dict(s.params)]
)
def test_k_must_be_below_the_number_of_rows(spec):
    k = dict(spec.params)["n_neighbors"]
    assert spec.applies(k + 1, 3)
    assert not spec.applies(k, 3)
    if k > 1:
        assert f"n_neighbors={k}" in spec.why_not(k, 3)


@pytest.mark.parametrize("name", ["LOF", "KNN", "COF", "ABOD"])
def test_the_default_k_is_pyods(name):
    k = inspect.signature(registered_families()[name].load()).parameters["n_neighbors"].default
    assert ModelSpec(name).applies(k + 1, 2)
    assert f"n_neighbors={k} " in ModelSpec(name).why_not(k, 2)


def test_no_model_applies_to_one_row_or_no_column():
    for spec in model_space("paper"):
        assert spec.why_not(1, 3)
        assert spec.why_not(200, 0)


def test_space_can_be_narrowed_to_families():
    assert {s.detector for s in model_space(detectors=["COF", "ABOD"])} == {"COF", "ABOD"}
    assert model_space(detectors="COF") == model_space(detectors=["COF"])


@pytest.mark.parametrize(
    "call", [lambda: model_space("papers"), lambda: model_space(detectors=["KDE"])]
)
def test_unknown_names_are_refused(call):
    with pytest.raises(BadParameter):
        call()


def test_all_adds_registered_families_and_paper_does_not():
    register_family("TestECOD", "pyod.models.ecod:ECOD")
    try:
        assert ModelSpec("TestECOD") in model_space("all")
        assert ModelSpec("TestECOD") not in model_space("paper")
        assert "TestECOD" in registered_families()
    finally:
        unregister_family("TestECOD")
    assert set(model_space("all")) > {*model_space("paper"), *model_space("extended")}
    # families that left the extended space can still be had
    assert ModelSpec("ECOD") in set(model_space("all")) - set(model_space("extended"))


def test_the_extended_space_by_family():
    space = model_space("extended")
    assert len(space) == len(set(space)) == 40
    assert Counter(spec.detector for spec in space) == {
        "KDE": 8, "KNN": 11, "LOF": 3, "OCSVM": 2, "IForest": 4, "HBOS": 1, "SCiForest": 3,
        "ExtendedIForest": 1, "MCD": 3, "PCA": 2, "COPOD": 1, "CBLOF": 1,
    }  # fmt: skip
    assert {spec.detector for spec in space if spec.is_random} == {
        "IForest", "SCiForest", "ExtendedIForest", "CBLOF",
    }  # fmt: skip


@pytest.mark.parametrize("spec", model_space("extended"), ids=str)
def test_every_extended_model_reads_back_and_can_be_built(spec):
    assert ModelSpec.parse(spec.id) == spec
    assert spec.equivalence == spec
    assert spec.to_pyod().spec == spec
    assert spec.applies(401, 3)
