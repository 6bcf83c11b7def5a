"""The header of an ARFF file: its attributes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metaod.errors import BadFile
from metaod.tables.readers.arff_syntax import QUOTED, split_values, unquoted

__all__ = ["Attribute", "read_header"]

_ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_TYPES = {"numeric": "numeric", "real": "numeric", "integer": "integer", "string": "string"}
# Java's letters for the parts of a date, and Python's
_DATE_PARTS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMM": "%b",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "H": "%H",
    "hh": "%I",
    "h": "%I",
    "mm": "%M",
    "m": "%M",
    "ss": "%S",
    "s": "%S",
    "SSS": "%f",
    "a": "%p",
    "Z": "%z",
    "EEE": "%a",
}
_DATE_PIECE = re.compile(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']")
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True)
class Attribute:
    """One column as declared.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"numeric", "integer", "string", "nominal", "date"}
        Its type.
    values : tuple of str
        The values of a nominal attribute.
    date_format : str
        The format of a date, in Python's letters.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    date_format: str = ""


def read_header(lines: Iterator[tuple[int, str]], source: str) -> list[Attribute]:
    """Read the declarations up to ``@data``, and leave the lines after it."""
    attributes: list[Attribute] = []
    for number, raw in lines:
        line = raw.strip()
        keyword = line.split(maxsplit=1)[0].lower() if line else ""
        if not line or line.startswith("%") or keyword == "@relation":
            continue
        if keyword == "@attribute":
            attributes.append(_attribute(line, number, source, attributes))
        elif keyword == "@data":
            if not attributes:
                raise BadFile(source, "declares no attributes", line=number)
            return attributes
        else:
            shown = line if len(line) <= 40 else line[:37] + "..."
            raise BadFile(
                source,
                f"{shown!r} is no declaration",
                line=number,
                remedy="before @data stand @relation, @attribute and comments after %",
            )
    raise BadFile(source, "has no @data", remedy="it may be cut short: write or download it again")


def _attribute(line: str, number: int, source: str, others: list[Attribute]) -> Attribute:
    found = _ATTRIBUTE.fullmatch(line)
    name = unquoted(found[1]).strip() if found else ""
    if not found or not name or not found[2]:
        raise BadFile(
            source, "an attribute without a name or a type", line=number, remedy="mend the line"
        )
    if any(name == other.name for other in others):
        raise BadFile(
            source, "the attribute is declared twice", line=number, column=name, remedy="rename it"
        )
    declared = found[2].strip()
    word, _, rest = declared.partition(" ")
    if word.lower() in _TYPES:
        return Attribute(name, _TYPES[word.lower()])
    if word.lower() == "date":
        told = unquoted(rest.strip()) or _DEFAULT_DATE
        return Attribute(name, "date", date_format=_date_format(told, name, number, source))
    if declared.startswith("{") and declared.endswith("}"):
        values = split_values(declared[1:-1])
        if values is not None:
            return Attribute(name, "nominal", values=tuple(value for value, _ in values))
    raise BadFile(
        source,
        f"the type {declared[:40]!r} is none that is read here",
        line=number,
        column=name,
        remedy="types are numeric, real, integer, string, date and {a, b, ...}",
    )


def _date_format(java: str, name: str, number: int, source: str) -> str:
    """Put Java's format of a date into Python's letters."""
    pieces, parts = [], []
    for piece in _DATE_PIECE.finditer(java):
        if piece[2] is None:  # a literal, quoted or not
            literal = piece[0] if piece[1] is None else piece[1] or "'"
            pieces.append(literal.replace("%", "%%"))
        else:
            parts.append(_DATE_PARTS.get(piece[0], ""))
            pieces.append(parts[-1])
    if "" in parts or len(set(parts)) < len(parts):
        raise BadFile(
            source,
            f"the date format {java!r} has parts that are not known, or one twice",
            line=number,
            column=name,
            remedy="declare the attribute as string",
        )
    return "".join(pieces)
