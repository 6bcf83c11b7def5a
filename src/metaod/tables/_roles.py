"""The roles that a user gives to columns, and the columns of an earlier output of ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadParameter, Message, Setting, UserError, listed, quoted
from metaod.options import Columns, Names

Role = Literal["ignore", "id", "category", "date", "time", "by", "over"]

_EARLIER = re.compile(r"(score|rank|flag)(?:_+|[_.]?\d+)?", re.IGNORECASE)
_TOLD = re.compile(r"(why|suspect)_*")
_MOST_EARLIER = 8  # columns of each name that are compared
_TOGETHER = (
    {"date", "time"}, {"category", "by"}, {"date", "over"}, {"target", "high"}, {"target", "low"},
)  # fmt: skip
_SINGLE = ("over", "target")
_WANTED = ("only", "target", "high", "low")


@dataclass(frozen=True, kw_only=True)
class Roles(Columns):
    """The columns that a user named, by role."""

    @classmethod
    def of(cls, given: Mapping[str, Names], *, owner: str = "Preparation") -> "Roles":
        """Check names as a user gives them: one, several or None."""
        roles = cls(**given).checked(owner)
        taken: dict[str, str] = {}
        for role in ROLE_NAMES:
            for column in dict.fromkeys(roles.named(role)) if role != "only" else ():
                other = taken.setdefault(column, role)
                if other != role and {other, role} not in _TOGETHER:
                    raise _conflict(column, other, role)
        for role in _SINGLE:
            if len(roles.named(role)) > 1:
                raise BadParameter(owner, role, "the name of one column", roles.named(role))
        for role in ("high", "low") if roles.target else ():
            if set(roles.named(role)) - set(roles.named("target")):
                legal = "the target, the only column that is judged"
                raise BadParameter(owner, role, legal, ", ".join(roles.named(role)))
        for column in roles.named("only"):
            if taken.get(column) in ("ignore", "id"):
                raise _conflict(column, taken[column], "only")
        return roles

    def named(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role, or those in `only`."""
        found: tuple[str, ...] = getattr(self, role) or ()
        return found

    def role_of(self, column: str) -> Role | None:
        """Return the role of a column; if some are named in `only`, the others are ignored."""
        found: Role
        for found in ("ignore", "id"):
            if column in self.named(found):
                return found
        if self.only and not any(column in self.named(role) for role in (*_WANTED, "by", "over")):
            return "ignore"
        for found in ("by", "over", "category", "time", "date"):
            if column in self.named(found):
                return found
        return None

    def is_unused(self, column: str) -> bool:
        """Whether the user said that the column is not used."""
        return self.role_of(column) in ("ignore", "id")

    def may_leave_out(self, column: str) -> bool:
        """Whether the user has not said what the column is for."""
        return self.role_of(column) is None and not self.is_wanted(column)

    def is_wanted(self, column: str) -> bool:
        """Whether the user named the column to be scored."""
        return any(column in self.named(role) for role in _WANTED)

    def reason(self, column: str) -> str:
        """Say which of the user's names leaves a column out."""
        if column in self.named("ignore"):
            return "named in 'ignore'"
        return "named in 'id'" if column in self.named("id") else "not named in 'only'"

    def check_names(self, columns: Sequence[str], source: str) -> None:
        """Refuse names that no column has, all of them in one error."""
        known = set(columns)
        named = dict.fromkeys(name for role in ROLE_NAMES for name in self.named(role))
        unknown = [name for name in named if name not in known]
        if unknown:
            raise unknown_columns(unknown, columns, None if source == "table" else source)


def unknown_columns(unknown: Sequence[str], columns: Sequence[str], path: str | None) -> UserError:
    """Return the error for names that no column has, with names that are close."""
    by_lower = {column.lower(): column for column in columns}
    near = {
        by_lower[found]: None
        for name in unknown
        for found in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    }
    shown = ", ".join(map(quoted, columns[:20])) + (", ..." if len(columns) > 20 else "")
    remedy = f"close names are: {', '.join(map(quoted, near))}" if near else f"columns are: {shown}"
    if len(unknown) == 1:
        return BadColumn(unknown[0], "is not in the table", path=path, remedy=remedy)
    names = listed(unknown)
    return UserError(f"there are no columns {names}", where=path or "table", remedy=remedy)


ROLE_NAMES = tuple(Columns.declared())


def check_whole(where: str, **options: object) -> None:
    """Refuse rows in parts for options that need all rows, as those before a row or marked ones."""
    for name in (name for name, value in options.items() if value):
        what = Message("rows-in-parts", "{set} needs all rows at once", set=Setting(name))
        remedy = Message("at-once", "read the table at once, or leave it out")
        raise UserError(what, where=where, remedy=remedy)


def _conflict(column: str, first: str, second: str) -> BadColumn:
    named = "is named in both {first} and {second}"
    what = Message("two-roles", named, first=Setting(first), second=Setting(second))
    return BadColumn(column, what, remedy="name it in one of them")


def earlier_output(frame: pd.DataFrame) -> tuple[str, ...]:
    """Find the columns score, rank, flag, suspect and why of an earlier output, with any endings.

    The first three must be there and agree: higher scores have lower ranks, and flagged rows are
    those with the highest scores and some in which a cell is suspect. Rows may have been removed or
    sorted since.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [3, 4, 9], "score_": [0.1, 0.2, 7.0], "rank": [3, 2, 1]})
    >>> earlier_output(frame.assign(flag=[0, 0, 1]))
    ('score_', 'rank', 'flag')
    """
    found: dict[str, list[str]] = {"score": [], "rank": [], "flag": []}
    for name in map(str, frame.columns):
        match = _EARLIER.fullmatch(name)
        if match and len(found[match[1].lower()]) < _MOST_EARLIER:
            found[match[1].lower()].append(name)
    if not all(found.values()):
        return ()
    values = {name: _numbers(frame[name]) for names in found.values() for name in names}
    told = [str(name) for name in frame.columns if _TOLD.fullmatch(str(name))]
    texts = {name: frame[name].astype(object).fillna("").to_numpy() != "" for name in told}
    suspect = np.any([has for name, has in texts.items() if name.startswith("suspect")], axis=0)
    named: dict[str, None] = {}
    for names in product(*found.values()):
        score, rank, flag = (values[name] for name in names)
        if _agree(score, rank, flag, np.asarray(suspect)):
            named.update(dict.fromkeys(names))
            is_plain = (flag != 1) & ~suspect  # such rows have no text
            named.update({name: None for name, has in texts.items() if not np.any(has & is_plain)})
    return tuple(name for name in map(str, frame.columns) if name in named)


def _numbers(series: "pd.Series[Any]") -> npt.NDArray[np.float64]:
    numbers = pd.to_numeric(series, errors="coerce")
    return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))


def _agree(
    score: npt.NDArray[np.float64],
    rank: npt.NDArray[np.float64],
    flag: npt.NDArray[np.float64],
    suspect: npt.NDArray[np.bool_],
) -> bool:
    # comparisons with NaN are False
    legal = np.isfinite(score), rank >= 1, rank == np.floor(rank), (flag == 0) | (flag == 1)
    if not all(test.all() for test in legal) or score.min() == score.max():
        return False
    order = np.lexsort((-score, rank))
    flagged = (flag == 1) & ~suspect
    ordered = bool((np.diff(score[order]) <= 0).all())
    if not ordered or flagged.all() or not flagged.any():
        return ordered
    return bool(score[flagged].min() >= score[flag != 1].max(initial=-np.inf))
