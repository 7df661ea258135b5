"""Formulas in plain text, such as A'_ij x_j or e^{−x}, with true sub- and superscripts."""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

_SCRIPT = r"""[_^](?:
    \{(?:[^{}]|\{[^{}]*\})*\}        # {…}, one level of braces inside
    | \((?:[^()]|\([^()]*\))*\)      # (…), the same
    | [-−+]?\d+(?![\w{])             # a number
    | (?:[^\W_²³]{1,3}|mean|plus|minus)(?![^\W_²³])['′’]?        # an index of up to three letters
    | [*∞+]
)"""
_SCRIPTED = re.compile(
    rf"""(?P<base>
        (?<![A-Za-z_])                   # a letter, an operator, a Greek letter in Latin ones
        (?:[^\W\d_]|max|min|sum|argmin|argmax|inf|sup|diam|eps|eta|lambda|mu|nu|rho|sigma|xi|xx
            |lo|hi|low|mid|mean|lower|upper|cost|range|scale|violation|budget|visitors|noise)
        [\u0300-\u036f]?['′’]{{0,2}}
        | [)\]|‖⌋⌉∫∏∑]
        | \d(?=\^)
    )(?P<scripts>(?:{_SCRIPT})+)""",
    re.VERBOSE,
)
_ONE_SCRIPT = re.compile(_SCRIPT, re.VERBOSE)
_VERBATIM = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw, addnodes.desc_signature)


def typeset(text: str) -> Iterator[nodes.Node]:
    """The text in pieces: scripts in nodes of their own."""
    done = 0
    for found in _SCRIPTED.finditer(text):
        base = re.sub("['’]", "′", found["base"])
        yield nodes.Text(text[done : found.start()] + base)
        for script in _ONE_SCRIPT.findall(found["scripts"]):
            lower, inner = script[0] == "_", script[1:]
            if inner[0] == "{" or (inner[0] == "(" and not lower):
                inner = inner[1:-1]
            node = nodes.subscript() if lower else nodes.superscript()
            node += typeset(re.sub("['’]", "′", inner))
            yield node
        done = found.end()
    yield nodes.Text(text[done:])


class _Formulas(SphinxPostTransform):
    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(nodes.Text)):
            if not _SCRIPTED.search(node) or self._verbatim(node):
                continue
            node.parent.replace(node, list(typeset(str(node))))

    @staticmethod
    def _verbatim(node: nodes.Node) -> bool:
        while node.parent is not None:
            node = node.parent
            if isinstance(node, _VERBATIM):
                return True
        return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(_Formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
