"""Formulas as MathML, which browsers show without a script or a font of their own."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _mathml(tex: str, *, block: bool) -> str:
    return tex2mathml(tex.replace(r"\dots", r"\ldots"), as_block=block)


def _inline(writer, node: nodes.math) -> None:
    writer.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(writer, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
