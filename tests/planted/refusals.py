"""Calls that are refused: malformed programs and records, odd requests, budgets that are spent."""

import functools
import gzip
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import privlp
import svm_models
from privlp import Budget, ConstraintPrivate, LinearProgram, ScalarPrivate
from tests.planted import path, programs
from tests.planted.path import Attempt, Path, Refusal, Unwilling, file_of, with_entry
from tests.planted.programs import COSTS, DELTA, INF, NAME, PLANTED_N, Mint, problem
from tests.planted.search import Secrets, flat
from tests.planted.successes import ESTIMATORS, fitting, secrets_after

NAN = float("nan")
_COMING = ConstraintPrivate("add-remove", nominal_n=100)
Change = Callable[[dict[str, Any], Mint], dict[str, Any]]


def rows(mint: Mint, n: int = 5) -> dict[str, Any]:
    return {"c": COSTS, "A": -mint(n, 3), "b": -mint(n)}


def _text(mint: Mint) -> str:
    return f"{NAME} {mint.text()}"


def _moving(relation: Any, **fields: Change) -> Change:
    return lambda f, m: {"neighbours": relation, **{name: of(f, m) for name, of in fields.items()}}


def _costs(f: dict[str, Any], mint: Mint) -> Any:
    return mint(3)


#: Fields that LinearProgram refuses, from well-formed ones.
_MALFORMED: dict[str, Change] = {
    "c of a wrong shape": lambda f, m: {"c": [1.0, 2.0]},
    "b of a wrong shape": lambda f, m: {"b": f["b"][:3]},
    "b as a matrix": lambda f, m: {"b": f["A"]},
    "b with NaN": lambda f, m: {"b": with_entry(f["b"], 2, NAN)},
    "b with infinity": lambda f, m: {"b": with_entry(f["b"], 2, INF)},
    "b far too large": lambda f, m: {"b": with_entry(f["b"], 2, m(exponent=21))},
    "b with a word": lambda f, m: {"b": with_entry(f["b"], 2, _text(m))},
    "b of objects": lambda f, m: {"b": [Unwilling(m) for _ in range(5)]},
    "A with a word": lambda f, m: {"A": with_entry(f["A"], (1, 2), _text(m))},
    "A with NaN": lambda f, m: {"A": with_entry(f["A"], (1, 2), NAN)},
    "A with infinity": lambda f, m: {"A": with_entry(f["A"], (1, 2), INF)},
    "A far too large": lambda f, m: {"A": with_entry(f["A"], (1, 2), m(exponent=16))},
    "A ragged": lambda f, m: {"A": [list(row[: 1 + i % 3]) for i, row in enumerate(f["A"])]},
    "A of objects": lambda f, m: {"A": [[Unwilling(m)] * 3] * 5},
    "A flat": lambda f, m: {"A": f["A"].ravel()},
    "A of three dimensions": lambda f, m: {"A": f["A"][None]},
    "A empty": lambda f, m: {"A": np.zeros((0, 3))},
    "A sparse with NaN": lambda f, m: {"A": sp.csr_array(with_entry(f["A"], (1, 2), NAN))},
    "A as a frame with a word": lambda f, m: {"A": path.with_words(f["A"], m)},
    "contradictory sides": lambda f, m: {"row_lower": f["b"] + 1},
    "a side far too large": lambda f, m: {"row_lower": with_entry(f["b"] - 1, 1, -m(exponent=25))},
    "a side with NaN": lambda f, m: {"row_lower": with_entry(f["b"] - 1, 1, NAN)},
    "a side of a wrong shape": lambda f, m: {"row_lower": f["b"][:2] - 1},
    "penalty below zero": lambda f, m: {"penalty": -m(5)},
    "mask of a wrong shape": lambda f, m: {"private": [True] * 4},
    "rows out of range": lambda f, m: {"private": [0, 7]},
    "rows of objects": lambda f, m: {"private": [[0], [1, 2]]},
    "groups of a wrong shape": lambda f, m: {"groups": m(4)},
    "groups of mixed types": lambda f, m: {"groups": [m(), NAME, m(), 1, None]},
    "groups under numbers that move": _moving(ScalarPrivate(0.1), groups=lambda f, m: m(5)),
    "too few row names": lambda f, m: {"row_names": ["a", "b"]},
    "bounds that contradict": lambda f, m: {"bounds": (2, 1)},
    "bounds in words": lambda f, m: {"bounds": ("a", "b")},
    "no such sense": lambda f, m: {"sense": "best"},
    "no such relation": lambda f, m: {"neighbours": f["A"]},
    "right-hand sides out of range": _moving(ScalarPrivate(0.1, lower=-1, upper=0)),
    "right-hand sides too large": _moving(ScalarPrivate(1e-12)),
    "coefficients out of range": _moving(privlp.RowPrivate(0.1, lower=-1, upper=0)),
    "coefficients too large": _moving(privlp.ColumnPrivate(1e-12)),
    "sparse coefficients out of range": _moving(
        privlp.ColumnPrivate(0.1, lower=-1, upper=0), A=lambda f, m: sp.csr_array(f["A"])
    ),
    "costs out of range": _moving(privlp.ObjectivePrivate(0.1, lower=0, upper=1), c=_costs),
    "costs too large": _moving(privlp.ObjectivePrivate(1e-12), c=_costs),
    "costs with a word": _moving(privlp.ObjectivePrivate(0.1), c=lambda f, m: [m.text()] * 3),
    "ranges of a wrong shape": _moving(ScalarPrivate(0.1, lower=-np.ones(4), upper=0)),
}
#: Mistakes whose messages would like to tell the number of rows or the place of one.
_MISCOUNTED: dict[str, Change] = {
    "b in place of c": lambda f, m: {"c": f["b"]},
    "A transposed": lambda f, m: {"A": f["A"].T},
    "A flat": lambda f, m: {"A": f["A"].ravel()},
    "A of three dimensions": lambda f, m: {"A": f["A"][:, None]},
    "A without columns": lambda f, m: {"A": f["A"][:, :0]},
    "b one too short": lambda f, m: {"b": f["b"][1:]},
    "b with NaN in the last row": lambda f, m: {"b": with_entry(f["b"], -1, NAN)},
    "sides one too short": lambda f, m: {"row_lower": f["b"][1:]},
    "b one too short beside sides": lambda f, m: {"row_lower": f["b"] - 1, "b": f["b"][1:]},
    "bounds of rows": lambda f, m: {"bounds": [(0, 1)] * len(f["b"])},
    "names of rows for variables": lambda f, m: {"variable_names": [f"r{x}" for x in f["b"]]},
    "one row name too few": lambda f, m: {"row_names": [f"r{i}" for i in range(len(f["b"]) - 1)]},
    "a mask one too short": lambda f, m: {"private": np.ones(len(f["b"]) - 1, dtype=bool)},
    "an index one too large": lambda f, m: {"private": [0, len(f["b"])]},
    "ragged selection": lambda f, m: {"private": [[0] * (1 + i % 2) for i in range(len(f["b"]))]},
    "row names twice": lambda f, m: {"row_names": ["r"] * len(f["b"])},
    "ragged b": lambda f, m: {"b": [[0] * (1 + i % 2) for i in range(len(f["b"]))]},
    "ragged bounds": lambda f, m: {"bounds": [(0, 1)] * len(f["b"]) + [(1,)]},
    "groups one too short": lambda f, m: {"groups": np.zeros(len(f["b"]) - 1)},
    "ragged groups": lambda f, m: {"groups": [[0] * (1 + i % 2) for i in range(len(f["b"]))]},
    "one record of all rows": lambda f, m: {"groups": np.zeros(len(f["b"]))},
    "penalties one too few": lambda f, m: {"penalty": np.ones(len(f["b"]) - 1)},
}
#: The same where rows come and go: then names, owners and the number of rows are private too.
_MALFORMED_IF_ROWS_COME_AND_GO: dict[str, Change] = {
    "far too many rows": lambda f, m: {
        **{"A": -m(1237, 3), "b": -m(1237), "row_names": None, "groups": None},
        "neighbours": ConstraintPrivate("add-remove", nominal_n=1),
    },
    "a record with too many rows": lambda f, m: {"groups": [NAME] * 5},
    "a side with NaN": lambda f, m: {"row_lower": with_entry(f["b"] - 1, 1, NAN)},
    "contradictory sides": lambda f, m: {"row_lower": f["b"] + 1},
    "names twice": lambda f, m: {"row_names": [NAME] * 5},
    "owners of mixed types": lambda f, m: {"groups": [NAME, 1, m(), None, NAME]},
}


