"""How the code is laid out: which file may import which."""

import ast
import functools
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import privlp
import svm_models

ROOT = Path(__file__).parent.parent
PACKAGES = ("privlp", "svm_models")


@functools.cache
def modules():
    """The syntax tree of every module, by its dotted name."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return dict(zip((name.removesuffix(".__init__") for name in names), trees, strict=True))


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


def ring(needs):
    """Modules that need each other, directly or not; none if there are no such."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return sorted({*error.args[1]})
    return []


def test_no_import_ring():
    assert not ring(imports(modules()))


#: What plans: it sees public numbers alone.
PLANNING = ("problem", "relations", "regions", "plan")
PLANNING += tuple(f"methods.{name}" for name in ("request", "base", "auto"))


def named_by(parts):
    """The modules of these parts of privlp; of each, those of ours that it names, types included."""
    trees, parts = modules(), tuple(f"privlp.{part}." for part in parts)
    some = [name for name in trees if f"{name}.".startswith(parts)]
    assert len(some) > 10
    for name in some:
        yield name, set().union(*(imported(node, set(trees)) for node in ast.walk(trees[name])))


def test_what_plans_does_not_import_private_rows():
    for name, named in named_by(PLANNING):
        assert not {module for module in named if "privlp.rows" in ancestors(module)}, name


def test_privacy_knows_nothing_of_linear_programs_or_audits():
    below = {f"privlp.{name}" for name in ("privacy", "errors", "checks", "quiet", "files")}
    for name, named in named_by(["privacy"]):
        assert not {module for module in named if not below & ancestors(module)}, name


#: Loaded where they are needed.
SLOW = ("dp_accounting", "matplotlib", "mpmath", "randomgen", "scipy.optimize", "scipy.stats")
SLOW += ("sqlite3", "tabulate")


def test_slow_libraries_are_loaded_where_they_are_needed():
    for name, _ in named_by(["privacy", "audits"]):
        for node in modules()[name].body:
            names = [alias.name for alias in getattr(node, "names", ())]
            assert not getattr(node, "module", "").startswith(SLOW), name
            assert not any(each.startswith(SLOW) for each in names), name


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a": "import p.b", "b": "from p.a import x"}, ["p.a", "p.b"]),
        ({"a": "import p.b", "b": "from p.c import x", "c": ""}, []),
        (
            {"a": "if TYPE_CHECKING:\n    from p.b import x", "b": "def f():\n    import p.a"},
            ["p.a", "p.b"],
        ),
        ({"a": "from p import b", "b": "from p import a"}, ["p.a", "p.b"]),
        ({"": "from p.a import x", "a": "from p.b import x", "b": ""}, []),
        ({"": "from p.a import x", "a": "from p import x"}, ["p", "p.a"]),
        (
            {"q": "from p.q.a import x", "q.a": "from p.b import x", "b": "from p.q.c import x"}
            | {"q.c": ""},
            ["p.b", "p.q", "p.q.a"],
        ),
    ],
    ids=["two", "none", "types and inside", "submodules", "own package", "its names", "a package"],
)
def test_rings_are_found(files, expected):
    trees = {".".join(filter(None, ("p", name))): ast.parse(text) for name, text in files.items()}
    trees.setdefault("p", ast.parse(""))
    assert ring(imports(trees)) == expected


def test_every_module_is_read():
    found = modules()
    assert {"privlp", "privlp.errors", "privlp.cli.options", "svm_models"} <= set(found)


#: Public modules of functions.
MODULES = ("examples", "models")


@pytest.mark.parametrize(("package", "whole"), [(privlp, MODULES), (svm_models, ())])
def test_public_names_are_those_that_type_checkers_see(package, whole):
    """The table of lazy imports says the same as the imports for types."""
    tree, name = modules()[package.__name__], package.__name__
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.asname: node.module for node in block.body for alias in node.names}
    assert {typed.pop(module) for module in whole} <= {name}
    homes = {of: f"{name}.{home.removeprefix(f'{name}.')}" for of, home in package._HOME_OF.items()}
    assert typed == homes
    assert set(package.__all__) == {*whole, *typed}


def test_public_names_are_there_and_others_are_not():
    for name in privlp.__all__:
        assert name in dir(privlp)
        public = getattr(privlp, name)
        home = f"privlp.{name}" if name in MODULES else privlp._HOME_OF[name]
        assert getattr(public, "__module__", home).startswith(home)
    for package, wrong in ((privlp, "sovle"), (svm_models, "PrivateLpSVC")):
        missing = f"module '{package.__name__}' has no attribute '{wrong}'"
        with pytest.raises(AttributeError, match=missing) as caught:
            getattr(package, wrong)
        assert (caught.value.name, caught.value.obj) == (wrong, package)  # Python suggests others


def ran(code, *arguments):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_a_module_does_not_take_the_place_of_its_function():
    code = (
        "import privlp.solve, privlp.plan, privlp as p; print(callable(p.solve), callable(p.plan))"
    )
    assert ran(code) == "True True\n"
    code = "from privlp import plan, solve; print(callable(solve), callable(plan))"
    assert ran(code) == "True True\n"
    assert callable(privlp.solve)
    assert callable(privlp.plan)


VERSION = "from privlp.cli import main; main(['--version'], standalone_mode=False)"
SEARCH = (
    "import privlp, numpy as np; A = -np.random.default_rng(0).uniform(0.2, 1.0, (500, 4));"
    " lp = privlp.LinearProgram([1, 2, 1, 3], A, -np.ones(500));"
    " privlp.solve(lp, eps=2.0, delta=1e-6, s=50)"
)
SOLVE = "import privlp; privlp.solve(privlp.examples.diet(), eps=1.0, delta=0.0)"


@pytest.mark.parametrize(
    ("code", "heavy", "printed"),
    [
        ("import privlp", "highspy matplotlib narwhals numpy scipy", ""),
        (VERSION, "numpy scipy", f"privlp, version {privlp.__version__}\n"),
        (SOLVE, "cvxpy dp_accounting matplotlib narwhals pandas sklearn", ""),
        (SEARCH, "cvxpy dp_accounting matplotlib narwhals pandas sklearn tqdm", ""),
        ("import svm_models", "highspy numpy pandas scipy sklearn", ""),
        ("from svm_models import hard_margin_lp, soft_margin_lp", "pandas scipy.stats sklearn", ""),
        (
            VERSION.replace("privlp", "svm_models"),
            "highspy numpy pandas scipy sklearn",
            f"svm-models, version {privlp.__version__}\n",
        ),
    ],
    ids=["import", "version", "solve", "search", "models", "matrices", "version of models"],
)
def test_what_is_not_needed_is_not_loaded(code, heavy, printed):
    shown = f"import sys; print(*{{*{heavy.split()}}} & {{*sys.modules}})"
    assert ran(f"{code}; {shown}") == f"{printed}\n"
