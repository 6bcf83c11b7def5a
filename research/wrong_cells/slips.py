"""Slips of one written value: of a typist, of a scanner, of a program that exports tables."""

import random
import re
from datetime import datetime

_NEIGHBOURS = {
    key: row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
    for place, key in enumerate(row)
}
_WORDS = ("n/a?", "#REF!", "empty", "?", "unknown", "see note", "#N/A!", "tbd", "error", "xx")
_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d %b %Y", "%Y%m%d", "%d-%m-%y")
_FIRST_DIGITS = 4  # a slip in a later digit of a number hardly changes it

DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{4}")
"""A date, perhaps followed by a time."""


def typo(text: str, draw: random.Random) -> str | None:
    """Swap, drop, double or replace one letter."""
    places = [place for place, sign in enumerate(text) if sign.isalpha()]
    if not places:
        return None
    place = draw.choice(places)
    letter, slip = text[place], draw.randrange(5)
    if slip == 0 and len(text) > 1:
        place = min(place, len(text) - 2)
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    if slip <= 1 and len(text) > 2:
        new = ""
    elif slip == 2:
        new = letter * 2
    elif slip == 3:
        new = draw.choice(_NEIGHBOURS.get(letter.lower(), "x"))
        new = new.upper() if letter.isupper() else new
    else:
        new = "X" if letter.isupper() else "x"
    return text[:place] + new + text[place + 1 :]


def digit_slip(text: str, draw: random.Random) -> str | None:
    """Drop, double, transpose or mistype one of the first digits after leading zeros."""
    start = len(text) - len(text.lstrip("-0."))
    places = [place for place in range(start, len(text)) if text[place].isdigit()][:_FIRST_DIGITS]
    if not places:
        return None
    at = draw.randrange(len(places))
    place, slip = places[at], draw.randrange(4)
    if slip == 0 and len(places) > 1:
        return text[:place] + text[place + 1 :]
    if slip == 1:
        return text[:place] + text[place] + text[place:]
    after = places[at + 1] if at + 1 < len(places) else -1
    if slip == 2 and after > 0 and text[after] != text[place]:
        signs = list(text)
        signs[place], signs[after] = signs[after], signs[place]
        return "".join(signs)
    return text[:place] + draw.choice("0123456789".replace(text[place], "")) + text[place + 1 :]


def changed_form(text: str, draw: random.Random) -> str:
    """Change the case, the spaces or the encoding, but no letter."""
    wrong = text.encode("utf-8").decode("latin-1")
    vowel = re.search("[aeou]", text)
    if wrong == text and vowel:  # as if it had been an accented letter
        wrong = text[: vowel.start()] + draw.choice(("Ã¤", "Ã©", "\ufffd")) + text[vowel.end() :]
    return draw.choice(
        (
            text.upper() if text != text.upper() else text.lower(),
            text.lower() if text != text.lower() else text.title(),
            text.swapcase(),
            " " + text,
            text + " ",
            text.replace(" ", "  ") if " " in text else text + "\u00a0",
            text.replace(" ", draw.choice("_-")) if " " in text else text + ".",
            wrong,
        )
    )


def stray_word(text: str, draw: random.Random) -> str:
    """Replace a number or date by a word, or put signs into it."""
    digits = [place for place, sign in enumerate(text) if sign.isdigit()]
    slip = draw.randrange(6) if digits else 0
    if slip <= 1:
        return draw.choice(_WORDS)
    place = draw.choice(digits or [0])
    if slip == 2:
        return (
            text[:place] + {"0": "O", "1": "l", "5": "S"}.get(text[place], "x") + text[place + 1 :]
        )
    if slip == 3:
        new = text.replace(".", draw.choice(";:"))
        return new if new != text else text + draw.choice(";?*")
    if slip == 4:
        return draw.choice(("~", "<", ">", "ca. ")) + text
    return text + draw.choice((" kg", "%", "?", " EUR", "x", "*"))


def wrong_date(text: str, draw: random.Random) -> str | None:
    """Write a date in another format, as its year only, or with an impossible month or day."""
    found = DATE.match(text)
    if found is None:
        return None
    parts = re.split("([./-])", found.group())
    year_at = next(at for at in (0, 4) if len(parts[at]) == 4)
    others = [at for at in (0, 2, 4) if at != year_at]
    slip = draw.randrange(4)
    if slip == 0:
        return parts[year_at]
    if slip <= 2:  # 45th, or month 00
        at = draw.choice(others)
        parts[at] = draw.choice(("00", "45", f"{draw.randrange(1, 10)}{parts[at]}"))
        return "".join(parts) + text[found.end() :]
    numbers = [int(parts[at]) for at in others]
    month, day = numbers if numbers[0] <= 12 else numbers[::-1]
    try:
        date = datetime(int(parts[year_at]), month, day)  # noqa: DTZ001 - written without a zone
    except ValueError:
        return None
    return date.strftime(draw.choice(_DATE_FORMATS))
