"""Tables as files: CSV for programs, Markdown for readers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["markdown", "show_p", "write_csv", "write_table"]

_DIGITS = 10
"""Significant digits in CSV: beyond them are sums in another order, on another machine."""


def write_table(
    frame: pd.DataFrame, folder: Path, stem: str, *, shown: pd.DataFrame | None = None
) -> tuple[Path, Path]:
    """Write a table as ``stem.csv`` and ``stem.md``.

    Parameters
    ----------
    frame : DataFrame
        The table; its index is not written.
    folder : Path
        Where; made if it is not there.
    stem : str
        Name of the files, without suffix.
    shown : DataFrame, optional
        What readers see instead, where numbers go into one cell.

    Returns
    -------
    tuple of Path
        The two files.
    """
    csv = write_csv(frame, folder, stem)
    page = folder / f"{stem}.md"
    page.write_text(markdown(frame if shown is None else shown), encoding="utf-8", newline="\n")
    return csv, page


def write_csv(frame: pd.DataFrame, folder: Path, stem: str) -> Path:
    """Write a table as ``stem.csv``, without its index."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.csv"
    frame.to_csv(path, index=False, lineterminator="\n", float_format=f"%.{_DIGITS}g")
    return path


def markdown(frame: pd.DataFrame, formats: Mapping[str, str] | None = None) -> str:
    """A frame as a Markdown table, numbers to the right.

    Parameters
    ----------
    frame : DataFrame
        The table; its index is not shown.
    formats : mapping of str to str, optional
        Formats of columns, as in :func:`format`; without one, integers keep their digits, what
        is called p has four decimals or is below 0.0001, and other numbers have four decimals.

    Examples
    --------
    >>> print(markdown(pd.DataFrame({"method": ["LOF"], "MAP": [0.21538]})), end="")
    | method | MAP |
    |:--|--:|
    | LOF | 0.2154 |
    """
    formats = formats or {}
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    head = "| " + " | ".join(map(_escaped, frame.columns)) + " |"
    rule = "|" + "|".join("--:" if number else ":--" for number in numeric) + "|"
    lines = [
        "| " + " | ".join(_cell(value, str(name), formats) for name, value in row.items()) + " |"
        for row in frame.to_dict("records")
    ]
    return "\n".join([head, rule, *lines]) + "\n"


def show_p(p: float) -> str:
    """A p-value with four decimals.

    Examples
    --------
    >>> show_p(0.04999), show_p(0.000012)
    ('0.0500', '<0.0001')
    """
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _cell(value: Any, name: str, formats: Mapping[str, str]) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if name in formats:
        return format(value, formats[name])
    if isinstance(value, float):
        return show_p(value) if name.startswith("p") else f"{value:.4f}"
    return _escaped(value)


def _escaped(value: object) -> str:
    # in Markdown a bar ends a cell, and an underscore or an asterisk may begin emphasis
    text = str(value).replace("|", "\\|").replace("\n", " ")
    return text if text.startswith("**") else text.replace("_", "\\_").replace("*", "\\*")
