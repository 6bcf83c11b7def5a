"""Lines with a band: sensitivity to a parameter, and learning curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaod.errors import BadColumn
from metaod.lab.figures.style import COLUMN, GREY, looks, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_curve"]


def write_curve(
    data: pd.DataFrame,
    folder: Path,
    stem: str,
    *,
    x_label: str,
    y_label: str = "mean average precision",
    reference: tuple[str, float] | None = None,
    log_x: bool = False,
) -> tuple[Path, Path, Path]:
    """Draw a mean with its band against a parameter.

    Parameters
    ----------
    data : DataFrame
        ``x`` (numbers, or words, which stand in the order given), ``mean``, ``low`` and ``high``
        (NaN: no band) and, for several lines, ``series``.
    folder : Path
        Where the files go.
    stem : str
        Name of the files.
    x_label, y_label : str
        What the axes say.
    reference : tuple of str and float, optional
        A dashed level to compare with, and its name.
    log_x : bool, default=False
        Whether steps of ``x`` are ratios.
    """
    for name in ("x", "mean", "low", "high"):
        if name not in data:
            raise BadColumn(name, "is not in the curve's data", remedy="give x, mean, low, high")
    series = list(dict.fromkeys(data["series"])) if "series" in data else [""]
    entries = len(series) * (series != [""]) + (reference is not None)
    size = (COLUMN, 2.3 + 0.14 * -(-entries // 2))

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot()
        words = not pd.api.types.is_numeric_dtype(data["x"])
        if log_x and not words:
            axes.set_xscale("log")
        places = {word: place for place, word in enumerate(dict.fromkeys(data["x"]))}
        for order, (name, look) in enumerate(zip(series, looks(len(series)), strict=True)):
            rows = data[data["series"] == name] if "series" in data else data
            rows = rows.dropna(subset="mean")
            x = rows["x"].map(places) if words else rows["x"]
            # on an axis of words, where bars stand, several series would hide each other
            shift = 0.12 * (order - (len(series) - 1) / 2) if words else 0.0
            _line(axes, x + shift, rows, str(name), look, joined=not words)
        if reference is not None:
            axes.axhline(reference[1], color=GREY, ls="--", lw=0.9, label=reference[0], zorder=0)
        if words:
            shown = [str(word) for word in places]
            crowded = len(places) * max(map(len, shown)) > 55
            slant: dict[str, Any] = (
                {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
            )
            axes.set_xticks(list(places.values()), shown, **slant)
            axes.set_xlim(-0.5, len(places) - 0.5)
        else:
            _number_ticks(axes, sorted(data["x"].unique()))
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        if entries:
            figure.legend(loc="outside lower center", ncols=2)

    return write_figure(draw, size, data, folder, stem)


def _line(
    axes: "Axes",
    x: pd.Series,
    rows: pd.DataFrame,
    name: str,
    look: tuple[str, str],
    *,
    joined: bool,
) -> None:
    colour, marker = look
    style = "-" if joined else "none"
    label = name or None
    axes.plot(x, rows["mean"], color=colour, marker=marker, ms=3.5, ls=style, label=label)
    banded = rows["low"].notna() & rows["high"].notna()
    if joined:
        axes.fill_between(
            x, rows["low"], rows["high"], where=banded, color=colour, alpha=0.18, lw=0
        )
    else:
        axes.vlines(x[banded], rows["low"][banded], rows["high"][banded], color=colour, lw=0.9)


def _number_ticks(axes: "Axes", values: list[float]) -> None:
    """Ticks where there are points, if they are few; on a scale of ratios no others."""
    if axes.get_xscale() == "log":
        axes.minorticks_off()
    if len(values) <= 7 or axes.get_xscale() == "log":
        axes.set_xticks(values, [f"{value:g}" for value in values])
