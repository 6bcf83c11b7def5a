"""Notations of numbers that a whole column shares: currency, units, thousands, minus signs."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_CURRENCY = re.compile(
    r"(?:US|CA?|AU?|NZ|HK|S|R|Mex)?\$|[€£¥₹₽₩₺₫₴₦₱฿₪]|kr\.?|zł|Kč|Ft|Rs\.?|Fr\.|"
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|"
    "MXN|MYR|NOK|NZD|PEN|PHP|PKR|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_SHARES = {"%": -2, "‰": -3}  # powers of ten
# units that may stand behind a number without a blank; the others could be parts of a code
_UNIT_WORDS = (
    "m km cm mm dm µm μm um nm in ft yd mi mil g kg mg µg μg ug t lb lbs oz l L ml mL cl dl hl "
    "gal s ms µs μs us ns h min sec secs hr hrs d day days wk yr yrs V kV mV A mA kA W kW MW GW "
    "mW Wh kWh MWh GWh Ah mAh J kJ MJ N kN Nm K °C °F ° C F Pa hPa kPa MPa bar mbar psi atm Hz "
    "kHz MHz GHz B kB KB MB GB TB KiB MiB GiB bit kbit Mbit kbps Mbps Gbps px pt em dB dBm dBA "
    "rpm bpm ppm ppb mol mmol lm lx cd Ω kΩ MΩ µF nF pF ha a acre acres m2 m3 m² m³ km2 km² cm2 "
    "cm² cm3 cm³ mm2 mm² mm3 mm³ ft2 ft² sqft sqm kcal cal mmHg km/h m/s mph kph kmh kn mg/dL "
    "mg/dl mmol/L mmol/l g/L g/l mg/L mg/l kg/m3 kg/m³ g/cm3 g/cm³ m/s2 m/s² l/100km L/100km mpg "
    "pcs Stk x k M"
)
_UNITS = frozenset(_UNIT_WORDS.split())
_UNIT = re.compile(r"[^\W\d_](?:[^\W_]|[/^·²³.-]){0,14}|[°µμΩ℃℉][^\W\d_]{0,3}")
# words behind numbers that are dates or times of day
_NOT_UNITS = re.compile(
    r"[ap]\.?m\.?|uhr|(?:jan|feb|m[aä]r|mrz|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]).*",
    re.IGNORECASE,
)
_BODY = r"[0-9](?:[0-9.,' ]*[0-9])?[.,]?|[.,][0-9]+"
_ANY = re.compile(
    rf"[(+-]*\s?(?P<before>{_CURRENCY.pattern}|[%‰])?\s?[(+-]?\s?(?P<body>{_BODY})"
    rf"(?:[eE][+-]?[0-9]+)?(?P<blank>\s?)(?P<after>[^\s0-9.,'()+-][^\s()]*?)?\s?-?\)?"
)
_BLANK_GROUPS = re.compile(r"[0-9] [0-9]{3}(?![0-9])")
_DASHES = ("-", "–", "—")
_SIMILAR = str.maketrans(
    dict.fromkeys("\xa0\u202f\u2009\u2007", " ") | {"\u2019": "'", "\u2212": "-"}
)
FEW = 100  # texts that are read without Arrow, whose calls take longer
_LONGEST = 60  # longer texts are not numbers
_EXACT = 2**53  # larger whole numbers are rounded in floats
_SHORTEST_PHONE = 9  # digits


def simplified(text: str) -> str:
    """Strip a text, and write all blanks, apostrophes and minus signs as ASCII has them."""
    return text.strip() if text.isascii() else text.translate(_SIMILAR).strip()


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return simplified texts as an Arrow array."""
    if not "".join(texts).isascii():  # half of a surrogate pair would stop Arrow
        texts = [simplified(text).encode(errors="replace").decode() for text in texts]
    return pc.utf8_trim_whitespace(pa.array(texts, pa.large_string()))


