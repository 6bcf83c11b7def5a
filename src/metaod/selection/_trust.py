"""How far a pick can be trusted, and what preparation did to the table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from metaod.errors import Message, counted, listed
from metaod.models import Matrix
from metaod.tables import PreparationRecord, PreparedTable

if TYPE_CHECKING:
    from metaod.artifacts import Artifact

SMALL = 0.02  # a table is small if less than this share of the training datasets are no larger
_SAMPLE = 10_000  # rows among which equal ones are counted
# shares of a table's and of a column's values above which a note reports that they were filled in
_MANY_MISSING, _MOSTLY_MISSING = 0.2, 0.5

# The loss to the best model is larger for tables far from the others, but not the loss to iForest:
# so this is only for a table that is farther than all others, of which nothing is measured.
_UNLIKE = (
    "the learner knows no table like this one, so its choice may not suit it: check some of the "
    "flagged rows by hand"
)
_FIGURES = ("predicted", "low", "high", "level", "coverage", "beats", "loses", "unlikeness")


@dataclass(frozen=True)
class Trust:
    """How far a pick can be trusted.

    Parameters
    ----------
    predicted, low, high : float
        Expected performance of the pick, from 0 (the worst model for the table) to 1 (the best),
        and its interval; NaN if the learner is not calibrated.
    level, coverage : float
        Nominal and measured share of tables of unseen origins whose truth is in the interval.
    beats, loses : float
        Shares of tables of unseen origins on which a pick was better, or worse, than PyOD's
        default iForest by more than .005.
    unlikeness : float
        Share of the training datasets that are less unlike the others than this table.
    warnings : tuple of str
        Reasons not to rely on the pick, each with what to do.
    is_fixed : bool
        Whether the pick is the same for every table; all figures are then over the historical
        tables, and the interval holds the share ``level`` of them.
    """

    predicted: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    level: float = float("nan")
    coverage: float = float("nan")
    beats: float = float("nan")
    loses: float = float("nan")
    unlikeness: float = float("nan")
    warnings: tuple[str | Message, ...] = ()
    is_fixed: bool = False

    @property
    def is_calibrated(self) -> bool:
        """Whether figures are known."""
        return not np.isnan(self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON; None for an unknown figure."""
        figures = {name: getattr(self, name) for name in _FIGURES}
        known = {name: None if np.isnan(value) else value for name, value in figures.items()}
        return {**known, "warnings": list(map(str, self.warnings))}

    def summary(self) -> str:
        """Describe the figures, without the warnings."""
        if not self.is_calibrated:
            return "No confidence estimate: the learner is not calibrated for this pick."
        if self.is_fixed:
            title = "Mean quality on tables with known outliers"
        else:
            title = "Expected quality"
        text = (
            f"{title}: {self.predicted:.2f} on a scale from 0 (the worst model for the table) to 1 "
            f"(the best); for {self.level:.0%} of tables it is {self.low:.2f} to {self.high:.2f}."
        )
        if not np.isnan(self.beats):
            whose = (
                "On these tables, it was"
                if self.is_fixed
                else "On tables that the learner had not learned from, its picks were"
            )
            text += (
                f"\n{whose} better than isolation forest on {self.beats:.0%} and worse on "
                f"{self.loses:.0%}."
            )
        return text

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"Warning: {warning}" for warning in self.warnings)])


def assess_trust(
    prepared: PreparedTable,
    artifact: "Artifact",
    distances: Matrix | None,
    prediction: tuple[float, float, float],
    *,
    further_warnings: Sequence[str | Message] = (),
) -> Trust:
    """Collect the figures and warnings for a pick.

    `distances` are those to the historical datasets; `prediction` is the predicted performance of
    the pick with the ends of its interval.
    """
    sizes = [] if artifact.history is None else artifact.history.shapes[:, 0].tolist()
    about = (*_about_rows(prepared), *_about_size(prepared, sizes, len(sizes)))
    warnings = [*about, *further_warnings]
    calibration = artifact.calibration
    if calibration is None or distances is None:
        return Trust(warnings=tuple(warnings))
    figures = calibration.figures
    unlikeness = calibration.unlikeness(distances)
    if unlikeness >= 1:
        warnings.insert(0, _UNLIKE)
    unknown = float("nan")
    return Trust(
        *prediction,
        level=figures.get("interval_level", unknown),
        coverage=figures.get("interval_coverage", unknown),
        beats=figures.get("beats_reference", unknown),
        loses=figures.get("loses_to_reference", unknown),
        unlikeness=unlikeness,
        warnings=tuple(warnings),
    )