def malformed() -> Iterator[Path]:
    """Programs that are refused at construction."""
    names, coming = [f"{NAME} {i}" for i in range(5)], {"neighbours": _COMING}
    coming_few = coming | {"row_names": names, "groups": names}
    for title, change in _MALFORMED.items():
        yield _malformed(f"program: {title}", change, {}, 5)
    for title, change in {**_MALFORMED, **_MISCOUNTED}.items():
        changed = change(rows(mint := Mint()), mint)
        # Among many rows, this is no mistake.
        if title != "rows out of range" and "neighbours" not in changed:
            yield _malformed(f"program of private n: {title}", change, coming, PLANTED_N)
    for title, change in _MALFORMED_IF_ROWS_COME_AND_GO.items():
        yield _malformed(f"program whose rows come and go: {title}", change, coming_few, 5)


def _malformed(title: str, change: Change, given: dict[str, Any], n: int) -> Path:
    attempt = functools.partial(_construct, change, given, n)
    return Path(title, attempt, Refusal, twins=n == PLANTED_N)


def _construct(change: Change, given: dict[str, Any], n: int, variant: int) -> Attempt:
    """Of another private number of rows in every variant, all refused in the same words."""
    mint, n = Mint(variant), n + 36 * variant * (n == PLANTED_N)
    fields = {**rows(mint, n), **given}
    fields |= change(fields, mint)
    counts = (n - 1, n, n + 1, 2 * n, 3 * n) if n > 5 else (1237,) if given else ()
    A, b = np.reshape(mint.numbers[: 3 * n], (n, 3)), np.array(mint.numbers[3 * n : 4 * n])
    norms = np.linalg.norm(A, axis=1)
    derived = flat([norms, A.sum(), b.sum(), A.sum(axis=0), A.sum(axis=1), b / norms])
    secrets = Secrets(mint.numbers, derived, NAME.split(), counts)
    return Attempt(lambda: LinearProgram(**fields), secrets)


