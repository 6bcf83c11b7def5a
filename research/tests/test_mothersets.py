"""Reading mothersets."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadFile, BadParameter
from research.childsets.mothersets import list_mothersets, read_motherset

X = np.random.default_rng(0).normal(size=(40, 3))


def save(path, y, **more):
    np.savez(path, X=X, y=np.asarray(y), **more)
    return path


def test_a_folder_with_its_list(tmp_path):
    save(tmp_path / "a.npz", np.arange(40.0))
    save(tmp_path / "b.npz", np.arange(40) % 3)
    (tmp_path / "catalog.csv").write_text(
        "name,samples,features,task,origin,note,file\n"
        "a,40,3,regression,source,part of it,a.npz\nb,40,3,,other,,b.npz\n"
    )
    listed = list_mothersets(tmp_path)
    assert list(listed) == ["a", "b"]
    a, b = listed["a"].load(), listed["b"].load()
    assert (a.task, a.origin, a.note) == ("regression", "source", "part of it")
    assert (b.task, b.origin, b.note) == ("multiclass", "other", "")
    assert (a.X == X).all()
    assert repr(a) == "Motherset('a': 40 rows × 3 columns, regression)"


def test_a_folder_without_a_list(tmp_path):
    save(tmp_path / "a.npz", np.arange(40) % 2)
    assert list_mothersets(tmp_path)["a"].load().task == "binary"


def test_an_unknown_task_in_the_list(tmp_path):
    save(tmp_path / "a.npz", np.arange(40))
    (tmp_path / "catalogue.csv").write_text("name,task\na,clustering\n")
    with pytest.raises(BadFile, match=r"catalogue.csv, line 2, column 'task': 'clustering'"):
        list_mothersets(tmp_path)


def test_a_table_with_text_and_gaps_is_prepared(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=["u", "v"] * 20)
    frame.loc[0, "a"] = np.nan
    frame["class"] = ["x", "y", "y", "y"] * 10
    frame.to_csv(tmp_path / "own.csv", index=False)
    motherset = read_motherset(tmp_path / "own.csv", target="class")
    assert (motherset.name, motherset.origin, motherset.task) == ("own", "own", "binary")
    assert motherset.X.shape[1] == 4  # the text is unrelated, the gap has a column of evidence
    assert np.isfinite(motherset.X).all()
    assert np.bincount(motherset.y).tolist() == [10, 30]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(40), "regression"),
        (np.arange(40) % 30, "multiclass"),
        (np.arange(40) % 2, "binary"),
        (np.arange(40) % 2 + 0.5, "regression"),
        (np.array(["a", "b", "c", "d"] * 10), "multiclass"),
    ],
    ids=["many", "few", "two", "fractions", "text"],
)
def test_the_task_is_derived_from_the_target(tmp_path, y, task):
    assert read_motherset(save(tmp_path / "m.npz", y)).task == task


def test_the_task_can_be_given(tmp_path):
    path = save(tmp_path / "m.npz", np.arange(40) % 5)
    assert read_motherset(path, task="regression").y.dtype == float
    with pytest.raises(BadParameter, match="'multiclass'"):
        read_motherset(path, task="ranking")


def test_errors_of_targets(tmp_path):
    path = save(tmp_path / "m.npz", np.arange(40) % 3, short=np.arange(5), one=np.ones(40))
    with pytest.raises(BadFile, match="holds no array 'z'"):
        read_motherset(path, target="z")
    with pytest.raises(BadFile, match="5 values for 40 rows"):
        read_motherset(path, target="short")
    with pytest.raises(BadColumn, match="'one': has one value only"):
        read_motherset(path, target="one")
    with pytest.raises(BadParameter, match="normal_at_least"):
        read_motherset(path, normal_at_least=1)
    text = tmp_path / "t.csv"
    text.write_text("a,b\n1,x\n2,\n3,y\n")
    with pytest.raises(BadColumn, match=r"'c': is not in the table; .*'a', 'b'"):
        read_motherset(text, target="c")
    with pytest.raises(BadColumn, match="row 2: the target is missing"):
        read_motherset(text, target="b")
    words = tmp_path / "w.csv"
    words.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(BadColumn, match="'b': is not numeric"):
        read_motherset(words, target="b", task="regression")
    single = tmp_path / "s.csv"
    single.write_text("y\n1\n2\n")
    with pytest.raises(BadFile, match="no column beside the target"):
        read_motherset(single)
