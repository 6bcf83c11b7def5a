"""The page of a report: one HTML file that needs nothing else and runs only its own script.

The user's text is on it with control characters visible and long texts cut.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from metaod.errors import percent
from metaod.report._figures import draw_map, draw_scores, map_points

_ROOM = "metaod.report"

# C0 and C1 controls, marks that change the direction of text, surrogates and non-characters: a
# page would drop them, or let them change the text around them
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffc\ufffe\uffff]"
)


def render(summary: Mapping[str, Any]) -> str:
    """Return the report as HTML text.

    Parameters
    ----------
    summary : mapping
        What it shows, as plain data; docs/report.md describes its members.
    """
    scores, shown_map = summary["scores"], summary["map"]
    style = _asset("figures.css") + _asset("report.css")
    script = _asset("report.js")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page: str = _template().render(
        summary=summary,
        scores=scores,
        top=summary["top"],
        policy=policy,
        style=style,
        script=script,
        score_figure=draw_scores(scores),
        map_figure=draw_map(shown_map, summary["n_rows"]),
        data=script_data(_for_script(summary)),
    )
    return page


def script_data(data: Any) -> str:
    """Write data as JSON that a script element can hold: no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _for_script(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the script needs; texts stay in the page, where the script finds them."""
    scores, table_map = summary["scores"], summary["map"]
    x, y = map_points(table_map)
    return {
        "rows": summary["n_rows"],
        "detected": summary["n_flagged"],
        "flagged": [n for n, _ in scores["cuts"]],
        "thresholds": [threshold for _, threshold in scores["cuts"]],
        "places": scores["places"],
        "chosen": scores["chosen"],
        "map": {
            "x": x,
            "y": y,
            "order": table_map["order"],
            "row": table_map["rows"],
            "detected": table_map["flagged"],
        },
        "orders": summary["top"]["orders"],
    }


@cache
def _asset(name: str) -> str:
    return files(_ROOM).joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    """Name a text in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _template() -> Any:
    import jinja2  # noqa: PLC0415 - only if a report is made

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["score"] = lambda number: f"{number:.4g}"
    return environment.from_string(_asset("report.html"))


def shown(text: str, most: int, *, keep_end: bool = False) -> str:
    r"""Return text with invisible characters written out, at most so many characters.

    With `keep_end` a long text is cut in its middle: names of survey questions begin alike and
    differ at their ends.

    Examples
    --------
    >>> print(shown("a\x00b", 10), shown("a very long cell", 8))
    a\x00b a very …
    >>> shown("how satisfied are you with: price", 20, keep_end=True)
    'how satisfied… price'
    """
    if keep_end and len(text) > most:
        n_end = most // 3
        return shown(text, most - n_end) + shown(text[-n_end:], 10 * n_end)[-n_end:]
    clean = _INVISIBLE.sub(lambda found: repr(found[0])[1:-1], text[: most + 1])
    return clean if len(clean) <= most and len(text) <= most else f"{clean[: most - 1]}…"
