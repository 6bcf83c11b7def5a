"""Names of the files that the server stores and gives."""

import unicodedata
from pathlib import PurePosixPath
from urllib.parse import quote

MARKS_FILE = "marks.csv"  # the answers of a review, in the folder of the table

# those of metaod.tables.READ_ENDINGS, which would load pandas into the server
_TEXTS = {".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data", ".arff", ".gz"}
_OTHERS = {".parquet", ".pq", ".xlsx", ".xlsm", ".mat", ".h5", ".hdf5", ".npy", ".npz"}
_LONGEST_NAME = 120  # characters


def shown_name(given: str) -> str:
    r"""Return the last part of a client's file name without characters that control a text.

    Examples
    --------
    >>> shown_name("../../etc/pass\u202ewd.csv"), shown_name("")
    ('passwd.csv', 'table')
    """
    last = given.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()
    if len(plain) > _LONGEST_NAME:
        ending = stored_ending(plain)
        plain = plain[: _LONGEST_NAME - len(ending) - 1] + "…" + ending
    return plain.strip(".") or "table"


def stored_ending(name: str) -> str:
    """Return the ending that a file is stored with: a known one, or none.

    Examples
    --------
    >>> stored_ending("a.b.CSV.gz"), stored_ending("a.exe"), stored_ending("a.csv/../b")
    ('.csv.gz', '', '')
    """
    ending = ""
    for suffix in reversed(PurePosixPath(name).suffixes[-2:]):
        known = suffix.lower() in _TEXTS | _OTHERS and (not ending or ending == ".gz")
        if not known:
            break
        ending = suffix.lower() + ending
    return ending


def disposition(name: str) -> str:
    r"""Return the header that makes a browser save an answer under a name (RFC 6266).

    Examples
    --------
    >>> disposition('a"b ü.csv')
    'attachment; filename="a_b _.csv"; filename*=UTF-8\'\'a%22b%20%C3%BC.csv'
    """
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%/:*?<>|' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
