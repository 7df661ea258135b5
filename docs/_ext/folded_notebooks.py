"""Notebooks on their way into the documentation.

Cells tagged ``solution`` are folded, and links to pages of the site lead there.
"""

import json
from pathlib import Path
from typing import Any


def bring_notebooks(source: Path, target: Path) -> None:
    """Copy all notebooks of a folder into another; remove those that are gone from the source."""
    target.mkdir(exist_ok=True)
    pages = {
        path.name: _page(json.loads(path.read_text(encoding="utf-8")))
        for path in source.glob("*.ipynb")
    }
    for path in target.glob("*.ipynb"):
        if path.name not in pages:
            path.unlink()
    for name, page in pages.items():
        path = target / name
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def _page(notebook: dict[str, Any]) -> str:
    for cell in notebook["cells"]:
        if "solution" in cell["metadata"].get("tags", []):
            _fold(cell)
        if cell["cell_type"] == "markdown":
            cell["source"] = [line.replace("](../docs/", "](../") for line in cell["source"]]
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def _fold(cell: dict[str, Any]) -> None:
    if cell["cell_type"] == "code":
        cell["metadata"]["tags"] = [*dict.fromkeys([*cell["metadata"]["tags"], "hide-cell"])]
    else:
        cell["source"] = [":::::{dropdown} Solution\n", *cell["source"], "\n:::::"]
