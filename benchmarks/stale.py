"""Which pages of docs/results were measured with code that has changed since.

``python -m benchmarks.stale`` lists them. A page names, in a comment at its end, the sources that
decide its draws and prices, each with a fingerprint. Docstrings, comments and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tabulate import tabulate

from privlp import __version__

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
#: Lists of pages, which measure nothing.
LISTS = frozenset({"README", "claims", "index"})

_PRIVACY = (
    "gaussian_dp gaussian_tails prices events charges calibration accountant ledger series"
    " budget_rule partitions budget mechanisms/* noise/* randomness"
)
PRIVACY = tuple(f"privlp/privacy/{name}.py" for name in _PRIVACY.split())
STORED = tuple(
    f"privlp/privacy/{name}.py"
    for name in ("call_store", "budget_file", "stored_calls", "record_file", "file_location")
)
#: Everything that a solve runs, but for the privacy of it.
_ROOMS = "methods methods/published players duals regions rows relations problem"
SOLVERS = ("privlp/solve.py", *(f"privlp/{room}/*.py" for room in _ROOMS.split()))
#: This module and all that it needs, but not readers of files: most pages make their programs.
_NEEDED = "needed by "
_READERS = frozenset({"parquet_rows.py", "program_from_files.py", "readers.py"})
#: Refuses numbers that a user gives for the optimum: what is not refused does not pass through it.
_REFUSES = "privlp/regions/optimum.py"


def _solved_by(*methods: str) -> tuple[str, ...]:
    """What solves run on pages that name their methods."""
    return (
        "privlp/solve.py",
        "privlp/methods/auto.py",
        *(f"{_NEEDED}privlp/methods/{method}.py" for method in methods),
    )


AUDITS = ("privlp/audits/*.py", "tests/conformance_*.py")
_CLASSIFIERS = (
    "account base classes losses minimise neighbours perturbation perturbed_classifiers"
    " records/grid records/scaled records/validation records/whitening threshold"
)
CLASSIFIERS = tuple(f"svm_models/{name}.py" for name in _CLASSIFIERS.split())
REGRESSION = (
    "svm_models/private_regression.py",
    "svm_models/exact_regression.py",
    "svm_models/regression_*.py",
    "svm_models/fallback.py",
    "privlp/methods/fallback.py",
    "svm_models/account.py",
    "svm_models/neighbours.py",
    "svm_models/records/whitening.py",
)
FOLDS = ("benchmarks/folds.py", "svm_models/datasets/*.py")
THESIS = (
    "benchmarks/thesis.py",
    "svm_models/datasets/*.py",
    "svm_models/exact.py",
    "svm_models/linear_programs.py",
)
#: Where sensitivities and shares stand that the page on accounting compares.
COUNTED = ("privlp/relations/constraint_private.py",)
DESCENT_CLASSIFIER = (f"{_NEEDED}svm_models/private_lp_svc.py",)
SELECTION_CLASSIFIER = (
    "svm_models/dmw_svc.py",
    *_solved_by("dmw", "published/dmw", "published/count_score"),
)
NEVER_VIOLATED = _solved_by(
    "tightened/method", "published/truncated_laplace", "direct_noise", "multiplicative_weights"
)

#: The sources that decide what a page shows, besides benchmarks/<page>.py. A star stands for any
#: name; "needed by" a module are the module and all that it imports, directly or not.
SOURCES: dict[str, tuple[str, ...]] = {
    "allocation": (
        *PRIVACY,
        "privlp/allocation/*.py",
        "privlp/players/prices.py",
        "privlp/regions/quadratic.py",
    ),
    "accounting": (*PRIVACY, *CLASSIFIERS, *COUNTED, "benchmarks/noise_levels.py"),
    "cm_logistic": (*PRIVACY, *CLASSIFIERS, *FOLDS),
    "covering": (
        *PRIVACY,
        *_solved_by("staged/method", "perturbed", "dmw", "published/dmw"),
        "benchmarks/problems.py",
    ),
    "exact_noise": (
        *PRIVACY,
        *SOLVERS,
        *CLASSIFIERS,
        "svm_models/*_svc.py",
        "benchmarks/problems.py",
        "benchmarks/thesis.py",
    ),
    "hints": (
        *PRIVACY,
        *SOLVERS,
        "benchmarks/families/hard.py",
        "benchmarks/families/instance.py",
        "benchmarks/small.py",
    ),
    "fallback": (
        *PRIVACY,
        *REGRESSION,
        *CLASSIFIERS,
        *DESCENT_CLASSIFIER,
        *_solved_by("perturbed"),
        "privlp/plan.py",
        "svm_models/*forecast.py",
        "svm_models/plan.py",
    ),
    "few_positives": (
        *PRIVACY,
        *CLASSIFIERS,
        *DESCENT_CLASSIFIER,
        "svm_models/evaluation.py",
        "benchmarks/regression.py",
    ),
    "fuzz": ("tests/fuzz/*.py",),
    "generated": (
        *PRIVACY,
        *SOLVERS,
        "privlp/plan.py",
        "benchmarks/problems.py",
        "benchmarks/families/*.py",
        "benchmarks/generated_tables/*.py",
    ),
    "low_sensitivity": (*PRIVACY, *NEVER_VIOLATED, "benchmarks/problems.py"),
    "lp_svm": THESIS,
    "methods_over_eps": (
        *PRIVACY,
        *THESIS,
        *CLASSIFIERS,
        *DESCENT_CLASSIFIER,
        *SELECTION_CLASSIFIER,
    ),
    "models": (
        *PRIVACY,
        *SOLVERS,
        "privlp/models/*.py",
        "benchmarks/model_pictures.py",
        "benchmarks/families/instance.py",
    ),
    "feasible": (*PRIVACY, *NEVER_VIOLATED, "privlp/examples.py"),
    "never_violated": (
        *PRIVACY,
        *NEVER_VIOLATED,
        "privlp/examples.py",
        "benchmarks/advertising_sizes.py",
    ),
    "planted": (*PRIVACY, *SOLVERS, *CLASSIFIERS, "tests/planted/*.py"),
    "private_lp_svc": (*PRIVACY, *THESIS, *CLASSIFIERS, *DESCENT_CLASSIFIER),
    "regression": (*PRIVACY, *SOLVERS, *REGRESSION),
    "regression_plan": (
        *PRIVACY,
        *REGRESSION,
        "svm_models/forecast.py",
        "svm_models/plan.py",
        "benchmarks/regression.py",
    ),
    "blocks": (
        *PRIVACY,
        *_solved_by("staged/method"),
        "privlp/problem/parquet_rows.py",
        "privlp/problem/program_from_files.py",
        "benchmarks/scale.py",
    ),
    "scale": (*PRIVACY, *SOLVERS),
    "small": (*PRIVACY, *SOLVERS, "benchmarks/families/hard.py", "benchmarks/families/instance.py"),
    "speed": (*PRIVACY, *SOLVERS, "benchmarks/families/hard.py", "benchmarks/families/instance.py"),
    "hostile_regions": (*PRIVACY, *_solved_by("perturbed")),
    "shadow_prices": (
        *PRIVACY,
        *_solved_by("perturbed"),
        "benchmarks/families/instance.py",
    ),
    "scm_curves": (
        *PRIVACY,
        *CLASSIFIERS,
        *FOLDS,
        "svm_models/kernel.py",
        "svm_models/selection.py",
        "benchmarks/scm_*.py",
    ),
    "scm_kernel": (*PRIVACY, *CLASSIFIERS, *FOLDS, "svm_models/kernel.py"),
    "scm_tables": (*PRIVACY, *CLASSIFIERS, *FOLDS),
    "stored_budget": (*PRIVACY, *STORED),
    "soak": (*PRIVACY, *SOLVERS, *CLASSIFIERS, "svm_models/*_svc.py"),
    "svc_limits": (*PRIVACY, *THESIS, *DESCENT_CLASSIFIER),
    "svm_audits": (
        *PRIVACY,
        *CLASSIFIERS,
        "privlp/audits/*.py",
        "svm_models/dual_perturbation.py",
    ),
    "thesis_figures": (*PRIVACY, *THESIS, *CLASSIFIERS, *SELECTION_CLASSIFIER),
    "thesis_table1": (*PRIVACY, *THESIS, *SELECTION_CLASSIFIER),
    "trust": (*PRIVACY, *SOLVERS, *CLASSIFIERS, *AUDITS),
    "whitened": (*PRIVACY, *THESIS, *CLASSIFIERS, *DESCENT_CLASSIFIER),
    "unknown": (
        *PRIVACY,
        *SOLVERS,
        "privlp/plan.py",
        "privlp/verdict.py",
        "privlp/cli/program.py",
        "privlp/cli/solve.py",
        "benchmarks/families/*.py",
        "benchmarks/unknown_tables/*.py",
    ),
}

# In "perturbed" the two sides of a private hard row count once. No program of the pages that have
# not been measured since has such a row.
_SIDES = "rows with two sides count once, of which these pages have none"
#: Changes that move no number: a file, its fingerprints before and after, and what changed. That
#: nothing else did is shown by ``python -m benchmarks.same_results``. Pages need not be measured
#: anew for them.
UNMOVED = {
    (
        "privlp/regions/simplex.py",
        "0e1a9443ba0c",
        "a5b8f5c8d3f5",
    ): "no warning for a bound far beyond a vertex; what served methods that are gone is gone",
    (
        "privlp/problem/cvxpy_arrays.py",
        "f68d9ad318d4",
        "5318146a085c",
    ): "infinite sides are subtracted without a warning of NumPy, and refused later as before",
    (
        "privlp/problem/standard_form.py",
        "476aa8050934",
        "3922be898393",
    ): "sides of rows have a function of their own",
    (
        "privlp/rows/in_coordinates.py",
        "c510f2919a07",
        "85a286e5d1da",
    ): "rows in single precision, a few at a time; all of them count where no sign is named",
    (
        "privlp/rows/limbs.py",
        "76cb5b4db67f",
        "346dddad4b56",
    ): "weights are asked for a few rows at a time",
    ("privlp/rows/parts.py", "519a2cfb4df8", "3fecdaebec7f"): "two functions that stood elsewhere",
    ("privlp/rows/program_rows.py", "6528725a2a9f", "9887dca320f6"): "a function moved",
    (
        "privlp/methods/direct_noise.py",
        "803c2af250d4",
        "9e1e1135faf8",
    ): "prices are refused where opt is given",
    ("privlp/rows/on_grid.py", "94cb097848eb", "83c30bfcce39"): "weights are clipped in one pass",
    (
        "privlp/cli/solve.py",
        "a80197e6f3a3",
        "b535891fcd5b",
    ): "an option is shared with other commands",
    (
        "privlp/methods/perturbed_draws.py",
        "5a420ecd22d0",
        "b4123f6aa66e",
    ): f"{_SIDES}, and a stronger quadratic for methods that are gone is gone",
    (
        "privlp/problem/data.py",
        "d05b532699a9",
        "491ff18ce156",
    ): f"{_SIDES}, and points are read so that no error quotes them",
    (
        "privlp/problem/public_part.py",
        "42ddae7dc0d1",
        "7d66fe34c0e4",
    ): f"{_SIDES}, and regions are made once for all methods",
    (
        "privlp/problem/public_part.py",
        "efd07096f787",
        "7d66fe34c0e4",
    ): "regions are made once for all methods",
    ("privlp/methods/perturbed_prices.py", "745e3b77bb1b", "098794800c6f"): "no price is -0",
    ("privlp/methods/perturbed_prices.py", "d275b37580b5", "098794800c6f"): "names",
    (
        "privlp/privacy/noise/bits.py",
        "265d89351600",
        "b718418c7089",
    ): "interval arithmetic is made once for each precision",
}

_STAMP = re.compile(
    r"^Measured with privlp (?P<version>\S+), state (?P<state>[0-9a-f]+)\.\n\n<!--"
    r" state\n(?P<lines>.*?)-->",
    re.M | re.S,
)
_OLD_STAMP = re.compile(
    r"^Measured with privlp (?P<version>\S+), no later than (?P<date>[\d-]+), before"
    r" fingerprints\.",
    re.M,
)


def fingerprint(source: str) -> str:
    """Of the syntax tree of a module without docstrings: twelve hexadecimal digits.

    Examples
    --------
    >>> from benchmarks.stale import fingerprint
    >>> code = fingerprint("x = 1  # a comment")
    >>> code == fingerprint("'A docstring.';x=1") != fingerprint("x = 2")
    True
    """
    digest = hashlib.sha256()
    for token in _tokens(ast.parse(source)):
        digest.update(token.encode() + b"\0")
    return digest.hexdigest()[:12]


def _tokens(node: object) -> Iterator[str]:
    """A syntax tree in words that do not depend on Python's version.

    Empty fields are left out: newer versions add some.
    """
    if isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name, value in ast.iter_fields(node):
            if value is not None and value != []:
                yield f".{name}"
                yield from _tokens(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for item in node:
            if not (
                isinstance(item, ast.Expr)
                and isinstance(item.value, ast.Constant)
                and isinstance(item.value.value, str)
            ):
                yield from _tokens(item)
        yield "]"
    else:
        yield repr(node)


def state_of(page: str) -> dict[str, str]:
    """Fingerprints of the sources that decide what a page shows, by path."""
    own = () if page == "fuzz" else (f"benchmarks/{page}.py",)
    paths = {path for pattern in (*own, *SOURCES[page]) for path in files_of(pattern)}
    named = {str(path.relative_to(ROOT)): path for path in sorted(paths)}
    return {name: _fingerprint_of(path) for name, path in named.items() if name != _REFUSES}


def files_of(pattern: str) -> Iterable[Path]:
    """The sources that a pattern stands for."""
    if pattern.startswith(_NEEDED):
        needed = needed_by(ROOT / pattern.removeprefix(_NEEDED))
        return (path for path in needed if path.name not in _READERS)
    return ROOT.glob(pattern)


@cache
def needed_by(path: Path) -> frozenset[Path]:
    """A module of this project and all that it imports, directly or not.

    A name that is imported from a package counts as imported from where the package has it from.
    """
    found, left = set[Path](), [path]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [_module_of(*name) for name in _imports(path)]
    return frozenset(found)


@cache
def _imports(path: Path) -> frozenset[tuple[str, str]]:
    """(module, name) of what a module imports of this project by ``from module import name``."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(
        (node.module, name.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        and node.module
        and (ROOT / node.module.partition(".")[0] / "__init__.py").exists()
        for name in node.names
    )


