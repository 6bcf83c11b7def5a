"""The marks of a table in a CSV file: every answer is on disk before the next question.

Lines are only ever added. An answer that is taken back gets a line of its own, 'withdrawn'. The
version is the last value of a line, so that a line that was cut off is recognised.
"""

import csv
import errno
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from metaod._files import check_plain_file
from metaod.errors import BadFile, Message, Setting

ANSWERS: dict[str, bool | None] = {"yes": True, "no": False, "unsure": None}
"""Answers by the word that a marks file has."""

_VERSION = 1
_FIELDS = ("row", "id", "content", "answer", "time", "version")
_ABBREVIATIONS = {"y": "yes", "n": "no", "?": "unsure"}
_WITHDRAWN = "withdrawn"
_WORDS = {answer: word for word, answer in ANSWERS.items()}
_WHAT_IT_IS = "a marks file is a CSV with the columns row and answer"
_MOST_DIGITS = 15
_MOST_BYTES = 2**25  # of some 300,000 answers; reading takes eight times as much memory
OTHER_FILE = Message("other-marks-file", "name another file with {set}", set=Setting("marks"))


@dataclass(frozen=True)
class Mark:
    """An answer about a row.

    Parameters
    ----------
    row : int or None
        The row's number when it was marked; 1 is the first row below the header.
    answer : bool or None
        True for an outlier, False for none, None for unsure.
    key, content : str
        The value of its key column and the hash of its cells; empty if they are not known.
    line : int
        Its line in the file.
    """

    row: int | None
    answer: bool | None
    key: str = ""
    content: str = ""
    line: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """The row in a message."""
        return f"row {self.row}" if self.row is not None else f"id {self.key!r}"

    def repeats(self, earlier: "Mark", path: Path) -> BadFile:
        """Return the error for two marks of one row."""
        word, before = _WORDS[self.answer], _WORDS[earlier.answer]
        what = f"marks {self.name} as {word!r}, and line {earlier.line} as {before!r}"
        return BadFile(path, what, line=self.line, remedy="remove one of the two lines")


class _CutOffError(ValueError):
    """A line is incomplete; if it is the last one and has no end, it was cut off."""


