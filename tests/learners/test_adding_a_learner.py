"""The recipe "Add a learner" of CONTRIBUTING, followed literally, and the way of other packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_store import HBOS, LOF, dataset, fingerprint, ok

from metaod.artifacts import Artifact, BadArtifact
from metaod.metafeatures import schema
from metaod.store import MetaFeatureRecord, Store

PACKAGE = Path(__file__).parent.parent.parent / "src" / "metaod"

LEARNER = '''\
"""Median: the model with the best median performance, for every table."""

from dataclasses import dataclass

import numpy as np

from metaod.learners import Learner, Shape


@dataclass
class Median(Learner):
    """Picks the model with the best median performance."""

    name, title, summary = "median", "Median", "the best median performance"
    uses_metafeatures = False
    learned = {"scores": Shape("m")}  # what _fit sets as scores_: one number for each model

    def _fit(self, training, progress):
        medians = np.nanmedian(training.P, axis=0)
        self.scores_ = np.where(np.isnan(medians), -1.0, medians)

    def _predict(self, M):
        return np.tile(self.scores_, (len(M), 1))
'''
# inside the package a file imports from its siblings
INSIDE = LEARNER.replace(
    "from metaod.learners import Learner, Shape",
    "from metaod.learners._base import Learner\nfrom metaod._state import Shape",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "my.db"
    paper = schema("paper")
    rng = np.random.default_rng(0)
    with Store(str(path), create=True) as made:
        made.add_models([HBOS, LOF])
        for number in range(4):
            made.add_dataset(dataset(number))
            vector = rng.normal(size=len(paper.names))
            vectors = [MetaFeatureRecord("paper", paper.version, paper.names, vector)]
            evaluations = [ok(HBOS, ap=0.3), ok(LOF, ap=0.1 * number)]
            made.record_task(fingerprint(number), evaluations, vectors)
    return path


def add_to_the_package(folder):
    """One file and one line."""
    shutil.copytree(
        PACKAGE, folder / "metaod", ignore=shutil.ignore_patterns("__pycache__", "shipped")
    )
    learners = folder / "metaod" / "learners"
    (learners / "median.py").write_text(INSIDE)
    registry = learners / "_registry.py"
    line = '    "median": "metaod.learners.median:Median",\n'
    text = registry.read_text(encoding="utf-8")
    last = '    "gain_forest": "metaod.learners.gain_forest:GainForest",\n'
    assert last in text
    registry.write_text(text.replace(last, last + line), encoding="utf-8")
    return [folder]


def offer_by_an_entry_point(folder):
    """Another package: a module and an entry point, and one that is broken."""
    (folder / "other.py").write_text(LEARNER)
    metadata = folder / "other-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    points = "[metaod.learners]\nmedian = other:Median\nbroken = absent:Learner\n"
    (metadata / "entry_points.txt").write_text(points)
    return [folder, PACKAGE.parent]


PROGRAM = """
import sys
from metaod.artifacts import Artifact
from metaod.cli.main import main

store, out = sys.argv[1:]
for command in (["learners"], ["train", "--store", store, "--learner", "median", "--out", out]):
    try:
        main(command)
    except SystemExit as stop:
        assert not stop.code
learner = Artifact.load(out).learner
print("pick:", learner.choose([0.0] * len(learner.features_)))
"""


@pytest.mark.parametrize("add", [add_to_the_package, offer_by_an_entry_point])
def test_a_learner_is_listed_and_trained(tmp_path, store, add):
    path = os.pathsep.join(map(str, add(tmp_path)))
    out = tmp_path / "my.metaod"
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store), str(out)],
        env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path,
        check=True, capture_output=True, text=True, timeout=300,
    ).stdout  # fmt: skip
    assert "the best median performance" in printed
    assert "median (Median)" in printed
    assert f"pick: {HBOS.id}" in printed
    with pytest.raises(BadArtifact, match="'median', which is not installed"):
        Artifact.load(out)