#: Requests that `solve` refuses, and programs of which it refuses them.
_BAD_REQUESTS: dict[str, dict[str, Any]] = {
    "no s": {"s": None},
    "s of zero": {"s": 0},
    "s beyond n": {"s": 10_000},
    "s in words": {"s": "3"},
    "eps of zero": {"eps": 0},
    "eps below zero": {"eps": -1.0},
    "eps of NaN": {"eps": NAN},
    "eps missing": {"eps": None},
    "delta of one": {"delta": 1.0},
    "delta below zero": {"delta": -0.1},
    "alpha of zero": {"alpha": 0.0},
    "alpha in words": {"alpha": "small"},
    "alpha absurdly small": {"alpha": 1e-290},
    "opt in words": {"opt": "9"},
    "opt of NaN": {"opt": NAN},
    "opt of the wrong sign": {"opt": -9.0},
    "opt in an empty range": {"opt": (4.0, 1.0)},
    "no such method": {"method": "simplex"},
    "method of another relation": {"method": "other"},
    "width below zero": {"width": -1.0},
    "width in words": {"width": "wide"},
    "feasible in words": {"feasible": "sometimes"},
    "split without use": {"split": (1, 2, 3, 4)},
    "rng in words": {"rng": "seed"},
    "budget that is none": {"budget": 3.0},
    "budget that is spent": {"budget": "spent"},
    "budget of another relation": {"budget": "other"},
    "time limit of zero": {"time_limit": 0},
}
_REFUSING = {
    "replace": ("staged", "dmw", "chain", "dmw-published"),
    "add-remove": ("staged",),
    "departed": ("staged", "dmw", "chain"),
    "scalar": ("mw", "direct-noise", "truncated-laplace"),
    "all parts": ("direct-noise",),
}


