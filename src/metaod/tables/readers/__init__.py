"""Readers of tables, one file a format. To add a format, add its file and its line here.

The kind of a file is recognised by its first bytes, and its name must agree.
"""

import re
from dataclasses import dataclass
from pathlib import PurePath

from metaod.errors import BadFile
from metaod.tables.readers import arff, delimited, excel, hdf5, matlab, numpy_files, parquet
from metaod.tables.readers._reader import FileKind, Reader, begins_with
from metaod.tables.readers._source import Source, head_text, zip_members
from metaod.tables.readers.arff import first_line

__all__ = ["READERS", "READ_ENDINGS", "choose_reader"]

# The first that recognises a file reads it. Delimited text is last because it accepts any text.
READERS: list[Reader] = [
    parquet.READER,
    matlab.READER,
    hdf5.READER,
    numpy_files.NPY,
    numpy_files.NPZ,
    excel.READER,
    arff.READER,
    delimited.READER,
]


@dataclass(frozen=True)
class _Unsupported(FileKind):
    remedy: str


# an object's first key, an array's first object or array, or an array of plain values alone
_JSON = re.compile(r'\s*(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*\Z)|\[\s*[\[{]|\[[^\[\]{}]*\]\s*\Z)')
# protocols 0 and 1 have no mark of their own: how lists, dicts and objects begin
_OLD_PICKLES = (b"(lp0\n", b"(dp0\n", b"]q\x00", b"}q\x00", b"ccopy_reg\n", b"cnumpy.", b"cpandas.")

_UNPACK = "unpack it and name the file inside"

_UNSUPPORTED = (
    _Unsupported(
        "a legacy .xls workbook or a password-protected one",
        (".xls",),
        begins_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        "open it in a spreadsheet program and save it as .xlsx without a password, or as CSV",
    ),
    _Unsupported(
        "an OpenDocument sheet",
        (".ods",),
        lambda source, _: {"content.xml", "mimetype"} <= set(zip_members(source) or ()),
        "open it in a spreadsheet program and save it as .xlsx or CSV",
    ),
    _Unsupported("a tar archive", (), lambda _, head: head[257:262] == b"ustar", _UNPACK),
    _Unsupported("bzip2-compressed", (), begins_with(b"BZh"), "decompress it first"),
    _Unsupported("xz-compressed", (), begins_with(b"\xfd7zXZ\x00"), "decompress it first"),
    _Unsupported("zstd-compressed", (), begins_with(b"\x28\xb5\x2f\xfd"), "decompress it first"),
    _Unsupported("a PDF document", (), begins_with(b"%PDF-"), "export the table itself, as CSV"),
    _Unsupported(
        "an HTML page",
        (),
        lambda _, head: first_line(head_text(head) or "").startswith(("<!doctype html", "<html")),
        "a download may have failed: fetch the file itself",
    ),
    _Unsupported(
        "JSON",
        (".json", ".jsonl", ".ndjson"),
        lambda _, head: _JSON.match(head_text(head) or "") is not None,
        "convert it to CSV or Parquet, or pass the frame that pandas.read_json gives",
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


READ_ENDINGS = frozenset(ending for reader in READERS for ending in reader.endings)
"""Endings of the files that can be read; any of them may be followed by .gz."""


def choose_reader(source: Source) -> Reader:
    """Choose the reader of a file; refuse a file that is not what its name says."""
    head = source.head(2**16)  # comments at the top of ARFF files are long
    kinds: tuple[FileKind, ...] = (*_UNSUPPORTED, *READERS, _ZIP, _BINARY)
    found = next(kind for kind in kinds if kind.recognise(source, head))
    named = next((kind for kind in (*READERS, *kinds) if source.suffix in kind.endings), None)
    if found is _ZIP and named is not None and zip_members(source) is None:
        found = named  # cut short: only its name says what it contained
    if found is _BINARY and named in (None, delimited.READER):
        found = delimited.READER  # which finds the line and knows other encodings
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
