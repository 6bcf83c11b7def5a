"""Notations of dates and durations that a whole column shares."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaod.tables._number_notation import FEW, arrow_texts, simplified

DateOrder = Literal["dmy", "mdy", "ymd", "my", "name"]
DurationForm = Literal["h:m", "m:s", "am/pm", "parts", "iso"]

ANY = "any"

_MICROSECONDS = 10**6
_LAST_YEAR_OF_TWO_DIGITS = 68  # 68 is 2068 and 69 is 1969, as in POSIX
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january januar jän jänner", "feb february februar", "mar march mär märz mrz"),
            *("apr april", "may mai", "jun june juni", "jul july juli", "aug august"),
            *("sep sept september", "oct october okt oktober", "nov november"),
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY = (
    r"(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?|mo|di|mi|do|fr|sa|so)"
)
_ZONES = {  # hours from UTC, as in e-mails, and of Europe
    name: hours
    for names, hours in (
        *(("z utc gmt wet", 0), ("est cdt", -5), ("edt", -4), ("cst mdt", -6), ("mst pdt", -7)),
        *(("pst", -8), ("bst west cet mez", 1), ("cest mesz eet", 2), ("eest", 3)),
    )
    for name in names.split()
}
_ZONE = (
    rf"\s?(?:(?P<name>{'|'.join(_ZONES)})|(?P<zone>[+-][0-9]{{2}}):?(?P<zone_minute>[0-9]{{2}})?)"
    r"(?:\[[\w/+-]+\])?"
)
_ENDS_IN_ZONE = re.compile(
    rf":[0-9]{{2}}(?:[.,][0-9]+)?(?:\s?[ap]\.?m\.?)?(?P<all>{_ZONE})", re.IGNORECASE
)
_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,](?P<part>[0-9]+))?)?"
    r"(?:\s?(?P<half>[ap])\.?m\.?|\s?uhr)?"
    rf"(?:{_ZONE})?"
)


@cache
def _date_pattern(order: DateOrder, separator: str) -> "re.Pattern[str]":
    mark = "[./-]" if separator == ANY else re.escape(separator)
    day, month = "(?P<d>[0-9]{1,2})", "(?P<m>[0-9]{1,2})"
    if order == "name":
        date = (
            rf"(?:{_WEEKDAY}\.?,?\s)?(?:"
            rf"(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[\s/-]?(?P<n>{_NAME})\.?,?[\s/-]?(?P<y>[0-9]{{4}}|[0-9]{{2}})"
            rf"|(?P<n2>{_NAME})\.?[\s-](?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?,?[\s-](?P<y2>[0-9]{{4}})"
            rf"|(?P<n3>{_NAME})\.?(?:[\s/-]?(?P<y3>[0-9]{{4}})|(?:-|\s?')(?P<y4>[0-9]{{2}}))"
            rf"|(?P<y5>[0-9]{{4}})[\s/-]?(?P<n5>{_NAME})(?:[\s/-](?P<d5>[0-9]{{1,2}}))?"
            r")"
        )
    elif order == "my":
        date = rf"{month}{mark}(?P<y>[0-9]{{4}})"
    elif order == "ymd":
        date = rf"(?P<y>[0-9]{{4}}){mark}{month}{mark}{day}"
    else:
        two_digits = "[0-9]{2}"
        if separator in (".", ANY):  # 1.2.24 may be a version
            two_digits = rf"(?<=[0-9]{{2}}{mark}[0-9]{{2}}{mark})[0-9]{{2}}"
        year = rf"(?P<y>[0-9]{{4}}|{two_digits})"
        date = mark.join((day, month) if order == "dmy" else (month, day)) + f"{mark}{year}"
    return re.compile(rf"{date}(?:(?:t|,?\s|:){_CLOCK})?", re.IGNORECASE)


@dataclass(frozen=True)
class DateNotation:
    """How the dates of a column are written; a time of day may follow.

    The separator ``any`` stands for dates in several notations, in which the year or a name of a
    month may come first, too.
    """

    tag: ClassVar[str] = "dates"
    what: ClassVar[str] = "dates"
    is_sure: ClassVar[bool] = True
    order: DateOrder
    separator: str = ""

    def __post_init__(self) -> None:
        is_known = self.order in get_args(DateOrder) and self.separator in ("", ".", "/", "-", ANY)
        if (
            not is_known
            or (self.separator == ANY and self.order not in ("dmy", "mdy"))
            or (not self.separator) != (self.order == "name")
        ):
            raise ValueError(f"{self!r} is not a notation of dates")

    def parse(self, texts: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the dates as datetime64, in UTC if they name a zone, and which texts are dates."""
        stamps, fits = self._parse_usual(texts)
        patterns = [_date_pattern(self.order, self.separator)]
        if self.separator == ANY:
            patterns = [_date_pattern("ymd", ANY), *patterns, _date_pattern("name", "")]
        for place in np.flatnonzero(~fits).tolist():
            text = simplified(texts[place])
            matches = (pattern.fullmatch(text) for pattern in patterns)
            stamp = _microseconds(next(filter(None, matches), None))
            if stamp is not None:
                stamps[place], fits[place] = np.datetime64(stamp, "us"), True
        return stamps, fits

    def _parse_usual(
        self, texts: Sequence[str]
    ) -> tuple[npt.NDArray[np.datetime64], npt.NDArray[np.bool_]]:
        """Read dates with years of four digits, by Arrow: in Python a text takes longer."""
        stamps = np.zeros(len(texts), dtype="M8[us]")
        is_usual = self.order in ("dmy", "mdy", "ymd") and self.separator != ANY
        if not is_usual or len(texts) < FEW:
            return stamps, np.zeros(len(texts), dtype=bool)
        digits = {"y": "{4}", "m": "{1,2}", "d": "{1,2}"}
        date = re.escape(self.separator).join(
            f"(?P<{letter}>[0-9]{digits[letter]})" for letter in self.order
        )
        clock = "(?P<h>[01]?[0-9]|2[0-3]):(?P<min>[0-5][0-9])(?::(?P<s>[0-5][0-9]))?"
        parts = pc.extract_regex(arrow_texts(texts), f"^{date}(?:[ T]{clock})?$")
        fits = np.array(parts.is_valid())
        found = {}
        for name in ("y", "m", "d", "h", "min", "s"):
            digits_of = pc.replace_substring_regex(parts.field(name), "^$", "0").fill_null("1")
            found[name] = np.array(digits_of.cast(pa.int64()))
        months = ((found["y"] - 1970) * 12 + found["m"] - 1).astype("M8[M]")
        days = months.astype("M8[D]") + (found["d"] - 1)
        fits &= (found["m"] >= 1) & (found["m"] <= 12) & (days.astype("M8[M]") == months)
        fits &= (found["d"] >= 1) & (found["y"] >= 1)
        seconds = (found["h"] * 60 + found["min"]) * 60 + found["s"]
        stamps[fits] = (days.astype("M8[s]") + seconds).astype("M8[us]")[fits]
        return stamps, fits

    def single(self, texts: Sequence[str]) -> "DateNotation":
        """Return the most frequent notation of texts in several ones; without texts that of ISO.

        >>> mixed = DateNotation("dmy", "any")
        >>> mixed.single(["25.6.2004", "2004-06-25", "01.02.2003"])
        DateNotation(order='dmy', separator='.')
        """
        if self.separator != ANY:
            return self
        found = Counter(
            ("ymd" if text[:4].isdecimal() else self.order, match[1])
            for text in map(simplified, texts)
            if (match := _NUMERIC_DATE.match(text))
        )
        return DateNotation(*(found.most_common(1)[0][0] if found else ("ymd", "-")))

    def words(self) -> str:
        """Describe the notation.

        >>> DateNotation("dmy", ".").words(), DateNotation("name").words()
        ('dates written day.month.year', 'dates with names of months')
        """
        parts = {"d": "day", "m": "month", "y": "year"}
        if self.order == "name":
            return "dates with names of months"
        if self.separator == ANY:
            first = "day" if self.order == "dmy" else "month"
            return f"dates in several notations, the {first} first where the year is last"
        return f"dates written {self.separator.join(parts[letter] for letter in self.order)}"


