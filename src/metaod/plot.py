"""The figures of a report on matplotlib axes (extra ``plot``).

Each function takes a fitted :class:`metaod.MetaOD`, draws on ``ax`` or on new axes, and returns
the axes.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, required
from metaod.report import Axis, map_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from metaod.detection import MetaOD

__all__ = ["map", "reasons", "scores"]

_OTHERS, _OTHERS_SOFT, _FLAGGED = "#0072B2", "#9CC4DD", "#D55E00"
_LONGEST_LABEL = 60


def scores(detector: "MetaOD", ax: "Axes | None" = None) -> "Axes":
    """Draw how many training rows have which scores, with the threshold.

    Parameters
    ----------
    detector : MetaOD
        A fitted estimator.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    own = _fitted(detector).decision_scores_
    axis = Axis.of(own)
    edges = _edges(axis, len(own))
    flagged = own > detector.threshold_
    others = np.histogram(own[~flagged], edges)[0]
    outlying = np.histogram(own[flagged], edges)[0]
    bars: dict[str, Any] = {"width": np.diff(edges), "align": "edge", "edgecolor": "white"}
    ax.bar(edges[:-1], others, color=_OTHERS_SOFT, label=f"{others.sum():,} other rows", **bars)
    ax.bar(
        edges[:-1],
        outlying,
        bottom=others,
        color=_FLAGGED,
        hatch="////",
        label=f"{outlying.sum():,} flagged rows",
        **bars,
    )
    ax.axvline(detector.threshold_, color="black", linewidth=1, label="threshold")
    if not axis.is_linear:
        ax.set_xscale("function", functions=(axis.forward, axis.backward))
        ax.set_xticks(axis.ticks())
    # a root shows single rows beside thousands
    ax.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0)), np.square))
    ax.set(xlabel="score (higher is more outlying)", ylabel="rows (root scale)")
    ax.legend()
    return ax


def map(detector: "MetaOD", ax: "Axes | None" = None) -> "Axes":  # noqa: A001 - metaod.plot.map
    """Draw the training rows as points in two dimensions: flagged ones as diamonds.

    Parameters
    ----------
    detector, ax
        As in :func:`scores`.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    own = _fitted(detector).decision_scores_
    order = np.argsort(-own, kind="stable")
    found = map_table(detector.fitted_.X, detector.preparation_.names_, order)
    x, y = np.array(found["x"]), np.array(found["y"])
    flagged = own[found["rows"]] > detector.threshold_
    dots: dict[str, Any] = {"s": 14, "c": _OTHERS, "alpha": 0.55, "linewidths": 0}
    diamonds: dict[str, Any] = {"s": 36, "c": _FLAGGED, "marker": "D", "edgecolors": "white"}
    ax.scatter(x[~flagged], y[~flagged], label="other rows", **dots)
    ax.scatter(x[flagged], y[flagged], label="flagged rows", **diamonds)
    directions = [part["columns"] for part in found["directions"]]
    names = [" and ".join(_short(column) for column in columns) for columns in directions]
    ax.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    ax.legend()
    return ax


def reasons(detector: "MetaOD", row: Any, ax: "Axes | None" = None, *, top: int = 5) -> "Axes":
    """Draw the columns that set a row apart, with how much of its score each explains.

    Parameters
    ----------
    detector : MetaOD
        A fitted estimator.
    row : int or table
        The position of a training row, or a table of one new row.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    top : int, default=5
        The most columns to draw.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    found = detector.explain_rows([row] if np.isscalar(row) else row, top=top)
    if len(found) != 1:
        raise BadParameter("metaod.plot.reasons", "row", "one row", row)
    [explained] = found
    labels = [
        f"{_short(reason.column)} {_short(reason.value_text)}\n({_short(reason.usual_text)})"
        for reason in explained.reasons
    ]
    places = np.arange(len(labels))
    shares = [reason.share for reason in explained.reasons]
    ax.barh(places, shares, color=_FLAGGED, hatch="////", edgecolor="white")
    if not labels:
        ax.text(0.5, 0.5, "no single value explains the score", ha="center", transform=ax.transAxes)
    ax.set_yticks(places, labels)
    ax.set(xlim=(0, 1), xlabel="share of the score that it explains")
    ax.set_title(f"row {explained.row + 1}, score {explained.score:.4g}")
    ax.invert_yaxis()
    return ax


def _edges(axis: Axis, n_rows: int) -> npt.NDArray[np.float64]:
    """Return the ends of bins of equal width on the axis."""
    n_bins = axis.n_bins(n_rows)
    if not axis.high > axis.low:
        return np.asarray(axis.low + np.linspace(-0.5, 0.5, n_bins + 1))
    low, high = axis.forward(np.array([axis.low, axis.high])).tolist()
    edges = axis.backward(np.linspace(low, high, n_bins + 1))
    edges[0], edges[-1] = axis.low, axis.high  # rounding must not lose a row
    return edges


def _axes(ax: "Axes | None") -> "Axes":
    plt = required("matplotlib.pyplot", extra="plot", needed_for="drawing figures")
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _fitted(detector: "MetaOD") -> "MetaOD":
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415 - heavy

    check_is_fitted(detector)
    return detector


def _short(text: str) -> str:
    # matplotlib reads $...$ as mathematics
    cut = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
    return cut.replace("$", r"\$")
