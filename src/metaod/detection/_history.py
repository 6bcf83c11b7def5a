"""The record of the rows that a pick has learned from: versions, and what each has changed."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metaod.errors import counted
from metaod.tables import Table
from metaod.wrong_cells import row_keys

_LONGEST = 200


@dataclass(frozen=True)
class PickVersion:
    """What a pick learned from at once.

    Parameters
    ----------
    source : str
        The name of the file, or the type of the object; empty if it is not known.
    n_rows : int
        Rows of the source.
    checksum : str
        Of its values; the same rows have the same one, in any order.
    n_learned : int
        Rows that the pick learned from, earlier ones included.
    n_flagged : int
        Of these, the rows that it flags for their scores.
    threshold : float
        Its threshold.
    when : str
        When, as the user gave it.
    kept : float or None
        Of these, the share of the rows flagged before that still are; None if there are none.
    drifted : tuple of str
        Columns in which the new rows were unlike the earlier ones.
    """

    source: str
    n_rows: int
    checksum: str
    n_learned: int
    n_flagged: int
    threshold: float
    when: str = ""
    kept: float | None = None
    drifted: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Any, table: Table | None, n_rows: int, **changes: Any) -> "PickVersion":
        """Describe a fitted estimator and the rows that it learned last; None if not known."""
        fitted = model.fitted_
        source = "" if table is None else Path(table.source).name[:_LONGEST]
        checksum = "" if table is None else checksum_of(table)
        sizes = len(fitted.X), int(fitted.labels.sum())
        return cls(source, n_rows, checksum, *sizes, fitted.threshold, **changes)

    def changes(self, before: "PickVersion") -> str:
        """Say what has changed since the version before."""
        parts = [f"threshold {before.threshold:.4g} -> {self.threshold:.4g}"]
        if self.kept is not None:
            parts.append(f"{self.kept:.0%} of flags kept")
        drifted = f": {', '.join(self.drifted)}" if self.drifted else ""
        return "; ".join([*parts, f"{counted(len(self.drifted), 'column')} drifted{drifted}"])

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data."""
        return {**asdict(self), "drifted": list(self.drifted)}


def checksum_of(table: Table) -> str:
    """Return a checksum of the values of typed rows, in any order."""
    return hashlib.sha256(np.sort(row_keys(table)).tobytes()).hexdigest()[:16]
