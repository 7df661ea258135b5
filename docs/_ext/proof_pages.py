"""One page a mechanism: ``docs/proofs.md`` is split when the documentation is built.

The file stays one, so that it can be read without a build and docstrings name its sections. Where
a proof names another section in quotes, its page has a link. A page ends with the modules whose
docstrings name it.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

HEADING = re.compile(r"^(##?) (.+)\n", flags=re.MULTILINE)
FOLDER = "proofs"
IN_CODE = "Where in the code"


class Section(NamedTuple):
    """A heading with what follows it, up to the next one."""

    level: int
    title: str
    text: str

    @property
    def name(self) -> str:
        """Name of the page, without its ending."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def sections(text: str) -> list[Section]:
    """Sections of first and second level, in their order."""
    pieces = HEADING.split(text)[1:]
    return [
        Section(len(marks), title, body)
        for marks, title, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    ]


def contents(text: str) -> str:
    """Introductions of the parts, each with a list of its pages."""
    page, open_list = [], False
    for section in sections(text):
        if section.level == 1:
            page += ["```\n"] * open_list
            # the first part holds the others
            page.append(f"{'##' if page else '#'} {section.title}\n{section.text}")
            open_list = False
        else:
            page += [] if open_list else ["```{toctree}\n:maxdepth: 1\n"]
            page.append(f"{FOLDER}/{section.name}")
            open_list = True
    return "\n".join([*page, *["```\n"] * open_list])


def write_pages(source: Path, folder: Path, packages: tuple[Path, ...] = ()) -> None:
    """Write one page a section of the second level; remove those that are gone."""
    folder.mkdir(exist_ok=True)
    modules = _modules_by_title(packages)
    found = [one for one in sections(source.read_text(encoding="utf-8")) if one.level > 1]
    pages = {
        f"{one.name}.md": f"# {one.title}\n{_raised(_linked(one, found), modules[one.title])}"
        for one in found
    }
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, page in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Show the list of pages in place of the whole file."""
    app.connect("source-read", _list_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _modules_by_title(packages: tuple[Path, ...]) -> defaultdict[str, list[str]]:
    """Modules, by the titles that follow a mention of the proofs in them."""
    modules: defaultdict[str, list[str]] = defaultdict(list)
    for package in packages:
        for path in sorted(package.rglob("*.py")):
            flat = " ".join(path.read_text(encoding="utf-8").split())
            mentions = re.findall(r"docs/proofs\.md``,((?: ?\"[^\"]+\",?)+)", flat)
            for title in dict.fromkeys(re.findall(r"\"([^\"]+)\"", "".join(mentions))):
                modules[title].append(path.relative_to(package.parent).as_posix())
    return modules


def _raised(text: str, modules: list[str]) -> str:
    """The text as a page of its own: parts are of second level, modules follow the last one."""
    text = re.sub(r"^##(#+ )", r"#\1", text, flags=re.MULTILINE)
    if not modules:
        return text
    if f"# {IN_CODE}\n" not in text:
        text = f"{text.rstrip()}\n\n## {IN_CODE}\n"
    return f"{text.rstrip()}\n\nNamed in {', '.join(f'`{name}`' for name in modules)}.\n"


def _linked(section: Section, others: list[Section]) -> str:
    """The text, where titles of other sections in quotes are links."""
    text = re.sub(r"\]\((?!https?:|#|/)([^)]+)\)", r"](../\1)", section.text)
    for other in others:
        if other is not section:
            words = r"\s+".join(re.escape(word) for word in other.title.split())
            text = re.sub(rf'"({words})"', rf"[\1]({other.name}.md)", text)
    return text


def _list_pages(app: Any, name: str, source: list[str]) -> None:
    if name == FOLDER:
        source[0] = contents(source[0])
