"""A result without a fitted model, whose scores and reasons a test chooses."""

from types import SimpleNamespace

import numpy as np
from made_selection import MODELS, MadeSelection

from metaod.detection import Detection, MetaOD, RowReasons
from metaod.tables import prepare


def no_reasons(rows, progress=None):
    return [RowReasons(int(row), 1.0, ()) for row in rows]


def made_result(table, scores, *, threshold=1.0, explain=no_reasons, **more):
    """Return a result whose model gives the reasons that `explain` returns."""
    model = MetaOD()
    prepared = prepare(table)
    model.selection_, model.marks_ = MadeSelection(prepared), None
    model.fitted_ = SimpleNamespace(weights=dict.fromkeys(MODELS, 1 / 3), seed=0, marks={})
    model.explain_rows = explain
    return Detection(model, table, np.asarray(scores), threshold, prepared.record, **more)
