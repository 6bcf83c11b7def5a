"""Families beyond the paper's: their contract, and what they say that they cannot do."""

import subprocess
import sys

import numpy as np
import pytest

from metaod.models import ModelSpec
from metaod.models._scaling import SCALINGS
from metaod.testing.detectors import detector_contract

NAMES = ["SCiForest", "ExtendedIForest", "MCD", "PCA", "ECOD", "COPOD", "CBLOF"]


# the forests' own tests run theirs
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("Forest")])
def test_contract(name):
    for check in detector_contract(name):
        check()


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", NAMES)
def test_every_family_can_be_had_on_every_scaling(name, scaling):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] = 9.0
    scores = ModelSpec(name, {}, scaling).to_pyod(random_state=0).fit(X).decision_scores_
    assert scores.argmax() == 0
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("text", "shape", "reason"),
    [
        ("CBLOF(n_clusters=8)", (8, 2), "n_clusters=8 needs at least 9 rows"),
        ("MCD()", (30, 20), "20 columns need at least 42 rows"),
        ("MCD()", (5000, 301), "at most 300 columns"),
        ("MCD(core=0.75)", (30, 20), "20 columns need at least 42 rows"),
    ],
)
def test_what_a_model_cannot_do_is_foreseen(text, shape, reason):
    spec = ModelSpec.parse(text)
    assert reason in spec.why_not(*shape)
    assert spec.why_not(5000, 10) is None


def test_looking_families_up_imports_no_detector():
    code = (
        "import sys, metaod.models; "
        "print([name for name in ('pyod', 'sklearn') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
