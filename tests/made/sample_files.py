"""One small valid file of every kind that is read, made anew for the tests."""

import base64
import gzip
import io
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

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


def arrow(frame, *, is_file=True, **options):
    sink = io.BytesIO()
    table = pa.Table.from_pandas(frame)
    new = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=5)
    return sink.getvalue()


# a cover, and a sheet with a title and a total, written by Excel's format of 1997
XLS = zlib.decompress(
    base64.b85decode(
        "c-rllS!feM7=ZuTojuYsskLZ@62x08s8FO*qqSN=BGrl)f~M(;r7>I5s6@oOkAfgRD82|PsNnVBfeI>uK6s%If+D"
        "u+n?5L>58C+8zmqjvBUsRiC4bo2`TzZAzWL|e?1TG(?!#v*d!UcZ1QmMIKG3sl3@=|s@dG|jr$sh%H}Oj6<-Zc2i"
        "36!?aJl%7A;wUQcMm9VhF`}N;00c*paT}#aVt20QcrD&FwurO#&PZ`a0ssw7*6dfqclqC5K2#z?-fdCk!261b?Dp"
        "8R>J+z!U@ymJYKGhq-Q0VGPpoxo{(h<429cb9&g*r9A6D)C)y&h!SbMr7r_z0v2L{DRzm2da1;svR-jae!_^H9Rl"
        "FFEiPb!Rer-5h+uYm@<v1~pz{hkD;6r8yxE9RY2iDF2?O(ih;}>=lM>Ut-heO-fzE9x*+abM%iRI7*#c+a)CmPJL"
        "H(H4<C~`Ii;Ls3BM!rH^Z2#ycTwr#Ky&)L@XpY3J&Y-<Em|SNCQ&uE_bwt~eDV%?Cbn8g8MJ*MeHIhOt8ndJASZ7"
        "=3>bSKDT~g>>Z^z?!Tkt6sN5{qXdURZ3CnK=}aq`ek<@fAV#k78lFl~iW$_Ho_`!W2l$KO2+w={)TlVv-dPR<!NT"
        "7(N}*da<_;S%?WlTM%#6Di$EwT_^CC8gyUGv3EE4V9UByU1rZJspFbX(W$AW3%$(FyHlh(Z#B+m!a{PKh@Z?x%|}"
        "Q&|w&fL(+=n#cvl(Vw2dx141r^GIu6-yJwUR|7qtl6~AnIS{~G;@J%dflz?-ZD`jwAxZ=+ELk6N(omLowu2-4#P$"
        ")XDhe94Abu`g`s;eoeaaU7O(_D?Crn{Pkn&E0XYNn*BIjAa8#rxS+7={{?bp_;kIr*lbsW>hwa)!Xk6GFN}nqs0w"
        "qnNfTq8?qA5hR|2#HrQ-N#aB*AlqjqNK;)BCsJxb=i3{S#EAq%;zZIVNy|afsMbR1uMw%l)l_8F2o{nwA~n95QS("
        "%iw5*skPfU6alJ4m}ok(S5d#;I?YTcN0B310+Ti#2Oo)wesiOI-8GCaL!5UGM}6*NvWU6MhhSJii~7oK!TMpjIQC"
        "nhro$#i>9kW3;~lI@mHkm_BMNu+c4_8X%l$;^t$^u#3kNa;iJQLRPN-$$gSnSBRx?K^qNOJ4Glmwzjac5|S&2kyM"
        "j%k$CsuJaAA-u!2hK`V>F#$OWu5YEMabxBA-s$cV`0yLJXi~VMq%=bbe%aERcc4(n?wD)`d;yXOcj_0=v`v2S#>M"
        "y^yKkfX>{O{UyVc`"
    )
)


def ods(*sheets):
    """Write sheets as LibreOffice does: equal cells and the empty rest once, with their number."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{space}:{name}:1.0"' for name in ("office", "table", "text"))
    tables = "".join(
        f'<table:table table:name="{title}">{"".join(map(_ods_row, rows))}'
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row></table:table>'
        for title, rows in sheets
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", f"<office:body {spaces}>{tables}</office:body>")
    return buffer.getvalue()


def _ods_row(cells):
    return f"<table:table-row>{''.join(map(_ods_cell, cells))}</table:table-row>"


def _ods_cell(value):
    if pd.isna(value):
        return '<table:table-cell table:number-columns-repeated="1"/>'
    kinds = {bool: "boolean", str: "string", pd.Timestamp: "date"}
    kind = kinds.get(type(value), "float")
    shown = value.isoformat() if kind == "date" else str(value).lower()
    known = (
        ""
        if kind == "string"
        else f'office:{"value" if kind == "float" else f"{kind}-value"}="{shown}"'
    )
    text = f"<text:p>{escape(value)}</text:p>" if kind == "string" else ""
    return f'<table:table-cell office:value-type="{kind}" {known}>{text}</table:table-cell>'


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
    "arrow": (".arrow", arrow(FRAME.set_index("b").assign(k=pd.Categorical(FRAME["c"])))),
    "arrow stream": (".arrows", arrow(FRAME, is_file=False, compression="lz4")),
    "feather": (".feather", arrow(FRAME, compression="zstd")),
    "parquet plain": (
        ".parquet",
        FRAME.set_index("b").to_parquet(compression=None, use_dictionary=False),
    ),
    "json": (".json", NESTED),
    "json lines": (".jsonl", jsonl(FRAME)),
    "sqlite": (".sqlite", sqlite(t=FRAME)),
    "duckdb": (".duckdb", duckdb_file(FRAME)),
    "xls": (".xls", XLS),
    "ods": (".ods", ods(("S", [FRAME.columns, *FRAME.astype(object).to_numpy()]))),
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
