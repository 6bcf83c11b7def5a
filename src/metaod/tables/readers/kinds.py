"""What kind of table a file is, by its first bytes, and whether that agrees with its name."""

import re
import zipfile
from enum import StrEnum
from pathlib import PurePath

from metaod.errors import BadFile
from metaod.tables.readers.matlab4 import parse_header
from metaod.tables.readers.source import Source

__all__ = ["Kind", "decide_kind", "sniff"]


class Kind(StrEnum):
    """Kinds of file, named as messages name them."""

    DELIMITED = "delimited text"
    PARQUET = "Parquet"
    ARFF = "ARFF"
    MATLAB = "MATLAB"
    HDF5 = "HDF5"
    NPY = "NPY"
    NPZ = "NPZ"
    XLSX = "an XLSX workbook"
    # known, but not read
    OLE = "a legacy .xls workbook or a password-protected one"
    ODS = "an OpenDocument sheet"
    ZIP = "a zip archive"
    TAR = "a tar archive"
    BZIP2 = "bzip2-compressed"
    XZ = "xz-compressed"
    ZSTD = "zstd-compressed"
    PDF = "a PDF document"
    HTML = "an HTML page"
    JSON = "JSON"
    PICKLE = "a pickle"
    BINARY = "binary data of no kind known here"


# the first of a kind's endings is the one that messages recommend
_SUFFIXES = {
    ".csv": Kind.DELIMITED,
    ".tsv": Kind.DELIMITED,
    ".tab": Kind.DELIMITED,
    ".psv": Kind.DELIMITED,
    ".txt": Kind.DELIMITED,
    ".dat": Kind.DELIMITED,
    ".data": Kind.DELIMITED,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
    ".arff": Kind.ARFF,
    ".mat": Kind.MATLAB,
    ".h5": Kind.HDF5,
    ".hdf5": Kind.HDF5,
    ".npy": Kind.NPY,
    ".npz": Kind.NPZ,
    ".xlsx": Kind.XLSX,
    ".xlsm": Kind.XLSX,
    ".xls": Kind.OLE,
    ".ods": Kind.ODS,
    ".zip": Kind.ZIP,
    ".json": Kind.JSON,
    ".jsonl": Kind.JSON,
    ".ndjson": Kind.JSON,
    ".pkl": Kind.PICKLE,
    ".pickle": Kind.PICKLE,
}

_REMEDIES = {
    Kind.OLE: "open it in a spreadsheet program and save it as .xlsx without a password, or as CSV",
    Kind.ODS: "open it in a spreadsheet program and save it as .xlsx or CSV",
    Kind.ZIP: "unpack it and name the file inside",
    Kind.TAR: "unpack it and name the file inside",
    Kind.BZIP2: "decompress it first",
    Kind.XZ: "decompress it first",
    Kind.ZSTD: "decompress it first",
    Kind.PDF: "export the table itself, as CSV",
    Kind.HTML: "a download may have failed: fetch the file itself",
    Kind.JSON: "convert it to CSV or Parquet, or pass the frame that pandas.read_json gives",
    Kind.PICKLE: "pickles are never read, for they can run any code: write it as Parquet or CSV",
    Kind.BINARY: "it may be damaged or cut short: write or download it again",
}

_MAGIC = {  # by where in the file the bytes stand
    0: (
        (b"PAR1", Kind.PARQUET),
        (b"\x93NUMPY", Kind.NPY),
        (b"\x89HDF\r\n\x1a\n", Kind.HDF5),
        (b"MATLAB 7.3 MAT-file", Kind.HDF5),
        (b"MATLAB 5.0 MAT-file", Kind.MATLAB),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OLE),
        (b"PK\x05\x06", Kind.ZIP),
        (b"BZh", Kind.BZIP2),
        (b"\xfd7zXZ\x00", Kind.XZ),
        (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
        (b"%PDF-", Kind.PDF),
        *((bytes([0x80, protocol]), Kind.PICKLE) for protocol in range(2, 6)),
        # protocols 0 and 1 have no mark of their own: how lists, dicts and objects begin
        *((start, Kind.PICKLE) for start in (b"(lp0\n", b"(dp0\n", b"]q\x00", b"}q\x00")),
        *((start, Kind.PICKLE) for start in (b"ccopy_reg\n", b"cnumpy.", b"cpandas.")),
    ),
    # MATLAB 5 files need not begin with their usual words: version and byte order tell them
    124: ((b"\x00\x01IM", Kind.MATLAB), (b"\x01\x00MI", Kind.MATLAB)),
    257: ((b"ustar", Kind.TAR),),
}

