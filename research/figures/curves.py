"""A mean with its interval against a parameter."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from research.figures.style import COLUMN, GREY, looks, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_curve(
    data: pd.DataFrame,
    folder: Path,
    stem: str,
    *,
    x_label: str,
    y_label: str,
    default: float | str,
    caption: str = "",
    log_x: bool = False,
) -> list[Path]:
    """Draw ``mean`` with the interval from ``low`` to ``high`` (NaN: none) against ``x``.

    Numbers in ``x`` are joined by a line, strings stand in the order given. `default` is the x with
    which the others are compared: a hollow point on a dashed line at 0.
    """

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot()
        is_text = not pd.api.types.is_numeric_dtype(data["x"])
        if log_x and not is_text:
            axes.set_xscale("log")
        positions = {text: position for position, text in enumerate(dict.fromkeys(data["x"]))}
        rows = data.dropna(subset="mean")
        x = rows["x"].map(positions) + 0.0 if is_text else rows["x"] + 0.0
        _draw_means(axes, x, rows, joined=not is_text, hollow=rows["x"] == default)
        axes.axhline(0.0, color=GREY, ls="--", lw=0.9, zorder=0)
        if is_text:
            shown = [str(text) for text in positions]
            crowded = len(positions) * max(map(len, shown)) > 55
            slant: dict[str, Any] = (
                {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
            )
            axes.set_xticks(list(positions.values()), shown, **slant)
            axes.set_xlim(-0.5, len(positions) - 0.5)
        else:
            _set_ticks(axes, sorted(data["x"].unique()))
        axes.set_xlabel(f"{x_label} (log scale)" if axes.get_xscale() == "log" else x_label)
        axes.set_ylabel(y_label)
        note = "hollow: the default; bars: 95 % over origins and seeds"
        figure.supxlabel(note, fontsize=6.5)

    return write_figure(draw, (COLUMN, 2.4), data, folder, stem, caption)


def _draw_means(
    axes: "Axes", x: pd.Series, rows: pd.DataFrame, *, joined: bool, hollow: pd.Series
) -> None:
    colour, marker = looks(1)[0]
    if joined:
        axes.plot(x, rows["mean"], color=colour, lw=0.8, zorder=1)
    banded = rows["low"].notna() & rows["high"].notna() & ~hollow
    axes.vlines(x[banded], rows["low"][banded], rows["high"][banded], color=colour, lw=0.9)
    for inside, fill in ((hollow, "white"), (~hollow, colour)):
        axes.plot(
            x[inside], rows["mean"][inside], color=colour, mfc=fill, marker=marker, ms=4, ls="none"
        )


def _set_ticks(axes: "Axes", values: list[float]) -> None:
    """Put ticks at the points if they are few; on a logarithmic axis only there."""
    if axes.get_xscale() == "log":
        axes.minorticks_off()
        near = 0.05 * math.log(values[-1] / values[0])  # two labels would touch
        shown = [
            "" if math.log(after / value) < near else f"{value:g}"
            for value, after in zip(values, [*values[1:], math.inf], strict=True)
        ]
        axes.set_xticks(values, shown)
    elif len(values) <= 7:
        axes.set_xticks(values, [f"{value:g}" for value in values])
