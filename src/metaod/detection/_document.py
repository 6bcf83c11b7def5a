"""The result of detecting as plain data, and reasons as text."""

from dataclasses import asdict, replace
from typing import Any

from metaod.detection._detection import Detection
from metaod.detection._formats import json_rows
from metaod.detection._writing import listed_cells
from metaod.review import UsedMarks
from metaod.selection import OnProgress

_MOST_EXPLAINED = 100  # rows whose reasons the document holds


def with_why(found: Detection, *, progress: OnProgress | None = None) -> Detection:
    """Explain the flagged rows, for a file of scores."""
    flagged = found.top(int(found.flags.sum()))
    texts = [""] * len(found.scores)
    explained = found.explain(flagged, progress=progress)
    for place, reasons in zip(flagged.tolist(), explained, strict=True):
        texts[place] = "; ".join(map(str, reasons.main_reasons())) or str(reasons)
    return replace(found, why=texts)


def document(found: Detection, *, progress: OnProgress | None = None) -> dict[str, Any]:
    """Return the result as plain data: the pick, what to expect, and the flagged rows."""
    order = found.listed()
    cells = json_rows(listed_cells(found, order))
    explained = found.explain(order[:_MOST_EXPLAINED], progress=progress)
    rows = []
    ranked = zip(order.tolist(), found.ranks_of(order), cells, strict=True)
    for number, (place, rank, own) in enumerate(ranked):
        score = float(found.scores[place])
        why = explained[number].to_dict()["reasons"] if number < len(explained) else None
        rows.append({"row": place + 1, "rank": rank, "score": score, "cells": own, "why": why})
    marks = found.marks or UsedMarks({})
    return {
        "source": found.table.source,
        "n_rows": found.n_rows,
        "n_columns": found.table.n_columns,
        "pick": found.weights,
        "expected": None if found.selection is None else found.selection.trust.to_dict(),
        "warnings": list(found.warnings),
        "notes": list(dict.fromkeys(map(str, (*found.table.warnings, *marks.notes, *found.notes)))),
        "drift": [asdict(drift) for drift in found.record.drift],
        "marks": None if found.marks is None else marks.to_dict(),
        "threshold": found.threshold,
        "gap": dict(zip(("n_above", "above", "below"), found.gap, strict=True))
        if found.gap
        else None,
        "measured": [row.to_dict() for row in found.compared] or None,
        "n_flagged": int(found.flags.sum()),
        "flagged": rows,
    }
