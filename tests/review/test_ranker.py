"""The learned ranking of rows."""

import numpy as np
import pytest

from metaod.artifacts import BadArtifact, read_container, write_container
from metaod.review import Ranker


def test_a_written_ranker_is_read_as_it_was(tmp_path):
    ranker = Ranker.shipped()
    ranker.write(tmp_path / "a.review")
    again = Ranker.read(tmp_path / "a.review")
    X = np.random.default_rng(0).normal(size=(50, len(ranker.features))).astype(np.float32)
    np.testing.assert_array_equal(again.rows.predict(X), ranker.rows.predict(X))


def test_a_ranker_of_other_features_is_refused(tmp_path):
    Ranker.shipped().write(tmp_path / "a.review")
    content = read_container(tmp_path / "a.review", "review")
    write_container(tmp_path / "a.review", "review", content | {"features": ["x"]})
    with pytest.raises(BadArtifact, match="other features"):
        Ranker.read(tmp_path / "a.review")
