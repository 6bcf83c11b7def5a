"""Where tables come from, and files that are not what their names say."""

import gzip
import io
import os
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from sample_files import ARFF, FRAME, SAMPLES, X, mat, npy, npz, xlsx

from metaod.errors import BadFile
from metaod.tables import read_table

CSV = b"a,b\n1,2\n3,4\n"


def test_paths_of_either_type(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    assert read_table(path).frame.equals(read_table(str(path)).frame)


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
        ("http://host/t.csv", "download it first"),
        ("a\0b", "cannot be opened"),
        ("empty.csv", "is empty"),
        ("empty.npy", "is empty"),
        (os.devnull, "is a device"),
    ],
)
def test_what_cannot_be_opened(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty.csv").touch()
    Path("empty.npy").touch()
    with pytest.raises(BadFile, match=told) as caught:
        read_table(name)
    assert str(caught.value).startswith(" ".join(name.split()))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="may read everything")
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    path.chmod(0)
    with pytest.raises(BadFile, match="may not be read"):
        read_table(path)


def test_permission_is_told(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadFile, match="may not be read; check its permissions"):
        read_table(path)


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
    with pytest.raises(BadFile, match="holds more bytes, more than the 1,000,000 bytes allowed"):
        read_table(path, max_bytes=10**6)


def test_files_larger_than_allowed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CSV * 100)
    with pytest.raises(BadFile, match=r"is 1,200 bytes large, more than the 100 bytes allowed"):
        read_table(path, max_bytes=100)
    with pytest.raises(BadFile, match="more than the 100 bytes allowed"):
        read_table(io.BytesIO(CSV * 100), max_bytes=100)


# kinds


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("t.csv", FRAME.to_parquet(), "seems to be Parquet; rename it to t.parquet"),
        ("t.csv", npy(X), "seems to be NPY; rename it to t.npy"),
        ("t.csv", npz(X=X), "seems to be NPZ; rename it to t.npz"),
        ("t.csv", mat(X=X), "seems to be MATLAB; rename it to t.mat"),
        ("t.csv", mat("4", X=X), "seems to be MATLAB; rename it to t.mat"),
        ("t.txt", SAMPLES["hdf5"][1], "seems to be HDF5; rename it to t.h5"),
        ("t.csv", xlsx(FRAME), "seems to be an XLSX workbook; rename it to t.xlsx"),
        ("t.csv", ARFF, "seems to be ARFF; rename it to t.arff"),
        ("t.csv.gz", gzip.compress(ARFF, mtime=0), "seems to be ARFF; rename it to t.arff.gz"),
        ("t.csv", gzip.compress(CSV, mtime=0), "is gzip-compressed; rename it to t.csv.gz"),
        ("t.csv.gz", CSV, "is not gzip-compressed; rename it to t.csv"),
        ("t.arff", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.mat", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.npy", npz(X=X), "seems to be NPZ; rename it to t.npz"),
        ("t.parquet", b"\x00\x01\x02" * 50, "binary data of an unknown kind"),
        ("t.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "password-protected"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "save it as .xlsx"),
        ("t.xls", b"<!DOCTYPE html>\n<html><table>", "an HTML page"),
        ("t.csv", b"<html>\n404", "an HTML page; a download may have failed"),
        ("t.csv", b"%PDF-1.7\n", "a PDF document"),
        ("t", b"BZh91AY&SY" + b"\0" * 9, "bzip2-compressed; decompress it first"),
        ("t.csv", b"\xfd7zXZ\x00" + b"\0" * 9, "xz-compressed"),
        ("t.csv", b"\x28\xb5\x2f\xfd" + b"\0" * 9, "zstd-compressed"),
    ],
)
def test_files_of_another_kind_than_their_names_say(tmp_path, name, data, told):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadFile) as caught:
        read_table(path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"t.csv": CSV}, "a zip archive; unpack it"),
        ({"mimetype": b"", "content.xml": b""}, "an OpenDocument sheet"),
        ({}, "a zip archive"),
    ],
)
def test_archives_of_other_things(members, told):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(BadFile, match=told):
        read_table(io.BytesIO(buffer.getvalue()))


def test_endings_in_capitals_and_unknown_ones(tmp_path):
    for name in ("T.NPY", "t.unknown", "t"):
        path = tmp_path / name
        path.write_bytes(npy(X))
        assert read_table(path).n_rows == len(X)
