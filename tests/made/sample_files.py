"""One small valid file of every kind that is read, made anew for the tests."""

import gzip
import io
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.io
import scipy.sparse

N_ROWS = 12
X = np.random.default_rng(7).normal(size=(N_ROWS, 3)).round(3)
Y = np.array([0, 1] * (N_ROWS // 2))
FRAME = pd.DataFrame(
    {
        "a": X[:, 0],
        "b": np.arange(N_ROWS) * 3,
        "c": ["x", "y, z", 'q"r', None] * 3,
        "d": pd.date_range("2020-01-01", periods=N_ROWS),
        "y": Y,
    }
)
ARFF = rb"""% a comment
@relation sample
@attribute a numeric
@attribute 'b c' {x,'y z'}
@attribute s string
@attribute d date "yyyy-MM-dd"
@attribute y {no,yes}
@data
1.5,x,'it\'s',2020-01-01,no
?,'y z',"q",?,yes
{0 2, 1 'y z', 4 yes}
"""


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(compressed=False, **arrays):
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def mat(version="5", compressed=False, **arrays):
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, arrays, format=version, do_compression=compressed)
    return buffer.getvalue()


def hdf5(**arrays):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    return buffer.getvalue()


def mat73(**arrays):
    """Write as MATLAB does: 512 bytes before the HDF5 part, classes named, axes reversed."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            dataset = file.create_dataset(name, data=np.atleast_2d(array).T, compression="gzip")
            dataset.attrs["MATLAB_class"] = np.bytes_("double")
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    return header + buffer.getvalue()[128:]


def xlsx(frame, **options):
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False, **options)
    return buffer.getvalue()


def unpacked_zip(data):
    """Store what a zip archive has compressed, so that damage reaches the content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(buffer, "w") as stored:
        for name in packed.namelist():
            stored.writestr(name, packed.read(name))
    return buffer.getvalue()


def jsonl(frame):
    return frame.to_json(orient="records", lines=True, date_format="iso").encode()


def sqlite(**frames):
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, frame in frames.items():
            frame.to_sql(name, connection, index=False)
        return connection.serialize()


def duckdb_file(frame):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", pa.Table.from_pandas(frame))
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return path.read_bytes()


NESTED = b"""{"made": "2020-01-01", "data": {"rows": [
{"a": 1.5, "b": {"c": "x", "d": [1, {"e": null}]}, "y": 0},
{"a": null, "b": {"c": "\\u00fc", "d": []}, "y": 1}]}}"""

# ending and content
SAMPLES = {
    "csv": (".csv", FRAME.to_csv(index=False).encode()),
    "csv with index": (".csv", FRAME.to_csv(sep=";", decimal=",").encode()),
    "csv in utf-16": (".csv", FRAME.to_csv(index=False).encode("utf-16")),
    "blanks": (".txt", FRAME[["a", "b", "y"]].to_csv(sep=" ", index=False).encode()),
    "gzip": (".csv.gz", gzip.compress(FRAME.to_csv(index=False).encode())),
    "parquet": (".parquet", FRAME.to_parquet()),
    "parquet plain": (
        ".parquet",
        FRAME.set_index("b").to_parquet(compression=None, use_dictionary=False),
    ),
    "json": (".json", NESTED),
    "json lines": (".jsonl", jsonl(FRAME)),
    "sqlite": (".sqlite", sqlite(t=FRAME)),
    "duckdb": (".duckdb", duckdb_file(FRAME)),
    "arff": (".arff", ARFF),
    "mat 4": (".mat", mat("4", X=X, y=Y)),
    "mat 4 sparse": (".mat", mat("4", X=scipy.sparse.csc_array(X * (X > 0)), y=Y)),
    "mat 5": (".mat", mat("5", X=X, y=Y)),
    "mat 5 deflated": (".mat", mat("5", compressed=True, X=X, y=Y)),
    "mat 5 sparse": (".mat", mat("5", X=scipy.sparse.csc_array(X * (X > 0)), y=Y)),
    "mat 7.3": (".mat", mat73(X=X, y=Y)),
    "hdf5": (".h5", hdf5(X=X, y=Y)),
    "npy": (".npy", npy(X)),
    "npy structured": (".npy", npy(FRAME[["a", "b", "y"]].to_records(index=False))),
    "npy text": (".npy", npy(np.array([["1", "a"], ["2", "b"]]))),
    "npz": (".npz", npz(X=X, y=Y)),
    "npz deflated": (".npz", npz(compressed=True, X=X, y=Y)),
    "xlsx": (".xlsx", xlsx(FRAME)),
    "xlsx stored": (".xlsx", unpacked_zip(xlsx(FRAME))),
}
