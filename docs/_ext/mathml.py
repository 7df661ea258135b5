"""Formulas as MathML, which browsers lay out: no script, no fonts, nothing to download.

Sources may use Unicode signs, so that they can be read without a build: $ε_i ≤ Δ/(2λ)$. A formula
within a line becomes one element a side of a relation, because browsers do not break a line within
an element.
"""

import re
import unicodedata
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_NORM = (  # else browsers stretch the left one, as tall as a sum beside it
    '<mo stretchy="false">‖</mo>'
)
_SIGNS = {
    "−": "-", "·": r"\cdot ", "×": r"\times ", "±": r"\pm ", "∘": r"\circ ", "⊗": r"\otimes ",
    "∖": r"\setminus ", "∩": r"\cap ", "∪": r"\cup ", "…": r"\ldots ", "∞": r"\infty ",
    "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "∈": r"\in ", "∝": r"\propto ",
    "⪯": r"\preceq ", "⪰": r"\succeq ", "∼": r"\sim ", "→": r"\to ", "↦": r"\mapsto ",
    "↔": r"\leftrightarrow ", "Σ": r"\sum ", "Π": r"\prod ", "∫": r"\int ", "∇": r"\nabla ",
    "∂": r"\partial ", "‖": r"\Vert ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "½": r"\tfrac{1}{2}", "¼": r"\tfrac{1}{4}", "ℓ": r"\ell ",
    "∣": "|",
}  # fmt: skip
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
_RELATIONS = set("=<>≤≥≠≈∈∝⪯⪰∼→↦↔∶")
_OPERATORS = set("+−-±∪∩∖")
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", _NAMESPACE)
_SHORT = 12  # signs: a formula of so few is not broken


def latex(formula: str) -> str:
    """The formula with LaTeX's names for its signs."""
    text = unicodedata.normalize("NFD", formula).replace("=\u0338", "≠")
    for mark, name in _ACCENTS.items():
        text = re.sub(f"([^\\W\\d_]){mark}", rf"\\{name}{{\1}}", text)
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def pieces(mathml: str) -> list[str]:
    """Elements of which a line may show as many as it has room for.

    They begin at relations, and at sums and differences where a side is long.
    """
    # names of characters are HTML's, unknown to XML
    root = ElementTree.fromstring(mathml.replace("&ApplyFunction;", "\u2061"))
    groups: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for node in root:
        sign = (node.text or "").strip() if node.tag.endswith("}mo") else ""
        relation = sign in _RELATIONS
        operator = sign in _OPERATORS and node.get("form") != "prefix"
        long = _length(groups[-1]) > (_SHORT // 2 if relation else _SHORT)
        if depth == 0 and (relation or operator) and long:
            if operator:
                node.set("form", "infix")
            groups.append([])
        depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
        groups[-1].append(node)
    return [_element(group) for group in groups]


def _length(group: list[ElementTree.Element]) -> int:
    return sum(len("".join("".join(node.itertext()).split())) for node in group)


def _element(group: list[ElementTree.Element]) -> str:
    root = ElementTree.Element(f"{{{_NAMESPACE}}}math")
    root.extend(group)
    return ElementTree.tostring(root, encoding="unicode")


def _mathml(node: nodes.Element, *, block: bool) -> str:
    try:
        made = tex2mathml(latex(node.astext()), as_block=block)
    except MathError as error:
        raise ExtensionError(
            f"{node.source}:{node.line}: formula {node.astext()!r}: {error}"
        ) from error
    made = made if block else "".join(pieces(made))
    return re.sub(r"<mo[^>]*>‖</mo>", _NORM, made)


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