def refused() -> Iterator[Path]:
    """Requests that `solve` refuses, or answers all the same."""
    alike = {"s beyond n", "no s", "opt of the wrong sign"}
    for name, methods in _REFUSING.items():
        for method, (title, change) in product(methods, _BAD_REQUESTS.items()):
            attempt = functools.partial(_request, name, method, change)
            few = name in ("add-remove", "departed") and title not in alike
            dear = few or method in ("dmw", "dmw-published", "chain")
            yield Path(f"request {name} {method}: {title}", attempt, (*Refusal, None), dear=dear)
    ends = (*Refusal, OSError)
    for title, call in _BAD_CALLS.items():
        attempt = functools.partial(_call, call, "replace")
        yield Path(f"call: {title}", attempt, ends, twins=False)
        if not title.startswith("linprog"):  # of another relation, under which n is public
            attempt = functools.partial(_call, call, "departed")
            yield Path(f"call of private n: {title}", attempt, (*ends, None), twins=False)
    for title, read in _MISREAD.items():
        yield Path(f"read with private n: {title}", functools.partial(_misread, read), Refusal)


def _request(name: str, method: str, change: dict[str, Any], variant: int) -> Attempt:
    given, budget = problem(name, variant), Budget(1.5, 0.1)
    request = {"eps": 1.0, "delta": DELTA, "rng": 0, **programs.request_of(name, method), **change}
    if request["method"] == "other":
        whole = name in ("replace", "add-remove", "departed")
        request["method"] = "mw" if whole else "staged"
    if (spent := request.get("budget")) in ("spent", "other"):
        change = ("add-remove", 1, 9) if name == "replace" else ("replace",)
        whole = ConstraintPrivate(*change)
        other = LinearProgram(COSTS, -np.ones((9, 3)), -np.ones(9), neighbours=whole)
        spending = given.lp if spent == "spent" and name != "all parts" else other
        eps = 1.0 if spent == "spent" else 0.01
        privlp.quality(spending, [1.0, 1, 1], eps, budget=budget, rng=0)
        request["budget"] = budget
    return Attempt(
        lambda: privlp.solve(given.lp, **request),
        given.secrets,
        lambda found: secrets_after(given, found.x),
        lambda: budget,
    )


_linprog = functools.partial(LinearProgram.from_linprog, COSTS)
_quality = functools.partial(privlp.quality, eps=1.0)
#: Other calls, on a program and its planted numbers.
_BAD_CALLS: dict[str, Callable[[LinearProgram, Mint], Any]] = {
    "solve what is no program": lambda lp, m: privlp.solve(lp.A, 1.0, DELTA, 3),
    "solve a dict": lambda lp, m: privlp.solve({"A": lp.A.tolist()}, 1.0, DELTA, 3),
    "quality of what is no program": lambda lp, m: _quality(lp.A, [1, 1, 1]),
    "quality at a point of a wrong shape": lambda lp, m: _quality(lp, lp.b),
    "quality at an exact solution": lambda lp, m: _quality(lp, privlp.solve_exact(lp)),
    "quality at NaN": lambda lp, m: _quality(lp, [NAN, 1, 1]),
    "quality without budget": lambda lp, m: _quality(lp, [1, 1, 1], budget=Budget(0.5, 0)),
    "quality with alpha of NaN": lambda lp, m: _quality(lp, [1, 1, 1], alpha=NAN),
    "plan of what is no program": lambda lp, m: privlp.plan(lp.A, 1.0, DELTA, 3),
    "plan without noise": lambda lp, m: privlp.plan(lp, INF, DELTA, 3),
    "compare with what is no program": lambda lp, m: privlp.compare(lp.b, [1, 1, 1]),
    "linprog with a word": lambda lp, m: _linprog([[f"{m.text()}x"] * 3], [1.0]),
    "linprog of a wrong shape": lambda lp, m: _linprog(lp.A, lp.b[:2]),
    "linprog without b": lambda lp, m: _linprog(lp.A),
    "linprog with blocks that disagree": lambda lp, m: _linprog(lp.A, lp.b, lp.A[:, :2], lp.b),
    "linprog with NaN": lambda lp, m: _linprog(lp.A, with_entry(lp.b, 1, NAN)),
    "write where there is no folder": lambda lp, m: lp.to_mps("no/such/folder/model.mps"),
    "load no solution": lambda lp, m: privlp.Solution.load(
        file_of("no.json", f'{{"x": [{m.text()}]}}')
    ),
    "read a damaged archive": lambda lp, m: LinearProgram.from_mps(
        file_of("cut.mps.gz", gzip.compress(lp.b.tobytes())[:40])
    ),
    "a sensitivity in words": lambda lp, m: ScalarPrivate(m.text()),
}


