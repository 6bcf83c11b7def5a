"""Marks of the rows of a table, found again after rows were added, removed or reordered.

A row is identified by its number, a hash of its cells, and the value of its key columns.
"""

import datetime as dt
import hashlib
import numbers
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from metaod._files import expanded
from metaod.errors import BadColumn, BadFile, Message, Setting, counted
from metaod.review._loop import checked_marks
from metaod.review._marks_file import OTHER_FILE, Mark, MarksFile
from metaod.tables import Table, plain_values

_EXACT_DIGITS = 15  # every number of that many digits is a double of its own
_EXACT = 10**_EXACT_DIGITS
_DIGEST_BYTES = 8
_BLOCK = 50_000  # rows whose cells are text in memory at once
_BEGIN_OF_NUMBER = frozenset("+-.0123456789")
_MOST_NAMED = 10


@dataclass(frozen=True)
class RowContents:
    """Hashes of all rows of a table, and their keys if key columns were named."""

    hashes: tuple[str, ...]
    keys: tuple[str, ...] | None = None

    @classmethod
    def of(cls, table: Table, key: "str | Sequence[str] | None" = None) -> "RowContents":
        """Read the cells as the file has them, so that options for reading change no hash.

        Parameters
        ----------
        table : Table
            The table.
        key : sequence of str, optional
            The columns whose values together are the key.
        """
        key = [key] if isinstance(key, str) else key
        if table.original is None:
            cells, decimal = table.frame, "."
        else:
            table.original.check_unchanged()
            cells = table.original.read()
            decimal = table.original.raw.decimal if table.original.raw is not None else "."
        hashes: list[str] = []
        keys: list[str] = []
        for start in range(0, max(len(cells), 1), _BLOCK):
            columns = {
                name: [cell_text(value, decimal) for value in values]
                for name, values in _columns(_block(cells, start))
            }
            for name in key or ():
                if name not in columns:
                    raise BadColumn(name, "is not in the table", path=table.source)
            names = sorted(columns)
            rows = zip(*(columns[name] for name in names), strict=True)
            hashes += (_hash(names, row) for row in rows)
            parts = zip(*(columns[name] for name in key or ()), strict=True)
            keys += (" / ".join(map(_printable, values)) for values in parts)
        return cls(tuple(hashes), tuple(keys) if key else None)

    def key(self, row: int) -> str:
        """Return the key of a row, counted from 0; empty if there are no keys."""
        return "" if self.keys is None else self.keys[row]


def _block(cells: Any, start: int) -> Any:
    is_arrow = hasattr(cells, "column_names")
    return cells.slice(start, _BLOCK) if is_arrow else cells.iloc[start : start + _BLOCK]


def _columns(cells: Any) -> list[tuple[str, list[Any]]]:
    """Return the names and values of the columns of an Arrow table or a frame."""
    if hasattr(cells, "column_names"):
        values = map(plain_values, cells.columns)
        return list(zip(map(str, cells.column_names), values, strict=True))
    return [
        (str(name), cells.iloc[:, place].astype(object).tolist())
        for place, name in enumerate(cells.columns)
    ]


