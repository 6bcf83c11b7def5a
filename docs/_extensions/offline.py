"""A page that loads something from elsewhere fails the build."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_LOADED = re.compile(
    r"""<(?:script|link|img|iframe|source|video|object)\b[^>]*?\b(?:src|href|data)=["'](?:https?:)?//[^"']*"""
    r"""|url\(["']?(?:https?:)?//[^)]*|@import\s+["'](?:https?:)?//[^"']*""",
    re.IGNORECASE,
)


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            found = _LOADED.search(path.read_text("utf-8"))
            if found:
                raise ExtensionError(
                    f"{path.relative_to(app.outdir)} loads from elsewhere: {found[0]}"
                )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the end of the build."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
