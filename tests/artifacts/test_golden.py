"""Artifacts made with the oldest supported versions load and predict the same scores."""

from pathlib import Path

import numpy as np
import pytest

from metaod.artifacts import Artifact

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parent.parent.parent
NAMES = sorted(path.stem for path in GOLDEN.glob("*.metaod"))


@pytest.fixture(scope="module")
def expected():
    with np.load(GOLDEN / "expected.npz", allow_pickle=False) as file:
        return dict(file)


def test_there_are_golden_artifacts(expected):
    assert "metaod" in NAMES
    assert set(NAMES) == expected.keys() - {"M"}


@pytest.mark.parametrize("name", NAMES)
def test_predictions_have_not_changed(name, expected):
    artifact = Artifact.load(GOLDEN / f"{name}.metaod")
    assert artifact.learner.name == name
    scores = artifact.learner.predict(expected["M"]).to_numpy()
    # MetaOD has rounded its scores to a thousandth of their spread since then
    atol = 5.1e-4 * expected[name].std(axis=1).max() if name == "metaod" else 1e-12
    np.testing.assert_allclose(scores, expected[name], rtol=1e-12, atol=atol)
    np.testing.assert_array_equal(scores.argmax(axis=1), expected[name].argmax(axis=1))


@pytest.mark.parametrize("name", NAMES)
def test_they_were_made_with_the_oldest_versions(name):
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if "==" in line)
    versions = Artifact.load(GOLDEN / f"{name}.metaod").versions
    for library in ("numpy", "scikit-learn", "scipy", "pandas", "numba"):
        assert versions[library] == oldest[library], "make them again with: make golden"