#: Readers, from arguments of a private number of rows that do not fit together.
_MISREAD: dict[str, Callable[..., Any]] = {
    "linprog, b one too short": lambda read, A, b: read(A, b[1:]),
    "linprog, b with NaN": lambda read, A, b: read(A, with_entry(b, -1, NAN)),
    "linprog, A of three dimensions": lambda read, A, b: read(A[None], b),
    "linprog, A transposed": lambda read, A, b: read(A.T, [1, 1, 1]),
    "linprog, equalities transposed": lambda read, A, b: read(A, b, A.T, [1, 1, 1]),
    "linprog, bounds of rows": lambda read, A, b: read(A, b, bounds=[(0, 1)] * len(b)),
    "linprog, a name of no row": lambda read, A, b: read(A, b, private=["r1"]),
    "CVXPY, a norm": lambda read, A, b: _cvxpy(len(b)),
}


def _cvxpy(n: int) -> LinearProgram:
    """The constraint after n others is not affine."""
    x = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] >= 1] * n + [cp.norm1(x) <= 1])
    return LinearProgram.from_cvxpy(problem, neighbours=_COMING)


def _misread(misuse: Callable[..., Any], variant: int) -> Attempt:
    mint, n = Mint(variant), PLANTED_N + 36 * variant
    fields = rows(mint, n)
    read = functools.partial(_linprog, neighbours=_COMING)
    secrets = Secrets(mint.numbers, (), (), (n, n - 1, n + 1, 2 * n))
    return Attempt(lambda: misuse(read, fields["A"], fields["b"]), secrets)


def _call(call: Callable[[LinearProgram, Mint], Any], name: str, variant: int) -> Attempt:
    given, mint = problem(name, variant), Mint(variant + 5)
    planted = [*given.secrets.planted, *Mint(variant + 5)(3)]
    secrets = Secrets(planted, given.secrets.derived, (), given.secrets.counts)
    return Attempt(lambda: call(given.lp, mint), secrets)


