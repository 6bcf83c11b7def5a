"""The recipe "Add a detector family": one new file, and one line in ``models/_registry.py``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import metaod
from tests.test_structure import cycles, import_graph

FAMILY = '''
"""MeanDistance: a power of the distance of a row to the mean."""

import numpy as np

from metaod.models._estimator import Estimator
from metaod.models._family import Family, Settings
from metaod._legal import Number, parameters


class MeanDistance(Estimator):
    legal = parameters(power=Number(0))

    def __init__(self, power=1.0):
        self.power = power

    @classmethod
    def fit_many(cls, X, models):
        distances = np.linalg.norm(X - X.mean(axis=0), axis=1)
        for model in models:
            yield model, distances**model.power

    def _fit(self, X):
        self.mean_ = X.mean(axis=0)
        return self._score(X)

    def _score(self, X):
        return np.linalg.norm(X - self.mean_, axis=1) ** self.power


FAMILY = Family(
    "MeanDistance",
    MeanDistance,
    {"power": (1.0, 2.0)},
    title="Distance to the mean",
    extended=(Settings({"power": (2.0,)}, ("robust",)),),
)
'''
LINE = '    "MeanDistance": "metaod.models.families.mean_distance:FAMILY",\n'

USE = """
import numpy as np
import metaod
import metaod.testing
from metaod.models import expected_costs, model_space, score_models

assert metaod.__file__.startswith("{folder}"), metaod.__file__
[extended] = model_space("extended", detectors="MeanDistance")
assert extended.id == "MeanDistance(power=2.0, scaling=robust)"
models = model_space("all", detectors="MeanDistance")
assert len(models) == 3
X = np.random.default_rng(0).normal(size=(50, 3))
scored = list(score_models(X, models))
assert len(scored) == 3
for item in scored:
    assert item.state == "ok", item.reason
    detector = item.spec.to_pyod().fit(X)
    np.testing.assert_allclose(item.scores, detector.decision_scores_)
    np.testing.assert_allclose(detector.decision_function(X), detector.decision_scores_)
assert not expected_costs(models[:1], 100, 3)[0].is_known
metaod.testing.check_detector("MeanDistance")
print("done")
"""


def test_one_file_and_one_line(tmp_path):
    package = tmp_path / "metaod"
    ignored = shutil.ignore_patterns("__pycache__", "pretrained", "*.npz", "*.parquet")
    shutil.copytree(Path(metaod.__file__).parent, package, ignore=ignored)
    models = package / "models"
    (models / "families" / "mean_distance.py").write_text(FAMILY, "utf-8")
    registry = (models / "_registry.py").read_text("utf-8")
    head, brace, rest = registry.partition("}\n")  # the end of the table of paths
    (models / "_registry.py").write_text(f"{head}{LINE}{brace}{rest}", "utf-8")
    paths = {f"metaod.models.{path.stem}": path for path in models.glob("*.py")}
    paths |= {f"metaod.models.families.{path.stem}": path for path in models.glob("families/*.py")}
    assert cycles(import_graph(paths)) == []
    done = subprocess.run(
        [sys.executable, "-c", USE.replace("{folder}", str(package))],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr
