"""A summary made by hand, whose texts a test chooses; and the structure of a page."""

from html.parser import HTMLParser

import numpy as np

from metaod.report import map_table, sketch_scores

N_ROWS = 300


def made_summary(text="plain", *, n_listed=60, n_flagged=20, n_columns=6):
    """Return a summary in which every text that comes from the user is `text`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    scores = np.sort(rng.exponential(size=N_ROWS))[::-1]
    threshold = float(scores[n_flagged - 1 : n_flagged + 1].mean())
    table_map = map_table(X, (text, text, text), np.arange(N_ROWS))
    why = [
        {"column": text, "value": text, "usual": text, "share": 0.8},
        {"column": f"{text}2", "value": text, "usual": text, "share": 0.15},
    ]
    finding = {
        "row": 7,
        "column": text,
        "value": text,
        "expected": text,
        "reason": text,
        "certainty": "likely",
        "suggestion": text,
        "names": [text],
    }
    groups = [
        {"sentence": text, "is_same": same, "n_cells": n, "n_columns": 1, "cells": [finding] * m}
        for same, n, m in ((False, 1, 1), (False, 2, 2), (True, 37, 10))
    ]
    rows = [
        {
            "row": place + 1,
            "rank": place + 1,
            "score": float(scores[place]),
            "is_flagged": place < n_flagged,
            "cells": [f"{text}{place * 7 % 10}" for _ in range(n_columns)],
            "wrong": [{**finding, "place": n_columns - 1}] if place == 6 else [],
            "why": why[: place % 3] if place < 50 else None,
            "label": place % 4 == 0,
            "mark": "outlier" if place == 3 else "",
        }
        for place in range(n_listed)
    ]
    order = sorted(range(n_listed), key=lambda place: place * 7 % 10)
    column = {"name": text, "kind": "numeric", "role": "used", "n_missing": 3, "done": text}
    measured = {"method": text, "ap": 0.5, "roc_auc": 0.6, "precision_at_n": 0.7}
    similar = {"name": text, "n_rows": 10, "n_columns": 3, "performance": 0.5, "reference": None}
    step = {"text": text, "command": text, "takes_number": False}
    return {
        "source": text,
        "n_rows": N_ROWS,
        "n_columns": 40,
        "n_flagged": n_flagged,
        "facts": [("rows", str(N_ROWS)), ("sheet", text)],
        "columns": [column] * 5,
        "pick": {
            "sentence": text,
            "members": [(text, 1.0)],
            "expected": [text],
            "why": [text],
            "measured": [measured],
        },
        "warnings": [text],
        "wrong": {"n_cells": 40, "n_rows": 39, "n_groups": 3, "groups": groups},
        "notes": [text, text],
        "scores": sketch_scores(scores, n_flagged=n_flagged, threshold=threshold, gap=5),
        "map": {**table_map, "flagged": [int(n < n_flagged) for n in table_map["order"]]},
        "top": {
            "columns": [text] * n_columns,
            "n_naming": 1,
            "n_hidden": 3,
            "rows": rows,
            "orders": [order] * n_columns,
            "reason_columns": [(text, 33), (f"{text}2", 16)],
            "patterns": [{"sentence": text, "n_cells": 12, "cells": [{"row": 1}, {"row": 900}]}],
        },
        "similar": [similar],
        "measure": "AP",
        "steps": [step, {**step, "takes_number": True}],
        "recipe": {
            "command": text,
            "python": [text, text],
            "versions": [("metaod", "1")],
            "seed": 0,
        },
    }


class Page(HTMLParser):
    """The elements, attributes and texts of a page."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.texts = []
        self.scripts = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(attrs)))

    def handle_data(self, data):
        inside = self.elements[-1] if self.elements else ("", ())
        (self.scripts if inside[0] == "script" else self.texts).append(data)

    def handle_comment(self, data):
        self.elements.append(("comment", data))

    def unknown_decl(self, data):
        self.elements.append(("declaration", data))

    handle_pi = unknown_decl
