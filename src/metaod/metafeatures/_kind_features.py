"""What the columns of a table were before preparation: their kinds, gaps and levels.

Kinds are those of the columns in use. In a column of categories or text a gap is a level too. A
matrix of numbers has only numeric columns.
"""

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._schema import Feature, FeatureInputs, computes
from metaod.tables import SURPRISAL_UNIT, PreparedTable

RARE_SHARE = 0.05
"""A level of fewer rows than this share is rare."""

_KINDS = {
    "numeric": {"numeric", "boolean", "duration"},
    "category": {"category"},
    "text": {"text"},
    "date": {"date"},
}
_MATRIX = (1.0, *(0.0,) * 9)  # of a matrix of numbers


def _kind(name: str, definition: str, formula: str) -> Feature:
    return Feature(name, "kinds", definition, formula, in_paper=False, scale_free=True, since=2)


@computes(
    _kind("numeric_column_share",
          "share of the columns in use that are numbers, truth values or durations",
          "numeric columns / columns in use"),
    _kind("category_column_share", "share of the columns in use that are categories",
          "category columns / columns in use"),
    _kind("text_column_share", "share of the columns in use that are text of many values",
          "text columns / columns in use"),
    _kind("date_column_share", "share of the columns in use that are dates",
          "date columns / columns in use"),
    _kind("gap_share", "share of the table's cells that are gaps (missing or infinite)",
          "gaps / cells"),
    _kind("column_with_gaps_share", "share of the table's columns that have gaps",
          "columns with gaps / columns"),
    _kind("gap_share_max", "largest share of gaps in a column", "max(gaps of a column) / n"),
    _kind("log_levels_mean",
          "mean logarithm of the number of levels of category and text columns; 0 without any",
          "mean of log(levels)"),
    _kind("log_levels_max",
          "largest logarithm of the number of levels of category and text columns; 0 without any",
          "max of log(levels)"),
    _kind("rare_level_row_share",
          "share of the rows that have a level of less than 5 % of the rows in some column",
          "mean(a column's level has count / n < 0.05)"),
)  # fmt: skip
def kinds(inputs: FeatureInputs) -> tuple[float, ...]:
    prepared = inputs.prepared
    if prepared is None:
        return _MATRIX
    columns = prepared.record.columns
    used = [column for column in columns if column.is_used]
    gaps = np.array([column.n_missing + column.n_infinite for column in columns])
    logs, rare = _levels(prepared)
    return (
        *(sum(column.kind in kind for column in used) / max(1, len(used))
          for kind in _KINDS.values()),
        gaps.mean() / prepared.record.n_rows, (gaps > 0).mean(),
        gaps.max() / prepared.record.n_rows,
        np.mean(logs) if logs else 0.0, max(logs, default=0.0), rare.mean(),
    )  # fmt: skip


def _levels(prepared: PreparedTable) -> tuple[list[float], npt.NDArray[np.bool_]]:
    """Return the logarithm of each column's number of levels, and which rows have a rare level."""
    rare = np.zeros(len(prepared.X), dtype=np.bool_)
    logs = []
    places = {name: place for place, name in enumerate(prepared.names)}
    for column in prepared.record.columns:
        if column.n_levels and column.is_used:
            logs.append(float(np.log(column.n_levels + (column.n_missing > 0))))
            surprisal = prepared.X[:, places[column.outputs[0]]] * SURPRISAL_UNIT
            rare |= surprisal > -np.log(RARE_SHARE) + 1e-9
    return logs, rare
