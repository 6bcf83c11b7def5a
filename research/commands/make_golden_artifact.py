"""Make the golden artifacts: trained with the oldest supported versions, read with all others.

    make golden

Each learner is fitted on a small history drawn here. Beside the artifacts lies what each of them
predicted for new datasets when it was made; `tests/learners/test_golden.py` asks for the same.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaod.artifacts import Artifact
from metaod.learners import make_learner

LEARNERS: dict[str, dict[str, object]] = {
    "metaod": {},
    "gain_forest": {},
}

Matrix = npt.NDArray[np.float64]


def make_history(n: int, seed: int) -> tuple[Matrix, Matrix, npt.NDArray[np.intp]]:
    """Draw P, M and origins of n datasets, with missing cells, NaN and huge values."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, 12))
    M[:, 3] = 10.0 ** rng.uniform(-5, 200, n)
    M[rng.random(M.shape) < 0.05] = np.nan
    slopes = np.random.default_rng(0).normal(size=(12, 20))
    P = 1 / (1 + np.exp(-np.nan_to_num(M * (np.abs(M) < 10)) @ slopes))
    P[rng.random(P.shape) < 0.05] = np.nan
    return P, M, np.arange(n) // 2


def main() -> None:
    """Write the artifacts and what they predict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for the artifacts")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    P, M, origins = make_history(30, 1)
    new = make_history(25, 2)[1]
    expected = {"M": new}
    for name, parameters in LEARNERS.items():
        learner = make_learner(name, **parameters).fit(P, M, origins)
        Artifact(learner, measure="ap", n_origins=15).save(out / f"{name}.metaod")
        expected[name] = learner.predict(new).to_numpy()
        print(f"{name}: {(out / f'{name}.metaod').stat().st_size / 1e3:.0f} kB")
    np.savez_compressed(out / "expected.npz", **expected)
