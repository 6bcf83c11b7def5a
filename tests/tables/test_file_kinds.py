"""Files that are not what their names say, or that are not supported."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest
from sample_files import ARFF, FRAME, SAMPLES, X, mat, npy, npz, xlsx

from metaod.errors import BadFile
from metaod.tables import read_table

CSV = b"a,b\n1,2\n3,4\n"


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
        ("t.csv", b'[{"a": 1}, {"a": 2}]', "seems to be JSON; rename it to t.json"),
        ("t.json", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.csv.gz", CSV, "is not gzip-compressed; rename it to t.csv"),
        ("t.arff", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.mat", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.npy", npz(X=X), "seems to be NPZ; rename it to t.npz"),
        ("t.parquet", b"\x00\x01\x02" * 50, "binary data of an unknown kind"),
        ("t.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "password-protected"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "save it as .xlsx"),
        ("t.xls", CSV, "seems to be delimited text; rename it to t.csv"),
        ("t.xlsx", SAMPLES["xls"][1], "seems to be an XLS workbook; rename it to t.xls"),
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
        ({}, "a zip archive"),
    ],
)
def test_unsupported_archives(members, told):
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


@pytest.mark.parametrize("name", ["t.pkl", "t.csv", "t"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_read(tmp_path, name, protocol):
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"a": np.arange(300)}, protocol))
    with pytest.raises(BadFile, match=r"a pickle.*; .*never read"):
        read_table(path)
