"""Docstrings on their way into the documentation."""

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_FILE = re.compile(r"``docs/([\w/-]+)\.md``")


def _link_files(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Mentions of ``docs/….md`` become links."""
    lines[:] = [_FILE.sub(r":doc:`docs/\1.md </\1>`", line) for line in lines]


def _name_factories(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returned: str | None,
) -> Any:
    """Defaults made by a function, which are no Python in a signature, become ``...``."""
    return None if signature is None else (signature.replace("<factory>", "..."), returned)


def _skip_foreign(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Members inherited from Python or scikit-learn are described by their own documentation."""
    function = inspect.unwrap(getattr(obj, "fget", None) or getattr(obj, "__func__", None) or obj)
    ours = (getattr(function, "__module__", None) or "privlp").startswith(("privlp", "svm_models"))
    return (
        None
        if ours and not inspect.isbuiltin(obj) and not inspect.ismethoddescriptor(function)
        else True
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _link_files)
    app.connect("autodoc-process-signature", _name_factories)
    app.connect("autodoc-skip-member", _skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
