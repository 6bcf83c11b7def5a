"""Paths, pipes, file objects and compressed files."""

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sample_files import X, npy, npz

from metaod.errors import BadFile
from metaod.tables import is_large, read_table, stream_table

CSV = b"a,b\n1,2\n3,4\n"


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(npy(X))))
    table = read_table("-")
    assert table.n_rows == len(X)
    assert table.source == "<stdin>"


def test_file_objects(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    with path.open("rb") as binary, path.open() as text:
        assert read_table(binary).frame.equals(read_table(text).frame)
        assert not binary.closed
    with path.open() as stream:
        stream.readline()
        assert read_table(stream, header=False).frame.to_numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_named_pipes(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(CSV,))
    writer.start()
    assert read_table(path).n_rows == 2
    writer.join()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none.csv", "does not exist; check its name"),
        ("folder/none.csv/x", "does not exist"),
        ("folder", "is a folder"),
        ("http://host/t.csv", "is an address, which is not read; download the file"),
        ("a\0b", "cannot be opened"),
        ("empty.csv", "is empty"),
        ("empty.npy", "is empty"),
        (os.devnull, "is a device"),
    ],
)
def test_paths_that_cannot_be_opened(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty.csv").touch()
    Path("empty.npy").touch()
    with pytest.raises(BadFile, match=told) as caught:
        read_table(name)
    assert str(caught.value).startswith(" ".join(name.split()))


def test_missing_permission(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadFile, match="may not be read; check its permissions"):
        read_table(path)


def test_empty_path():
    with pytest.raises(BadFile, match="the path is empty"):
        read_table("")


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert read_table("~/t.csv").frame["a"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["~nobody-here/t.csv", "~nobody-here/*.csv"])
def test_a_tilde_without_a_home_folder_is_a_part_of_the_name(name):
    assert not is_large(name)
    for read in (read_table, stream_table):
        with pytest.raises(BadFile, match="does not exist"):
            read(name)


# gzip


def test_gzip_by_name_and_by_content(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(CSV, mtime=0))
    assert read_table(path).n_rows == 2
    assert read_table(io.BytesIO(gzip.compress(npz(X=X)))).n_rows == len(X)


def test_gzip_bombs(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 500_000, mtime=0))
    assert path.stat().st_size < 10_000
    with pytest.raises(BadFile, match="1,000,000 bytes"):
        read_table(path, max_bytes=10**6)


def test_files_larger_than_allowed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV * 100)
    with pytest.raises(BadFile, match=r"1,200 bytes.*100 bytes"):
        read_table(path, max_bytes=100)
    with pytest.raises(BadFile, match="100 bytes"):
        read_table(io.BytesIO(CSV * 100), max_bytes=100)


def test_gzip_that_promises_or_gives_too_much(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 500_000, mtime=0)
    path.write_bytes(packed[:-4] + (2**31).to_bytes(4, "little"))
    with pytest.raises(BadFile, match="damaged or cut short"):
        read_table(path)
    monkeypatch.setattr("metaod.tables.readers._source._SMALL_BYTES", 10**6)
    path.write_bytes(packed)
    with pytest.raises(BadFile, match="times its size; if this is right, unpack it first"):
        read_table(path)


@pytest.mark.parametrize("promised", [2**20, 2**31, 2**32 - 1])
def test_gzip_that_was_cut_short_is_not_called_too_large(tmp_path, promised):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 500, mtime=0)[:-20]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed + promised.to_bytes(4, "little"))  # its last bytes are any
    with pytest.raises(BadFile, match=r"gzip .*damaged or cut short"):
        read_table(path)


def test_memory_that_the_cells_need(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"1,2\n" * 10_000)
    with pytest.raises(BadFile, match=r"10,000.*720,000 bytes"):
        read_table(path, max_bytes=700_000)
    assert read_table(path, max_bytes=720_000).n_rows == 10_000


def test_more_columns_than_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.tables.readers._source._MOST_COLUMNS", 3)
    for name, content in {"t.csv": b"1,2,3,4\n5,6,7,9\n", "t.npy": npy(np.ones((2, 4)))}.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BadFile, match="4 columns"):
            read_table(path)
