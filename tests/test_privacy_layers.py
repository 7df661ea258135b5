"""Imports among the files on privacy go one way, and none of them loads a slow library."""

import ast
import itertools
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("privlp/privacy", "privlp/audits")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
#: Loaded where they are needed.
SLOW = ("dp_accounting", "matplotlib", "mpmath", "randomgen", "scipy.optimize", "scipy.stats")
SLOW += ("sqlite3", "tabulate")


def name_of(path):
    *parts, last = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if last == "__init__" else [*parts, last])


MODULES = {name_of(path): path for path in FILES}


def imported(statements):
    """Full names that statements import: of modules, or of things in them."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def modules_imported(path):
    """Our modules that a file imports, for type checkers included; of packages, what they hold."""
    for name in imported(ast.walk(ast.parse(path.read_text()))):
        parts = name.split(".")
        prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        yield from itertools.islice((prefix for prefix in prefixes if prefix in MODULES), 1)


def test_there_is_no_ring():
    graph = {name: set(modules_imported(path)) for name, path in MODULES.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert len(order) == len(MODULES) > 20
    places = [order.index(f"privlp.privacy.{name}") for name in ORDER]
    assert places == sorted(places)


#: From prices to budgets.
ORDER = ("prices", "mechanisms", "charges", "ledger", "budget")


@pytest.mark.parametrize(
    "path", [p for p in FILES if "privlp/privacy" in p.as_posix()], ids=name_of
)
def test_privacy_knows_nothing_of_linear_programs_or_audits(path):
    ours = {name for name in imported(ast.walk(ast.parse(path.read_text()))) if "privlp" in name}
    below = tuple(
        f"privlp.{of}." for of in ("privacy", "errors", "checks", "files", "float_errors")
    )
    assert not {name for name in ours if not name.startswith(below)}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_slow_libraries_are_loaded_where_they_are_needed(path):
    names = imported(ast.parse(path.read_text()).body)
    assert not [name for name in names if name.startswith(SLOW)]
