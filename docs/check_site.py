"""Check a built site: links and pictures resolve, and no page loads anything from elsewhere.

Options of commands keep their hyphens.

``python docs/check_site.py docs/_build/html``
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
_FOLLOWED = {("a", "href"), ("area", "href"), ("form", "action")}
_LOADED_BY_STYLE = re.compile(r"(?:url\(|@import\s)\s*['\"]?((?:https?:)?//[^'\")\s]+)")

_DASHED_OPTION = re.compile(r"(?<![\w)])[–—][A-Za-z][\w-]*")  # –eps for --eps


class _Page(HTMLParser):
    """Anchors of a page, what it points to, and options that typography has spoilt."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.dashed: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag, name) == ("a", "name")):
                self.anchors.add(value)
            elif value and (tag, name) in _LOADED | _FOLLOWED:
                self.links.append((value, (tag, name) in _LOADED))

    def handle_data(self, data: str) -> None:
        self.dashed += _DASHED_OPTION.findall(data)


def faults(site: Path) -> Iterator[str]:
    """What is wrong with the pages and styles below a folder, in words."""
    pages = {
        path.resolve(): _Page(path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        yield from (f"{where}: {option} has a dash in place of hyphens" for option in page.dashed)
        for link, loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if loaded and parts.scheme != "data":
                    yield f"{where}: loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{where}: {link} does not exist"
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                yield f"{where}: {link} has no such anchor"
    for path in sorted(site.rglob("*.css")):
        for link in _LOADED_BY_STYLE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads {link}"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1])))
    sys.exit("\n".join([*found, f"{len(found)} faults in the pages"]) if found else None)
