"""The style of figures, and how they are saved: with the same bytes on every run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaod.errors import MissingExtra
from research.methods import Category
from research.tables import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = 3.5
"""Width of a printed column, in inches."""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#7F7F7F"
"""The palette of Okabe and Ito, which colour-blind readers can distinguish, and a grey."""

CATEGORY_LOOKS: dict[Category, tuple[str, str]] = {
    "no selection": (GREY, "s"),
    "simple": (ORANGE, "^"),
    "optimisation": (BLUE, "o"),
    "reference": (BLACK, "D"),
}
"""Colour and marker of each category of methods."""

# without yellow, which is faint on white, and black, the colour of axes and text
_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p")

_DPI = 200
_CAPTION = 0.18  # height in inches
_SETTINGS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # part of matplotlib: the same on every machine
    **dict.fromkeys(("font.size", "axes.labelsize"), 7.5),
    "axes.titlesize": 8,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 7),
    "legend.fontsize": 6.5,
    **dict.fromkeys(("legend.frameon", "axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    "lines.linewidth": 1.0,
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "svg.hashsalt": "metaod",
}


def looks(count: int) -> list[tuple[str, str]]:
    """Return pairs of colour and marker, all different up to 60; then they repeat."""
    pairs = cycle((colour, marker) for marker, colour in product(_MARKERS, _COLOURS))
    return list(islice(pairs, count))


def write_figure(
    draw: Callable[["Figure"], None],
    size: tuple[float, float],
    data: pd.DataFrame,
    folder: Path,
    stem: str,
    caption: str = "",
) -> list[Path]:
    """Draw into an empty figure and write ``stem.png``, ``stem.svg`` and the data as ``stem.csv``.

    `size` is width and height in inches, without the caption on top: testbed and numbers of
    datasets, origins and seeds.
    """
    with _settings():
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, checked above

        height = size[1] + (_CAPTION if caption else 0.0)
        figure = Figure(figsize=(size[0], height), layout="constrained")
        if caption:
            figure.suptitle(caption, fontsize=7)
        draw(figure)
        csv = write_csv(data, folder, stem)
        png, svg = folder / f"{stem}.png", folder / f"{stem}.svg"
        # no date and no version: a file changes only if its picture does
        figure.savefig(png, dpi=_DPI, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg, csv]


@contextmanager
def _settings() -> Iterator[None]:
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra, needed here only
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="research", needed_for="drawing figures") from error
    with mpl.rc_context():
        mpl.rcdefaults()  # the user's own settings must not change the figures
        current: Any = mpl.rcParams  # matplotlib types each key separately
        current.update(_SETTINGS)
        yield
