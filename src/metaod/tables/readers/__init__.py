"""Readers of tables, one file a format, which is imported when a file of the format is read.

The kind of a file is recognised by its first bytes, and its name must agree.
"""

import re
from collections.abc import Callable, Set
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from metaod.errors import BadFile
from metaod.options import Reading
from metaod.tables.readers._source import Source, head_text, zip_members

if TYPE_CHECKING:
    from metaod.tables.readers._reader import Chunks, Content


@dataclass(frozen=True)
class FileKind:
    """A kind of file, recognised by the file and its first 64 KiB."""

    kind: str
    endings: tuple[str, ...]  # messages recommend the first
    recognise: Callable[[Source, bytes], bool]


@dataclass(frozen=True)
class Reader(FileKind):
    """A kind of file that the functions of a module read.

    ``read(source, options)`` returns the table. Formats of large files also have
    ``chunks(source, options)``, which opens a file or returns None, and ``shape(source)``, which
    estimates the number of rows and columns.
    """

    module: str
    options: Set[str] = frozenset()  # those of read_table that only some kinds take

    def read(self, source: Source, options: Reading) -> "Content":
        """Read the whole file."""
        content: Content = self._module.read(source, options)
        return content

    def chunks(self, source: Source, options: Reading) -> "Chunks | None":
        """Open a file to read it in chunks; None if it can only be read at once."""
        opened: Chunks | None = getattr(self._module, "chunks", lambda *_: None)(source, options)
        return opened

    def shape(self, source: Source) -> tuple[float, float]:
        """Estimate the number of rows and columns; 0 if they are not known."""
        shape: tuple[float, float] = getattr(self._module, "shape", lambda _: (0, 0))(source)
        return shape

    @property
    def _module(self) -> Any:
        return import_module(self.module)


def begins_with(*starts: bytes) -> Callable[[Source, bytes], bool]:
    """Make a recogniser of files that begin with one of these byte strings."""
    return lambda source, head: head.startswith(starts)  # noqa: ARG005 - a recogniser gets both


def _is_matlab(_: Source, head: bytes) -> bool:
    # MATLAB 5 files need not begin with their usual words, but hold version and byte order
    versions = (b"\x00\x01IM", b"\x01\x00MI")
    if head.startswith(b"MATLAB 5.0 MAT-file") or head[124:128] in versions:
        return True
    if b"\0\0" not in head[:4]:  # MATLAB 4 begins with a small number
        return False
    return import_module("metaod.tables.readers.matlab").parse_header4(head) is not None


def _is_npz(source: Source, _: bytes) -> bool:
    members = zip_members(source) or [""]
    return all(name.endswith(".npy") for name in members)


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHEET_OPTIONS = {"decimal", "header", "sheet", "skip_rows", "skip_footer"}


def _is_xls(source: Source, head: bytes) -> bool:
    """Whether the folder in a document names what a workbook is stored as."""
    if not head.startswith(_OLE):
        return False
    names = [name.encode("utf-16-le") for name in ("Workbook", "Book")]
    with source.open() as stream:
        content = stream.read()
    return any(name in content for name in names)


def _first_line(text: str) -> str:
    """Return the first line that is neither blank nor a comment after %, in lower case."""
    lines = (line.strip().lower() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("%")), "")


def _is_arff(_: Source, head: bytes) -> bool:
    text = head_text(head)
    if text is None:
        return False
    first = _first_line(text)
    only_comments = not first and bool(text.strip())
    return only_comments or first.startswith(("@relation", "@attribute"))


# an object's first key, an array's first object or array, or an array of plain values that is all
# or above another
_JSON = re.compile(
    r'\s*(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*\Z)|\[\s*[\[{]|\[[^\[\]{}]*\]\s*(?:\Z|\n\s*\[))'
)


