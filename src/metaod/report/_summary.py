"""What a report shows, as plain data that knows nothing of tables and models."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from metaod.report._score_sketch import ScoreSketch
from metaod.report._table_map import TableMap


@dataclass(frozen=True)
class ColumnLine:
    """How a column is read.

    Parameters
    ----------
    name, kind, role : str
        Such as 'price', 'numeric' and 'used'.
    n_missing : int
        Rows without a value.
    done : str
        What was done with it, and why.
    """

    name: str
    kind: str
    role: str
    n_missing: int
    done: str


@dataclass(frozen=True)
class Measured:
    """How well a method ranks the labelled outliers."""

    method: str
    ap: float
    roc_auc: float
    precision_at_n: float


@dataclass(frozen=True)
class Pick:
    """The models that scored the rows.

    Parameters
    ----------
    sentence : str
        What scored the rows.
    members : tuple of (str, float)
        Ids of the models and their weights.
    expected : tuple of str
        How well it is expected to work, and how sure that is.
    why : tuple of str
        Why it was picked.
    measured : tuple of Measured
        With a label: this pick and isolation forest.
    """

    sentence: str
    members: tuple[tuple[str, float], ...]
    expected: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()


@dataclass(frozen=True)
class Why:
    """A column that sets a row apart.

    Parameters
    ----------
    column, value : str
        Its name, and the row's cell.
    usual : str
        What other rows have.
    share : float
        How much of the score it explains, from 0 to 1.
    """

    column: str
    value: str
    usual: str
    share: float


@dataclass(frozen=True)
class TopRow:
    """A row of the table.

    Parameters
    ----------
    row : int
        Its number, from 1, the header not counted.
    rank : int
        1 for the most outlying row; rows that share a score share the rank.
    score : float
        Its score; higher is more outlying.
    cells : tuple of str
        Its cells, as the file has them; long ones are cut.
    why : tuple of Why or None
        What sets it apart; empty if no single value does, None if it was not computed.
    label : bool or None
        Whether the label says that it is an outlier; None without a label.
    mark : str
        What a person said: 'outlier', 'not' or 'unsure'; empty if nothing.
    """

    row: int
    rank: int
    score: float
    cells: tuple[str, ...]
    why: tuple[Why, ...] | None = None
    label: bool | None = None
    mark: str = ""


@dataclass(frozen=True)
class TopRows:
    """The most outlying rows, the first one first.

    Parameters
    ----------
    columns : tuple of str
        The columns that are shown: those that name the rows, then those that set most rows apart.
    n_naming : int
        How many of them name the rows.
    n_hidden : int
        Columns that are not shown.
    rows : tuple of TopRow
        The rows.
    orders : tuple of tuple of int
        For each column, the places of the rows in ascending order of its values, gaps last.
    """

    columns: tuple[str, ...]
    n_naming: int
    n_hidden: int
    rows: tuple[TopRow, ...]
    orders: tuple[tuple[int, ...], ...]

    def reason_columns(self) -> list[tuple[str, int]]:
        """Return the columns that set rows apart, with the numbers of these rows."""
        named = (why.column for row in self.rows for why in row.why or ())
        return Counter(named).most_common()


@dataclass(frozen=True)
class SimilarTable:
    """A historical table like this one, and how well the pick and isolation forest did there."""

    name: str
    n_rows: int
    n_columns: int
    performance: float | None
    reference: float | None


@dataclass(frozen=True)
class Step:
    """Something to do next.

    Parameters
    ----------
    text : str
        What, and why.
    command : str
        The command or the line of Python; empty if there is none.
    takes_number : bool
        Whether the number of flagged rows follows the command.
    """

    text: str
    command: str = ""
    takes_number: bool = False


@dataclass(frozen=True)
class Recipe:
    """How to get the same result again.

    Parameters
    ----------
    command : str
        The command; empty if the table came from Python.
    python : tuple of str
        Lines of Python.
    versions : tuple of (str, str)
        Libraries and their versions.
    seed : int
        The seed of all random parts.
    """

    command: str
    python: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    seed: int


@dataclass(frozen=True)
class Summary:
    """What a report shows.

    Parameters
    ----------
    source : str
        The file, or the type of the object.
    n_rows, n_columns : int
        The table's size, the label not counted.
    facts : tuple of (str, str)
        How the file was read: names and values.
    columns : tuple of ColumnLine
        How each column is read, the first ones of many.
    pick : Pick
        The models.
    warnings, notes : tuple of str
        Why the result may be unreliable, and what was noticed.
    scores : ScoreSketch
        The scores and thresholds.
    map : TableMap
        Rows as points.
    top : TopRows
        The most outlying rows.
    similar : tuple of SimilarTable
        Historical tables like this one.
    measure : str
        The measure of their performance.
    steps : tuple of Step
        What to do next.
    recipe : Recipe
        How to get the same result again.
    """

    source: str
    n_rows: int
    n_columns: int
    facts: tuple[tuple[str, str], ...]
    columns: tuple[ColumnLine, ...]
    pick: Pick
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    scores: ScoreSketch
    map: TableMap
    top: TopRows
    similar: tuple[SimilarTable, ...]
    measure: str
    steps: tuple[Step, ...]
    recipe: Recipe

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        return asdict(self)
