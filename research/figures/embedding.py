"""t-SNE of the meta-features of testbeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaod.errors import BadParameter
from metaod.learners import Cleaning
from research.figures.style import COLUMN, GREY, looks, write_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def embed(metafeatures: pd.DataFrame) -> pd.DataFrame:
    """Return ``x`` and ``y`` of every dataset, by t-SNE of the cleaned meta-features."""
    from sklearn.manifold import TSNE  # noqa: PLC0415 - slow to import

    n = len(metafeatures)
    if n < 5:
        raise BadParameter("embed", "metafeatures", "of five datasets at least", n)
    raw = metafeatures.to_numpy(dtype=np.float64)
    clean = Cleaning.fit(raw).transform(raw)
    # the usual number of neighbours, but fewer than there are datasets
    perplexity = min(30.0, (n - 1) / 4)
    method = TSNE(n_components=2, perplexity=perplexity, init="pca", random_state=0)
    # rounded, so that the figure drawn from the file is the same
    points = method.fit_transform(clean).astype(np.float64).round(4)
    return pd.DataFrame(points, index=metafeatures.index, columns=["x", "y"])


_ALONE = "the only one of its origin"


@dataclass(frozen=True)
class Panel:
    """One part of a figure: its title, and ``x``, ``y`` and ``group`` of the datasets."""

    title: str
    data: pd.DataFrame


def write_embedding(data: pd.DataFrame, folder: Path, caption: str = "") -> list[Path]:
    """Draw ``x`` and ``y`` of the datasets by ``group``; groups of one dataset are grey."""
    named = _named([data])
    lines = -(-(len(named) + 1) // 3)
    size = (COLUMN, 2.75 + 0.13 * lines)

    def draw(figure: "Figure") -> None:
        _draw(figure.add_subplot(), data, named)
        _add_legend(figure, columns=3)

    caption = caption.rpartition(", ")[0]  # without seeds: meta-features have none
    return write_figure(draw, size, data, folder, "embedding", caption)


def write_embeddings(panels: Sequence[Panel], folder: Path) -> list[Path]:
    """Draw embeddings side by side; a group has the same colour and marker in all of them."""
    named = _named([panel.data for panel in panels])
    lines = -(-(len(named) + 1) // 6)
    size = (2 * COLUMN, 3.0 + 0.13 * lines)

    def draw(figure: "Figure") -> None:
        several = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, panel in zip(several, panels, strict=True):
            _draw(axes, panel.data, named)
            axes.set_title(panel.title, fontsize=7.5)
        _add_legend(figure, columns=6)

    data = pd.concat([panel.data.assign(panel=panel.title) for panel in panels])
    return write_figure(draw, size, data, folder, "embedding")


def _named(frames: list[pd.DataFrame]) -> list[str]:
    """Return the groups that have several datasets in some frame."""
    found: set[str] = set()
    for frame in frames:
        counts = frame["group"].value_counts()
        found.update(counts.index[counts > 1])
    return sorted(found, key=str.casefold)


def _draw(axes: "Axes", data: pd.DataFrame, named: list[str]) -> None:
    alone = data[~data["group"].isin(named)]
    if len(alone):
        axes.scatter(
            alone["x"],
            alone["y"],
            s=14,
            facecolors="none",
            edgecolors=GREY,
            lw=0.7,
            label=_ALONE,
        )
    for name, (colour, marker) in zip(named, looks(len(named)), strict=True):
        rows = data[data["group"] == name]
        if len(rows):
            axes.scatter(
                rows["x"], rows["y"], s=17, color=colour, marker=marker, lw=0, label=name, alpha=0.9
            )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("t-SNE 1")
    axes.set_ylabel("t-SNE 2")
    axes.margins(0.05)


def _add_legend(figure: "Figure", columns: int) -> None:
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = sorted(found, key=lambda label: (label == _ALONE, label.casefold()))
    figure.legend(
        [found[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=columns,
        handletextpad=0.1,
        columnspacing=0.9,
        labelspacing=0.25,
    )
