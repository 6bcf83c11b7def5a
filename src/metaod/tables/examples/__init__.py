"""The bundled example: made-up readings of machines in three plants."""

import io
from dataclasses import replace
from importlib.resources import files

from metaod.tables._reading import read_table
from metaod.tables._table import Table


def load_example() -> Table:
    """Read the bundled example table and its label.

    Examples
    --------
    >>> load_example()
    Table('machines.csv': 600 rows × 12 columns, 24 labelled outliers)
    """
    text = io.BytesIO(files(__name__).joinpath("machines.csv").read_bytes())
    return replace(read_table(text, label="fault"), source="machines.csv")
