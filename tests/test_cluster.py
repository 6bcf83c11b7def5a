"""metaod.cluster.score: the scores of the whole table, whatever the partitions."""

import pickle
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import metaod
from metaod.cluster import _content_of, _picks, _score_partition, score
from metaod.errors import BadColumn, BadParameter, UserError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["red", "green", "blue"], 300)
    # the first rows look like whole numbers, the last are text
    frame["mixed"] = [str(k % 7) for k in range(200)] + [f"{k % 7}.5" for k in range(100)]
    frame.loc[[3, 150], "a"] = [9.0, np.nan]
    return frame.set_index(pd.Index([f"row {k:03d}" for k in range(300)], name="id"))


@pytest.fixture(scope="module")
def model(frame):
    return metaod.MetaOD().fit(frame)


@pytest.mark.parametrize("n_partitions", [1, 7])
def test_scores_are_those_of_the_whole_table(frame, model, n_partitions, tmp_path):
    model.save(tmp_path / "pick.metaod")
    table = dd.from_pandas(frame, npartitions=n_partitions)
    expected = -model.score_samples(frame)
    for pick in (model, tmp_path / "pick.metaod"):
        lazy = score(table, pick)
        assert lazy.npartitions == n_partitions
        assert dict(lazy.dtypes) == {"score": np.float64, "flag": np.int64}
        found = lazy.compute(scheduler="sync")
        assert found.index.tolist() == frame.index.tolist()
        np.testing.assert_allclose(found["score"], expected, rtol=1e-12)
        assert found["flag"].tolist() == (model.predict(frame) == -1).astype(int).tolist()
        assert list(found.dtypes) == list(lazy.dtypes)


def test_empty_partitions_and_columns_in_another_order(frame, model):
    table = dd.from_pandas(frame, npartitions=4)
    some = table[table["kind"] == "red"][list(frame.columns[::-1])]
    some = some[some.index < "row 100"]  # leaves partitions without rows
    found = score(some, model).compute(scheduler="sync")
    rows = frame[(frame["kind"] == "red") & (frame.index < "row 100")]
    np.testing.assert_allclose(found["score"], -model.score_samples(rows), rtol=1e-12)


def test_a_pick_is_loaded_once_in_a_process(frame, model, monkeypatch):
    _picks.clear()
    loads = []
    real = metaod.detection.load
    monkeypatch.setattr(metaod.detection, "load", lambda path: loads.append(path) or real(path))
    score(dd.from_pandas(frame, npartitions=6), model).compute(scheduler="threads")
    assert len(loads) == 1


def test_mistakes_are_told_before_anything_is_computed(frame, model, tmp_path):
    table = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(BadParameter, match="dask"):
        score(frame, model)
    with pytest.raises(BadColumn, match="'b'"):
        score(table.drop(columns="b"), model)
    (tmp_path / "x.txt").write_text("no pick")
    with pytest.raises(UserError):
        score(table, tmp_path / "x.txt")
    with pytest.raises(BadParameter, match="fitted MetaOD"):
        score(table, 3)


def test_a_partition_gives_no_warning_of_drift_and_leaves_the_filters(frame, model, monkeypatch):
    shifted = frame.assign(a=frame["a"] + 100, kind="violet")
    changes = []
    real = warnings.simplefilter
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            model.score_samples(shifted)
        # filters are those of the process: a thread that sets them sets them for all
        monkeypatch.setattr(
            warnings, "simplefilter", lambda *a, **k: changes.append(a) or real(*a, **k)
        )
        _score_partition(shifted, _content_of(model), "a")
    assert ("ignore",) not in changes


def test_the_graph_has_the_pick_once(frame, model):
    lazy = score(dd.from_pandas(frame, npartitions=6), model)
    sizes = [len(pickle.dumps(node)) for node in dict(lazy.optimize().__dask_graph__()).values()]
    size = len(_content_of(model))
    assert sum(one >= size for one in sizes) == 1
