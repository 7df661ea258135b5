"""Programs and records whose private parts are planted numbers, in variants that differ in nothing public.

A planted number starts with the digits of one of two brands, whatever its magnitude and sign, and
ends with a serial number. Public numbers have few digits, so that nothing can be taken for
something else.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from privlp.problem.standard_form import StandardForm
from tests.planted.search import Secrets, flat
from tests.programs import method_of, methods_for

INF = float("inf")
BRANDS = ("7.310475", "4.927093")
NAME = "Zyxwilda Quarrington"
COSTS = np.array([1.0, 2.0, 0.5])
DELTA = 1e-6
#: A number of rows that is private.
PLANTED_N = 487


class Mint:
    """Planted numbers of one variant of the private data; those of the first are secrets."""

    def __init__(self, variant: int = 0) -> None:
        self.variant = variant
        self._serial = 10_000 * (1 + variant)
        self.numbers: list[float] = []

    def __call__(self, *shape: int, exponent: int = 0, brand: int | None = None) -> Any:
        """An array of planted numbers between 10**exponent and 10**(exponent + 1), of alternating brands."""
        coins = [self._coin(exponent, brand) for _ in range(int(np.prod(shape, dtype=int)))]
        return np.array(coins).reshape(shape) if shape else coins[0]

    def text(self, exponent: int = 0) -> str:
        """A planted number as text."""
        return repr(self(exponent=exponent))

    def _coin(self, exponent: int, brand: int | None) -> float:
        self._serial += 1
        brand = (self._serial + self.variant) % 2 if brand is None else brand
        self.numbers.append(float(f"{BRANDS[brand]}{self._serial}3e{exponent}"))
        return self.numbers[-1]


@dataclass(frozen=True)
class Problem:
    """A program with planted numbers, its secrets, and what a call of `solve` needs beside it."""

    lp: privlp.LinearProgram
    secrets: Secrets
    request: dict[str, Any] = field(default_factory=dict)


def secrets_of(lp: privlp.LinearProgram, mint: Mint, words: Any = (), counts: Any = ()) -> Secrets:
    """Planted numbers and what follows: norms, sums, ratios, the exact optimum, its point and prices."""
    if not lp.shape[0]:
        return Secrets(mint.numbers, (), words, counts)
    parts, (A, b) = private_parts(lp), _rows(lp)
    norms = np.linalg.norm(A, axis=1)
    derived: list[Any] = []
    with np.errstate(all="ignore"):
        if "A" in parts:
            derived += [norms, norms**2, norms.mean(), np.linalg.norm(A, axis=0), np.linalg.norm(A)]
            derived += [abs(A).sum(axis=1), A.sum(axis=1), A.sum(axis=0), A.sum(), A.mean()]
            derived += [A.mean(axis=0), A.std(axis=0), A / lp.c, A / norms[:, None], 1 / A, A * A]
        if "b" in parts:
            derived += [b.sum(), b.mean(), b.std(), np.linalg.norm(b), b / norms, 1 / b]
            derived += [StandardForm.of(lp).rhs]
        if "c" in parts:
            derived += [lp.c.sum(), np.linalg.norm(lp.c), lp.c.mean(), 1 / lp.c]
        exact = privlp.solve_exact(lp)
        if exact.x is not None:
            derived += [exact.objective]
            if parts & {"A", "b"}:  # else x is a vertex of a public region
                derived += [exact.x, A @ exact.x, np.linalg.norm(exact.x), abs(exact.x).sum()]
            if parts & {"A", "c"}:
                derived += [exact.dual]
    public = flat([lp.bounds, *([] if "c" in parts else [lp.c])])
    return Secrets(mint.numbers, flat([mint.numbers, *derived]), words, counts, public)


def secrets_at(lp: privlp.LinearProgram, x: Any, secrets: Secrets) -> Secrets:
    """And what follows at a point that was released: activities, violations, with private costs the value."""
    parts, (A, b) = private_parts(lp), _rows(lp)
    derived: list[Any] = []
    with np.errstate(all="ignore"):
        activity = A @ np.asarray(x)
        over = activity - b
        if parts & {"A", "b"}:
            derived += [over, over / np.linalg.norm(A, axis=1), over.sum(), over.mean()]
            derived += [np.maximum(over, 0).sum(), np.linalg.norm(over)]
        if "A" in parts:
            derived += [activity, activity.sum(), activity.mean()]
        if "c" in parts:
            derived += [lp.c @ x, lp.c * x]
    return secrets.with_derived(flat(derived))


def private_parts(lp: privlp.LinearProgram) -> frozenset[str]:
    """Which of A, b, c hold private numbers."""
    return getattr(lp.neighbours, "private_parts", frozenset("Ab"))


def _rows(lp: privlp.LinearProgram) -> tuple[np.ndarray, np.ndarray]:
    A = lp.A.toarray() if lp.is_sparse else np.asarray(lp.A)
    b = np.where(np.isfinite(lp.b), lp.b, lp.row_lower)
    return A[lp.private], b[lp.private]


# Whole constraints: everything in a private row is planted.


def _covering(mint: Mint, n: int = 12, **fields: Any) -> privlp.LinearProgram:
    """Rows that can all be satisfied in even variants; in odd ones, some that cannot."""
    A = -np.vstack([mint(3, exponent=-1 + (i + mint.variant) % 2) for i in range(n)])
    b = -mint(n, exponent=0)
    if mint.variant % 2:
        A[:3] *= -1
    return privlp.LinearProgram(COSTS, A, b, **fields)


def _add_remove(mint: Mint) -> privlp.LinearProgram:
    n = 1237 if mint.variant == 0 else 911
    names = [f"{NAME} {i}" for i in range(n)]
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=1000, rows_per_record=2)
    return _covering(mint, n, neighbours=relation, row_names=names, groups=names)


def _departed(mint: Mint) -> privlp.LinearProgram:
    """Records of which nobody is left in odd variants; every public number is far from how many there are."""
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=100)
    if mint.variant % 2:
        return privlp.LinearProgram(COSTS, np.zeros((0, 3)), [], neighbours=relation)
    return _covering(mint, PLANTED_N, neighbours=relation)


def _soft_departed(mint: Mint) -> privlp.LinearProgram:
    """The same with soft rows, each at its own price, which is private too."""
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=100, largest_penalty=20.0)
    if mint.variant % 2:
        nothing = np.zeros((0, 3))
        return privlp.LinearProgram(COSTS, nothing, [], neighbours=relation, penalty=np.ones(0))
    prices = mint(PLANTED_N)
    return _covering(mint, PLANTED_N, neighbours=relation, penalty=prices)


def _mixed(mint: Mint) -> privlp.LinearProgram:
    """Sparse, maximised, shifted and mirrored variables, public rows, private equalities and ranges, names."""
    private = np.vstack([sign * mint(4, exponent=size) for sign, size in _SIGNS_AND_SIZES])
    private[:, 1] = 0
    A = np.vstack([private, [[1, 1, 1, 0.5], [1, -1, 0, 0]]])
    b = np.array([*mint(4, exponent=1), mint(exponent=2), 40, 3])
    return privlp.LinearProgram(
        [-1, 2, -0.5, 3],
        sp.csr_array(A),
        b,
        row_lower=[b[0], -b[1], *[-INF] * 4, 3],
        private=np.arange(5),
        bounds=[(1, None), (-9, 8), (-9, 30), (0, 6)],
        offset=5.0,
        sense="max",
        variable_names=list("wxyz"),
        row_names=[f"row{i}" for i in range(7)],
        name="mixed",
    )


_SIGNS_AND_SIZES = ((1, -1), (-1, 0), (1, 1), (1, 0), (1, 2))


def _exotic(mint: Mint) -> privlp.LinearProgram:
    """Rows of all magnitudes, of whole numbers, and without any direction."""
    sizes = (14, 8, 5, 0, -7, -150, -300)[:: -1 if mint.variant else 1]
    A = -np.vstack([*(mint(3, exponent=size) for size in sizes), np.zeros((2, 3))])
    b = -np.array([*(mint(exponent=size) for size in (14, 19, 5, 0, -300, -7, 3)), mint(), 0.0])
    A[2] = np.floor(A[2] * 1e4)
    mint.numbers += A[2].tolist()
    return privlp.LinearProgram(COSTS, A, b)


# Numbers that move a little: what the relation calls private is planted, the rest has few digits.

_PUBLIC_A = -np.array([[1, 1, 0.5], [2, 1, 1], [1, 3, 2], [0.5, 1, 1], [1, 0.5, 3], [2, 2, 1]])
_PUBLIC_B = -np.array([1, 2, 1, 1.5, 0.5, 2])


def _near(relation: Any, *, boxed: bool = False, sparse: bool = False) -> Any:
    def make(mint: Mint) -> privlp.LinearProgram:
        several = relation if isinstance(relation, tuple) else (relation,)
        parts = frozenset().union(*(part.private_parts for part in several))
        A, b, c = _PUBLIC_A, _PUBLIC_B, COSTS
        exponent = mint.variant % 2 - 1
        if "A" in parts:
            A = -mint(*A.shape, exponent=exponent)
        if "b" in parts:
            b = -mint(len(b))
        if "c" in parts:
            c = mint(3, exponent=exponent)
        A, bounds = sp.csr_array(A) if sparse else A, (0, 30 if boxed else None)
        return privlp.LinearProgram(c, A, b, neighbours=relation, bounds=bounds)

    return make


_SCALAR = privlp.ScalarPrivate(0.05, lower=-9, upper=-4)
_ROW = privlp.RowPrivate(0.01, lower=-9, upper=-0.4)
_COLUMN = privlp.ColumnPrivate(0.01, lower=-9, upper=-0.4)
_OBJECTIVE = privlp.ObjectivePrivate(0.05, lower=0.4, upper=8)
_WHOLE = {"s": 3, "alpha": 5.0, "opt": 9.0}

#: Every neighbour relation, in programs of several kinds: how to make one from planted numbers, and
#: what `solve` is asked for.
PROGRAMS: dict[str, tuple[Callable[[Mint], privlp.LinearProgram], dict[str, Any]]] = {
    "replace": (_covering, _WHOLE),
    "groups": (functools.partial(_covering, groups=np.arange(12) // 2), _WHOLE),
    "add-remove": (_add_remove, {**_WHOLE, "s": 100}),
    "departed": (_departed, {**_WHOLE, "s": 10}),
    "soft": (functools.partial(_covering, penalty=1.5), {"opt": 9.0}),
    "soft, departed": (_soft_departed, {"opt": 9.0}),
    "mixed": (_mixed, {"s": 2, "opt": 20.0}),
    "exotic": (_exotic, _WHOLE),
    "scalar": (_near(_SCALAR), {"opt": 9.0}),
    "scalar in sum": (_near(replace(_SCALAR, norm="1"), sparse=True), {"opt": 9.0}),
    "row": (_near(_ROW), {"opt": 9.0}),
    "column": (_near(_COLUMN, sparse=True), {"opt": 9.0}),
    "objective": (_near(_OBJECTIVE, boxed=True), {}),
    "row+column": (_near((_ROW, _COLUMN)), {"opt": 9.0}),
    "row+scalar": (_near((_ROW, _SCALAR)), {"opt": 9.0}),
    "all parts": (_near((_COLUMN, _SCALAR, _OBJECTIVE), boxed=True), {}),
}
#: What single methods need or refuse.
_OF_METHOD = {"dmw-published": {"width": 10.0, "alpha": 100.0}, "mw": {"alpha": 8.0}}
#: Programs that one method takes.
_ONLY = {"soft": "perturbed", "soft, departed": "perturbed", "mixed": "chain"}
_NO_OPT = (
    *(
        "quantile-noise",
        "measured-slack",
        "one-margin",
        "truncated-laplace",
        "truncated-gaussian",
        "by-prices",
        "truncated-sup-norm",
    ),
    *("truncated-laplace-published", "direct-noise"),
)
#: Private numbers of rows, and what is near them.
_COUNTS = {
    "add-remove": (1237, 911, 2 * 1237),
    "departed": (PLANTED_N, PLANTED_N - 1, PLANTED_N + 1, 2 * PLANTED_N),
    "soft, departed": (PLANTED_N, PLANTED_N - 1, PLANTED_N + 1, 2 * PLANTED_N),
}


@functools.cache
def problem(name: str, variant: int = 0) -> Problem:
    """A program of :data:`PROGRAMS`, with private numbers of the given variant."""
    (make, request), mint = PROGRAMS[name], Mint(variant)
    lp, words = make(mint), (NAME,) if name == "add-remove" else ()
    return Problem(lp, secrets_of(lp, mint, words, _COUNTS.get(name, ())), request)


def methods_of(name: str) -> Iterator[str]:
    """The methods that take a program of :data:`PROGRAMS`."""
    lp = PROGRAMS[name][0](Mint())
    for method in methods_for(lp.neighbours):
        if method in _ONLY.get(name, (method,)):
            yield method


def request_of(name: str, method: str) -> dict[str, Any]:
    """The arguments of `solve` for a method on a program of :data:`PROGRAMS`."""
    request = {**PROGRAMS[name][1], **_OF_METHOD.get(method, {}), "method": method_of(method)}
    if name == "exotic" and method == "dmw-published":
        request |= {"width": (1e15, 1e20), "alpha": 5e20}
    if method in _NO_OPT:
        request.pop("opt", None)
    return request


def solve(problem: Problem, *, eps: float = 1.0, **request: Any) -> privlp.Solution:
    """Solve privately, with a seed."""
    return privlp.solve(problem.lp, eps, DELTA, **{"rng": 0, **request})


# Records of classifiers.


@dataclass(frozen=True)
class Records:
    """Planted records with public labels."""

    X: np.ndarray
    y: np.ndarray
    secrets: Secrets


def records(variant: int = 0, n: int = 40, classes: tuple[Any, Any] = (-1, 1)) -> Records:
    """Records of norm at most 1, but for a few that are longer or of another magnitude."""
    mint = Mint(variant)
    X = np.vstack([mint(3, exponent=-1 - (i + variant) % 3) for i in range(n)]) / 2
    mint.numbers += X.ravel().tolist()
    positive = np.arange(n) % (2 + variant) == 0
    X[~positive, 0] *= -1
    X[0], X[1] = mint(3, exponent=5), mint(3, exponent=-200)
    norms = np.linalg.norm(X, axis=1)
    clipped = X / np.maximum(norms, 1.0)[:, None]
    signed = clipped * np.where(positive, 1.0, -1.0)[:, None]
    derived = [norms, norms.sum(), X.sum(axis=0), X.mean(axis=0), X.std(axis=0), X.max(axis=0)]
    derived += [X.sum(), np.linalg.norm(X), X.T @ X, clipped, clipped.sum(axis=0)]
    derived += [clipped.T @ clipped, signed.sum(axis=0), signed.mean(axis=0)]
    return Records(X, np.where(positive, *classes[::-1]), Secrets(mint.numbers, flat(derived)))
