"""Formulas as MathML, which browsers lay out: no script, no fonts, nothing to download."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_NORM = (  # else browsers stretch the left one, as tall as a sum beside it
    '<mo stretchy="false">‖</mo>'
)


def _mathml(node: nodes.Element, *, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block).replace("<mo>‖</mo>", _NORM)
    except MathError as error:
        raise ExtensionError(
            f"{node.source}:{node.line}: formula {node.astext()!r}: {error}"
        ) from error


def _visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _visit_math_block(self: Any, node: nodes.Element) -> None:
    self.body.append(
        self.starttag(node, "div", CLASS="math") + _mathml(node, block=True) + "</div>\n"
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