class MarksFile:
    """The text of a marks file, to which lines can be added.

    Parameters
    ----------
    path : Path
        The file; it need not exist.

    Attributes
    ----------
    marks : tuple of Mark
        The marks that count, in the order in which they were given.
    notes : tuple of str
        Messages about the file.
    """

    def __init__(self, path: Path) -> None:
        check_plain_file(path)
        self.path = path
        self.notes: tuple[str, ...] = ()
        self._names: tuple[str, ...] = _FIELDS
        self._delimiter = ","
        self._found: dict[tuple[int | None, str, str], Mark] = {}
        try:
            if (size := path.stat().st_size) > _MOST_BYTES:
                what = f"holds {size:,} bytes, more than the {_MOST_BYTES:,} of any marks file"
                raise BadFile(path, what, remedy=_WHAT_IT_IS)
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            what = f"cannot be read ({error.strerror})"
            raise BadFile(path, what, remedy="check its name") from error
        self._n_bytes = len(data)
        self.n_whole = self._read(data)  # bytes, without a line that was cut off
        self._ends = data[: self.n_whole].endswith((b"\n", b"\r"))

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(self._found.values())

    def _read(self, data: bytes) -> int:
        """Read all lines; return the number of bytes without a last line that was cut off."""
        for number, line in enumerate(data.splitlines(keepends=True), start=1):
            is_whole = line.endswith((b"\n", b"\r"))  # bytes are split at these alone
            values = self._values(line, number, strict=is_whole)
            read = self._read_names if number == 1 else self._read_mark
            try:
                read(values, number)
            except _CutOffError as error:
                if is_whole:
                    remedy = _WHAT_IT_IS if number == 1 else "complete the line or remove it"
                    raise self._bad(str(error), number, remedy) from error
                note = f"the last line, {number}, was cut off and is not used: "
                self.notes = (f"{self.path}: {note}{self._delimiter.join(values)!r}",)
                return len(data) - len(line)
        return len(data)

    def _values(self, line: bytes, number: int, *, strict: bool) -> list[str]:
        try:
            text = line.decode("utf-8-sig", "strict" if strict else "replace").rstrip("\r\n")
            if number == 1:
                self._delimiter = max(",;\t", key=text.count)
            values = next(csv.reader([text], delimiter=self._delimiter), [])
        except UnicodeDecodeError as error:
            raise self._bad("is not text in UTF-8", number) from error
        except csv.Error as error:  # a field of more than 131,072 characters
            raise self._bad(f"has a line of {len(line):,} bytes", number) from error
        if "\0" in text:
            raise self._bad("contains binary data", number)
        return [value.strip() for value in values]

    def _read_names(self, values: list[str], line: int) -> None:
        names = tuple(name.lower() for name in values)
        if "answer" not in names or not {"row", "id"} & set(names):
            whole, last = names[:-1], names[-1] if names else ""
            if whole == _FIELDS[: len(whole)] and any(
                name.startswith(last) for name in _FIELDS[len(whole) : len(names)]
            ):
                raise _CutOffError(f"has no column {_FIELDS[len(whole)]!r}")
            absent = "answer" if "answer" not in names else "row"
            raise self._bad(f"has no column {absent!r}", line)
        self._names = names

    def _read_mark(self, values: list[str], line: int) -> None:
        """Add the mark of a line, or remove the one that it takes back."""
        if not any(values):
            return
        if "version" not in self._names and len(values) > self._names.index("answer"):
            values = values + [""] * (len(self._names) - len(values))  # written by hand
        if len(values) < len(self._names):
            raise _CutOffError(f"{len(values)} values where the first line has {len(self._names)}")
        given = dict.fromkeys(_FIELDS, "")
        for name, value in zip(self._names, values, strict=False):
            given[name] = given.get(name) or value
        if "version" in self._names:
            self._check_version(given["version"], line)
        row = None
        if given["row"] or not given["id"]:
            remedy = "the first row below the header is row 1"
            row = self._count(given["row"].removesuffix(".0"), "row", line, remedy)
        word = self._word(given["answer"], line)
        place = (row, given["id"], given["content"])
        if word == _WITHDRAWN:
            self._found.pop(place, None)
            return
        mark = Mark(row, ANSWERS[word], given["id"], given["content"], line)
        if place in self._found:
            raise mark.repeats(self._found[place], self.path)
        self._found[place] = mark

    def _word(self, answer: str, line: int) -> str:
        word = _ABBREVIATIONS.get(answer.lower(), answer.lower())
        if word in (*ANSWERS, _WITHDRAWN):
            return word
        if any(whole.startswith(word) for whole in (*ANSWERS, _WITHDRAWN)):
            raise _CutOffError(f"the answer is {answer[:40]!r}")
        raise self._bad(f"the answer is {answer[:40]!r}", line, "an answer is yes, no or unsure")

    def _check_version(self, text: str, line: int) -> None:
        if not text:
            raise _CutOffError("the version is missing")
        remedy = "the line is damaged: fix or remove it"
        if self._count(text, "version", line, remedy) > _VERSION:
            what = f"is a marks file of version {text}, which is unknown"
            raise BadFile(self.path, what, line=line, remedy="update metaod", code="newer-format")

    def _count(self, text: str, name: str, line: int, remedy: str) -> int:
        if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < 1:
            shown = text if len(text) <= 2 * _MOST_DIGITS else f"{text[:_MOST_DIGITS]}..."
            raise self._bad(f"the {name} is {shown!r}", line, remedy)
        return int(text)

    def _bad(self, what: str, line: int, remedy: str = _WHAT_IT_IS) -> BadFile:
        return BadFile(self.path, what, line=line, remedy=remedy)

    def open(self) -> None:
        """Prepare for writing: remove a last line that was cut off."""
        try:
            if self._n_bytes:
                with self.path.open("ab") as file:
                    file.truncate(self.n_whole)
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            raise BadFile(self.path, what, remedy=OTHER_FILE) from error
        self._n_bytes = self.n_whole
        self._identity = self._status()

    def add(self, marks: Iterable[Mark], *, withdraw: bool = False) -> None:
        """Add marks, or take them back; they are on disk when this returns."""
        if self._status() != self._identity:
            what = "was changed by another program during the review"
            remedy = "start again; answers that it holds are kept"
            raise BadFile(self.path, what, remedy=remedy)
        data = self._lines(marks, withdraw=withdraw).encode(errors="replace")
        try:
            with self.path.open("ab", buffering=0) as file:
                file.write(data)
                os.fsync(file.fileno())
                is_whole = file.tell() == self._n_bytes + len(data)
            if not is_whole:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, self._n_bytes)
            what = f"cannot be written ({error.strerror}); the last answer is not in it"
            remedy = "free some disk space, then start again: earlier answers are kept"
            raise BadFile(self.path, what, remedy=remedy) from error
        self._n_bytes += len(data)
        self._identity = self._status()
        self._ends = True

    def _lines(self, marks: Iterable[Mark], *, withdraw: bool) -> str:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        if self._n_bytes == 0:
            writer.writerow(self._names)
        elif not self._ends:
            text.write("\n")
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for mark in marks:
            word = _WITHDRAWN if withdraw else _WORDS[mark.answer]
            values = (mark.row or "", mark.key, mark.content, word, time, _VERSION)
            given = dict(zip(_FIELDS, values, strict=True))
            writer.writerow([given.get(name, "") for name in self._names])
        return text.getvalue()

    def _status(self) -> tuple[int, int] | None:
        """Return the number of the file on its disk, and its size."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size