@cache
def _days(year: int, month: int, day: int) -> int | None:
    try:
        return dt.date(year, month, day).toordinal() - dt.date(1970, 1, 1).toordinal()
    except ValueError:  # the 30th of February
        return None


def _microseconds(match: "re.Match[str] | None") -> int | None:
    """Return the microseconds since 1970."""
    if match is None:
        return None
    found = match.groupdict()
    if "n" in found:
        name = found["n"] or found["n2"] or found["n3"] or found["n5"]
        month = _MONTHS[name.lower()]
        year = found["y"] or found["y2"] or found["y3"] or found["y4"] or found["y5"]
        day = int(found["d"] or found["d2"] or found["d5"] or 1)
    else:
        month, year, day = int(found["m"]), found["y"], int(found.get("d") or 1)
    number = int(year)
    if len(year) == 2:
        number += 2000 if number <= _LAST_YEAR_OF_TWO_DIGITS else 1900
    days = _days(number, month, day)
    seconds = _clock_seconds(found) if found["hour"] else 0
    if days is None or seconds is None:
        return None
    if found["name"]:
        seconds -= _ZONES[found["name"].lower()] * 3600
    if found["zone"]:
        offset = int(found["zone"][1:]) * 3600 + int(found["zone_minute"] or 0) * 60
        seconds -= offset if found["zone"][0] == "+" else -offset
    fraction = int(f"{found['part'] or 0:0<6}"[:6])
    return (days * 86_400 + seconds) * _MICROSECONDS + fraction


