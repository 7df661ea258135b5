"""How the code is laid out: which file may import which."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("privlp", "svm_models")


def modules(root=ROOT, packages=PACKAGES):
    """The syntax tree of every module, by its dotted name."""
    files = [file for package in packages for file in sorted((root / package).rglob("*.py"))]
    return {
        ".".join(
            file.relative_to(root).with_suffix("").parts[: -1 if file.stem == "__init__" else None]
        ): ast.parse(file.read_text(encoding="utf-8"))
        for file in files
    }


def ancestors(name):
    """A module and the packages it lies in."""
    parts = name.split(".")
    return {".".join(parts[:k]) for k in range(1, len(parts) + 1)}


def imported(node, known):
    """The modules of ours that an import statement names."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & known
    if not isinstance(node, ast.ImportFrom) or node.module not in known:
        return set()
    assert node.level == 0, "imports are absolute"
    parts = {f"{node.module}.{alias.name}" for alias in node.names}
    submodules = parts & known
    return submodules if submodules == parts else submodules | {node.module}


def imports(trees):
    """The modules of ours whose code each module needs: of any import, also one for types only.

    An import of ``a.b.c`` runs the ``__init__`` of ``a`` and ``a.b`` too. The packages that the
    importing module lies in do not count, unless it imports a name of theirs: they run anyway.
    """
    known = set(trees)
    needs = {}
    for name, tree in trees.items():
        named = set().union(*(imported(node, known) for node in ast.walk(tree)))
        run = set().union(*(ancestors(module) for module in named)) - ancestors(name)
        needs[name] = (run | named) - {name}
    return needs


def rings(needs):
    """Modules that need each other, directly or not: strongly connected components of two or more.

    Path-based search: Gabow (2000), "Path-based depth-first search for strong and biconnected
    components".
    """
    order, found, path, begins = {}, [], [], []

    def visit(module):
        order[module] = len(order)
        path.append(module)
        begins.append(module)
        for other in sorted(needs[module]):
            if other not in order:
                visit(other)
            elif other in path:
                while order[begins[-1]] > order[other]:
                    begins.pop()
        if begins[-1] == module:
            begins.pop()
            first = path.index(module)
            found.append(sorted(path[first:]))
            del path[first:]

    for module in sorted(needs):
        if module not in order:
            visit(module)
    return [ring for ring in found if len(ring) > 1]


def told(ring, needs):
    """A ring as lines "a needs b, c"."""
    return "\n".join(
        f"  {name} needs {', '.join(sorted(needs[name] & set(ring)))}" for name in ring
    )


def test_no_import_ring():
    needs = imports(modules())
    found = [f"{len(ring)} modules:\n{told(ring, needs)}" for ring in rings(needs)]
    assert not found, "These import each other in a ring. " + "\n".join(found)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a": "import p.b", "b": "from p.a import x"}, [["p.a", "p.b"]]),
        ({"a": "import p.b", "b": "from p.c import x", "c": ""}, []),
        (
            {"a": "if TYPE_CHECKING:\n    from p.b import x", "b": "def f():\n    import p.a"},
            [["p.a", "p.b"]],
        ),
        ({"a": "from p import b", "b": "from p import a"}, [["p.a", "p.b"]]),
        ({"": "from p.a import x", "a": "from p.b import x", "b": ""}, []),
        ({"": "from p.a import x", "a": "from p import x"}, [["p", "p.a"]]),
        (
            {"q": "from p.q.a import x", "q.a": "from p.b import x", "b": "from p.q.c import x"}
            | {"q.c": ""},
            [["p.b", "p.q", "p.q.a"]],
        ),
    ],
    ids=["two", "none", "types and inside", "submodules", "own package", "its names", "a package"],
)
def test_rings_are_found(files, expected):
    trees = {".".join(filter(None, ("p", name))): ast.parse(text) for name, text in files.items()}
    trees.setdefault("p", ast.parse(""))
    assert sorted(rings(imports(trees))) == expected


def test_every_module_is_read():
    found = modules()
    assert {"privlp", "privlp.errors", "privlp.cli.options", "svm_models"} <= set(found)
