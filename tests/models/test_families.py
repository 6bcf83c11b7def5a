"""Registering a family from user code, with no change to the package."""

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.models import (
    Family,
    ModelSpec,
    model_space,
    register_family,
    registered_families,
    unregister_family,
)
from metaod.models import _registry as families
from metaod.testing.detectors import ContractViolation, check_detector, detector_contract


class Distance:
    """The smallest detector that fits the interface: no base class, no contamination."""

    def __init__(self, power=2):
        self.power = power

    def fit(self, X, y=None):
        self.decision_scores_ = (np.abs(X) ** self.power).sum(axis=1)
        return self


class Noisy:
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.decision_scores_ = np.abs(X).sum(axis=1) + rng.random(len(X))
        return self

    def decision_function(self, X):
        return np.abs(X).sum(axis=1)


class Upside:
    def fit(self, X, y=None):
        self.decision_scores_ = -np.abs(X).sum(axis=1)
        return self


class Open:
    """Takes hyperparameters of any name."""

    def __init__(self, **kwargs):
        self.kwargs = kwargs

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.kwargs["random_state"])
        noise = rng.random(len(X)) * self.kwargs["noise"]
        self.decision_scores_ = np.abs(X).sum(axis=1) + noise
        return self


class Silent:
    def fit(self, X, y=None):
        return self


class Short:
    def fit(self, X, y=None):
        self.decision_scores_ = np.zeros(3)
        return self


class Undefined:
    def fit(self, X, y=None):
        self.decision_scores_ = np.full(len(X), np.nan)
        return self


@pytest.fixture
def register():
    added = []

    def add(name, *args, **kwargs):
        result = register_family(name, *args, **kwargs)
        added.append(name)
        return result

    yield add
    for name in added:
        unregister_family(name)


def test_a_plain_class_becomes_a_family(register):
    register("Distance", Distance, {"power": [1, 2]})
    specs = model_space("all", detectors="Distance")
    assert [spec.id for spec in specs] == ["Distance(power=1)", "Distance(power=2)"]
    X = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [9.0, 9.0]])
    detector = specs[0].to_pyod(contamination=0.25).fit(X)
    assert detector.decision_scores_.argmax() == 3
    assert detector.labels_.tolist() == [0, 0, 0, 1]
    with pytest.raises(Exception, match="cannot score new rows"):
        detector.decision_function(X)


def test_a_class_that_takes_any_name_becomes_a_family(register):
    register("Open", Open, {"noise": [0.1, 0.2]}, random=True)
    detector = ModelSpec("Open", {"noise": 0.1}).to_pyod(random_state=3).fit(np.eye(9))
    assert detector.detector_.kwargs == {"noise": 0.1, "random_state": 3}
    check_detector("Open")
    with pytest.raises(BadParameter, match="contamination"):
        ModelSpec("Open", {"contamination": 0.2}).to_pyod()


def test_contract_holds_for_user_families(register):
    register("Distance", Distance, {"power": [1, 2]})
    check_detector("Distance")
    register("Noisy", Noisy, random=True)
    check_detector("Noisy")


def test_contract_catches_scores_of_the_wrong_sign(register):
    register("Upside", Upside)
    with pytest.raises(ContractViolation, match="more outlying"):
        check_detector("Upside")


@pytest.mark.parametrize(
    ("detector", "match"),
    [
        (Silent, "no decision_scores_"),
        (Short, "3 scores for 160 rows"),
        (Undefined, "only NaN on a plain table"),
    ],
)
def test_contract_catches_a_detector_without_scores(register, detector, match):
    register("Odd", detector)
    with pytest.raises(ContractViolation, match=match):
        check_detector("Odd")
    for check in detector_contract("Odd")[2:]:
        try:
            check()
        except ContractViolation as error:
            assert str(error).startswith("Odd(): ")


@pytest.mark.parametrize("max_models", [0, -1, 1.5, None, True])
def test_the_number_of_models_is_checked(max_models):
    with pytest.raises(BadParameter, match="max_models"):
        detector_contract("KNN", max_models=max_models)


