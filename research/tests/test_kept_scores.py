"""Kept scores: they are computed once, and damaged files are refused."""

import numpy as np
import pytest

from metaod.errors import BadFile
from metaod.history import iter_folder
from metaod.models import ModelSpec
from research.kept_scores import KeptScores

HBOS = ModelSpec("HBOS", {"n_bins": 5, "alpha": 0.1})


def test_scores_are_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(40) < 3)
    [entry] = iter_folder(tmp_path)
    dataset = entry.load()
    kept = KeptScores(tmp_path / "scores")
    found = kept.of(dataset, [HBOS])
    assert set(found) == {(HBOS.id, 0)}
    again = kept.of(dataset, [])
    np.testing.assert_array_equal(again[HBOS.id, 0], found[HBOS.id, 0])
    assert again[HBOS.id, 0].dtype == np.float32
    kept.write(dataset.fingerprint, {("other", 1): found[HBOS.id, 0]})
    assert set(kept.read(dataset.fingerprint)) == {(HBOS.id, 0), ("other", 1)}
    path = kept.path(dataset.fingerprint)
    whole = path.read_bytes()
    for damaged in (b"junk", whole[:100], whole[:-50]):
        path.write_bytes(damaged)
        with pytest.raises(BadFile):
            kept.read(dataset.fingerprint)
