"""Change values in a JSON text, whose other characters stay as they are."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from metaod.tables.readers._source import Utf8Text

Layout = Literal["lines", "list", "columns", "keys", "one"]
Change = Callable[[int, str, Any], Any]

_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n\ufeff"


@dataclass(frozen=True)
class JsonRecords:
    """The text of a JSON file, and where the records of the table are in it.

    Parameters
    ----------
    text : Utf8Text
        The text.
    layout : {"lines", "list", "columns", "keys", "one"}
        Whether records are lines, the values of a list, those of several lists or objects at the
        same place, the values of an object, or the only value.
    names : tuple of str
        The columns of records that are lists; none for objects.
    path : str
        The dotted name of the list.
    numbers : tuple of int
        The number of each record, from 1: of its line, or among the values.
    """

    text: Utf8Text
    layout: Layout
    names: tuple[str, ...] = ()
    path: str = ""
    numbers: tuple[int, ...] = ()

    def changed(self, columns: Mapping[int, Iterable[str]], change: Change) -> bytes:
        """Return the file with other values in the columns of some rows.

        ``change(row, column, value)`` returns the new value.
        """
        with self.text.source.open() as stream:
            text = stream.read().decode()
        is_ascii = text.isascii() or not self.text.encoding.lower().startswith("utf")
        starts = self._starts(text) if self.layout != "columns" else []
        edits = []
        for row, own in columns.items():
            place = self.numbers[row] - 1
            for name in own:
                if self.layout == "columns":
                    [at] = (start for key, start, _ in _members(text, _start(text)) if key == name)
                    _, start, stop = list(_members(text, at))[place]
                    before = ""
                else:
                    key = self.names.index(name) if self.names else name
                    start, stop, before = _find(text, starts[place], key)
                value = _DECODER.raw_decode(text, start)[0] if stop > start else None
                written = json.dumps(change(row, name, value), ensure_ascii=is_ascii)
                edits.append((start, stop, before + written))
        parts: list[str] = []
        end = 0
        for start, stop, written in sorted(edits):
            comma = ", " if start == stop == end and written[0] != "," else ""
            parts += [text[end:start], comma, written]
            end = stop
        return "".join([*parts, text[end:]]).encode(self.text.encoding)

    def _starts(self, text: str) -> list[int]:
        """Return where the records begin; of lines, where each line does."""
        first = _start(text)
        if self.layout == "lines":
            starts = [0]
            for line in text.split("\n"):
                starts.append(starts[-1] + len(line) + 1)
            return [_start(text, start) for start in starts[:-1]]
        if self.layout == "one":
            return [first]
        if self.path:
            first, _, _ = _find(text, first, self.path)
        return [start for _, start, _ in _members(text, first)]


def _start(text: str, at: int = 0) -> int:
    """Return the next place that is not blank."""
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _members(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Yield the key or number, the start and the end of each value of an object or list."""
    is_object, number = text[at] == "{", 0
    at = _start(text, at + 1)
    while text[at] not in "}]":
        key: Any = number
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            key, at = key.encode(errors="replace").decode(), _start(text, _start(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        yield key, at, end
        number, at = number + 1, _start(text, end)
        at = _start(text, at + 1) if text[at] == "," else at


def _find(text: str, at: int, name: Any) -> tuple[int, int, str]:
    """Return the start and end of the value of a dotted name or number.

    If there is none, these are the end of the last value of the object that should hold it, and the
    third is what has to precede the value.
    """
    end, mark, inner = at + 1, "", None
    for key, start, stop in _members(text, at):
        if key == name:
            return start, stop, ""
        if text[start] == "{" and isinstance(name, str) and name.startswith(f"{key}."):
            inner = _find(text, start, name[len(key) + 1 :])
            if not inner[2]:
                return inner
        end, mark = stop, ", "
    return inner or (end, end, f"{mark}{json.dumps(name, ensure_ascii=False)}: ")