#: Records, labels and parameters that classifiers refuse, or take all the same.
_BAD_RECORDS: dict[str, Callable[[Any, Any, Mint], Any]] = {
    "NaN": lambda X, y, m: (with_entry(X, (3, 1), NAN), y),
    "infinity": lambda X, y, m: (with_entry(X, (3, 1), INF), y),
    "a word": lambda X, y, m: (with_entry(X, (3, 1), _text(m)), y),
    "objects": lambda X, y, m: ([[Unwilling(m)] * 3] * len(y), y),
    "one flat record": lambda X, y, m: (X.ravel(), y),
    "three dimensions": lambda X, y, m: (X[None], y),
    "ragged records": lambda X, y, m: ([list(row[: 1 + i % 3]) for i, row in enumerate(X)], y),
    "no records": lambda X, y, m: (X[:0], y[:0]),
    "no columns": lambda X, y, m: (X[:, :0], y),
    "a frame with a word": lambda X, y, m: (path.with_words(X, m), y),
    "a frame with names for numbers": lambda X, y, m: (path.frame(X).assign(name=NAME), y),
    "sparse records with NaN": lambda X, y, m: (sp.csr_array(with_entry(X, (3, 1), NAN)), y),
    "sparse records of whole numbers": lambda X, y, m: (sp.coo_array(X.astype(int)), y),
    "too few labels": lambda X, y, m: (X, y[:7]),
    "three classes": lambda X, y, m: (X, np.arange(len(y)) % 3),
    "one class": lambda X, y, m: (X, np.ones(len(y))),
    "labels of records": lambda X, y, m: (X, X[:, 0]),
    "labels of NaN": lambda X, y, m: (X, with_entry(y, 2, NAN)),
    "labels of words and numbers": lambda X, y, m: (X, np.array([NAME, m(), *y[2:]], dtype=object)),
    "labels as a matrix": lambda X, y, m: (X, X),
    "no labels": lambda X, y, m: (X, None),
}
#: And parameters.
_BAD_FITS: dict[str, dict[str, Any]] = {
    **{title: {"change": change} for title, change in _BAD_RECORDS.items()},
    "labels beyond the declared ones": {
        **{"change": lambda X, y, m: (X, X[:, 0] > 0.1), "classes": (-1, 1)}
    },
    "one declared class": {"classes": (1,)},
    "weights of records": {"fit": {"sample_weight": np.full(40, 731.0475)}},
    "eps of zero": {"eps": 0.0},
    "eps in words": {"eps": "one"},
    "delta of one": {"delta": 1.0},
    "data_norm of zero": {"data_norm": 0.0},
    "data_norm of NaN": {"data_norm": NAN},
    "data_norm huge": {"data_norm": 1e200},
    "reg below zero": {"reg": -1.0},
    "reg hopeless": {"reg": 1e-30},
    "random_state in words": {"random_state": "seed"},
    "budget too small": {"budget": Budget(1e-3, 0.0)},
    "no delta": {"delta": 0.0},
    "a strange radius": {"radius": -3.0},
}


def unfit() -> Iterator[Path]:
    """Records and parameters that classifiers refuse."""
    searched_by_all = ("ObjectivePerturbationSVC", "DMWSVC", "PrivateLPSVC", "PrivateModelSelector")
    others = ("OutputPerturbationSVC", "ObjectivePerturbationLogisticRegression")
    for name, (title, given) in product((*searched_by_all, *others), _BAD_FITS.items()):
        if given.keys() <= {"change", "fit", *ESTIMATORS[name](eps=1.0).get_params()}:
            attempt = functools.partial(fitting, name, **given)
            dear = name in others or (name == "DMWSVC" and "change" in given)
            yield Path(f"fit {name}: {title}", attempt, (*Refusal, None), twins=False, dear=dear)
    for how, (title, change) in product(("ask", "features of"), _BAD_QUESTIONS.items()):
        attempt = functools.partial(_ask, how, change)
        yield Path(f"{how} {title}", attempt, Refusal, twins=False)


#: Records that a fitted classifier is asked about, or features are made of.
_BAD_QUESTIONS: dict[str, Callable[[np.ndarray, Mint], Any]] = {
    "a word": lambda X, m: with_entry(X, (3, 1), _text(m)),
    "NaN": lambda X, m: with_entry(X, (3, 1), NAN),
    "complex numbers": lambda X, m: X + 1j,
    "too few columns": lambda X, m: X[:, :2],
    "one flat record": lambda X, m: X[0],
    "a frame with a word": path.with_words,
    "objects": lambda X, m: [[Unwilling(m)] * 3] * 5,
}


def _ask(how: str, change: Callable[[np.ndarray, Mint], Any], variant: int) -> Attempt:
    data, mint = programs.records(variant), Mint(variant + 5)
    asked = change(data.X, mint)
    model = svm_models.ObjectivePerturbationSVC(classes=(-1, 1), random_state=0)
    if how == "features of":
        model = svm_models.RandomFourierFeatures(1.0, 5, random_state=0)
    fitted = model.fit(data.X, data.y)
    ask = fitted.predict if how == "ask" else fitted.transform
    secrets = Secrets([*data.secrets.planted, *mint.numbers], (), NAME.split())
    return Attempt(lambda: ask(asked), secrets)
