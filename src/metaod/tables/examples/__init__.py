"""The bundled example: readings of machines in three plants, made by the project."""

from importlib.resources import as_file, files

from metaod.tables._table import Table
from metaod.tables.readers.reading import read_table

__all__ = ["EXAMPLE", "EXAMPLE_LABEL", "load_example"]

EXAMPLE = files(__name__).joinpath("machines.csv")
"""The example as a resource of the package."""

EXAMPLE_LABEL = "fault"
"""Its label column."""


def load_example() -> Table:
    """Read the bundled example table; its label is set apart.

    Examples
    --------
    >>> load_example()
    Table('machines.csv': 600 rows × 12 columns, 24 labelled outliers)
    """
    with as_file(EXAMPLE) as path:
        table = read_table(path, label=EXAMPLE_LABEL)
    return Table(table.frame, table.label, source=path.name, warnings=table.warnings)