def cell_text(value: Any, decimal: str = ".") -> str:
    """Write a cell so that 3, 3.0, '3' and ' 3.00' are the same; missing cells are empty.

    >>> [cell_text(value) for value in (3, "3.00", 2.5, "2,5", None, " north")]
    ['3.0', '3.0', '2.5', '2,5', '', 'north']
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return _text_cell(value.strip(), decimal)
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    is_name = isinstance(value, bool) or (isinstance(value, int) and abs(value) >= _EXACT)
    is_number = not is_name and isinstance(value, numbers.Real | Decimal)
    return repr(float(value)) if is_number else str(value).strip()


def _text_cell(text: str, decimal: str) -> str:
    if text[:1] not in _BEGIN_OF_NUMBER or len(text) > _EXACT_DIGITS:
        return text
    try:
        return repr(float(text if decimal == "." else text.replace(decimal, ".")))
    except ValueError:
        return text


def _hash(names: Sequence[str], texts: Sequence[str]) -> str:
    """Hash the cells that are not empty, each with its column's name; the letter h comes first.

    Without a letter, spreadsheets would read some hashes as numbers.
    """
    # a cell that holds the separators could only resemble another row of the same table
    cells = [f"{name}\x1e{text}" for name, text in zip(names, texts, strict=True) if text]
    whole = "\x1f".join(cells).encode(errors="surrogatepass")
    return f"h{hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).hexdigest()}"


def _printable(text: str) -> str:
    """Write control characters as escapes, so that a key is one line."""
    text = text.removesuffix(".0") if text.removesuffix(".0").lstrip("-").isdigit() else text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@dataclass(frozen=True)
class UsedMarks:
    """Answers by row, counted from 0, notes about their file, and the marks that match no row."""

    answers: dict[int, bool | None]
    notes: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Count the marks, as plain data; unsure ones are not used."""
        answers = list(self.answers.values())
        n_yes, n_no = answers.count(True), answers.count(False)
        kinds = {"outliers": n_yes, "others": n_no, "unsure": len(answers) - n_yes - n_no}
        return {"used": n_yes + n_no, **kinds, "unmatched": list(self.unmatched)}

    def sentence(self) -> str:
        """Say how many marks are used."""
        found = self.to_dict()
        kinds = f"{counted(found['outliers'], 'outlier')}, {found['others']} not"
        unsure = f"; {found['unsure']} unsure" if found["unsure"] else ""
        return f"learned from {counted(found['used'], 'mark')} ({kinds}){unsure}"


def read_marks(
    marks: "str | os.PathLike[str] | Mapping[int, bool | None]",
    table: Table,
    key: "str | Sequence[str] | None" = None,
) -> UsedMarks:
    """Check marks by row, or read a marks file and match its marks to the rows of a table.

    Parameters
    ----------
    marks : path-like or mapping
        The file that ``metaod review`` wrote, or answers by row, counted from 0.
    table : Table
        The table.
    key : str or sequence of str, optional
        The columns that identify the rows.
    """
    if not isinstance(marks, str | os.PathLike):
        return UsedMarks(checked_marks(marks, np.ones(table.n_rows, dtype=np.bool_), "MetaOD"))
    place = expanded(marks)
    file = MarksFile(place)
    if file.n_whole == 0:
        exists = place.exists()
        what = "is empty or cut off in its first line" if exists else "does not exist"
        raise BadFile(place, what, remedy="check its name, or make it with 'metaod review'")
    return _match(file, RowContents.of(table, key))[0]


