"""The marks of a table in a CSV file: every answer is on disk before the next question.

Lines are only ever added. An answer that is taken back gets a line of its own, 'withdrawn'. The
version stands at the end of a line: a line without it was cut off.
"""

import csv
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from metaod.errors import BadFile
from metaod.tables import check_plain_file

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

VERSION = 1
FIELDS = ("row", "id", "content", "answer", "time", "version")
ANSWERS: dict[str, bool | None] = {"yes": True, "no": False, "unsure": None}
_KEYS = {"y": "yes", "n": "no", "?": "unsure"}
_WITHDRAWN = "withdrawn"
_WORDS = {answer: word for word, answer in ANSWERS.items()}
_WHAT_IT_IS = "a marks file is a CSV with the columns row and answer"
_LONGEST_LINE = 100_000  # bytes; csv refuses longer fields
_MOST_DIGITS = 15


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
        Where it stands in the file.
    """

    row: int | None
    answer: bool | None
    key: str = ""
    content: str = ""
    line: int = field(default=0, compare=False)

    @property
    def word(self) -> str:
        """The answer as the file has it."""
        return _WORDS[self.answer]

    @property
    def name(self) -> str:
        """The row in a message."""
        return f"row {self.row}" if self.row is not None else f"id {self.key!r}"

    @property
    def place(self) -> tuple[int | None, str, str]:
        """What tells whether two marks are of one row."""
        return self.row, self.key, self.content


@dataclass(frozen=True)
class Marks:
    """The marks that count, in the order in which they were given, and notes about the file."""

    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = FIELDS  # of the columns
    delimiter: str = ","
    n_bytes: int = 0  # without a line that was cut off


def read_marks(path: "str | os.PathLike[str]") -> Marks:
    """Read a marks file; BadFile says which line is wrong."""
    check_plain_file(path)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        remedy = "check its name, or make it with 'metaod review'"
        raise BadFile(path, "does not exist", remedy=remedy) from error
    except OSError as error:
        raise BadFile(
            path, f"cannot be read ({error.strerror})", remedy="check its name"
        ) from error
    marks = _parse(data, path)
    if marks.n_bytes == 0:
        raise BadFile(path, "is empty or cut off in its first line", remedy=_WHAT_IT_IS)
    return marks


def _parse(data: bytes, path: "str | os.PathLike[str]") -> Marks:
    lines = data.splitlines(keepends=True)  # of bytes: at \n, \r and \r\n alone
    first = _text(lines[0], path, 1).removeprefix("\ufeff") if lines else ""
    is_whole = bool(lines) and lines[0].endswith((b"\n", b"\r"))
    if not is_whole and ",".join(FIELDS).startswith(first):
        return Marks(notes=(f"{path}: the first line was cut off",) if first else ())
    delimiter = max(",;\t", key=first.count)
    names = tuple(name.strip().lower() for name in _fields(first, delimiter))
    if "answer" not in names or not {"row", "id"} & set(names):
        absent = "answer" if "answer" not in names else "row"
        raise BadFile(path, f"has no column {absent!r}", line=1, remedy=_WHAT_IT_IS)
    found: dict[tuple[int | None, str, str], Mark] = {}
    notes: tuple[str, ...] = ()
    n_bytes = len(lines[0])
    for number, raw in enumerate(lines[1:], start=2):
        is_last = number == len(lines) and not raw.endswith((b"\n", b"\r"))
        text = raw.decode("utf-8", "replace") if is_last else _text(raw, path, number)
        texts = _padded(_fields(text, delimiter), names)
        if is_last and _is_cut_off(names, texts):
            shown = delimiter.join(texts)
            notes = (f"{path}: the last line, {number}, was cut off and does not count: {shown!r}",)
            break
        n_bytes += len(raw)
        if any(text.strip() for text in texts):
            _add(found, names, texts, path, number)
    return Marks(tuple(found.values()), notes, names, delimiter, n_bytes)


def _text(line: bytes, path: "str | os.PathLike[str]", number: int) -> str:
    if len(line) > _LONGEST_LINE:
        what = f"has a line of {len(line):,} bytes"
        raise BadFile(path, what, line=number, remedy=_WHAT_IT_IS)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadFile(path, "is not text in UTF-8", line=number, remedy=_WHAT_IT_IS) from error
    if "\0" in text:
        raise BadFile(path, "holds binary data", line=number, remedy=_WHAT_IT_IS)
    return text


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])


def _padded(texts: list[str], names: Sequence[str]) -> list[str]:
    """Complete a line that a person wrote: only its answer is needed."""
    is_ours = "version" in names or len(texts) <= names.index("answer")
    return texts if is_ours else texts + [""] * (len(names) - len(texts))


def _is_cut_off(names: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a last line that does not end is only the beginning of a mark."""
    if len(texts) < len(names):
        return True
    given = dict(zip(names, (text.strip() for text in texts), strict=False))
    if "version" in given:
        return not given["version"]
    word = given["answer"].lower()
    begins = any(whole.startswith(word) for whole in (*ANSWERS, _WITHDRAWN))
    return begins and word not in (*ANSWERS, *_KEYS, _WITHDRAWN)