# an object's first key, an array's first object or array, or an array of plain values alone
_JSON = re.compile(r'\s*(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*\Z)|\[\s*[\[{]|\[[^\[\]{}]*\]\s*\Z)')
_TEXT_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def _has_text_mark(head: bytes) -> bool:
    """Whether text of 16 or 32 bits a character says so by a byte-order mark."""
    return head.startswith(_TEXT_MARKS)


def sniff(source: Source) -> Kind:
    """Tell a file's kind by its bytes alone."""
    head = source.head(2**16)  # comments at the top of ARFF files are long
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_archive(source)
    for start, magics in _MAGIC.items():
        for magic, kind in magics:
            if head.startswith(magic, start):
                return kind
    if parse_header(head) is not None:
        return Kind.MATLAB  # of version 4, which has no magic bytes
    if b"\0" in head and not _has_text_mark(head):
        return Kind.BINARY
    return _kind_of_text(head)


def decide_kind(source: Source) -> Kind:
    """Tell the kind to read a file as; refuse one that is not what its name says."""
    seen = sniff(source)
    named = _SUFFIXES.get(source.suffix)
    if seen == Kind.BINARY and named in (None, Kind.DELIMITED):
        return Kind.DELIMITED  # whose reader can say where, and knows other encodings
    either_matlab = {seen, named} == {Kind.MATLAB, Kind.HDF5}  # MATLAB 7.3 is HDF5
    if named not in (None, seen) and not either_matlab:
        raise _misnamed(source, seen, named)
    if seen in _REMEDIES:
        raise BadFile(source.name, f"is {seen}", remedy=_REMEDIES[seen])
    return seen


def _misnamed(source: Source, seen: Kind, named: Kind) -> BadFile:
    remedy = _REMEDIES.get(seen)
    if remedy is None:
        ending = next(suffix for suffix, kind in _SUFFIXES.items() if kind == seen)
        bare = PurePath(source.name.removesuffix(".gz")).with_suffix(ending).name
        remedy = f"rename it to {bare}{'.gz' if source.name.endswith('.gz') else ''}"
    return BadFile(
        source.name, f"is named {source.suffix} ({named}) but seems to be {seen}", remedy=remedy
    )


def _kind_of_archive(source: Source) -> Kind:
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # cut short: what it was meant to be is known only by its name
        return _SUFFIXES.get(source.suffix, Kind.ZIP)
    if "xl/workbook.xml" in names:
        return Kind.XLSX
    if "content.xml" in names and "mimetype" in names:
        return Kind.ODS
    if names and all(name.endswith(".npy") for name in names):
        return Kind.NPZ
    return Kind.ZIP


def _kind_of_text(head: bytes) -> Kind:
    text = head.decode("utf-16" if _has_text_mark(head) else "utf-8", errors="replace")
    if _JSON.match(text.removeprefix("\ufeff")):
        return Kind.JSON
    commented = False
    for line in text.removeprefix("\ufeff").splitlines():
        words = line.strip().lower()
        if words.startswith(("@relation", "@attribute")):
            return Kind.ARFF
        if words.startswith(("<!doctype html", "<html")):
            return Kind.HTML
        if words.startswith("%"):
            commented = True
        elif words:
            return Kind.DELIMITED
    return Kind.ARFF if commented else Kind.DELIMITED
