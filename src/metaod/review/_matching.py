"""Find the rows that marks belong to, also after rows were added, removed or reordered."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from metaod.errors import BadFile, counted
from metaod.review._contents import RowContents
from metaod.review._marks_file import Mark, two_marks

_MOST_NAMED = 10


@dataclass(frozen=True)
class Matched:
    """The marks by the position of their row, counted from 0, and those that match no row."""

    rows: dict[int, Mark]
    unmatched: tuple[Mark, ...] = ()

    @property
    def answers(self) -> dict[int, bool | None]:
        """The answers by position, in the order in which they were given."""
        return {row: mark.answer for row, mark in self.rows.items()}

    def note(self) -> str:
        """Say how many and which marks match no row; empty if all do."""
        if not self.unmatched:
            return ""
        shown = ", ".join(mark.name for mark in self.unmatched[:_MOST_NAMED])
        if len(self.unmatched) > _MOST_NAMED:
            shown += f" and {len(self.unmatched) - _MOST_NAMED} more"
        n_marks = counted(len(self.unmatched), "mark")
        verbs = "matches no row and is" if len(self.unmatched) == 1 else "match no row and are"
        return f"{n_marks} of the marks file {verbs} not used (kept in the file): {shown}"


def match_marks(
    marks: Sequence[Mark], contents: RowContents, path: "str | os.PathLike[str]"
) -> Matched:
    """Find the row of every mark.

    A mark whose row number still has the same cells stays there. Else its key decides, if the
    table has it once; else it goes to a row of the same cells that has no mark yet. A mark without
    cells and without a key that can be compared belongs to its row number.

    Parameters
    ----------
    marks : sequence of Mark
        Of a marks file.
    contents : RowContents
        Of the table.
    path : path-like
        The marks file, for messages.
    """
    positions: dict[Mark, int] = {}
    for mark in marks:
        if _is_at_its_number(mark, contents, path):
            positions[mark] = (mark.row or 1) - 1
    taken = set(positions.values())
    places = _places(contents.keys or ())
    for mark in marks:
        same = places[mark.key] if mark not in positions and mark.key else []
        if len(same) == 1 and same[0] not in taken:
            positions[mark] = same[0]
    taken = set(positions.values())
    places = _places(contents.hashes)
    for mark in marks:
        free = [place for place in places[mark.content] if place not in taken]
        if mark not in positions and free:
            positions[mark] = free[0]
            taken.add(free[0])
    if marks and not positions:
        what = "belongs to another table, or every row has changed: none of its marks matches a row"
        remedy = "name the marks file of this table with --marks, or its column of ids with --id"
        raise BadFile(path, what, remedy=remedy)
    rows: dict[int, Mark] = {}
    for mark in marks:
        if mark in positions:
            earlier = rows.setdefault(positions[mark], mark)
            if earlier.answer is not mark.answer:
                raise two_marks(path, earlier, mark)
    return Matched(rows, tuple(mark for mark in marks if mark not in positions))


def _is_at_its_number(mark: Mark, contents: RowContents, path: "str | os.PathLike[str]") -> bool:
    n_rows = len(contents.hashes)
    has_key = bool(mark.key) and contents.keys is not None
    if mark.row is None:
        if contents.keys is None:
            remedy = "name the column of the ids with --id"
            raise BadFile(path, "marks a row by its id alone", line=mark.line, remedy=remedy)
        return False
    is_row = mark.row <= n_rows
    if mark.content:
        return is_row and contents.hashes[mark.row - 1] == mark.content
    if has_key:
        return is_row and contents.key(mark.row - 1) == mark.key
    if not is_row:
        what = f"row {mark.row} does not exist: the table has {counted(n_rows, 'row')}"
        remedy = "correct the number; the first row below the header is row 1"
        raise BadFile(path, what, line=mark.line, remedy=remedy)
    return True


def _places(values: Sequence[str]) -> defaultdict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        places[value].append(place)
    return places
