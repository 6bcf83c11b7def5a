import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from made_learners import NAMES, Best

from metaod.learners import Learner, learner_class
from metaod.testing.detectors import ContractViolation
from metaod.testing.learners import check_learner, history, learner_contract

POINTS = [check.name for check in learner_contract(Best)]
# what makes a learner quick
QUICK = {"n_estimators": 10}


@pytest.fixture(scope="module")
def contract():
    made = {}

    def checks(name):
        if name not in made:
            kind = learner_class(name)
            quick = {k: v for k, v in QUICK.items() if k in kind.__dataclass_fields__}
            made[name] = {c.name: c for c in learner_contract(lambda: kind(**quick))}
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
    quick = {k: v for k, v in QUICK.items() if k in learner_class(name).__dataclass_fields__}
    scores = learner_class(name)(**quick).fit(P, M).predict(M)
    assert scores.shape == P.shape
    assert np.isfinite(scores.to_numpy()).all()


def test_learners_are_imported_without_scikit_learn():
    code = (
        "import sys; from metaod.learners import learner_class; "
        "[learner_class(name) for name in ('metaod', 'gain_forest')]; "
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# the contract itself: it fails where it should


@dataclass
class Leaky(Best):
    """Scores that change with P after the fit."""

    name: ClassVar[str] = "leaky"

    def fit(self, P, M, groups=None, *, progress=None):
        self.frame = P
        return super().fit(P, M, groups, progress=progress)

    def predict(self, M):
        return super().predict(M) + np.nanmax(self.frame.to_numpy())


@dataclass
class ByPlace(Best):
    """Scores that depend on the order of models."""

    def predict(self, M):
        return super().predict(M) * 0 + np.arange(len(self.models_))


@dataclass
class Moody(Best):
    """Scores that depend on the number of fits."""

    count: ClassVar[list[int]] = []

    def _scores(self, P):
        self.count.append(1)
        return super()._scores(P) + len(self.count)


@dataclass
class Undefined(Best):
    """Scores that are not finite for unusual tables."""

    def _predict(self, M):
        return super()._predict(M) + 0 * M[:, 2:3]


@dataclass
class Blind(Best):
    """A model without values gets the best score."""

    def _scores(self, P):
        return np.nan_to_num(np.nanmean(np.where(np.isnan(P), -1, P), axis=0) * -1)


@dataclass
class Forgetful(Best):
    """Restored with other scores."""

    def _check_learned(self):
        self.scores_ = self.scores_[::-1].copy()


@dataclass
class Batchy(Best):
    """Scores that depend on the other datasets."""

    def _predict(self, M):
        return super()._predict(M) * len(M)


@dataclass
class Shapeless(Best):
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
        (Forgetful, "a restored learner"),
        (Batchy, "other datasets"),
        (Shapeless, "parameters"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_the_contract_fails_for(kind: type[Learner], message):
    with pytest.raises(ContractViolation, match=message):
        check_learner(kind)
