"""The repository as a site: the table of contents, links to folders, drawings in page colours."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#:]+)\)")


def _contents(app: Sphinx) -> str:
    """Toctrees of all pages, appended to the home page."""
    parts = []
    for caption, pages in app.config.CONTENTS.items():
        head = [":hidden:", *([f":caption: {caption}"] if caption else [])]
        parts.append("\n".join(["```{toctree}", *head, "", *pages, "```"]))
    return "\n\n".join(parts)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    folder = (Path(app.srcdir) / page).parent

    def without_folder(match: re.Match[str]) -> str:
        """A site cannot show a folder: link to its README, or to nothing."""
        text, target = match.groups()
        if not (folder / target).is_dir():
            return match[0]
        readme = Path(target) / "README.md"
        return f"[{text}]({readme})" if (folder / readme).is_file() else text

    source[0] = _LINK.sub(without_folder, source[0])
    if page.startswith("results/") and page != "results/README":
        # tables of results are linked from the pages that discuss them; some have no title
        title = "" if re.search(r"^# ", source[0], re.MULTILINE) else f"# {page}\n\n"
        source[0] = f"---\norphan: true\n---\n\n{title}{source[0]}"
    if page == app.config.root_doc:
        source[0] += "\n\n" + _contents(app)


def _draw(app: Sphinx, page: nodes.document, _: str) -> None:
    """Put our drawings into the page itself, where they take its light or dark colours."""
    for image in list(page.findall(nodes.image)):
        if image["uri"].startswith("docs/figures/") and image["uri"].endswith(".svg"):
            svg = (Path(app.srcdir) / image["uri"]).read_text("utf-8")
            drawing = f'<div class="drawing">{svg}</div>'
            image.replace_self(nodes.raw("", drawing, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to what is read."""
    app.add_config_value("CONTENTS", {}, "env")
    app.connect("source-read", _read)
    app.connect("doctree-resolved", _draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
