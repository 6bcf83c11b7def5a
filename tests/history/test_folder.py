import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadFile
from metaod.history import fingerprint, iter_folder

X = np.arange(24.0).reshape(12, 2)
y = (np.arange(12) == 5).astype(np.int8)


@pytest.fixture
def folder(tmp_path):
    for place in ("odd/first.npz", "odd/second.npz", "third.npz"):
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        np.savez(path, X=X, y=y)
    return tmp_path


def write_list(folder, *lines, name="catalogue.csv"):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", ["catalogue.csv", "catalog.csv"])
def test_the_list_says_what_there_is(folder, name):
    write_list(
        folder,
        "collection,name,samples,features,outlier_percent,origin,file",
        "odd,one,12,2,8.3333,source,odd/first.npz",
        "odd,second,12,2,8.3333,source,odd/second.npz",
        name=name,
    )
    one, second = iter_folder(folder)
    assert (one.full_name, one.origin) == ("odd/one", "source")
    assert (second.full_name, second.origin) == ("odd/second", "source")
    dataset = one.load()
    assert dataset.name == "odd/one"
    assert dataset.origin == "source"
    assert dataset.fingerprint == fingerprint(X, y)
    assert not dataset.verified


def test_missing_columns_are_made_up_for(folder):
    write_list(folder, "file", "odd/first.npz", "third.npz")
    first, third = iter_folder(folder)
    assert (first.full_name, first.origin, first.rows) == ("first", "first", None)
    assert third.load().X.shape == (12, 2)
    write_list(folder, "name,collection", "first,odd", "third,")
    assert [entry.full_name for entry in iter_folder(folder)] == ["odd/first", "third"]


def test_without_a_list_every_labelled_file_is_one(folder):
    (folder / "README.txt").write_text("not a dataset")
    (folder / ".hidden.npz").write_bytes(b"")
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    frame.to_csv(folder / "more.csv", index=False)
    entries = iter_folder(folder)
    assert {entry.full_name: entry.origin for entry in entries} == {
        "more": "more",
        "odd/first": "first",
        "odd/second": "second",
        "third": "third",
    }
    assert {entry.load().fingerprint for entry in entries} == {fingerprint(X, y)}


def test_the_label_may_be_named(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(sick=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (entry,) = iter_folder(tmp_path, label="sick")
    assert entry.load().y.tolist() == y.tolist()
    (entry,) = iter_folder(tmp_path)
    with pytest.raises(BadColumn, match="'y'"):
        entry.load()


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["a,b", "1,2"], 1, "neither a column 'file' nor 'name'"),
        (["file", "odd/first.npz", "odd/lost.npz"], 3, "no file odd/lost.npz"),
        (["name", "lost"], 2, "no file lost"),
        (["name,file", "x,odd/first.npz", "x,odd/second.npz"], 3, "x is also the name of"),
        (["file", "odd/first.npz,1"], 2, "another number of fields"),
        (["file,origin", "odd/first.npz"], 2, "another number of fields"),
        (["file,origin", ",here"], 2, "names no file"),
        (["file,samples", "third.npz,many"], 2, "'many' is not a number of samples"),
        (["file", '"third.npz"x'], 2, "not valid CSV"),
        (["file", "../outside.npz"], 2, "outside the folder"),
        (["file"], None, "has no dataset"),
    ],
)
def test_an_error_in_a_list_names_its_line(folder, lines, line, message):
    np.savez(folder.parent / "outside.npz", X=X, y=y)
    write_list(folder, *lines)
    with pytest.raises(BadFile, match=message) as caught:
        iter_folder(folder)
    assert caught.value.path.endswith("catalogue.csv")
    assert caught.value.line == line


def test_a_list_that_is_no_text(folder):
    (folder / "catalogue.csv").write_bytes(b"file\n\xff\xfe\n")
    with pytest.raises(BadFile, match="not UTF-8"):
        iter_folder(folder)


def test_two_files_of_one_name(folder):
    pd.DataFrame(X).assign(y=y).to_csv(folder / "third.csv", index=False)
    with pytest.raises(BadFile, match="third is also the name of"):
        iter_folder(folder)
    write_list(folder, "name", "third")
    with pytest.raises(BadFile, match=r"third\.csv.*third\.npz") as caught:
        iter_folder(folder)
    assert caught.value.line == 2


def test_a_broken_promise_of_shape(folder):
    write_list(folder, "file,samples", "third.npz,13")
    (entry,) = iter_folder(folder)
    with pytest.raises(BadFile, match=r"12 × 2 values, not 13 × \? as in the list"):
        entry.load()


def test_nothing_there(tmp_path):
    with pytest.raises(BadFile, match="has no dataset"):
        iter_folder(tmp_path)
    with pytest.raises(BadFile, match="is neither a folder nor"):
        iter_folder(tmp_path / "nowhere")


def test_the_list_can_leave_out_columns(folder):
    text = [*map(str, range(11)), "none of them"]  # would be an error if it were used
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(text=text, day=20240101, y=y)
    frame.to_csv(folder / "more.csv", index=False)
    write_list(folder, "file,ignore,features", "more.csv,text; day,2")
    [entry] = iter_folder(folder)
    assert list(entry.load().X.columns) == ["a", "b"]
    frame.assign(text="t").to_csv(folder / "more.csv", index=False)
    write_list(folder, "file,ignore", "more.csv,txt")
    with pytest.raises(BadColumn, match=r"'txt'.*'text'"):
        iter_folder(folder)[0].load()