@dataclass(frozen=True)
class NumberNotation:
    """How the numbers of a column are written.

    A currency sign may stand before or behind a number, or be left out; a percent sign or unit
    must stand at every number but 0. Negative numbers have a minus sign before or behind them,
    or parentheses around them.
    """

    tag: ClassVar[str] = "numbers"
    what: ClassVar[str] = "numbers"
    decimal: str = "."  # empty if no number had one
    thousands: str = ""
    mark: str = ""  # a currency sign, a percent sign or a unit

    def __post_init__(self) -> None:
        if self.decimal not in ("", ".", ",") or self.thousands not in ("", ",", ".", "'", " "):
            raise ValueError(f"{self!r} is not a notation of numbers")

    @cached_property
    def has_unit(self) -> bool:
        """Whether the numbers have a percent sign or a unit."""
        return bool(self.mark) and not self.is_currency

    @cached_property
    def _shift(self) -> int:
        return _SHARES.get(self.mark, 0)

    @property
    def factor(self) -> float:
        """How much larger numbers are written than they are read: 100 for percentages."""
        return 10.0**-self._shift

    @property
    def is_sure(self) -> bool:
        """Whether such texts cannot be names; some have words: '2 rooms' beside 'no room'."""
        return not self.has_unit or self.mark in _SHARES

    @cached_property
    def is_currency(self) -> bool:
        return _CURRENCY.fullmatch(self.mark) is not None

    @cached_property
    def _pattern(self) -> "re.Pattern[str]":
        mark, group = re.escape(self.decimal) or "(?!)", re.escape(self.thousands)
        whole = r"[0-9]+"
        if self.thousands:
            whole = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|{whole}"
        if self.thousands == ",":
            whole = rf"[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}|{whole}"  # as in India
        before, after = "(?P<before>)", "(?P<after>)"
        if self.is_currency or self.mark in _SHARES:
            before = rf"(?:(?P<before>{re.escape(self.mark)})\s?)?"
        if self.mark:
            plural = "s?" if self._has_plural else ""
            after = rf"(?:\s?(?P<after>{re.escape(self.mark)}{plural}))?"
        return re.compile(
            rf"(?P<open>\(\s?)?(?P<sign>[+-]\s?)?{before}(?P<sign2>[+(-]\s?)?"
            rf"(?P<whole>(?!{mark}[^0-9]|{mark}$)(?:{whole}|(?={mark})))(?:{mark}(?P<part>[0-9]*))?"
            rf"(?:[eE](?P<power>[+-]?[0-9]{{1,4}}))?{after}(?P<minus>\s?-)?(?P<close>\s?\))?"
        )

    @property
    def _has_plural(self) -> bool:
        return len(self.mark) > 2 and self.mark.isalpha() and self.has_unit

    def parse(self, texts: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the numbers, and which texts are numbers; int64 if all are whole."""
        values, fits, is_whole = np.zeros(len(texts)), np.zeros(len(texts), dtype=bool), True
        if len(texts) >= FEW:
            values, fits, is_whole = self.parse_usual(texts)
        for place in np.flatnonzero(~fits).tolist():
            number = self._parse(texts[place])
            if number is not None:
                values[place], fits[place] = number, True
                is_whole = is_whole and type(number) is int
        if is_whole and not self._shift and np.abs(values).max(initial=0) < _EXACT:
            return values.astype(np.int64), fits
        return values, fits

    def parse_usual(
        self, texts: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], bool]:
        """Read the texts in the usual forms, by Arrow: in Python a text takes ten times longer."""
        column = arrow_texts(texts)
        group, mark = re.escape(self.thousands), re.escape(self.mark)
        grouped = rf"|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+" if group else ""
        part = rf"(?:{re.escape(self.decimal)}[0-9]+)?" if self.decimal else ""
        body = rf"(?:0|[1-9][0-9]*{grouped}){part}"
        usual = rf"^-?{body} ?{mark}$"
        if self.is_currency:
            usual = rf"{usual}|^(?:-?(?:{mark} ?)?|{mark} ?-){body}$"
        is_short = pc.less_equal(pc.utf8_length(column), _LONGEST)
        fits = pc.and_(is_short, pc.match_substring_regex(column, usual))
        column = pc.if_else(fits, column, "0")
        for gone in (self.mark, self.thousands, " "):
            column = pc.replace_substring(column, gone, "") if gone else column
        column = pc.replace_substring(column, self.decimal or ".", ".")
        is_whole = not self._shift and not pc.any(pc.match_substring(column, ".")).as_py()
        if self._shift:
            power = pa.scalar(f"e{self._shift}", column.type)
            column = pc.binary_join_element_wise(column, power, pa.scalar("", column.type))
        values = np.array(column.cast(pa.float64()))
        return values, np.array(fits, dtype=bool), is_whole

    def _parse(self, text: str) -> float | None:
        text = simplified(text)
        match = self._pattern.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            return 0 if self.is_currency and self._is_dash(text) else None
        opened, sign, before, second, whole, part, power, after, minus, closed = match.groups()
        if second and second[0] == "(":
            opened, second = opened or second, None
        signs = [mark for mark in (opened, sign, second, minus) if mark]
        is_code = part is None and whole[0] == "0" and len(whole) > 1
        if (opened is None) != (closed is None) or (before and after) or signs[1:] or is_code:
            return None
        if self.thousands:
            whole = whole.replace(self.thousands, "")
        if self.has_unit and not before and not after and (whole + (part or "")).strip("0"):
            return None
        written = whole or "0" if not signs or signs[0][0] == "+" else f"-{whole or 0}"
        if not part and not power and not self._shift:
            return int(written)
        return float(f"{written}.{part or 0}e{int(power or 0) + self._shift}")

    def _is_dash(self, text: str) -> bool:
        """Whether a text is a zero as spreadsheets write it: ``$ -``."""
        return self.mark in text and text.replace(self.mark, "").strip() in _DASHES

    def words(self) -> str:
        """Describe the notation.

        >>> NumberNotation(",", ".", "EUR").words()
        "numbers with the currency 'EUR', a decimal ',' and thousands separated by '.'"
        """
        parts = []
        if self.is_currency:
            parts.append(f"the currency {self.mark!r}")
        elif self.mark in _SHARES:
            parts.append(f"{self.mark!r} (as shares of 1)")
        elif self.mark:
            parts.append(f"the unit {self.mark!r}")
        if self.decimal == ",":
            parts.append("a decimal ','")
        if self.thousands:
            parts.append(f"thousands separated by {self.thousands!r}")
        if not parts:
            return "numbers with minus signs behind them or parentheses around them"
        *first, last = parts
        return f"numbers with {', '.join(first)} and {last}" if first else f"numbers with {last}"


def number_notations(
    texts: Sequence[str], sample: Sequence[str], decimal: str, *, only: bool = False
) -> list[NumberNotation]:
    """Return the notations in which the texts may be written, the most likely first.

    `decimal` is the decimal mark of the table, which decides if both marks are possible; with
    `only`, the other is never possible.
    """
    matches = [_ANY.fullmatch(simplified(text)) for text in sample]
    found = [match for match in matches if match]
    if 2 * len(found) < len(sample):
        return []
    mark = _mark_of(found)
    if mark is None:
        return []
    # a unit stands at every number: a single one may be a slip
    units = (mark, "") if mark in _SHARES else (mark,)
    written = simplified("\n".join(texts))
    body = written.replace(mark, "") if mark else written
    other = "," if decimal == "." else "."
    marks = (decimal,) if only else (decimal, other)
    groups = [group for group in ",.'" if group in body]
    if _BLANK_GROUPS.search(body):
        groups.append(" ")
    pairs = [(own, group) for own in marks for group in ("", *groups) if own != group]
    return [NumberNotation(own, group, unit) for unit in units for own, group in pairs]


def _mark_of(found: Sequence["re.Match[str]"]) -> str | None:
    """Return the currency, percent sign or unit of most numbers; None if it may be a code's."""
    marks = Counter(match["before"] or match["after"] or "" for match in found)
    [(mark, count)] = Counter({mark: n for mark, n in marks.items() if mark}).most_common(1) or [
        ("", 0)
    ]
    if not mark or mark in _SHARES or _CURRENCY.fullmatch(mark):
        return mark
    if 2 * count < len(found):
        return ""
    if not _UNIT.fullmatch(mark) or _NOT_UNITS.fullmatch(mark):
        return None
    singular = mark.removesuffix("s")
    mark = singular if len(singular) > 2 and singular in marks else mark
    are_apart = all(match["blank"] for match in found if match["after"] == mark)
    if are_apart and (len(mark) > 1 or mark in _UNITS):
        return mark
    has_decimals = any("." in match["body"] or "," in match["body"] for match in found)
    return mark if mark in _UNITS and (len(mark) > 1 or has_decimals) else None


def are_codes(texts: Sequence[str], notation: NumberNotation) -> str:
    """Return why numbers in groups are codes and not quantities; empty if they are quantities.

    >>> are_codes(["612 345 678", "911 222 333"], NumberNotation(".", " "))
    'all have 9 digits in groups, as telephone numbers have'
    """
    if notation.mark:
        return ""
    plain = [simplified(text) for text in texts]
    if all(text[0] == "(" or text[-1] == "-" for text in plain) and not any(
        set(text) & set(".,' ") for text in plain
    ):
        return "its numbers stand in parentheses or before a minus sign, as in lists and ranges"
    has_decimals = notation.decimal and any(notation.decimal in text for text in plain)
    if notation.thousands not in (".", " ") or has_decimals:
        return ""
    n_groups = {text.count(notation.thousands) for text in plain}
    if notation.thousands == "." and n_groups == {3} and all(map(_is_address, plain)):
        return "all may be IP addresses"
    n_digits = {sum(map(str.isdigit, text)) for text in plain}
    is_grouped = 0 not in n_groups and len(n_digits) == 1
    if is_grouped and min(n_digits) >= _SHORTEST_PHONE and not any(map(_has_sign, plain)):
        return f"all have {min(n_digits)} digits in groups, as telephone numbers have"
    return ""


def _is_address(text: str) -> bool:
    parts = text.split(".")
    return all(part.isdecimal() and int(part) < 256 for part in parts)


def _has_sign(text: str) -> bool:
    return text[0] in "-(" or text[-1] == "-"
