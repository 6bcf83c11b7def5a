"""What to do with a column, decided once from the rows that the preparation is fitted with."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables.preparation.appearances import LOOKS_MEASURED, looks_measured
from metaod.tables.preparation.encoders import (
    Drop,
    Encoder,
    Frequency,
    KeepNumbers,
    MarkMissing,
    OneHot,
)
from metaod.tables.preparation.forms import Labels, NumberKind, Numbers
from metaod.tables.preparation.identifiers import names_identifier
from metaod.tables.preparation.parsing import parse_labels
from metaod.tables.preparation.reading import read_column
from metaod.tables.preparation.record import Action, ColumnKind, ColumnRecord
from metaod.tables.preparation.rules import Rules

__all__ = ["FittedColumn", "decide"]

_ACTIONS: dict[NumberKind, Action] = {
    "numeric": "kept",
    "boolean": "0 and 1",
    "date": "days since 1970-01-01",
    "duration": "seconds",
}
_SPELT = {"numeric": "numbers", "date": "dates", "duration": "times of day"}


@dataclass(frozen=True)
class FittedColumn:
    """A column as decided.

    Parameters
    ----------
    record : ColumnRecord
        What is done to it, with the counts of the rows it was decided from.
    encoder : Encoder
        What does it.
    note : str
        What to tell besides.
    narrower : FittedColumn or None
        What to do instead where the matrix would grow too wide.
    """

    record: ColumnRecord
    encoder: Encoder
    note: str = ""
    narrower: "FittedColumn | None" = None


def decide(series: "pd.Series[Any]", rules: Rules) -> FittedColumn:
    """Decide what to do with a column; its outputs are named later, all together."""
    reading = read_column(series)
    parsed = parse_labels(reading) if isinstance(reading, Labels) else None
    if parsed is not None:
        reason = f"its text is all {_SPELT[parsed.kind]}"
        fitted = _decide_numbers(str(series.name), parsed, rules, reason)
    elif isinstance(reading, Numbers):
        fitted = _decide_numbers(str(series.name), reading, rules, "")
    else:
        fitted = _decide_labels(str(series.name), reading, rules)
    if isinstance(reading, Numbers):
        # also of a column that is not used: it may be constant only because it was rounded
        fitted = replace(fitted, note=reading.note)
    if isinstance(fitted.encoder, Drop):
        # counted as on later rows, so that the same rows always give the same record
        counts = fitted.encoder.encode(series, np.empty((len(series), 0)))
        record = replace(fitted.record, n_missing=counts.n_missing, n_infinite=counts.n_infinite)
        fitted = replace(fitted, record=record)
    return fitted


def _decide_numbers(name: str, column: Numbers, rules: Rules, reason: str) -> FittedColumn:
    values = column.values
    finite = np.isfinite(values)
    n_bad = len(values) - int(finite.sum())
    n_missing = int(np.isnan(values).sum()) if n_bad else 0
    shown = values[finite] if n_bad else values
    seen = ColumnRecord(
        name, column.kind, "kept", n_missing=n_missing, n_infinite=n_bad - n_missing
    )
    if shown.size == 0:
        return _unused(seen, "empty", "no finite value in any row", len(values), rules)
    if shown.min() == shown.max():
        return _unused(seen, "constant", _sameness(seen), len(values), rules)
    if column.whole and names_identifier(name) and pd.unique(shown).size == shown.size:
        why = "its name says so and all its values are distinct"
        return _unused(seen, "identifier", why, len(values), rules)
    if column.kind == "boolean":
        fill = float(shown.mean() > 0.5)
        marks = n_missing > 0  # a category of its own
    else:
        fill = _median(shown)
        marks = _are_many(n_bad, len(values), rules)
    record = replace(seen, action=_ACTIONS[column.kind], fill=fill, reason=reason)
    return FittedColumn(record, KeepNumbers(column.kind, fill, marks))


def _median(values: npt.NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        middle = float(np.median(values))
    # the mean of the two middle values can be too large on its way
    return middle if np.isfinite(middle) else float(np.median(values / 2) * 2)


def _decide_labels(name: str, column: Labels, rules: Rules) -> FittedColumn:
    n_rows = len(column.codes)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    n_shown = int(counts.sum())
    n_missing = n_rows - n_shown
    texts = [text for text, count in zip(column.texts, counts, strict=True) if count]
    counts = counts[counts > 0]
    seen = ColumnRecord(name, "category", "one-hot", n_missing=n_missing)
    if not texts:
        return _unused(seen, "empty", "no value in any row", n_rows, rules)
    if len(texts) == 1:
        return _unused(seen, "constant", _sameness(seen), n_rows, rules)
    measured = not column.declared and looks_measured(texts, counts)
    note = LOOKS_MEASURED if measured else ""
    if len(texts) >= rules.distinct_share * n_shown:
        why = f"{len(texts):,} distinct texts in {n_shown:,} rows"
        return replace(_unused(seen, "identifier", why, n_rows, rules), note=note)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    encoder = Frequency(
        categories=tuple(texts[place] for place in order),
        shares=tuple(float(counts[place] / n_rows) for place in order),
        missing_share=n_missing / n_rows,
        marks_missing=_are_many(n_missing, n_rows, rules),
    )
    if len(texts) <= rules.max_categories:
        narrower = replace(_by_frequency(seen, encoder, n_rows, rules), note=note)
        return FittedColumn(seen, OneHot(encoder.categories, n_missing > 0), narrower=narrower)
    kind: ColumnKind = "category" if column.declared else "text"
    return replace(_by_frequency(replace(seen, kind=kind), encoder, n_rows, rules), note=note)


def _by_frequency(
    seen: ColumnRecord, encoder: Frequency, n_rows: int, rules: Rules
) -> FittedColumn:
    shares = {*encoder.shares, *([encoder.missing_share] if seen.n_missing else [])}
    if len(shares) == 1:
        why = "its values are all equally frequent"
        return _unused(seen, "constant", why, n_rows, rules)
    reason = f"{len(encoder.categories):,} distinct values"
    return FittedColumn(replace(seen, action="frequency", reason=reason), encoder)


def _are_many(n_gaps: int, n_rows: int, rules: Rules) -> bool:
    return bool(n_gaps > rules.indicator_share * n_rows)


def _sameness(seen: ColumnRecord) -> str:
    gaps = " that has one" if seen.n_missing + seen.n_infinite else ""
    return f"the same value in every row{gaps}"


def _unused(
    seen: ColumnRecord, kind: ColumnKind, reason: str, n_rows: int, rules: Rules
) -> FittedColumn:
    """Drop a column, but for where it has gaps if these are many."""
    n_gaps = seen.n_missing + seen.n_infinite
    if n_gaps < n_rows and _are_many(n_gaps, n_rows, rules):
        return FittedColumn(
            replace(seen, kind=kind, action="indicator only", reason=reason), MarkMissing()
        )
    return FittedColumn(replace(seen, kind=kind, action="dropped", reason=reason), Drop())