class TableMarks:
    """The marks file of a table, which takes answers; a second review cannot open it meanwhile.

    Parameters
    ----------
    path : path-like
        The file; it is made with the first answer.
    table : Table
        The table.
    key : str or sequence of str, optional
        The columns that identify the rows.

    Attributes
    ----------
    used : UsedMarks
        The answers that the file held when it was opened.
    """

    def __init__(
        self, path: "str | os.PathLike[str]", table: Table, key: "str | Sequence[str] | None" = None
    ) -> None:
        self.path = expanded(path)
        self._lock(self.path)
        try:
            self._file = MarksFile(self.path)
            self._contents = RowContents.of(table, key)
            self.used, self._marks = _match(self._file, self._contents)
            self._file.open()
        except BaseException:
            self.close()
            raise

    def _lock(self, path: Path) -> None:
        from filelock import FileLock, Timeout  # noqa: PLC0415 - imports asyncio

        lock = path.with_name(f".{path.name}.lock")
        try:
            if not path.parent.is_dir():  # filelock would create it
                raise FileNotFoundError(2, os.strerror(2))
            self._locked = FileLock(lock, timeout=0, fallback_to_soft=False)
            self._locked.acquire()
        except Timeout:
            what = Message("marks-in-use", "is open in another review")
            remedy = "end that review first, or name another file with {set}"
            named = Message("end-review", remedy, set=Setting("marks"))
            raise BadFile(path, what, remedy=named) from None
        except OSError as error:
            what = Message("not-writable", "cannot be written ({why})", why=error.strerror)
            raise BadFile(path, what, remedy=OTHER_FILE) from error

    def add(self, answers: Mapping[int, bool | None]) -> None:
        """Add answers by row, counted from 0; they are on disk when this returns."""
        contents = self._contents
        marks = {
            row: Mark(row + 1, answer, contents.key(row), contents.hashes[row])
            for row, answer in answers.items()
        }
        self._file.add(marks.values())
        self._marks |= marks

    def withdraw(self, rows: Iterable[int]) -> None:
        """Take the answers for rows back."""
        self._file.add([self._marks.pop(row) for row in rows], withdraw=True)

    def close(self) -> None:
        """Let other reviews open the file."""
        with suppress(OSError):
            Path(self._locked.lock_file).unlink()  # filelock notices this in another process
        self._locked.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _match(file: MarksFile, contents: RowContents) -> tuple[UsedMarks, dict[int, Mark]]:
    """Find the row of every mark.

    A mark whose row number still has the same cells stays there. Else its key decides, if the
    table has it once; else it goes to a row of the same cells that has no mark yet. A mark without
    cells and without a key that can be compared belongs to its row number.
    """
    marks = file.marks
    positions: dict[Mark, int] = {
        mark: mark.row - 1
        for mark in marks
        if mark.row is not None and _is_at_its_number(mark, mark.row, contents, file.path)
    }
    taken = set(positions.values())
    _check_ids(marks, contents, file.path)
    places = _places(contents.keys or ())
    for mark in marks:
        same = places[mark.key] if mark not in positions and mark.key else []
        if len(same) == 1 and same[0] not in taken:
            positions[mark] = same[0]
    taken = set(positions.values())
    places = _places(contents.hashes)
    for mark in marks:
        free = [place for place in places[mark.content] if place not in taken]
        if mark not in positions and free:
            positions[mark] = free[0]
            taken.add(free[0])
    rows: dict[int, Mark] = {}
    for mark in marks:
        if mark in positions:
            earlier = rows.setdefault(positions[mark], mark)
            if earlier.answer is not mark.answer:
                raise mark.repeats(earlier, file.path)
    if marks and not rows:
        raise _other_table(file.path)
    unmatched = tuple(mark.name for mark in marks if mark not in positions)
    notes = (*file.notes, *_unmatched_notes(unmatched))
    return UsedMarks({row: mark.answer for row, mark in rows.items()}, notes, unmatched), rows


def _is_at_its_number(mark: Mark, row: int, contents: RowContents, path: Path) -> bool:
    n_rows = len(contents.hashes)
    if mark.content:
        return row <= n_rows and contents.hashes[row - 1] == mark.content
    if mark.key and contents.keys is not None:
        return row <= n_rows and contents.keys[row - 1] == mark.key
    if row > n_rows:
        what = f"row {row} does not exist: the table has {counted(n_rows, 'row')}"
        remedy = "correct the number; the first row below the header is row 1"
        raise BadFile(path, what, line=mark.line, remedy=remedy)
    return True


def _check_ids(marks: Sequence[Mark], contents: RowContents, path: Path) -> None:
    by_id = next((mark for mark in marks if mark.row is None), None)
    if by_id is not None and contents.keys is None:
        what = Message("marks-need-id", "marks a row by its id alone")
        remedy = Message("name-id", "name the column of the ids with {id}", id=Setting("id"))
        raise BadFile(path, what, line=by_id.line, remedy=remedy)


def _other_table(path: Path) -> BadFile:
    what = "none of its marks matches a row: it belongs to another table, or every row has changed"
    remedy = Message(
        "name-marks-or-id",
        "name the marks file of this table with {marks}, or its column of ids with {id}",
        marks=Setting("marks"),
        id=Setting("id"),
    )
    return BadFile(path, Message("marks-of-other-table", what), remedy=remedy)


def _unmatched_notes(names: Sequence[str]) -> list[str]:
    """Say how many and which marks match no row, if there are any."""
    if not names:
        return []
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    verbs = "matches no row and is" if len(names) == 1 else "match no row and are"
    marks = counted(len(names), "mark")
    return [f"{marks} of the marks file {verbs} not used (kept in the file): {shown}"]


def _places(values: Sequence[str]) -> defaultdict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        places[value].append(place)
    return places
