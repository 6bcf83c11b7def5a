"""Find the notation that the texts of a column share, and save it for later rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.tables._number_notation import NumberNotation, are_codes, number_notations
from metaod.tables._time_notations import (
    DateNotation,
    DurationNotation,
    date_notations,
    duration_notations,
    likely_order,
)

Notation = NumberNotation | DateNotation | DurationNotation

_MOST_RIVALS = 3
_SAMPLE = 200  # texts from which the possible notations are guessed
_KINDS: dict[str, type[Notation]] = {
    kind.tag: kind for kind in (NumberNotation, DateNotation, DurationNotation)
}


@dataclass(frozen=True)
class Hints:
    """What decides where a column could be read in two ways."""

    decimal: str = "."
    is_decimal_given: bool = False  # by the caller: the other mark is not read
    dayfirst: bool | None = None


@dataclass(frozen=True)
class Found:
    """A notation with the values of the texts, and which texts are written in it."""

    notation: Notation
    values: npt.NDArray[Any]
    fits: npt.NDArray[np.bool_]
    rival: Notation | None = None  # another notation of all texts, with other values
    codes: str = ""  # why the texts are codes, which are not read

    def share(self, counts: npt.NDArray[np.integer]) -> float:
        return float(counts[self.fits].sum() / max(1, counts.sum()))


def find_notation(
    texts: Sequence[str], counts: npt.NDArray[np.integer], hints: Hints
) -> Found | None:
    """Find the notation of most texts, at least half of them; `counts` are the rows per text."""
    sample = texts[:: -(-len(texts) // _SAMPLE) or 1]
    if 2 * sum(any("0" <= character <= "9" for character in text) for text in sample) < len(sample):
        return None
    candidates: list[Notation] = [
        *date_notations(sample),
        *duration_notations(texts, sample),
        *number_notations(texts, sample, hints.decimal, only=hints.is_decimal_given),
    ]
    shares = {item: float(item.parse(sample)[1].mean()) for item in candidates}
    likely = sorted(
        (item for item in shares if shares[item] >= 0.5), key=lambda item: -shares[item]
    )
    if not likely:
        return None
    best = Found(likely[0], *likely[0].parse(texts))
    # parsing all texts takes time: the others are tried where they can change the result
    others = [item for item in likely[1:] if shares[item] == 1 or not best.fits.all()]
    found = [Found(item, *item.parse(texts)) for item in others[:_MOST_RIVALS]]
    best = max([best, *found], key=lambda item: item.share(counts))  # the first of equals
    rivals = [item for item in found if item.fits.all() and _differ(item, best)]
    if best.fits.all() and rivals:
        best = _settle(best, rivals[0], texts, hints)
    notation = best.notation
    if isinstance(notation, NumberNotation):
        fitting = [text for text, fits in zip(texts, best.fits, strict=True) if fits]
        codes = are_codes(fitting, notation)
        is_open = best.rival is None and notation.thousands not in (",", ".")
        if is_open and not any(notation.decimal in text for text in fitting):
            notation = replace(notation, decimal="")
        best = replace(best, notation=notation, codes=codes)
    return best


def _differ(one: Found, other: Found) -> bool:
    is_same_kind = type(one.notation) is type(other.notation)
    return is_same_kind and not np.array_equal(one.values, other.values)


def _settle(best: Found, rival: Found, texts: Sequence[str], hints: Hints) -> Found:
    """Decide between two notations; of numbers, the one with the table's decimal mark is best."""
    if isinstance(best.notation, NumberNotation) and isinstance(rival.notation, NumberNotation):
        # three digits behind a mark are thousands rather than parts of a cent
        is_money = best.notation.is_currency and rival.notation.thousands
        if is_money and not best.notation.thousands and not hints.is_decimal_given:
            best, rival = rival, best
    if isinstance(best.notation, DateNotation) and isinstance(rival.notation, DateNotation):
        order = likely_order(texts, best.notation.separator)
        if hints.dayfirst is not None:
            order = "dmy" if hints.dayfirst else "mdy"
        if best.notation.order != order:
            best, rival = rival, best
    return replace(best, rival=rival.notation)


def same_quantity(notation: Notation) -> bool:
    """Whether values in this notation mean the same as plain ones: not if they have units."""
    return not (isinstance(notation, NumberNotation) and notation.has_unit)


def widened(notation: Notation, texts: Sequence[str]) -> Notation | None:
    """Return a notation of later texts that reads the same quantity, None if there is none.

    The fitted rows may have had no number with decimals or thousands, or another separator in
    dates of the same order.
    """
    hints = Hints()
    if isinstance(notation, NumberNotation):
        hints = Hints(notation.decimal or ".", is_decimal_given=bool(notation.decimal))
    elif isinstance(notation, DateNotation):
        hints = Hints(dayfirst=notation.order != "mdy")
    found = find_notation(texts, np.ones(len(texts), dtype=np.intp), hints)
    if found is None or not found.fits.all():
        return None
    other, is_same = found.notation, False
    if isinstance(notation, NumberNotation) and isinstance(other, NumberNotation):
        groups = ("", notation.thousands or other.thousands)
        is_same = other.mark == notation.mark and other.thousands in groups
    elif isinstance(notation, DateNotation) and isinstance(other, DateNotation):
        is_same = {notation.order, other.order} != {"dmy", "mdy"}
    return other if is_same else None


def notation_to_dict(notation: Notation | None) -> dict[str, Any] | None:
    """Write a notation as plain values."""
    return None if notation is None else {"notation": notation.tag, **asdict(notation)}


def notation_from_dict(saved: Mapping[str, Any] | None) -> Notation | None:
    """Read what `notation_to_dict` wrote; raise KeyError, TypeError or ValueError otherwise."""
    if saved is None:
        return None
    fields = dict(saved)
    kind = _KINDS[fields.pop("notation")]
    if not all(isinstance(value, str) for value in fields.values()):
        raise TypeError(f"{saved!r} is not a notation")
    return kind(**fields)
