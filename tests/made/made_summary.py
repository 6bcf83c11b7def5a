"""A summary made by hand, whose texts a test chooses; and the structure of a page."""

from html.parser import HTMLParser

import numpy as np

from metaod.report import (
    ColumnLine,
    Measured,
    Pick,
    Recipe,
    SimilarTable,
    Step,
    Summary,
    TopRow,
    TopRows,
    Why,
    map_table,
    sketch_scores,
)

N_ROWS = 300


def made_summary(text="plain", *, n_listed=60, n_flagged=20, n_columns=6):
    """Return a summary in which every text that comes from the user is `text`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    scores = np.sort(rng.exponential(size=N_ROWS))[::-1]
    threshold = float(scores[n_flagged - 1 : n_flagged + 1].mean())
    table_map = map_table(X, (text, text, text), np.arange(N_ROWS))
    why = (Why(text, text, text, 0.8), Why(f"{text}2", text, text, 0.15))
    rows = tuple(
        TopRow(
            row=place + 1,
            rank=place + 1,
            score=float(scores[place]),
            cells=tuple(f"{text}{place * 7 % 10}" for _ in range(n_columns)),
            why=why[: place % 3] if place < 50 else None,
            label=place % 4 == 0,
            mark="outlier" if place == 3 else "",
        )
        for place in range(n_listed)
    )
    order = tuple(sorted(range(n_listed), key=lambda place: place * 7 % 10))
    return Summary(
        source=text,
        n_rows=N_ROWS,
        n_columns=40,
        facts=(("rows", str(N_ROWS)), ("sheet", text)),
        columns=tuple(ColumnLine(text, "numeric", "used", 3, text) for _ in range(5)),
        pick=Pick(text, ((text, 1.0),), (text,), (text,), (Measured(text, 0.5, 0.6, 0.7),)),
        warnings=(text,),
        notes=(text, text),
        scores=sketch_scores(scores, n_flagged=n_flagged, threshold=threshold, gap=5),
        map=table_map,
        top=TopRows((text,) * n_columns, 1, 3, rows, (order,) * n_columns),
        similar=(SimilarTable(text, 10, 3, 0.5, None),),
        measure="AP",
        steps=(Step(text, text), Step(text, text, takes_number=True)),
        recipe=Recipe(text, (text, text), (("metaod", "1"),), 0),
    )  # fmt: skip


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