def _clock_seconds(found: dict[str, str | None]) -> int | None:
    """Return the whole seconds of a time of day, None if there is no such hour."""
    hour, half = int(found["hour"] or 0), found["half"]
    if (half and not 1 <= hour <= 12) or hour > 23:
        return None
    if half:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return hour * 3600 + int(found["minute"] or 0) * 60 + int(found["second"] or 0)


_NUMERIC_DATE = re.compile(r"[0-9]{1,4}([./-])(?:[0-9]{1,2}\1[0-9]{1,4}|[0-9]{4})(?![0-9./-])")


def date_notations(sample: Sequence[str]) -> list[DateNotation]:
    """Return the notations of dates in which texts like the sample may be written."""
    found = [_NUMERIC_DATE.match(simplified(text)) for text in sample]
    separators = [match[1] for match in found if match]
    if 2 * len(separators) < len(sample):
        return [DateNotation("name")]
    separator = max(set(separators), key=separators.count)
    orders: tuple[DateOrder, ...] = ("dmy", "mdy", "ymd", "my")
    return [*(DateNotation(order, separator) for order in orders), DateNotation("name")]


MIXED_DATES = (DateNotation("dmy", ANY), DateNotation("mdy", ANY))


def count_zones(texts: Sequence[str]) -> tuple[int, int]:
    """Return how many zones the times of texts name, and how many texts name none.

    >>> count_zones(["2024-01-02 10:00Z", "2024-01-02 10:00+01:00", "2024-01-02 10:00"])
    (2, 1)
    """
    # a zone that is no name has a sign near the end: few texts need the pattern
    may_end = [text for text in texts if not text[-1:].isdigit() or {"+", "-"} & {*text[-6:]}]
    found = [match for text in may_end if (match := _ENDS_IN_ZONE.search(text))]
    return len({match["all"].strip().lower() for match in found}), len(texts) - len(found)


def likely_order(texts: Sequence[str], separator: str) -> DateOrder:
    """Guess whether dates that have no day after the 12th begin with the day or the month.

    The number that is 1 everywhere is the day. Otherwise dates with a '/' begin with the month.

    >>> likely_order(["01/02/2024", "01/03/2024"], "/"), likely_order(["02/03/2024"], "/")
    ('dmy', 'mdy')
    """
    if separator == ANY:
        return "mdy" if any("/" in text for text in texts) else "dmy"
    pairs = [text.strip().split(separator)[:2] for text in texts]
    firsts, seconds = {int(first) for first, _ in pairs}, {int(second) for _, second in pairs}
    if firsts != seconds and {1} in (firsts, seconds):
        return "dmy" if firsts == {1} else "mdy"
    return "mdy" if separator == "/" else "dmy"