def _module_of(module: str, name: str) -> Path:
    """The file that has a name which is imported from a module."""
    folder = ROOT.joinpath(*module.split("."))
    if (folder / f"{name}.py").exists():
        return folder / f"{name}.py"
    if not (folder / "__init__.py").exists():
        return folder.with_suffix(".py")
    for source, other in _imports(folder / "__init__.py"):
        if other == name:
            return _module_of(source, name)
    return folder / "__init__.py"


@cache
def _fingerprint_of(path: Path) -> str:
    return fingerprint(path.read_text(encoding="utf-8"))


def stamp(page: str) -> str:
    """The end of a page that is written now: version and state in words.

    A comment holds the fingerprint of each source.
    """
    state = state_of(page)
    lines = "".join(f"{path} {digest}\n" for path, digest in state.items())
    short = hashlib.sha256(lines.encode()).hexdigest()[:8]
    return f"Measured with privlp {__version__}, state {short}.\n\n<!-- state\n{lines}-->\n"


def verdict(text: str, state: dict[str, str]) -> str:
    """What a page's stamp says, given the fingerprints of now."""
    if old := _OLD_STAMP.search(text):
        return f"measured before fingerprints, no later than {old['date']}"
    if not (found := _STAMP.search(text)):
        return "never stamped"
    then = dict(line.split() for line in found["lines"].splitlines())
    moved = [path for path in sorted({*then, *state}) if then.get(path) != state.get(path)]
    changed = [path for path in moved if (path, then.get(path), state.get(path)) not in UNMOVED]
    if changed:
        return "changed since: " + ", ".join(changed)
    return "up to date, but for words and warnings" if moved else "up to date"


def pages() -> list[Path]:
    """All pages of results."""
    return sorted(path for path in RESULTS.glob("*.md") if path.stem not in LISTS)


def main() -> None:
    rows = [
        (path.stem, verdict(path.read_text(encoding="utf-8"), state_of(path.stem)))
        for path in pages()
    ]
    print(tabulate(rows, ("page", "its draws and prices"), tablefmt="plain"))


if __name__ == "__main__":
    main()