def test_contract_catches_an_undeclared_seed(register):
    register("Noisy", Noisy)
    with pytest.raises(ContractViolation, match="two fits with one seed differ"):
        check_detector("Noisy")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("LOF", Distance), "package's own"),
        (("a b", Distance), "letters"),
        (("Nothing", "no.such.module:Thing"), "can be imported"),
        (("Nothing", "numpy:nothing"), "can be imported"),
        (("Nothing", dict), "fit method"),
        (("Nothing", Distance, {"power": []}), "non-empty"),
        (("Nothing", Distance, {"power": "12"}), "sequences"),
        (("Nothing", Distance, {"powr": [1]}), "'powr'"),
        (("Nothing", Distance, {"power": [[1], 2]}), "'power'"),
        (("Nothing", Distance, {"power": [float("nan")]}), "'power'"),
        (("Nothing", Distance, {"power": [1, np.int64(1)]}), "duplicate"),
        (("Nothing", Distance, {"power": 3}), "sequences"),
        (("Nothing", Distance, {"power": {1, 2}}), "sequences"),
        (("Nothing", Distance, {"power": {1: 2}}), "sequences"),
        (("Nothing", Distance, {3: [1]}), "sequences"),
        (("Nothing", Distance, [("power", [1])]), "sequences"),
        (("Nothing", Open, {"scaling": ["none"]}), "scaling"),
        (("Nothing", Distance()), "a class, or"),
        (("Nothing", None), "a class, or"),
        (("Nothing", ".x:X"), "a class, or"),
        (("Nothing", "numpy"), "a class, or"),
        (("Nothing", "numpy:array"), "fit method"),
    ],
)
def test_what_cannot_be_a_family_is_refused(arguments, match):
    with pytest.raises(BadParameter, match=match):
        register_family(*arguments)
    assert "Nothing" not in registered_families()


@pytest.mark.parametrize("name", ["rule", "canonical"])
def test_what_is_to_be_called_must_be_callable(name):
    with pytest.raises(BadParameter, match=name):
        register_family("Nothing", Distance, **{name: "n > 3"})
    assert "Nothing" not in registered_families()


def test_a_random_family_must_take_a_seed():
    with pytest.raises(BadParameter, match="random_state"):
        register_family("Nothing", Distance, random=True)


def test_a_name_is_taken_once_unless_replaced(register):
    register("Distance", Distance)
    with pytest.raises(BadParameter, match="replace=True"):
        register_family("Distance", Distance)
    register_family("Distance", Distance, {"power": [3]}, replace=True)
    assert registered_families()["Distance"].size == 1


def test_the_papers_families_cannot_be_taken_back():
    with pytest.raises(BadParameter):
        unregister_family("LOF")


class _Point:
    def __init__(self, name, item):
        self.name = name
        self.value = f"somewhere:{name}"
        self._item = item

    def load(self):
        if isinstance(self._item, Exception):
            raise self._item
        return self._item


def test_entry_points_add_families_and_a_broken_one_is_left_out(monkeypatch):
    good = Family("FromPackage", Distance, {"power": (1,)}, builtin=True)
    points = [
        _Point("good", lambda: good),
        _Point("broken", ImportError("no torch")),
        _Point("odd", 3),
        _Point("grid", Family("Bad", Distance, {"power": ([1],)})),
        _Point("no grid", Family("Bad", Distance, None)),
        _Point("rule", Family("Bad", Distance, {}, rule=None)),
        _Point("class", Family("Bad", Distance(), {})),
        _Point("name", Family("a b", Distance, {})),
    ]
    monkeypatch.setattr(families.metadata, "entry_points", lambda group: points)
    families._load_entry_points.cache_clear()
    try:
        with pytest.warns(UserWarning, match="left out") as told:
            assert "FromPackage" in registered_families()
        assert len(told) == 7
        assert not registered_families()["FromPackage"].builtin
        assert len(model_space("paper")) == 302
        assert ModelSpec("FromPackage", {"power": 1}) in model_space("all")
    finally:
        families._REGISTRY.pop("FromPackage", None)
        monkeypatch.undo()
        families._load_entry_points.cache_clear()
