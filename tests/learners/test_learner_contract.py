import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from metaod.learners import Learner, learner_class, learner_classes
from metaod.learners.global_best import GlobalBest
from metaod.testing.detectors import ContractViolation
from metaod.testing.learners import check_learner, history, learner_contract

POINTS = [check.name for check in learner_contract(GlobalBest)]
NAMES = list(learner_classes())
# what a learner cannot do without, and what makes it quick
NEEDED = {"fixed": {"model": history()[0].columns[5]}}
QUICK = {"n_estimators": 10}


@pytest.fixture(scope="module")
def contract():
    made = {}

    def checks(name):
        if name not in made:
            kind = learner_class(name)
            quick = {k: v for k, v in QUICK.items() if k in kind.__dataclass_fields__}
            params = NEEDED.get(name, {}) | quick
            made[name] = {c.name: c for c in learner_contract(lambda: kind(**params))}
        return made[name]

    return checks


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", NAMES)
def test_contract(name, point, contract):
    contract(name)[point]()


@pytest.mark.parametrize("name", NAMES)
def test_the_name_agrees_with_the_registry(name):
    assert learner_class(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_arrays_without_names_are_accepted(name):
    P, M = (frame.to_numpy() for frame in history())
    params = {"fixed": {"model": "model 3"}}.get(name, {})
    if name == "pyod_rule":
        pytest.skip("it goes by the names of the meta-features")
    quick = {k: v for k, v in QUICK.items() if k in learner_class(name).__dataclass_fields__}
    scores = learner_class(name)(**params, **quick).fit(P, M).predict(M)
    assert scores.shape == P.shape
    assert np.isfinite(scores.to_numpy()).all()


def test_learners_are_imported_without_scikit_learn():
    code = (
        "import sys; from metaod.learners import learner_class; "
        f"[learner_class(name) for name in {NAMES}]; sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# the contract itself: it fails where it should


@dataclass
class Leaky(GlobalBest):
    """Scores that change with P after the fit."""

    name: ClassVar[str] = "leaky"

    def fit(self, P, M, groups=None, *, progress=None):
        self.frame = P
        return super().fit(P, M, groups, progress=progress)

    def predict(self, M):
        return super().predict(M) + np.nanmax(self.frame.to_numpy())


@dataclass
class ByPlace(GlobalBest):
    """Scores that depend on the order of models."""

    def predict(self, M):
        return super().predict(M) * 0 + np.arange(len(self.models_))


@dataclass
class Moody(GlobalBest):
    """Scores that depend on the number of fits."""

    count: ClassVar[list[int]] = []

    def _scores(self, P):
        self.count.append(1)
        return super()._scores(P) + len(self.count)


@dataclass
class Undefined(GlobalBest):
    """Scores that are not finite for unusual tables."""

    def _predict(self, M):
        return super()._predict(M) + 0 * M[:, 2:3]


@dataclass
class Blind(GlobalBest):
    """A model without values gets the best score."""

    def _scores(self, P):
        return np.nan_to_num(np.nanmean(np.where(np.isnan(P), -1, P), axis=0) * -1)


@dataclass
class Trusting(GlobalBest):
    """Takes any state."""

    def _restore(self, reader):
        self.scores_ = reader._state.get("scores", np.zeros(len(self.models_)))


@dataclass
class Batchy(GlobalBest):
    """Scores that depend on the other datasets."""

    def _predict(self, M):
        return super()._predict(M) * len(M)


@dataclass
class Shapeless(GlobalBest):
    """A parameter that JSON cannot hold."""

    f: object = object


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Leaky, "follow P after the fit"),
        (ByPlace, "order of models"),
        (Moody, "two fits differ"),
        (Undefined, "not finite"),
        (Blind, "which has no values"),
        (Trusting, "takes a state"),
        (Batchy, "other datasets"),
        (Shapeless, "parameters"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_the_contract_fails_for(kind: type[Learner], message):
    with pytest.raises(ContractViolation, match=message):
        check_learner(kind)


def test_check_learner_runs_the_whole_contract():
    check_learner(GlobalBest)