# The first that recognises a file reads it. Delimited text is last because it accepts any text.
READERS: list[Reader] = [
    Reader("Parquet", (".parquet", ".pq"), begins_with(b"PAR1"), "metaod.tables.readers.parquet"),
    Reader(
        "Arrow",
        (".arrow", ".feather", ".ipc", ".arrows"),
        begins_with(b"ARROW1", b"\xff\xff\xff\xff"),
        "metaod.tables.readers.arrow_files",
    ),
    Reader("MATLAB", (".mat",), _is_matlab, "metaod.tables.readers.matlab", {"variable"}),
    Reader(
        "HDF5",
        (".h5", ".hdf5", ".mat"),
        begins_with(b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3 MAT-file"),
        "metaod.tables.readers.hdf5",
        {"variable"},
    ),
    Reader("NPY", (".npy",), begins_with(b"\x93NUMPY"), "metaod.tables.readers.numpy_files"),
    Reader("NPZ", (".npz",), _is_npz, "metaod.tables.readers.numpy_files", {"variable"}),
    Reader(
        "an XLSX workbook",
        (".xlsx", ".xlsm"),
        lambda source, _: "xl/workbook.xml" in (zip_members(source) or ()),
        "metaod.tables.readers.excel",
        _SHEET_OPTIONS,
    ),
    Reader(
        "an XLS workbook", (".xls", ".xlt"), _is_xls, "metaod.tables.readers.xls", _SHEET_OPTIONS
    ),
    Reader(
        "an OpenDocument sheet",
        (".ods", ".ots"),
        lambda source, _: {"content.xml", "mimetype"} <= set(zip_members(source) or ()),
        "metaod.tables.readers.ods",
        _SHEET_OPTIONS,
    ),
    Reader(
        "SQLite",
        (".sqlite", ".sqlite3", ".db", ".db3", ".gpkg"),
        begins_with(b"SQLite format 3\0"),
        "metaod.tables.readers.databases",
        {"query"},
    ),
    Reader(
        "DuckDB",
        (".duckdb", ".ddb", ".db"),
        lambda _, head: head[8:12] == b"DUCK",
        "metaod.tables.readers.databases",
        {"query"},
    ),
    Reader("ARFF", (".arff",), _is_arff, "metaod.tables.readers.arff", {"encoding"}),
    Reader(
        "JSON",
        (".json", ".jsonl", ".ndjson", ".geojson"),
        lambda _, head: _JSON.match(head_text(head) or "") is not None,
        "metaod.tables.readers.json_files",
        {"encoding", "variable"},
    ),
    Reader(
        "delimited text",
        (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data"),
        lambda _, head: head_text(head) is not None and not head.startswith(b"PK\x03\x04"),
        "metaod.tables.readers.delimited",
        {"delimiter", "encoding", "decimal", "header", "skip_rows", "skip_footer"},
    ),
]


@dataclass(frozen=True)
class _Unsupported(FileKind):
    remedy: str


# protocols 0 and 1 have no mark of their own: how lists, dicts and objects begin
_OLD_PICKLES = (b"(lp0\n", b"(dp0\n", b"]q\x00", b"}q\x00", b"ccopy_reg\n", b"cnumpy.", b"cpandas.")

_UNPACK = "unpack it and name the file inside"

_UNSUPPORTED = (
    _Unsupported(
        "a document of an Office program that is no workbook, or a password-protected one",
        (),
        lambda source, head: head.startswith(_OLE) and not _is_xls(source, head),
        "save it as .xlsx without a password, or as CSV",
    ),
    _Unsupported("a tar archive", (), lambda _, head: head[257:262] == b"ustar", _UNPACK),
    _Unsupported("bzip2-compressed", (), begins_with(b"BZh"), "decompress it first"),
    _Unsupported("xz-compressed", (), begins_with(b"\xfd7zXZ\x00"), "decompress it first"),
    _Unsupported("zstd-compressed", (), begins_with(b"\x28\xb5\x2f\xfd"), "decompress it first"),
    _Unsupported("a PDF document", (), begins_with(b"%PDF-"), "export the table itself, as CSV"),
    _Unsupported(
        "an HTML page",
        (),
        lambda _, head: _first_line(head_text(head) or "").startswith(("<!doctype html", "<html")),
        "a download may have failed: fetch the file itself",
    ),
    _Unsupported(
        "a pickle",
        (".pkl", ".pickle"),
        begins_with(*(bytes([0x80, protocol]) for protocol in range(2, 6)), *_OLD_PICKLES),
        "pickles are never read because they can run any code: write it as Parquet or CSV",
    ),
)
# recognised after the readers
_ZIP = _Unsupported("a zip archive", (".zip",), begins_with(b"PK\x03\x04", b"PK\x05\x06"), _UNPACK)
_BINARY = _Unsupported(
    "binary data of an unknown kind",
    (),
    lambda *_: True,
    "it may be damaged or cut short: write or download it again",
)


_DATABASE = Reader("a database", (), lambda *_: False, "metaod.tables.readers.databases", {"query"})

READ_ENDINGS = frozenset(ending for reader in READERS for ending in reader.endings)
"""Endings of the files that can be read; any of them may be followed by .gz."""


def choose_reader(source: Source) -> Reader:
    """Choose the reader of a file; refuse a file that is not what its name says."""
    if source.url is not None:
        return _DATABASE
    head = source.head(2**16)  # comments at the top of ARFF files are long
    kinds: tuple[FileKind, ...] = (*_UNSUPPORTED, *READERS, _ZIP, _BINARY)
    found = next(kind for kind in kinds if kind.recognise(source, head))
    named = next((kind for kind in (*READERS, *kinds) if source.suffix in kind.endings), None)
    if found is _ZIP and named is not None and zip_members(source) is None:
        found = named  # cut short: only its name says what it contained
    if found is _BINARY and named in (None, READERS[-1]):
        found = READERS[-1]  # which finds the line and knows other encodings
    if named is not None and source.suffix not in found.endings:
        raise _misnamed(source, found, named)
    if isinstance(found, _Unsupported):
        raise BadFile(source.name, f"is {found.kind}", remedy=found.remedy)
    assert isinstance(found, Reader)  # noqa: S101 - for the type checker
    return found


def _misnamed(source: Source, found: FileKind, named: FileKind) -> BadFile:
    if isinstance(found, _Unsupported):
        remedy = found.remedy
    else:
        bare = PurePath(source.name.removesuffix(".gz")).with_suffix(found.endings[0]).name
        remedy = f"rename it to {bare}{'.gz' if source.name.endswith('.gz') else ''}"
    what = f"is named {source.suffix} ({named.kind}) but seems to be {found.kind}"
    return BadFile(source.name, what, remedy=remedy)
