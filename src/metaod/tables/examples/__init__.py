"""The bundled example: made-up readings of machines in three plants."""

from dataclasses import replace
from importlib.resources import as_file, files

from metaod.tables._reading import read_table
from metaod.tables._table import Table


def load_example() -> Table:
    """Read the bundled example table and its label.

    Examples
    --------
    >>> load_example()
    Table('machines.csv': 600 rows × 12 columns, 24 labelled outliers)
    """
    with as_file(files(__name__).joinpath("machines.csv")) as path:
        return replace(read_table(path, label="fault"), source=path.name)
