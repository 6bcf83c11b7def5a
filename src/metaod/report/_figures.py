"""The figures of a report as inline SVG text; `figures.css` has their colours, light and dark.

Scripts move the threshold without drawing anew: in the score figure they set `x` of the elements
with `data-part="above"` (a clip of the flagged bars), and `transform` of `data-part="line"`; in the
map they set `d` of `data-part="others"` and `data-part="flagged"`.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

Sketch = Mapping[str, Any]  # of sketch_scores
TableMap = Mapping[str, Any]  # of map_table

WIDTH = 640
SCORE_HEIGHT, MAP_HEIGHT = 240, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 26, 44
MAP_TOP = 2
_COUNT_TICKS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_LEAST_HEIGHT = 0.015
_EDGE = 12  # between the map's frame and its points


def draw_scores(sketch: Sketch) -> str:
    """Draw how many rows have which scores, with the threshold."""
    right, bottom = WIDTH - RIGHT, SCORE_HEIGHT - BOTTOM
    most = max(sketch["counts"])
    step = (right - LEFT) / len(sketch["counts"])
    bars = "".join(
        f"M{_n(LEFT + place * step + 0.5)} {bottom}"
        f"V{_n(bottom - _height(count, most) * (bottom - TOP))}h{_n(step - 1)}V{bottom}z"
        for place, count in enumerate(sketch["counts"])
        if count
    )
    at = LEFT + sketch["places"][sketch["chosen"]] * (right - LEFT)
    desc = (
        f"{sketch['n_flagged']:,} of {sketch['n_rows']:,} rows score above the threshold "
        f"{sketch['threshold']:.4g}. Scores go from {sketch['low']:.4g} to {sketch['high']:.4g}; "
        f"half of the rows score below {sketch['centre']:.4g}."
    )
    return (
        _open("score-figure", SCORE_HEIGHT, "Distribution of the scores", desc)
        + _definitions(at)
        + _count_axis(most, bottom, right)
        + f'<path class="fig-others-fill" d="{bars}"/>'
        f'<path fill="url(#score-hatch)" clip-path="url(#score-above)" d="{bars}"/>'
        f'<path class="fig-axis" d="M{LEFT} {bottom}H{right}"/>'
        + _score_axis(sketch, bottom, right)
        + _threshold_line(at, bottom)
        + "</svg>"
    )


def draw_map(table_map: TableMap, n_rows: int) -> str:
    """Draw the rows as points: dots, and diamonds for those that are flagged."""
    others, flagged = map_paths(table_map)
    x_name, y_name = (_direction(direction["columns"]) for direction in table_map["directions"])
    n_marked = sum(table_map["flagged"])
    desc = (
        f"{len(table_map['order']):,} of {n_rows:,} rows in the two main directions of the table, "
        f"{n_marked:,} of them flagged. Rows that are alike lie close together."
    )
    width, height = WIDTH - LEFT - RIGHT, MAP_HEIGHT - MAP_TOP - BOTTOM
    return (
        _open("map-figure", MAP_HEIGHT, "Map of the table", desc)
        + f'<rect class="fig-frame" x="{LEFT}" y="{MAP_TOP}" width="{width}" height="{height}"/>'
        f'<path data-part="others" class="fig-dots" d="{others}"/>'
        f'<path data-part="flagged" class="fig-diamonds" d="{flagged}"/>'
        '<g data-part="picked" class="fig-picked"></g>'
        f'<text class="fig-label" x="{_n(LEFT + width / 2)}" y="{MAP_HEIGHT - 16}" '
        f'text-anchor="middle">{escape(x_name)}</text>'
        f'<text class="fig-label" transform="translate({LEFT - 16} {_n(MAP_TOP + height / 2)}) '
        f'rotate(-90)" text-anchor="middle">{escape(y_name)}</text></svg>'
    )


def map_points(table_map: TableMap) -> tuple[list[float], list[float]]:
    """Return where the points are in the drawing."""
    left, right = LEFT + _EDGE, WIDTH - RIGHT - _EDGE
    top, bottom = MAP_TOP + _EDGE, MAP_HEIGHT - BOTTOM - _EDGE
    x = [round(left + value * (right - left), 1) for value in table_map["x"]]
    y = [round(bottom - value * (bottom - top), 1) for value in table_map["y"]]
    return x, y


def map_paths(table_map: TableMap) -> tuple[str, str]:
    """Return the paths of the dots and of the diamonds, the most outlying on top."""
    dots, diamonds = [], []
    points = zip(*map_points(table_map), table_map["flagged"], strict=True)
    for x, y, is_flagged in reversed(list(points)):
        if is_flagged:
            diamonds.append(f"M{_n(x)} {_n(y - 5)}l5 5-5 5-5-5z")
        else:
            dots.append(f"M{_n(x)} {_n(y)}h0")
    return "".join(dots), "".join(diamonds)


def _open(name: str, height: int, title: str, desc: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fig" id="{name}" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{escape(desc)}</desc>'
    )


def _height(count: int, most: int) -> float:
    """Return the height of a bar: a root and not too low, so that single rows can be seen."""
    return max(float(np.sqrt(count / most)), _LEAST_HEIGHT)


def _definitions(at: float) -> str:
    """Return the clip of the flagged bars, and their pattern."""
    return (
        f'<defs><clipPath id="score-above"><rect data-part="above" x="{_n(at)}" y="0" '
        f'width="{WIDTH}" height="{SCORE_HEIGHT}"/></clipPath>'
        '<pattern id="score-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="fig-flagged-fill" width="5" height="5"/>'
        '<rect class="fig-hatch" width="1.5" height="5"/></pattern></defs>'
    )


def _count_axis(most: int, bottom: int, right: int) -> str:
    ticks = [tick for tick in _COUNT_TICKS if tick <= most]
    kept = [tick for tick in ticks[-3:] if _height(tick, most) > 0.06] or [most]
    if kept[-1] < most / 2:
        kept.append(most)
    parts = [f'<text class="fig-label" x="4" y="{TOP - 10}">rows (root scale)</text>']
    for tick in kept:
        y = _n(bottom - _height(tick, most) * (bottom - TOP))
        parts.append(f'<path class="fig-grid" d="M{LEFT} {y}H{right}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y}" dy=".35em" text-anchor="end">{_count(tick)}</text>'
        )
    return "".join(parts)


def _score_axis(sketch: Sketch, bottom: int, right: int) -> str:
    kind = "score" if sketch["is_linear"] else "score (compressed scale)"
    at = f'x="{right}" y="{SCORE_HEIGHT - 6}" text-anchor="end"'
    parts = [f'<text class="fig-label" {at}>{kind}: higher is more outlying</text>']
    for place, tick in sketch["ticks"]:
        x = _n(LEFT + place * (right - LEFT))
        parts.append(f'<path class="fig-axis" d="M{x} {bottom}v4"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
    return "".join(parts)


def _threshold_line(at: float, bottom: int) -> str:
    """Draw the line with a handle, which a pointer can take."""
    return (
        f'<g data-part="line" class="fig-threshold" transform="translate({_n(at)} 0)">'
        f'<path d="M0 {TOP - 14}V{bottom}"/><path class="fig-handle" d="M-6 {TOP - 20}h12l-6 9z"/>'
        "</g>"
    )


def _direction(columns: Sequence[str]) -> str:
    # isolated: a name from right to left must not turn the others around
    return " and ".join(f"\u2068{column}\u2069" for column in columns) or "no direction"


def _count(number: int) -> str:
    """Write a count in few characters.

    >>> _count(1234), _count(200_024), _count(1_000_000)
    ('1,234', '200k', '1M')
    """
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e6:.3g}M" if number >= 999_500 else f"{number / 1e3:.3g}k"


def _n(number: float) -> str:
    """Write a coordinate with one decimal at most.

    >>> _n(12.0), _n(0.26)
    ('12', '0.3')
    """
    return f"{number:.1f}".removesuffix(".0")
