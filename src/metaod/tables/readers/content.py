"""What a reader hands back, and how another library's failure becomes ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import pandas as pd

from metaod.errors import BadFile, UserError

__all__ = ["Content", "foreign_errors", "gibibytes", "row_place"]


def row_place(row: int) -> str:
    """Name a row, counted from 0, as a person counts.

    Examples
    --------
    >>> row_place(0)
    'row 1'
    """
    return f"row {row + 1}"


@dataclass(frozen=True)
class Content:
    """A table as one reader found it, its label not yet set apart.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    warnings : tuple of str
        What the reader thought worth telling.
    label_values : array-like or None
        The label, where it is another array of the file and no column.
    place : callable
        Names the place of a row, counted from 0, as a person finds it: ``'line 7'``.
    """

    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()
    label_values: npt.NDArray[Any] | None = None
    place: Callable[[int], str] = row_place


@contextmanager
def foreign_errors(name: str, kind: str) -> Iterator[None]:
    """Turn whatever a library raises over a damaged file into one clear :class:`BadFile`."""
    try:
        yield
    except UserError:
        raise
    except MemoryError as error:
        raise BadFile(
            name, "does not fit in memory", remedy="read a part of it, or use a larger machine"
        ) from error
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise BadFile(
            name,
            f"cannot be read as {kind} ({said})",
            remedy="it may be damaged or cut short: write or download it again",
        ) from error


def gibibytes(n_bytes: int) -> str:
    """Sizes as people say them.

    Examples
    --------
    >>> gibibytes(3 * 2**30), gibibytes(5_000)
    ('3.0 GiB', '5,000 bytes')
    """
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**28 else f"{n_bytes:,} bytes"