def committee_trust(
    prepared: PreparedTable, further_warnings: Sequence[str | Message] = ()
) -> Trust:
    """Return the figures of the committee, the same for every table, and the warnings.

    ``python -m research train-shipped`` computes them over all tables of the shipped history.
    """
    text = files("metaod.selection").joinpath("committee.json").read_text("utf-8")
    figures = json.loads(text)
    sizes = figures.pop("smallest"), figures.pop("n_tables")
    warnings = (*_about_rows(prepared), *_about_size(prepared, *sizes), *further_warnings)
    return Trust(**figures, warnings=warnings, is_fixed=True)


def _about_size(prepared: PreparedTable, sizes: Sequence[int], n_tables: int) -> list[str]:
    """Warn of a table that is smaller than nearly all; `sizes` are those of the smallest."""
    n_rows = len(prepared.X)
    n_larger = n_tables - int(np.count_nonzero(np.asarray(sizes) <= n_rows))
    if n_tables == 0 or n_tables - n_larger >= SMALL * n_tables:
        return []
    larger = f"all {n_larger}" if n_larger == n_tables else f"{n_larger} of the {n_tables}"
    known = f"{larger} tables that MetaOD has learned from have more"
    what = "scores from so few rows are less reliable"
    return [f"the table has {n_rows} rows, and {known}; {what}: check the flagged rows by hand"]


def _about_rows(prepared: PreparedTable) -> list[str]:
    X = prepared.X[:_SAMPLE]
    distinct = len(np.unique(X, axis=0)) / len(X)
    alike = (
        f"{1 - distinct:.0%} of the rows equal an earlier one in the columns that the scores use, "
        "so many rows share a score"
    )
    return [*([alike] if distinct < 0.5 else []), *_much_filled_in(prepared.record)]


def table_notes(record: PreparationRecord, *, fitted: bool = True) -> tuple[str | Message, ...]:
    """List unused columns, infinite and many missing values, and messages of the preparation.

    Parameters
    ----------
    record : PreparationRecord
        The record of the table.
    fitted : bool, default=True
        Whether the preparation was fitted to this table; if not, unused columns are not listed.
    """
    notes = []
    unused: dict[str, list[str]] = {}
    for column in record.columns:
        if not column.is_used and column.cause != "context":
            unused.setdefault(column.kind, []).append(column.name)
    if fitted and unused:
        kinds = "; ".join(f"{kind}: {listed(names)}" for kind, names in unused.items())
        notes.append(f"Columns that the scores do not use: {kinds}.")
    used = [column for column in record.columns if column.is_used]
    infinite = [column for column in used if column.n_infinite]
    if infinite:
        values = counted(sum(column.n_infinite for column in infinite), "infinite value")
        names = listed([column.name for column in infinite])
        notes.append(f"Treated as missing: {values} in {names}.")
    empty = [column.name for column in used if column.n_missing == record.n_rows]
    if empty:
        notes.append(f"Missing in every row and filled in: {listed(empty)}.")
    gaps = {column.name: column.n_missing + column.n_infinite for column in used}
    most = _MOSTLY_MISSING * record.n_rows
    mostly = [name for name, n in gaps.items() if n > most and name not in empty]
    if mostly:
        notes.append(f"Missing in most rows and filled in: {listed(mostly)}.")
    return (*notes, *_much_filled_in(record), *record.messages)


def _much_filled_in(record: PreparationRecord) -> tuple[str, ...]:
    share = record.imputed_share
    if share <= _MANY_MISSING:
        return ()
    return (f"{share:.0%} of the values were missing and filled in; drop columns with few values",)