def _add(
    found: dict[tuple[int | None, str, str], Mark],
    names: Sequence[str],
    texts: Sequence[str],
    path: "str | os.PathLike[str]",
    line: int,
) -> None:
    """Add the mark of a line, or remove the one that it takes back."""
    if len(texts) < len(names):
        what = f"{len(texts)} values where the first line has {len(names)}"
        raise BadFile(path, what, line=line, remedy="complete the line or remove it")
    given = dict.fromkeys(FIELDS, "")
    for name, text in zip(names, texts, strict=False):
        given[name] = given.get(name) or text.strip()
    _check_version(given["version"] if "version" in names else str(VERSION), path, line)
    row = _row(given["row"], path, line) if given["row"] or not given["id"] else None
    word = given["answer"].lower()
    word = _KEYS.get(word, word)
    if word not in (*ANSWERS, _WITHDRAWN):
        what = f"the answer is {given['answer']!r}"
        raise BadFile(path, what, line=line, remedy="an answer is yes, no or unsure")
    place = (row, given["id"], given["content"])
    if word == _WITHDRAWN:
        found.pop(place, None)
        return
    mark = Mark(row, ANSWERS[word], given["id"], given["content"], line)
    earlier = found.setdefault(place, mark)
    if earlier is not mark:
        raise two_marks(path, earlier, mark)


def _check_version(text: str, path: "str | os.PathLike[str]", line: int) -> None:
    if not _is_count(text):
        what = f"the version is {_short(text)}"
        raise BadFile(path, what, line=line, remedy="the line is damaged: mend or remove it")
    if int(text) > VERSION:
        what = f"is a marks file of version {text}, which is unknown"
        raise BadFile(path, what, line=line, remedy="update metaod")


def _row(text: str, path: "str | os.PathLike[str]", line: int) -> int:
    digits = text.removesuffix(".0")
    if not _is_count(digits):
        what = f"{_short(text)} is not the number of a row"
        raise BadFile(path, what, line=line, remedy="the first row below the header is row 1")
    return int(digits)


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) >= 1


def _short(text: str) -> str:
    return repr(text if len(text) <= 2 * _MOST_DIGITS else f"{text[:_MOST_DIGITS]}...")


def two_marks(path: "str | os.PathLike[str]", first: Mark, second: Mark) -> BadFile:
    """Return the error for two marks of one row."""
    what = f"marks {second.name} again, as on line {first.line}"
    remedy = "remove one of the two lines"
    if first.answer is not second.answer:
        what = f"marks {second.name} as {second.word!r}, and line {first.line} as {first.word!r}"
        remedy = "remove the wrong one"
    return BadFile(path, what, line=second.line, remedy=remedy)


class MarksFile:
    """A marks file that takes further answers; no second review can open it meanwhile.

    Parameters
    ----------
    path : path-like
        The file. It is made if it does not exist, and removed if it is closed without a mark.

    Attributes
    ----------
    found : Marks
        The marks that it held.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = Path(path)
        check_plain_file(self.path)
        self._open()
        try:
            data = self.path.read_bytes()
            self.found = _parse(data, self.path)
            self._n_bytes = len(data)
            if self.found.n_bytes < len(data):
                os.truncate(self._file, self.found.n_bytes)
                self._n_bytes = self.found.n_bytes
            self._ends = not data[: self._n_bytes] or data[: self._n_bytes].endswith((b"\n", b"\r"))
        except BaseException:
            os.close(self._file)
            raise

    def add(self, marks: Sequence[Mark]) -> None:
        """Add marks; they are on disk when this returns."""
        self._write(marks, [mark.word for mark in marks])

    def withdraw(self, marks: Sequence[Mark]) -> None:
        """Take marks back; they may be marked again afterwards."""
        self._write(marks, [_WITHDRAWN] * len(marks))

    def close(self) -> None:
        """Close the file; remove it if it is empty."""
        if self._n_bytes == 0:
            with suppress(OSError):
                self.path.unlink()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, marks: Sequence[Mark], words: Sequence[str]) -> None:
        self._check_unchanged()
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.found.delimiter, lineterminator="\n")
        if self._n_bytes == 0:
            writer.writerow(self.found.names)
        elif not self._ends:
            text.write("\n")
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for mark, word in zip(marks, words, strict=True):
            values = ("" if mark.row is None else mark.row, mark.key, mark.content, word, time)
            given: dict[str, Any] = dict(zip(FIELDS, (*values, VERSION), strict=True))
            writer.writerow([given.get(name, "") for name in self.found.names])
        data = text.getvalue().encode(errors="replace")
        try:
            _write_all(self._file, data)
            os.fsync(self._file)
            if self._n_bytes == 0:
                _sync_folder(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self._file, self._n_bytes)
            what = f"cannot be written ({error.strerror}); the last answer is not in it"
            remedy = "make room, then start again: earlier answers are kept"
            raise BadFile(self.path, what, remedy=remedy) from error
        self._n_bytes += len(data)
        self._ends = True

    def _check_unchanged(self) -> None:
        """Refuse to write if another program has replaced the file or written to it."""
        own = os.fstat(self._file)
        if not _is_at(self.path, own) or own.st_size != self._n_bytes:
            what = "was changed by another program during the review"
            remedy = "start again; answers that it holds are kept"
            raise BadFile(self.path, what, remedy=remedy)

    def _open(self) -> None:
        while True:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            try:
                self._file = os.open(self.path, flags, 0o666)
            except OSError as error:
                what = f"cannot be written ({error.strerror})"
                remedy = "name another file with --marks"
                raise BadFile(self.path, what, remedy=remedy) from error
            try:
                _lock(self._file, self.path)
            except BaseException:
                os.close(self._file)
                raise
            if _is_at(self.path, os.fstat(self._file)):
                return
            os.close(self._file)  # another review has just removed the empty file


def _lock(file: int, path: Path) -> None:
    """Take the operating system's lock, which ends when the process ends, also if it is killed."""
    try:
        if sys.platform == "win32":
            os.lseek(file, 2**30, os.SEEK_SET)  # beyond the text, which others may read
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            what = "is open in another review"
            remedy = "end that one first, or name another file with --marks"
        else:
            what = f"cannot be locked ({error.strerror})"
            remedy = "name a file on a local disk with --marks"
        raise BadFile(path, what, remedy=remedy) from error


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file durable; some systems cannot open a folder."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
