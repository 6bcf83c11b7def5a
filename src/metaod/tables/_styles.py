"""How the values of a column are written in the user's table, for what screens say about them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

import numpy as np
import pandas as pd

from metaod.tables._notations import Notation, Plain
from metaod.tables._number_notation import NumberNotation, simplified
from metaod.tables._record import cell_text, number_text
from metaod.tables._time_notations import DateNotation, DurationNotation

_PLAIN = Plain("numeric")
_ISO = re.compile(r"(?P<y>[0-9]{4,})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?P<clock> .*)?")
_LOOKED_AT = 50  # texts


@dataclass(frozen=True)
class Style:
    """Writes values as a column of the user's table has them: 1.234,50 €, 7,3 %, 18.03.2024.

    Parameters
    ----------
    notation : Notation
        The notation in which the column was read.
    before, after : str
        What stands before and behind its numbers: a currency, a unit, and a blank.
    decimals : int or None
        The decimals that all its numbers have, if they have the same number of them.

    Examples
    --------
    >>> style = Style.of(NumberNotation(",", ".", "€"), ["12,00 €", "1.234,50 €"])
    >>> style.text(1240.5), style.text(-3)
    ('1.240,50 €', '-3,00 €')
    """

    notation: Notation = _PLAIN
    before: str = ""
    after: str = ""
    decimals: int | None = None

    @classmethod
    def of(cls, notation: Notation, texts: Sequence[str] = ()) -> Self:
        """Take the style of a notation, with the layout of texts written in it."""
        if isinstance(notation, DateNotation):
            notation = notation.single(texts[:_LOOKED_AT])
        if not isinstance(notation, NumberNotation):
            return cls(notation)
        before = after = ""
        decimals = set()
        for text in map(simplified, texts[:_LOOKED_AT]):
            _, _, part = text.partition(notation.decimal or "\0")
            decimals.add(len(re.match("[0-9]*", part)[0]))  # type: ignore[index]  # it always matches
            own = re.search(rf"(\s?){re.escape(notation.mark)}(\s?)", text)
            if notation.mark and own is not None and not (before or after):
                is_before = any(character.isdigit() for character in text[own.end() :])
                before = f"{notation.mark}{own[2]}" if is_before else ""
                after = "" if is_before else f"{own[1]}{notation.mark}"
        return cls(notation, before, after, decimals.pop() if len(decimals) == 1 else None)

    @property
    def is_plain(self) -> bool:
        """Whether values are written as Python writes them."""
        own = self.notation
        return isinstance(own, Plain) and own.decimal == "." and own.kind != "duration"

    @property
    def factor(self) -> float:
        """How much larger numbers are written than they are: 100 for percentages."""
        return self.notation.factor if isinstance(self.notation, NumberNotation) else 1.0

    def text(self, value: Any, write: Callable[[float], str] | None = None) -> str:
        """Write a value; `write` gives the digits of a number, by default those of the column."""
        if value is None or value is pd.NaT or isinstance(value, str | bool | np.bool_):
            return cell_text(value)
        if isinstance(value, date | np.datetime64):
            return self._date(str(value).replace("T", " ").removesuffix(" 00:00:00"))
        if isinstance(value, pd.Timedelta | np.timedelta64):
            return self._duration(pd.Timedelta(value).total_seconds())
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            return cell_text(value)
        if self.notation.what == "durations":
            return self._duration(float(value))
        shown: Any = value if self.factor == 1 else float(value) * self.factor
        return self._number((write or self._digits)(shown))

    def about(self, value: Any, write: Callable[[float], str]) -> str:
        """Write a computed value with no more decimals than the column has."""
        return self.text(value, lambda own: self._shortened(own, write(own)))

    def _digits(self, number: float) -> str:
        """Write a number with the decimals of the column, if it has no more."""
        if self.decimals is not None and abs(number) < 1e15:
            text = f"{number:.{self.decimals}f}"
            if np.isclose(float(text), number, rtol=1e-12):
                return text
        return str(number) if isinstance(number, int | np.integer) else number_text(number)

    def _shortened(self, number: float, text: str) -> str:
        part = text.partition(".")[2]
        if self.decimals is None or not part.isdecimal() or len(part) <= self.decimals:
            return text
        return f"{number:.{self.decimals}f}"

    def _number(self, text: str) -> str:
        """Write the digits of a number with the marks of the column."""
        own = self.notation
        mark = own.decimal if isinstance(own, NumberNotation | Plain) else "."
        sign = text[:1] if text[:1] == "-" else ""
        whole, point, part = text.removeprefix("-").partition(".")
        if isinstance(own, NumberNotation) and own.thousands and whole.isdecimal():
            whole = f"{int(whole):,}".replace(",", own.thousands)
        point = (mark or ".") if point else ""
        return f"{sign}{self.before}{whole}{point}{part}{self.after}"

    def _date(self, text: str) -> str:
        """Write a date, given as ISO has it."""
        own, found = self.notation, _ISO.fullmatch(text)
        if not isinstance(own, DateNotation) or own.order == "name" or found is None:
            return text
        date = own.separator.join(found[part] for part in own.order)
        return f"{date}{found['clock'] or ''}"

    def _duration(self, seconds: float) -> str:
        form = self.notation.form if isinstance(self.notation, DurationNotation) else ""
        minutes, rest = divmod(abs(seconds), 60)
        hours, minutes = divmod(int(minutes), 60)
        sign, second = "-" if seconds < 0 else "", number_text(rest)
        if form == "am/pm":
            return f"{hours % 12 or 12}:{minutes:02} {'PM' if hours >= 12 else 'AM'}"
        if form in ("parts", "iso"):
            counts = ((hours, "h"), (minutes, "m"), (second, "s"))
            parts = [f"{count}{unit}" for count, unit in counts if count not in (0, "0")] or ["0s"]
            return sign + ("PT" + "".join(parts).upper() if form == "iso" else " ".join(parts))
        clock = f"{hours}:{minutes:02}" if form else f"{hours:02}:{minutes:02}"
        shown = f"{'0' if rest < 10 else ''}{second}"
        if form == "m:s" and not hours:
            return f"{sign}{minutes}:{shown}"
        return f"{sign}{clock}:{shown}" if rest or form == "m:s" else f"{sign}{clock}"
