"""Schemas of what the API answers with, for its description and its tests."""

from metaod.web._schemas import (
    ANY_OBJECT,
    BOOLEAN,
    list_of,
    number,
    one_of,
    or_null,
    record,
    text,
    whole,
)

PROBLEM = record(
    "title status", title=text(), status=whole(), detail=text(), where=text(), remedy=text()
)
ABOUT = record("version limits", version=text(), limits=ANY_OBJECT)
_ANSWER = or_null(one_of("yes", "no", "unsure"))
_JOB = record(
    "kind state seconds stage done seconds_left problem",
    kind=one_of("inspection", "detection"),
    state=one_of("running", "done", "failed", "cancelled"),
    seconds=number(description="how long it has run"),
    stage=text(),
    done=or_null(number(minimum=0, maximum=1)),
    seconds_left=or_null(number()),
    problem=or_null(PROBLEM),
)
TABLE = record(
    "id name n_bytes is_inspected is_scored job",
    id=text(),
    name=text(),
    n_bytes=whole(),
    is_inspected=BOOLEAN,
    is_scored=BOOLEAN,
    job=or_null(_JOB),
)
_COLUMN = record(
    "name kind role is_used n_missing preparation examples",
    name=text(),
    kind=text(),
    role=text(),
    is_used=BOOLEAN,
    n_missing=whole(),
    preparation=text(),
    examples=list_of(text()),
)
INSPECTION = record(
    "name n_rows n_columns n_labelled warnings columns reading roles",
    name=text(),
    n_rows=whole(),
    n_columns=whole(),
    n_labelled=or_null(whole()),
    warnings=list_of(text()),
    columns=list_of(_COLUMN),
    reading=ANY_OBJECT,
    roles=ANY_OBJECT,
)
FLAGS = record("n_flagged threshold", n_flagged=whole(minimum=0), threshold=number())
_NUMBERS = list_of(number())
_PAIRS = list_of(list_of(number(), minItems=2, maxItems=2))
_TEXTS = list_of(text())
_WHY = record("column value usual share", column=text(), value=text(), usual=text(), share=number())
RESULT = {  # what a report shows, and more: metaod.report.Summary documents all members
    "type": "object",
    "required": ["source", "n_rows", "pick", "warnings", "notes", "scores", "map", "top"],
    "properties": {
        "source": text(),
        "n_rows": whole(minimum=1),
        "warnings": _TEXTS,
        "notes": _TEXTS,
        "is_estimated": {**BOOLEAN, "description": "whether the number of flags is estimated"},
        "has_answers": BOOLEAN,
        "pick": {"type": "object", "properties": {"sentence": text(), "expected": _TEXTS}},
        "scores": {
            "type": "object",
            "properties": {
                "counts": list_of(whole()),
                "cuts": _PAIRS,
                "chosen": whole(),
                "gap": or_null(whole()),
                "places": _NUMBERS,
                "ticks": _PAIRS,
            },
        },
        "map": {"type": "object", "properties": {"x": _NUMBERS, "y": _NUMBERS}},
        "top": {
            "type": "object",
            "properties": {
                "columns": _TEXTS,
                "rows": list_of(
                    {
                        "type": "object",
                        "properties": {
                            "row": whole(minimum=1),
                            "rank": whole(minimum=1),
                            "score": number(),
                            "cells": _TEXTS,
                            "why": or_null(list_of(_WHY)),
                            "mark": text(),
                        },
                    }
                ),
            },
        },
    },
}
REVIEW = record(
    "row names cells n_answered n_found n_unsure left n_flagged ranking",
    row=or_null(whole(minimum=1)),
    names=_TEXTS,
    cells=list_of(
        record(
            "name value usual sets_apart is_unusual",
            name=text(),
            value=or_null(text()),
            usual=text(),
            sets_apart=BOOLEAN,
            is_unusual=BOOLEAN,
        )
    ),
    n_answered=whole(minimum=0),
    n_found=whole(minimum=0),
    n_unsure=whole(minimum=0),
    left=record("estimate low high", estimate=number(), low=number(), high=number()),
    n_flagged=whole(minimum=0),
    ranking=list_of(
        record(
            "row names rank is_flagged answer unusual",
            row=whole(minimum=1),
            names=_TEXTS,
            rank=whole(minimum=1),
            is_flagged=BOOLEAN,
            answer=_ANSWER,
            unusual=list_of(text()),
        )
    ),
)
