"""t-SNE of the meta-features of a testbed."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaod.errors import BadParameter
from metaod.lab.figures._style import COLUMN, GREY, looks, write_figure
from metaod.learners import Cleaning

if TYPE_CHECKING:
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
    points = method.fit_transform(clean)
    return pd.DataFrame(points, index=metafeatures.index, columns=["x", "y"])


def write_embedding(metafeatures: pd.DataFrame, groups: pd.Series, folder: Path) -> list[Path]:
    """Draw the datasets by group (motherset or origin); groups of one dataset are grey."""
    data = embed(metafeatures).assign(group=groups.reindex(metafeatures.index).to_numpy())
    data = data.rename_axis("dataset").reset_index()
    counts = data["group"].value_counts()
    named = sorted(counts.index[counts > 1], key=str.casefold)
    lines = -(-(len(named) + 1) // 3)
    size = (COLUMN, 2.75 + 0.13 * lines)
    return write_figure(lambda figure: _draw(figure, data, named), size, data, folder, "embedding")


def _draw(figure: "Figure", data: pd.DataFrame, named: list[str]) -> None:
    axes = figure.add_subplot()
    alone = data[~data["group"].isin(named)]
    if len(alone):
        axes.scatter(
            alone["x"],
            alone["y"],
            s=14,
            facecolors="none",
            edgecolors=GREY,
            lw=0.7,
            label="the only one of its origin",
        )
    for name, (colour, marker) in zip(named, looks(len(named)), strict=True):
        rows = data[data["group"] == name]
        axes.scatter(
            rows["x"], rows["y"], s=17, color=colour, marker=marker, lw=0, label=name, alpha=0.9
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("t-SNE 1")
    axes.set_ylabel("t-SNE 2")
    axes.margins(0.05)
    figure.legend(
        loc="outside lower center", ncols=3, handletextpad=0.1, columnspacing=0.9, labelspacing=0.25
    )
