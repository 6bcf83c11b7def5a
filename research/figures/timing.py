"""Selection time: box plots, and the largest datasets with their training time."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaod.errors import BadParameter
from research.figures.style import BLUE, COLUMN, ORANGE, VERMILLION, write_figure
from research.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def timing_table(results: Results, method: str = "metaod") -> pd.DataFrame:
    """Return the mean seconds of selection and training by dataset, where they were measured."""
    rows = results.frame[results.frame["method"] == method]
    rows = rows[rows["select_seconds"].notna()]
    seconds = rows.groupby("dataset")[["select_seconds", "train_seconds"]].mean()
    found = results.datasets[["name", "origin", "n_rows", "n_columns"]].join(seconds, how="inner")
    trained = found["train_seconds"]
    found["share"] = found["select_seconds"] / trained.where(trained > 0)
    return found.reset_index(drop=True)


def write_selection_time(data: pd.DataFrame, folder: Path, caption: str = "") -> list[Path]:
    """Draw box plots of the selection time, and of its share of the training time."""
    panels = [
        (
            "selection time per dataset (seconds, log scale)",
            data["select_seconds"].dropna(),
            "{:.2g} s",
        )
    ]
    share = 100 * data["share"].dropna()
    if len(share):
        panels.append(
            ("selection time / training time of the pick (%, log scale)", share, "{:.2g} %")
        )
    panels = [panel for panel in panels if (panel[1] > 0).any()]
    if not panels:
        raise BadParameter("write_selection_time", "data", "with selection times", len(data))
    draw = partial(_draw_boxes, panels=panels)
    size = (COLUMN, 1.05 * len(panels))
    return write_figure(draw, size, data, folder, "selection-time", _once(caption))


def _once(caption: str) -> str:
    """Replace the number of seeds: times are measured once, with the first seed."""
    return f"{caption.rpartition(', ')[0]}, one run each" if caption else ""


def _draw_boxes(figure: "Figure", panels: list[tuple[str, pd.Series, str]]) -> None:
    several = figure.subplots(len(panels), 1, squeeze=False)
    for axes, (label, values, shown) in zip(several.ravel(), panels, strict=True):
        _draw_box(axes, values[values > 0].to_numpy(), shown)
        axes.set_xlabel(label)


def _draw_box(axes: "Axes", values: np.ndarray, shown: str) -> None:
    from matplotlib.ticker import LogLocator  # noqa: PLC0415 - an extra, checked by write_figure

    axes.set_xscale("log")
    axes.boxplot(
        values,
        orientation="horizontal",
        widths=0.45,
        boxprops={"lw": 0.8},
        whiskerprops={"lw": 0.8},
        capprops={"lw": 0.8},
        medianprops={"color": VERMILLION, "lw": 1.6},
        flierprops={"marker": "o", "ms": 2.5, "mew": 0.5, "mfc": "none"},
    )
    median = float(np.median(values))
    low, high = values.min(), values.max()
    along = np.log(median / low) / np.log(high / low) if high > low else 0.5
    axes.text(
        median,
        1.33,
        f"median {shown.format(median)}, mean {shown.format(values.mean())}"
        f" ({len(values)} datasets)",
        color=VERMILLION,
        ha="left" if along < 0.3 else "right" if along > 0.7 else "center",  # inside the axes
        va="bottom",
        fontsize=7,
    )
    axes.set_ylim(0.65, 1.75)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    steps = (1.0,) if high > 500 * low else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter("")


def write_largest(data: pd.DataFrame, folder: Path, caption: str = "") -> list[Path]:
    """Draw selection and training times of the ten largest datasets, by rows × columns."""
    known = data.dropna(subset=["select_seconds", "train_seconds"])
    if known.empty:
        raise BadParameter("write_largest", "data", "with training times", len(data))
    cells = known["n_rows"] * known["n_columns"]
    known = known.loc[cells.sort_values(ascending=False, kind="stable").index[:10]]
    size = (COLUMN, 0.75 + 0.3 * len(known))
    draw = partial(_draw_bars, data=known)
    return write_figure(draw, size, known, folder, "largest-datasets", _once(caption))


def _draw_bars(figure: "Figure", data: pd.DataFrame) -> None:
    axes = figure.add_subplot()
    heights = np.arange(len(data))
    limit = float(data[["select_seconds", "train_seconds"]].max().max())
    bars = (
        ("training of the pick", "train_seconds", ORANGE, -0.2),
        ("selection by MetaOD", "select_seconds", BLUE, 0.2),
    )
    for label, column, colour, shift in bars:
        seconds = data[column].to_numpy(dtype=np.float64)
        axes.barh(heights + shift, seconds, height=0.38, color=colour, label=label)
        for height, value in zip(heights, seconds, strict=True):
            text = f"{value:.3g}"
            axes.text(value + 0.012 * limit, height + shift, text, va="center", fontsize=6)
    labels = [
        f"{row['name']}\n{row['n_rows']} × {row['n_columns']}" for row in data.to_dict("records")
    ]
    axes.set_yticks(heights, labels, fontsize=6)
    axes.set_ylim(len(data) - 0.45, -0.55)
    axes.set_xlim(0, 1.14 * limit)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds")
    figure.legend(loc="outside lower center", ncols=2)
