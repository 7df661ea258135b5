"""The registry of the conformance suite: every mechanism, and the draws of every method of :func:`privlp.solve`.

A new mechanism or method needs one entry here, with the pair of neighbours that moves its release
the farthest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, partialmethod
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

import privlp
from privlp import (
    Allocation,
    ColumnPrivate,
    ConstraintPrivate,
    LinearProgram,
    ObjectivePrivate,
    PersonPrivate,
    RowPrivate,
    ScalarPrivate,
)
from privlp.allocation.demand import People
from privlp.methods.published import dmw as published
from privlp.privacy import (
    EuclideanLaplaceMechanism,
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    WeightedGaussianMechanism,
)
from privlp.privacy.mechanisms.additive import LaplaceCount
from privlp.rows.in_coordinates import RowsInCoordinates, _divisors
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, RowsOnGrid, RowsOnSimplex
from privlp.status import Status
from tests.conformance_kit import (
    Bug,
    Claim,
    Mechanical,
    Pair,
    Patch,
    Played,
    Subject,
    sharpest,
    with_law,
)
from tests.programs import method_of

# mechanisms


def _numbers(mechanism: Any) -> Mechanical:
    """An additive mechanism on one number that moves by the sensitivity."""
    return Mechanical(mechanism.name, Pair(sharpest(mechanism), np.zeros(1), np.ones(1)))


def _selection(candidates: int, claim: Claim | None = None, **options: Any) -> Mechanical:
    """One score rises by the sensitivity, all the others fall by it."""
    here, there = (
        np.array([0.0, *[1.0] * (candidates - 1)]),
        np.array([1.0, *[0.0] * (candidates - 1)]),
    )
    mechanism = ExponentialMechanism(1.0, 4.0 if claim is None else claim.eps)
    return Mechanical(
        f"exponential mechanism, {candidates} candidates{'' if claim is None else ', pure'}",
        Pair(mechanism, here, there),
        claim,
        **options,
    )


def _bounded_noise(mechanism: Any, scores: Any, randomness: Any, runs: int) -> np.ndarray:
    """The maximum under uniform noise of about the right size."""
    width = 4 * mechanism.sensitivity / mechanism.eps
    return np.argmax(scores + randomness.generator.uniform(0, width, (runs, len(scores))), axis=1)


def _weighted(weights: tuple[float, ...]) -> Mechanical:
    """All draws together, each on one number that moves by the sensitivity."""
    mechanism = WeightedGaussianMechanism(1.0, 1.0, weights)
    return Mechanical(
        mechanism.name, Pair(sharpest(mechanism), np.zeros(len(weights)), np.ones(len(weights)))
    )


_OF_VECTORS = EuclideanLaplaceMechanism(1.0, 0.4)

MECHANISMS: list[Subject] = [
    _selection(2),
    _selection(
        50, Claim(2.0), another_law=_bounded_noise, shown_elsewhere=frozenset([Bug.TWICE]), rare=10
    ),
    _numbers(LaplaceMechanism(1.0, 1.0)),
    Mechanical(
        "Laplace mechanism, a count",
        Pair(sharpest(LaplaceCount(1.0, 1.0)), np.zeros(1), np.ones(1)),
    ),
    _numbers(TruncatedLaplaceMechanism.of_budget(1.0, 2.0, 0.1)),
    _numbers(TruncatedGaussianMechanism.of_budget(1.0, 2.0, 0.1)),
    _numbers(GaussianMechanism(1.0, 1.0)),
    _weighted((1.0, 1.5, 2.0, 2.5, 3.0, 3.5)),
    Mechanical("Euclidean Laplace mechanism, a number", Pair(_OF_VECTORS, np.zeros(1), np.ones(1))),
    Mechanical(
        "Euclidean Laplace mechanism, a vector",
        Pair(_OF_VECTORS, np.zeros(2), np.full(2, math.sqrt(0.5))),
        another_law=with_law(lambda m, rng, shape: rng.laplace(0, m.scale, shape)),
        rare=3,
    ),
]

# faults of the code


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    with mock.patch.object(owner, name, value):
        yield


def replaced(owner: Any, name: str, value: Any) -> Callable[[], Any]:
    """Another attribute in place of one."""
    return partial(_replaced, owner, name, value)


def left_as_they_are(simplex: Any, *bounds_and_block: Any, **options: Any) -> RowsOnSimplex:
    """Rows of a block without any scaling."""
    block = bounds_and_block[-1]
    return RowsOnSimplex(block, simplex, np.ones(len(block.rhs)), block.rhs)


#: Rows on the simplex that are not scaled to the same range.
NOT_OF_EQUAL_RANGE = replaced(RowsOnSimplex, "of_equal_range", staticmethod(left_as_they_are))


def of_any_norm(self: Any, build: Any, *arguments: Any, **options: Any) -> None:
    """Rows on the grid that keep their own norm, in public units; none is left out."""
    scaled, unit = self._scaled, options.get("unit") or 1.0
    self.largest_square = math.inf
    self._scaled = lambda part: (np.full(len(part.sums()), 1 / unit), scaled(part)[1])
    build(self, *arguments, **options)


def _unscaled(rows: Any) -> Callable[[], Any]:
    """Rows of equal norm that keep their own, in public units."""
    build = rows.__init__
    if issubclass(rows, RowsOnGrid):
        return replaced(rows, "__init__", partialmethod(of_any_norm, build))

    def init(self: Any, block: Any, **options: Any) -> None:
        build(self, block, **options)
        self._scale = np.full_like(self._scale, 1 / (options.get("unit") or 1.0))
        self._rhs = self._scale * block.rhs

    return replaced(rows, "__init__", init)


def stops_when(done: Callable[[Any], bool]) -> Callable[..., Status]:
    """A driver that looks at the private rows after each round, and stops when all is well."""

    def drive(solver: Any, *, progress: bool, time_limit: float | None) -> Status:
        for t in range(solver.rounds):
            solver.step(t)
            if done(solver.released().x):
                break
        return Status.COMPLETED

    return drive


@contextmanager
def _impatient() -> Iterator[None]:
    """:func:`privlp.solve` that stops as soon as all rows hold."""
    programs: list[LinearProgram] = []
    original = LinearProgram.rows

    def rows(lp: LinearProgram) -> Any:
        programs.append(lp)
        return original(lp)

    done = stops_when(lambda x: bool((programs[-1].A @ x <= programs[-1].b).all()))
    module = import_module("privlp.solve")
    with mock.patch.object(LinearProgram, "rows", rows), mock.patch.object(module, "drive", done):
        yield


ONE_ROUND_ONLY = "a single release, without rounds"
ONE_DRAW = "a single draw"
NO_MINIMISER = "nothing private is minimised"
NO_ROWS_SCALED = "no rows are scaled"
SAME_BOUND = "records that are replaced, added or removed have the same bound"

#: Under add/remove the number of rows is private: a twin that asks the program for it.
_TRUE_NUMBER_OF_ROWS = replaced(ConstraintPrivate, "public_rows", lambda self, form: form.n_private)


# whole constraints

_LONG = 10.0
_N = 20


def _whole(
    row: Any, b: float, *, n: int = _N, others: float = 1.0, slack: float = 1e6, **options: Any
) -> LinearProgram:
    """One row of interest; n - 1 constant ones, which move nothing."""
    A = np.array([row, *[[others] * len(row)] * (n - 1)], dtype=float)
    return LinearProgram(np.ones(len(row)), A, np.array([b, *[slack] * (n - 1)]), **options)


def _flipped(
    b: float = -1e6, size: float = _LONG, **options: Any
) -> tuple[LinearProgram, LinearProgram]:
    """A row that is violated everywhere is replaced by its opposite."""
    return _whole([size, -size], b, **options), _whole([-size, size], b, **options)


def _with_and_without(**options: Any) -> tuple[LinearProgram, LinearProgram]:
    """A row that is there, or not, under add/remove."""
    relation = ConstraintPrivate("add-remove", nominal_n=_N)
    return tuple(
        _whole([_LONG, -_LONG], -1e6, n=n, neighbours=relation, **options) for n in (30, 29)
    )  # type: ignore[return-value]


def _satisfied_or_not(**options: Any) -> tuple[LinearProgram, LinearProgram]:
    return _whole([_LONG, -_LONG], 1e6, **options), _whole([_LONG, -_LONG], -1e6, **options)


def _solve(
    method: str, eps: float, delta: float, s: float | None = None, **options: Any
) -> Callable[[LinearProgram], Any]:
    return lambda lp: privlp.solve(lp, eps, delta, s, method=method_of(method), rng=0, **options)


def _faults(**known: Patch | str) -> dict[Bug, Patch | str]:
    """Faults by the names of :class:`Bug`; what is left out does not apply."""
    usual = {
        "SCALE": NO_ROWS_SCALED,
        "RELATION": SAME_BOUND,
        "STOP": ONE_ROUND_ONLY,
        "MINIMISER": NO_MINIMISER,
    }
    return {Bug[name]: fault for name, fault in {**usual, **known}.items()}


_STOPS = Patch(_impatient, _satisfied_or_not())
_STOPS_IN_A_BOX = Patch(_impatient, _satisfied_or_not(bounds=(0, 1)))
_FOLLOWS_N = Patch(_TRUE_NUMBER_OF_ROWS, _with_and_without())


def _sums_of_removed_records(
    self: ConstraintPrivate, largest: float, rows_of_one_record: int
) -> float:
    return rows_of_one_record * largest


_REMOVED = replaced(ConstraintPrivate, "sum_sensitivity", _sums_of_removed_records)


_SUM = "release the sum of violated rows"

WHOLE_CONSTRAINTS: list[Subject] = [
    Played(
        "dmw: selection",
        frozenset(["dmw"]),
        _solve("dmw", 1.0, 1e-6, 19.9, alpha=0.045, opt=1.0),
        _flipped(b=0.0),
        "select a vertex",
        _faults(SCALE=Patch(NOT_OF_EQUAL_RANGE), RELATION=_FOLLOWS_N, STOP=_STOPS),
    ),
    Played(
        "dmw-published: selection",
        frozenset(["dmw-published"]),
        _solve("dmw-published", 1.0, 1e-6, 19.9, alpha=8.0, opt=1.0, width=(_LONG, 1.0)),
        _flipped(b=0.0, slack=1.0),
        "select a vertex",
        _faults(
            SCALE=Patch(
                replaced(published, "rows_within_bounds", left_as_they_are),
                _flipped(b=0.0, size=3 * _LONG),
            ),
            RELATION=_FOLLOWS_N,
            STOP=_STOPS,
        ),
        sharp=0.6,
    ),
]


# perturbed programs

_PERTURBED = partial(_solve, "perturbed", 1.0, 1e-6)
_PERTURB, _CHARGES = "perturb the convex program", import_module("privlp.methods.perturbed.charges")
_SECRET_TERM, _ROWS_ARE_SCALED = _CHARGES.secret_term, RowsInCoordinates.__init__


def _secret_term_of_removed_records(*request: Any) -> Any:
    found = _SECRET_TERM(*request)
    return replace(
        found, sensitivity=found.sensitivity / 2, sigma=found.sigma / 2, parts=found.parts // 2
    )


def _as_they_are_in_coordinates(
    self: Any, block: Any, region: Any, unit: Any = None, largest_price: Any = None, sign: int = 0
) -> None:
    _ROWS_ARE_SCALED(self, block, region, unit, largest_price, sign)
    divisor, varies, below = _divisors(block, region, unit)
    times = np.where(varies, divisor / below, 1.0)
    self.G, self.r = times[:, None] * self.G, times * self.r


_COUNTS_ARE_CHEAP = (
    "only counts are drawn several times, for a share of the price that a lower bound does not see:"
    " tests/test_perturbed_privacy.py"
)
_OF_PERTURBED = _faults(
    SCALE=Patch(replaced(RowsInCoordinates, "__init__", _as_they_are_in_coordinates)),
    RELATION=Patch(replaced(_CHARGES, "secret_term", _secret_term_of_removed_records)),
    STOP=_STOPS_IN_A_BOX,
    MINIMISER="its error is covered by a draw of its own: tests/test_perturbed_privacy.py",
    COUNT=_COUNTS_ARE_CHEAP,
)
PERTURBED: list[Subject] = [
    Played(
        "perturbed: secret term",
        frozenset(["perturbed"]),
        _PERTURBED(2.0),
        _flipped(bounds=(0, 1)),
        _PERTURB,
        _OF_PERTURBED,
    ),
    Played(
        "perturbed, soft rows: secret term",
        frozenset(["perturbed"]),
        _PERTURBED(width=_LONG * math.sqrt(2)),
        _flipped(bounds=(0, 1), penalty=1.0),
        _PERTURB,
        {**_OF_PERTURBED, Bug.STOP: "the stages are those of the row above"},
    ),
    Played(
        "perturbed: count",
        frozenset(["perturbed"]),
        _PERTURBED(2.0),
        _satisfied_or_not(bounds=(0, 1)),
        "count missed rows",
        _faults(
            SCALE="a count does not see how long rows are",
            STOP=_STOPS_IN_A_BOX,
            COUNT=_COUNTS_ARE_CHEAP,
        ),
    ),
]


def of_one_sign(
    one: Any, other: Any, *, b: float = -1e12, unit: float = _LONG, **options: Any
) -> tuple[LinearProgram, LinearProgram]:
    """One row is replaced by another, among rows that are known to have one sign, and long."""
    A = np.tile(np.eye(4), (_N // 4, 1)) * unit
    side = np.array([b, *[1e12] * (_N - 1)])
    return tuple(
        LinearProgram(np.ones(4), np.vstack([[row], A[1:]]), side, **options)
        for row in (one, other)
    )  # type: ignore[return-value]


_FIRST, _SECOND = _LONG * np.eye(4)[:2]
# a chain of descents

_CHAIN = partial(_solve, "chain", 1.0, 1e-6)(2.0)
_OF_CHAIN = import_module("privlp.methods.chain.charges")
_LOUD_CHAIN = partial(_solve, "chain", 500.0, 1e-6)(2.0)  # the signs of 40 rows are told


def _passed_or_not() -> tuple[LinearProgram, LinearProgram]:
    """A row that passes through the cheapest point, where the search starts, or far from it."""
    return tuple(_whole([_LONG] * 4, b, bounds=(0, 1)) for b in (0.0, 1e12))  # type: ignore[return-value]


def _of_any_sign_in_coordinates(
    self: Any, block: Any, region: Any, unit: Any = None, largest_price: Any = None, sign: int = 0
) -> None:
    """Rows of which none is left out, whatever sign the entries are said to have."""
    _ROWS_ARE_SCALED(self, block, region, unit, largest_price)


CHAIN: list[Subject] = [
    Played(
        "chain: slopes",
        frozenset(["chain"]),
        partial(_solve, "chain", 4.0, 1e-6)(2.0),
        _flipped(bounds=(0, 1)),
        "sum the slopes of violations",
        _faults(
            SCALE=Patch(replaced(RowsInCoordinates, "__init__", _as_they_are_in_coordinates)),
            RELATION=Patch(replaced(_OF_CHAIN, "secret_term", _secret_term_of_removed_records)),
            STOP=_STOPS_IN_A_BOX,
        ),
    ),
    *(
        Played(
            f"chain: {purpose}",
            frozenset(["chain"]),
            _CHAIN,
            _satisfied_or_not(bounds=(0, 1)),
            purpose,
            _faults(
                SCALE="a count does not see how long rows are",
                STOP="the rounds are those of the row above",
            ),
        )
        for purpose in (
            "count missed rows on a way",
            "count missed rows away from rows",
            "count rows by their slack",
            "count missed rows between stages",
            "count missed rows in the last search",
            "count the rows that the answer misses",
        )
    ),
    *(
        Played(
            f"chain: {purpose}",
            frozenset(["chain"]),
            _LOUD_CHAIN,
            pair,
            purpose,
            _faults(SCALE="a count does not see how long rows are", STOP="as many as were planned"),
        )
        for purpose, pair in (
            ("count rows near a point", _passed_or_not()),
            ("count rows near a point, by variable", _passed_or_not()),
            (
                "count rows by their signs",
                tuple(_whole([size] * 4, 1e6, others=0.0) for size in (_LONG, -_LONG)),
            ),
        )
    ),
    Played(
        "chain, rows of one sign: slopes",
        frozenset(["chain"]),
        _LOUD_CHAIN,
        of_one_sign(_FIRST, _SECOND, b=-1e12, bounds=(0, 1)),
        "sum the slopes of violations",
        _faults(
            SCALE=Patch(
                replaced(RowsInCoordinates, "__init__", _of_any_sign_in_coordinates),
                of_one_sign(_FIRST, -_FIRST, b=-1e12, bounds=(0, 1)),
            ),
            RELATION=Patch(replaced(_OF_CHAIN, "secret_term", _secret_term_of_removed_records)),
            STOP="the rounds are those of the row above",
        ),
    ),
]

# staged descents

_STAGED = partial(_solve, "staged", 1.0, 1e-6, 2.0)
_COUNT = "count violated rows"
_STAGED_ROUNDS = "the rounds are those of the row above"


_ROWS_HAVE_ONE_SIGN = RowsOfOneSign.__init__


def of_any_sign(self: Any, *arguments: Any, **options: Any) -> None:
    """Rows in the units of one sign, with none left out: as long as they are, and of any sign."""

    def scaled(part: Any) -> Any:
        none = np.zeros_like(part.sums())
        norm = np.sqrt(part.squares_about(none, 0))
        return np.divide(math.sqrt(2.0), norm, out=np.zeros_like(norm), where=norm > 0), none

    self._scaled = scaled
    _ROWS_HAVE_ONE_SIGN(self, *arguments, **options)


STAGED: list[Subject] = [
    Played(
        "staged: sum",
        frozenset(["staged"]),
        _STAGED(),
        _flipped(b=-1e12),
        _SUM,
        _faults(SCALE=Patch(_unscaled(RowsOfEqualNorm)), RELATION=Patch(_REMOVED), STOP=_STOPS),
    ),
    Played(
        "staged, rows of one sign: sum",
        frozenset(["staged"]),
        _STAGED(),
        of_one_sign(_FIRST, _SECOND, b=-1e12),
        _SUM,
        _faults(
            SCALE=Patch(_unscaled(RowsOfOneSign), of_one_sign(_FIRST, _SECOND, b=-1e12)),
            RELATION=Patch(_REMOVED),
            STOP=_STAGED_ROUNDS,
        ),
    ),
    Played(
        "staged: signs",
        frozenset(["staged"]),
        _STAGED(),
        (
            _whole(_LONG * np.eye(40)[0], 1e6, others=0.0),
            _whole(-_LONG * np.eye(40)[0], 1e6, others=0.0),
        ),
        "sum the signs of rows",
        _faults(
            SCALE="the signs of a row and how much it varies do not depend on its length",
            RELATION="signs are asked for only where records are replaced",
            STOP=_STAGED_ROUNDS,
        ),
    ),
    Played(
        "staged: count",
        frozenset(["staged"]),
        _STAGED(),
        _satisfied_or_not(),
        _COUNT,
        _faults(SCALE="a count does not see how long rows are", STOP=_STAGED_ROUNDS),
    ),
]

# numbers that move a little

_D = 0.5
_RANGE = {"lower": -20, "upper": 20}


def _numbers_of(
    relation: Any, *, n: int = 1, d: int = 1, A: Any = 0.0, b: Any = 0.0, c: Any = 0.0
) -> tuple[Any, Any]:
    """A program, and its neighbour at these distances."""
    options, cost = {"bounds": (0, 10), "neighbours": relation}, -np.ones(d)
    return (
        LinearProgram(cost, np.ones((n, d)), np.full(n, 4.0), **options),
        LinearProgram(cost + c, np.ones((n, d)) + A, np.full(n, 4.0) + b, **options),
    )


def _scalar(norm: str) -> ScalarPrivate:
    return ScalarPrivate(_D, norm, lower=0, upper=100)


def _row() -> RowPrivate:
    return RowPrivate(_D, lower=-100, upper=100)


def _column() -> ColumnPrivate:
    return ColumnPrivate(_D, lower=-100, upper=100)


def _first(n: int) -> np.ndarray:
    """A change of one of n costs."""
    return _D * np.eye(n)[0]


_USER_UNITS = "numbers are released in the user's units"
#: Neighbours of one relation, in a program that declares another.
_SWAPPED = {
    "b": Patch(data=_numbers_of(_scalar("1"), n=4, b=_D)),
    "A": Patch(data=_numbers_of(_column(), d=4, A=np.full((1, 4), _D))),
    "c": "costs have one relation",
}
_NUMBERS = {
    "b": _numbers_of(_scalar("1"), n=3, b=_D * np.eye(3)[0]),
    "A": _numbers_of(_row(), d=1, n=3, A=_D * np.eye(3)[:, :1]),
    "c": _numbers_of(ObjectivePrivate(_D, lower=-9, upper=9), d=3, c=_first(3)),
}
_NAMES = {"b": "right-hand sides", "A": "coefficients", "c": "costs"}


def _on_numbers(method: str, part: str, eps: float, delta: float) -> Played:
    name = f"{method}: {part}" + (", Gaussian" if method == "direct-noise" and delta else "")
    faults = _faults(SCALE=_USER_UNITS, RELATION=_SWAPPED[part])
    faults[Bug.COUNT] = ONE_DRAW
    return Played(
        name, frozenset([method]), _solve(method, eps, delta), _NUMBERS[part], _NAMES[part], faults
    )


def _one_number(method: str, part: str, eps: float, delta: float) -> Played:
    """The price of truncated Gaussian noise is sharpest where one number alone is private."""
    subject = _on_numbers(method, part, eps, delta)
    subject.data = {
        "b": _numbers_of(_scalar("1"), b=_D),
        "A": _numbers_of(_row(), A=_D),
        "c": _numbers_of(ObjectivePrivate(_D, lower=-9, upper=9), c=_D),
    }[part]
    return subject


def _measured_slack(purpose: str) -> Played:
    """The two releases of the method of measured slacks."""
    subject = _on_numbers("measured-slack", "A", 1.0, 0.02)
    subject.name, subject.purpose = f"measured-slack: {purpose}", purpose
    return subject


def _gaussian_numbers() -> Played:
    subject = _on_numbers("direct-noise", "b", 2.0, 0.02)
    subject.data = _numbers_of(_scalar("inf"), n=16, b=_D)
    return subject


_COST = np.array([1.0, 2.0])
_OPT = 6.0


def _weights(
    relation: Any, rise: float, *, A: Any = 0.0, b: Any = 0.0, d: int = 2
) -> tuple[LinearProgram, LinearProgram]:
    """Two equal rows, but that the violation of the first rises by `rise`, from below the other to above."""
    cost, base, rhs = np.resize(_COST, d), np.ones((2, d)), np.array([4.0 + rise / 2, 4.0])
    return LinearProgram(cost, base, rhs, neighbours=relation), LinearProgram(
        cost, base + A, rhs + b, neighbours=relation
    )


def _violated(relation: Any, A: np.ndarray) -> tuple[LinearProgram, LinearProgram]:
    """The first row is the one that is selected."""
    cost, base, rhs = np.full(A.shape[1], 0.5), np.ones(A.shape), np.array([-90.0, 90.0])
    return LinearProgram(cost, base, rhs, neighbours=relation), LinearProgram(
        cost, base + A, rhs, neighbours=relation
    )


def _before_the_change_of_variables(kind: Any) -> Callable[[], Any]:
    change = kind.row_change
    return replaced(
        kind, "row_change", lambda self, form, scale: change(self, form, np.sign(scale))
    )


def _without_the_size_of_x(self: Any, form: Any) -> Callable[[Any], float]:
    return lambda x: self.sensitivity


_UP = _D * np.array([[1.0], [0.0]])
_MW = partial(_solve, "mw", alpha=30.0)
_SELECT, _SELECTED = "select a violated row", "release the selected row"

_MOVING = (
    ScalarPrivate(_D, "inf", lower=-100, upper=100),
    ScalarPrivate(_D, "1", lower=-100, upper=100),
)
_ROW, _COLUMN = RowPrivate(_D, **_RANGE), ColumnPrivate(_D, **_RANGE)
#: At the first point the rows hold, or do not.
_MW_STOPS = Patch(
    _impatient,
    tuple(
        LinearProgram(_COST, np.ones((2, 2)), [b, 90.0], neighbours=_MOVING[0])
        for b in (4.75, 4.25)
    ),
)

SMALL_CHANGES: list[Subject] = [
    *(_on_numbers("direct-noise", part, 2.0, 0.0) for part in "bAc"),
    _gaussian_numbers(),
    *(_on_numbers("truncated-laplace", part, 2.0, 0.1) for part in "bAc"),
    *(_one_number("truncated-gaussian", part, 2.0, 0.1) for part in "bAc"),
    *(_measured_slack(purpose) for purpose in ("coefficients", "measure the slacks")),
    _on_numbers("truncated-laplace-published", "b", 2.0, 0.2),
    *(_on_numbers("quantile-noise", part, 2.0, 0.0) for part in "bAc"),
    Played(
        "mw: selection, b private",
        frozenset(["mw"]),
        _solve("mw", 1.0, 1e-6, alpha=0.5, opt=_OPT),
        _weights(_MOVING[0], 2 * _D, b=[-_D, _D]),
        _SELECT,
        _faults(
            SCALE="violations are scored in the user's units",
            STOP=_MW_STOPS,
            RELATION=Patch(data=_weights(_MOVING[1], 2 * _D, b=[-_D, _D])),
        ),
    ),
    Played(
        "mw: selection, A private",
        frozenset(["mw"]),
        _MW(1.0, 1e-6, opt=_OPT),
        _weights(_ROW, _D * 4.5, A=np.outer([_D, 0.0], [1.0, 1.0])),
        _SELECT,
        _faults(
            SCALE=Patch(replaced(RowPrivate, "violation_span", _without_the_size_of_x)),
            STOP="the rounds are those of the row above",
            RELATION=Patch(data=_weights(_ROW, _D * 9, A=np.outer([_D, -_D], [1.0, 0.0]))),
        ),
    ),
    Played(
        "mw: row, Laplace",
        frozenset(["mw"]),
        _MW(1.0, 0.0, opt=1.0),
        _violated(_COLUMN, _UP @ np.eye(2)[:1]),
        _SELECTED,
        _faults(
            SCALE=Patch(_before_the_change_of_variables(ColumnPrivate)),
            STOP="the rounds are those of the row above",
            RELATION=Patch(data=_violated(_COLUMN, _UP @ np.ones((1, 2)))),
        ),
    ),
    Played(
        "mw: row, Gaussian",
        frozenset(["mw"]),
        _MW(1.0, 1e-6, opt=1.0),
        _violated(_ROW, _UP @ np.ones((1, 30))),
        _SELECTED,
        _faults(
            SCALE=Patch(_before_the_change_of_variables(RowPrivate)),
            STOP="the rounds are those of the row above",
            RELATION="a column moves a row by less than a row does",
        ),
    ),
]

# reports


def _quality(lp: LinearProgram) -> Any:
    return privlp.quality(lp, np.array([0.5, 0.5]), 1.0, rng=0)


REPORTS: list[Subject] = [
    Played(
        "quality: number of rows",
        frozenset(["quality"]),
        _quality,
        _satisfied_or_not(),
        "count violated rows",
        {**_faults(SCALE="a count does not see how long rows are"), Bug.COUNT: ONE_DRAW},
    ),
    Played(
        "quality: largest violation",
        frozenset(["quality"]),
        _quality,
        _numbers_of(_MOVING[1], n=3, d=2, b=[-_D, 0, 0]),
        "largest violation",
        {
            **_faults(SCALE=_USER_UNITS, RELATION="both norms bound the change of one violation"),
            Bug.COUNT: ONE_DRAW,
        },
    ),
]

# allocations


def _wanting(*persons: Any) -> Allocation:
    """People who come and go, and want one of two supplies, of which there is plenty."""
    relation = PersonPrivate("add-remove", nominal_n=9)
    return Allocation(np.array(persons), [60.0] * 2, largest_value=1.0, neighbours=relation)


def _take_as_they_are(values: Any, uses: Any, limits: Any, closed: Any, units: Any) -> People:
    return People(values / units[0], 3 * uses / units[1], limits / units[2])


_OTHERS = [[-1.0, -1.0]] * 9
_ALLOCATIONS_STOP = "the number of stages follows from public numbers, and no loop looks at data"

ALLOCATIONS: list[Subject] = [
    Played(
        "allocate: secret term",
        frozenset(["allocate", "LaplaceObjectivePerturbation"]),
        lambda allocation: privlp.allocate(allocation, 1.0, 0.0, feasible=None, rng=0),
        (_wanting([1.0, -1.0], *_OTHERS), _wanting(*_OTHERS)),
        "prices",
        _faults(
            SCALE=Patch(
                replaced(import_module("privlp.allocation.people"), "people_of", _take_as_they_are)
            ),
            RELATION="no relation has less noise: tests/test_allocation_privacy.py has the other",
            STOP=_ALLOCATIONS_STOP,
            MINIMISER="its error is covered by a draw of its own: tests/test_allocation_privacy.py",
            COUNT="each mechanism is drawn once",
        ),
    )
]

SUBJECTS = [
    *MECHANISMS,
    *WHOLE_CONSTRAINTS,
    *PERTURBED,
    *CHAIN,
    *STAGED,
    *SMALL_CHANGES,
    *REPORTS,
    *ALLOCATIONS,
]