_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_COUNT = r"[0-9]+(?:[.,][0-9]+)?"
_DURATIONS: dict[str, "re.Pattern[str]"] = {
    "clock": re.compile(
        r"(?P<sign>[+-])?(?:(?P<d>[0-9]+)\s?(?:d|days?),?\s?(?P<sign2>[+])?)?"
        r"(?P<h>[0-9]+):(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9](?:[.,][0-9]+)?))?",
        re.IGNORECASE,
    ),
    "am/pm": re.compile(
        r"(?P<h>0?[1-9]|1[0-2])(?::(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9](?:[.,][0-9]+)?))?)?"
        r"\s?(?P<half>[ap])\.?m\.?",
        re.IGNORECASE,
    ),
    "parts": re.compile(
        rf"(?P<sign>[+-])?(?=[0-9])(?:(?P<d>{_COUNT})\s?(?:d|days?|tage?)(?:,?\s?))?"
        rf"(?:(?P<h>{_COUNT})\s?(?:h|hrs?|hours?|std\.?|stunden?)(?:,?\s?))?"
        rf"(?:(?P<m>{_COUNT})\s?(?:m|mins?|minutes?|minuten?)(?:,?\s?))?"
        rf"(?:(?P<s>{_COUNT})\s?(?:s|secs?|seconds?|sekunden?))?",
        re.IGNORECASE,
    ),
    "iso": re.compile(
        rf"(?P<sign>-)?P(?:(?P<d>{_COUNT})D)?(?:T(?:(?P<h>{_COUNT})H)?(?:(?P<m>{_COUNT})M)?"
        rf"(?:(?P<s>{_COUNT})S)?)?(?<![PT])"
    ),
}
_UNCLEAR_PART = re.compile(r"[+-]?[0-9.,]+\s?[dmsDMS]")  # metres, as a rule


@dataclass(frozen=True)
class DurationNotation:
    """How the durations or times of day of a column are written."""

    tag: ClassVar[str] = "durations"
    what: ClassVar[str] = "durations"
    is_sure: ClassVar[bool] = False  # such texts may be names: '5 hours' beside '6 or more hours'
    form: DurationForm

    def __post_init__(self) -> None:
        if self.form not in get_args(DurationForm):
            raise ValueError(f"{self!r} is not a notation of durations")

    def parse(self, texts: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the durations as timedelta64, and which texts are durations."""
        is_clock = self.form in ("h:m", "m:s")
        pattern = _DURATIONS["clock" if is_clock else self.form]
        found = [self._nanoseconds(pattern.fullmatch(simplified(text))) for text in texts]
        fits = np.array([value is not None for value in found], dtype=bool)
        spans = np.array([value or 0 for value in found], dtype=np.int64).astype("m8[ns]")
        return spans, fits

    def _nanoseconds(self, match: "re.Match[str] | None") -> int | None:
        if match is None:
            return None
        parts = match.groupdict()
        counts = [parts.get("d"), parts["h"], parts["m"], parts["s"]]
        if self.form == "m:s" and counts[3] is None:
            counts = [counts[0], None, *counts[1:3]]
        if half := parts.get("half"):
            counts[1] = str(int(counts[1] or 0) % 12 + (12 if half in "pP" else 0))
        total = 0
        for count, size in zip(counts, _SECONDS.values(), strict=True):
            whole, _, part = (count or "0").replace(",", ".").partition(".")
            total += size * (int(whole) * 10**9 + int(f"{part:0<9}"[:9]))
        if total >= 2**63:
            return None
        return -total if parts.get("sign") == "-" else total

    def words(self) -> str:
        """Describe the notation.

        >>> DurationNotation("h:m").words(), DurationNotation("parts").words()
        ('durations written h:mm or h:mm:ss, in seconds', 'durations such as 2h 30m, in seconds')
        """
        return {
            "h:m": "durations written h:mm or h:mm:ss, in seconds",
            "m:s": "durations written h:mm:ss or m:ss, in seconds",
            "am/pm": "times of day with AM and PM, in seconds since midnight",
            "parts": "durations such as 2h 30m, in seconds",
            "iso": "durations such as PT2H30M, in seconds",
        }[self.form]


def duration_notations(texts: Sequence[str], sample: Sequence[str]) -> list[DurationNotation]:
    """Return the notations of durations in which the texts may be written."""
    plain = [simplified(text) for text in sample]
    forms = [
        name
        for name, pattern in _DURATIONS.items()
        if 2 * sum(bool(pattern.fullmatch(text)) for text in plain) >= len(plain)
    ]
    found: list[DurationNotation] = []
    for form in forms:
        if form == "clock":
            # with two colons anywhere, one colon stands before seconds
            has_seconds = any(text.count(":") > 1 for text in texts)
            found.append(DurationNotation("m:s" if has_seconds else "h:m"))
        elif form == "parts" and all(_UNCLEAR_PART.fullmatch(simplified(text)) for text in texts):
            continue
        else:
            found.append(DurationNotation(form))  # type: ignore[arg-type]  # a key that is a form
    return found
