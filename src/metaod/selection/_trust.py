"""How sure a pick is: only what held on tables of origins that the learner had not seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.artifacts import Calibration, History
from metaod.models import title_of
from metaod.selection._table_notes import much_filled_in
from metaod.tables import PreparedTable

__all__ = ["Trust", "judge"]

_UNLIKE = 0.9
"""A table is unlike the database where more than this share of its datasets are less so.

The calibration tells the regret of the farthest tenth apart, at the same cut.
"""

_SMALL = 0.02
"""A table is small where less than this share of the database's datasets have no more rows."""

_SAMPLE = 10_000


@dataclass(frozen=True)
class Trust:
    """How far a pick can be trusted.

    Parameters
    ----------
    predicted, low, high : float
        Expected performance of the pick, from 0 (the worst model for the table) to 1 (the best),
        and its interval; NaN where the learner was not calibrated.
    level : float
        Share of tables of unseen origins on which the interval is meant to hold the truth.
    coverage : float
        Share on which it did.
    beats, loses : float
        Shares of tables of unseen origins on which a pick was better, or worse, than PyOD's
        default iForest by more than .005.
    unlikeness : float
        Share of the database's datasets that are less unlike the others than this table.
    warnings : tuple of str
        What speaks against relying on the pick.
    of_average : str
        Where the learner answers with several models and weights, the one that the expected
        performance is of; that of their average is not known.
    """

    predicted: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    level: float = float("nan")
    coverage: float = float("nan")
    beats: float = float("nan")
    loses: float = float("nan")
    unlikeness: float = float("nan")
    warnings: tuple[str, ...] = ()
    of_average: str = ""

    @property
    def is_calibrated(self) -> bool:
        """Whether figures are known."""
        return not np.isnan(self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None where a figure is not known."""
        names = ("predicted", "low", "high", "level", "coverage", "beats", "loses", "unlikeness")
        found = {name: getattr(self, name) for name in names}
        known = {name: None if np.isnan(value) else value for name, value in found.items()}
        about = {"of_average": self.of_average or None}
        return {**known, "warnings": list(self.warnings), **about}

    def __str__(self) -> str:
        if not self.is_calibrated:
            lines = ["The learner was not calibrated: how sure the pick is, is not known."]
        else:
            who = "Expected"
            if self.of_average:
                who = f"Of the average, {title_of(self.of_average)} alone is expected"
            expected = (
                f"{who} to reach {self.predicted:.2f} on a scale from the worst model for this "
                f"table (0) to the best (1); {self.level:.0%} interval {self.low:.2f} to "
                f"{self.high:.2f}, which held on {self.coverage:.0%} of tables from unseen sources."
            )
            lines = [expected]
            if not np.isnan(self.beats):
                lines.append(
                    f"On such tables a pick was better than isolation forest in {self.beats:.0%} "
                    f"and worse in {self.loses:.0%}."
                )
        lines.extend(f"Warning: {warning}" for warning in self.warnings)
        return "\n".join(lines)


def judge(
    prepared: PreparedTable,
    distances: npt.NDArray[np.float64] | None,
    history: History | None,
    calibration: Calibration | None,
    prediction: tuple[float, float, float] | None,
) -> Trust:
    """Put together what is known of a pick for a table.

    Parameters
    ----------
    prepared : PreparedTable
        The table.
    distances : array of shape (n,), optional
        Distances to the historical datasets.
    history, calibration : optional
        What the learner's artifact carries.
    prediction : tuple of float, optional
        Predicted performance of the pick and the ends of its interval.
    """
    warnings = [*_of_table(prepared), *_of_size(prepared, history)]
    if calibration is None or prediction is None or distances is None:
        return Trust(warnings=tuple(warnings))
    figures = calibration.figures
    unlikeness = calibration.unlikeness(distances)
    if unlikeness > _UNLIKE:
        warnings.insert(0, _unlike(unlikeness, figures))
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


def _unlike(unlikeness: float, figures: dict[str, float]) -> str:
    # rounded down: 99.9 % are not all
    share = "all" if unlikeness >= 1 else f"{int(100 * unlikeness)}%"
    text = f"the table is less like the database than {share} of its own datasets are"
    near, far = figures.get("regret_near", 0.0), figures.get("regret_far", 0.0)
    rises = figures.get("regret_distance_correlation", 0.0) > 0 and far > near
    if rises and figures.get("regret_distance_p", 1.0) < 0.05:
        text += (
            f"; picks fell {far:.2f} short of the best model on the tenth that is least like the "
            f"others, {near:.2f} on the rest"
        )
    return text


def _of_size(prepared: PreparedTable, history: History | None) -> list[str]:
    if history is None:
        return []
    n_rows = len(prepared.X)
    sizes = history.shapes[:, 0]
    n_larger = int(np.count_nonzero(sizes > n_rows))
    if len(sizes) - n_larger >= _SMALL * len(sizes):
        return []
    larger = "all" if n_larger == len(sizes) else f"{n_larger} of"
    text = (
        f"the table has {n_rows} rows, fewer than {larger} the database's {len(sizes)} datasets "
        f"have (the smallest: {sizes.min()})"
    )
    return [text]


def _of_table(prepared: PreparedTable) -> list[str]:
    found = []
    X = prepared.X[:_SAMPLE]
    distinct = len(np.unique(X, axis=0)) / len(X)
    if distinct < 0.5:
        found.append(f"{1 - distinct:.0%} of the rows repeat another: scores will have many ties")
    found.extend(much_filled_in(prepared.record))
    return found
