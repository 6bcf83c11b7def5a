"""Read a table and describe its columns: what the page shows before anything is computed."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from metaod.errors import BadFile, worded
from metaod.tables import ColumnRecord, NothingToScore, Roles, Table, cell_text, prepare, read_table
from metaod.web._problems import page_word

_EXAMPLES = 3  # values that are shown of a column
_SEARCHED = 50  # rows in which they are looked for
_LONGEST = 200  # characters of a cell

OnStage = Callable[[dict[str, Any]], None]


class UploadedTable:
    """A file of a client, read when it is first needed, and again if the options change.

    Parameters
    ----------
    file : str
        The file in the current folder.
    name : str
        Its name at the client.
    limits : dict
        Of :class:`metaod.web.Limits`.
    progress : callable
        Takes what is known of the progress.
    """

    def __init__(self, file: str, name: str, limits: dict[str, Any], progress: OnStage) -> None:
        self.file = file
        self.name = name
        self.progress = progress
        self.given: tuple[dict[str, Any], dict[str, list[str]]] = ({}, {})  # reading and roles
        self._limits = limits
        self._table: Table | None = None

    @property
    def is_example(self) -> bool:
        """Whether the file is the bundled example."""
        own = files("metaod").joinpath("tables/examples/machines.csv").read_bytes()
        return Path(self.file).read_bytes() == own

    def read(self, reading: dict[str, Any], roles: dict[str, list[str]]) -> Table:
        """Read the file with these options and roles of columns."""
        if self._table is not None and self.given == (reading, roles):
            return self._table
        self._table = None
        self.progress({"stage": "reading the table"})
        own = {"unused": Roles.of(roles).is_unused, "shown_as": self.name}
        table = read_table(self.file, **{**reading, **own})
        for thing, n in (("rows", table.n_rows), ("columns", table.n_columns)):
            limit = self._limits[f"max_{thing}"]
            if n > limit:
                what = f"holds {n:,} {thing}, more than the {limit:,} allowed"
                remedy = f"remove some, or start the server with --max-{thing}"
                raise BadFile(self.name, what, remedy=remedy, code=f"many-{thing}")
        self.given, self._table = (reading, roles), table
        return self._table

    def inspection(self, reading: dict[str, Any], roles: dict[str, list[str]]) -> dict[str, Any]:
        """Describe the columns and what preparation does to them."""
        table = self.read(reading, roles)
        self.progress({"stage": "preparing the columns"})
        messages: Sequence[Any]
        try:
            record = prepare(table, **roles).record
            columns, messages = record.columns, record.messages
        except NothingToScore as error:  # other roles may leave something
            columns = tuple(error.columns)
            messages = (f"Choose other uses of columns: {worded(error.what, page_word)}.",)
        return {
            "name": self.name,
            "n_rows": table.n_rows,
            "n_columns": table.n_columns,
            "n_labelled": None if table.label is None else int(table.label.sum()),
            "warnings": [worded(text, page_word) for text in (*table.warnings, *messages)],
            "columns": _columns(table, columns, reading.get("label")),
        }


def _columns(
    table: Table, columns: Sequence[ColumnRecord], label: str | None
) -> list[dict[str, Any]]:
    """Describe the columns with values that they hold."""
    n_rows = min(_SEARCHED, table.n_rows)
    texts = {} if table.original is None else table.original.texts(range(n_rows))
    described = [
        {
            **column.summary(page_word),
            "examples": _examples(table.frame[column.name].head(n_rows), texts.get(column.name)),
        }
        for column in columns
    ]
    if label is not None:
        values = {"kind": "label", "role": "label", "is_used": False, "n_missing": 0}
        done = "marks known outliers: it only measures the result"
        own = list(dict.fromkeys(texts.get(label, [])))[:_EXAMPLES]
        described.insert(0, {"name": label, **values, "preparation": done, "examples": own})
    return described


def _examples(values: Any, texts: list[str] | None) -> list[str]:
    written = texts if texts is not None else [""] * len(values)
    cells = (cell_text(value, own) for value, own in zip(values, written, strict=False))
    return [cut(cell) for cell in dict.fromkeys(cells) if cell][:_EXAMPLES]


def cut(text: str) -> str:
    """Shorten a text."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
