"""Formulas as MathML, which browsers lay out: no script, no fonts, nothing to download.

Sources may use Unicode signs, so that they can be read without a build: $ε_i ≤ Δ/(2λ)$. A formula
becomes one element a side of a relation, because browsers do not break a line within an element.
They do break it beside one: what belongs to it stays by means of a span.
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
from sphinx.transforms.post_transforms import SphinxPostTransform

_SIGNS = {
    "−": "-", "·": r"\cdot ", "×": r"\times ", "±": r"\pm ", "∘": r"\circ ", "⊗": r"\otimes ",
    "∖": r"\smallsetminus ", "∩": r"\cap ", "∪": r"\cup ", "…": r"\ldots ", "∞": r"\infty ",
    "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "∈": r"\in ", "∝": r"\propto ",
    "⪯": r"\preceq ", "⪰": r"\succeq ", "∼": r"\sim ", "→": r"\to ", "↦": r"\mapsto ",
    "↔": r"\leftrightarrow ", "Σ": r"\sum ", "Π": r"\prod ", "∫": r"\int ", "∇": r"\nabla ",
    "∂": r"\partial ", "‖": r"\Vert ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "½": r"\tfrac{1}{2}", "¼": r"\tfrac{1}{4}", "ℓ": r"\ell ",
    "∣": "|",
}  # fmt: skip
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
_RELATIONS = set("=<>≤≥≠≈∈∝⪯⪰∼→↦↔∶")
_OPERATORS = set("+−-±∪∩∖/")
_EXTREMA = {"max", "min", "sup", "inf"}
_APPLY = "\u2061"  # between a function and its argument; HTML's name for it is unknown to XML
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", _NAMESPACE)
_WIDE = ("1em", "2em")  # between two formulas
_SHORT = 12  # signs: a formula of so few is not broken
_BEFORE = re.compile(r"[(\[]$")
_AFTER = re.compile(r"^(?:[.,;:?!)\]]+|-\w+[.,;:?!)\]]*)")


def latex(formula: str) -> str:
    """The formula with LaTeX's names for its signs."""
    text = unicodedata.normalize("NFD", formula).replace("=\u0338", "≠")
    for mark, name in _ACCENTS.items():
        text = re.sub(f"([^\\W\\d_]){mark}", rf"{{\\{name}{{\1}}{{}}}}", text)
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def mathml(formula: str, *, block: bool) -> ElementTree.Element:
    """The formula in MathML, with the spaces that docutils leaves out or puts too wide."""
    made = tex2mathml(latex(formula), as_block=block).replace("&ApplyFunction;", _APPLY)
    root = ElementTree.fromstring(made)  # noqa: S314 - made here
    for parent in list(root.iter()):
        for node in list(parent):
            _space(parent, node)
    return root


def pieces(root: ElementTree.Element) -> list[ElementTree.Element]:
    """Elements of which a line may show as many as it has room for.

    They begin at relations, and at sums, differences and quotients where a side is long.
    """
    groups: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for node in root:
        sign = _sign(node)
        relation = sign in _RELATIONS
        operator = sign in _OPERATORS and node.get("form") != "prefix"
        long = _length(groups[-1]) > (_SHORT // 2 if relation else _SHORT)
        if depth == 0 and (relation or operator) and long:
            if operator:
                node.set("form", "infix")
            groups.append([])
        depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
        groups[-1].append(node)
        if node.tag.endswith("}mspace") and node.get("width") in _WIDE:
            groups.append([])
    if root.get("display") == "block":
        return [_element(group, displaystyle="true") for group in groups if group]
    return [_element(group) for group in groups if group]


def _sign(node: ElementTree.Element) -> str:
    return (node.text or "").strip() if node.tag == f"{{{_NAMESPACE}}}mo" else ""


def _space(parent: ElementTree.Element, node: ElementTree.Element) -> None:
    sign, place = _sign(node), list(parent).index(node)
    if sign in ("/", "|"):
        node.set("lspace", "0")
        node.set("rspace", "0")
    elif sign == "‖":  # else browsers stretch the left one, as tall as a sum beside it
        node.set("stretchy", "false")
    elif sign in _EXTREMA:
        follows = place and _sign(parent[place - 1]) not in ("(", "[", "{")
        node.set("lspace", "0.167em" if follows else "0")
        node.set("rspace", "0")
    elif sign == _APPLY and place:
        if place + 1 < len(parent) and _sign(parent[place + 1]) not in ("(", "["):
            parent.insert(place + 1, _thin())
        if place > 1 and (not _sign(parent[place - 2]) or _sign(parent[place - 2]) == ")"):
            parent.insert(place - 1, _thin())


def _thin() -> ElementTree.Element:
    return ElementTree.Element(f"{{{_NAMESPACE}}}mspace", width="0.167em")


def _length(group: list[ElementTree.Element]) -> int:
    return sum(len("".join("".join(node.itertext()).split())) for node in group)


def _element(group: list[ElementTree.Element], **attributes: str) -> ElementTree.Element:
    root = ElementTree.Element(f"{{{_NAMESPACE}}}math", attributes)
    root.extend(group)
    return root


def _shown(node: nodes.Element, *, block: bool) -> list[str]:
    try:
        root = mathml(node.astext(), block=block)
    except MathError as error:
        raise ExtensionError(
            f"{node.source}:{node.line}: formula {node.astext()!r}: {error}"
        ) from error
    return [ElementTree.tostring(one, encoding="unicode") for one in pieces(root)]


def _together(text: str) -> str:
    return f'<span class="formula">{text}</span>'


def _visit_math(self: Any, node: nodes.Element) -> None:
    shown = _shown(node, block=False)
    before, after = node.get("before", ""), node.get("after", "")
    if before:
        shown[0] = _together(self.encode(before) + shown[0])
    if after:
        shown[-1] = _together(shown[-1] + self.encode(after))
    self.body.append("".join(shown))
    raise nodes.SkipNode


def _visit_math_block(self: Any, node: nodes.Element) -> None:
    shown = "".join(_shown(node, block=True))
    self.body.append(self.starttag(node, "div", CLASS="math") + shown + "</div>\n")
    raise nodes.SkipNode


class _Neighbours(SphinxPostTransform):
    """Gives formulas the brackets, points and commas beside them, so that no line parts them."""

    default_priority = 890

    def run(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(nodes.math)):
            for side, step, pattern in (("before", -1, _BEFORE), ("after", 1, _AFTER)):
                place = node.parent.index(node) + step
                text = node.parent[place] if 0 <= place < len(node.parent) else None
                found = pattern.search(text) if isinstance(text, nodes.Text) else None
                if text is not None and found:
                    node[side] = found[0]
                    rest = text[: found.start()] + text[found.end() :]
                    node.parent.replace(text, nodes.Text(rest))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    app.add_post_transform(_Neighbours)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
