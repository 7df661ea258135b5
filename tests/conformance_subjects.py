"""Every mechanism, and the draws of every method, with the pair that moves its release farthest.

A new mechanism or method needs one entry here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, partialmethod
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

import privlp
from privlp import ConstraintPrivate, LinearProgram, RowPrivate, ScalarPrivate, privacy
from privlp.allocation.demand import People
from privlp.methods.published import dmw as published
from privlp.privacy.mechanisms.additive import LaplaceCount
from privlp.relations.numbers import PrivateNumbers
from privlp.rows.in_coordinates import RowsInCoordinates, _divisors
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, RowsOnGrid, RowsOnSimplex
from privlp.status import Status
from tests import conformance_kit
from tests.conformance_kit import Bug, Claim, Mechanical, Pair, Patch, Played, Subject, with_law
from tests.programs import method_of

# mechanisms


def _numbers(mechanism: Any, name: str | None = None, count: int = 1) -> Mechanical:
    """An additive mechanism on one number, or one for each draw, that moves by the sensitivity."""
    pair = Pair(conformance_kit.sharpest(mechanism), np.zeros(count), np.ones(count))
    return Mechanical(name or mechanism.name, pair)


def _selection(candidates: int, claim: Claim | None = None, **options: Any) -> Mechanical:
    """One score rises by the sensitivity, all the others fall by it."""
    first = np.eye(candidates)[0]
    mechanism = privacy.ExponentialMechanism(1.0, 4.0 if claim is None else claim.eps)
    name = f"exponential mechanism, {candidates} candidates{'' if claim is None else ', pure'}"
    return Mechanical(name, Pair(mechanism, 1 - first, first), claim, **options)


def _bounded_noise(mechanism: Any, scores: Any, randomness: Any, runs: int) -> np.ndarray:
    """The maximum under uniform noise of about the right size."""
    width = 4 * mechanism.sensitivity / mechanism.eps
    return np.argmax(scores + randomness.generator.uniform(0, width, (runs, len(scores))), axis=1)


_OF_ALL = privacy.TruncatedSupNormMechanism.of_budget(1.0, 2.0, 0.1, 2)
_OF_VECTORS = privacy.EuclideanLaplaceMechanism(1.0, 0.4)

_TWICE = frozenset([Bug.TWICE])
MECHANISMS: list[Subject] = [
    _selection(2),
    _selection(50, Claim(2.0), another_law=_bounded_noise, shown_elsewhere=_TWICE, rare=10),
    _numbers(privacy.LaplaceMechanism(1.0, 1.0)),
    _numbers(LaplaceCount(1.0, 1.0), "Laplace mechanism, a count"),
    _numbers(privacy.TruncatedLaplaceMechanism.of_budget(1.0, 2.0, 0.1)),
    _numbers(privacy.TruncatedGaussianMechanism.of_budget(1.0, 2.0, 0.1)),
    _numbers(privacy.TruncatedSupNormMechanism.of_budget(1.0, 2.0, 1e-6, 1)),
    _numbers(privacy.GaussianMechanism(1.0, 1.0)),
    _numbers(privacy.WeightedGaussianMechanism(1.0, 1.0, (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)), count=6),
    Mechanical("Euclidean Laplace mechanism, a number", Pair(_OF_VECTORS, np.zeros(1), np.ones(1))),
    Mechanical(
        "Euclidean Laplace mechanism, a vector",
        Pair(_OF_VECTORS, np.zeros(2), np.full(2, math.sqrt(0.5))),
        another_law=with_law(lambda m, rng, shape: rng.laplace(0, m.scale, shape)),
        rare=3,
    ),
    Mechanical(
        "truncated sup-norm mechanism, a vector",
        Pair(_OF_ALL, np.zeros(2), np.ones(2)),
        shown_elsewhere=frozenset([Bug.TENTH, Bug.LAW]),
    ),
]

# faults of the code


def replaced(owner: Any, name: str, value: Any) -> Callable[[], Any]:
    """Another attribute in place of one."""
    return lambda: mock.patch.object(owner, name, value)


def together(*faults: Callable[[], Any]) -> Callable[[], Any]:
    """Several of these at once."""

    @contextmanager
    def patched() -> Iterator[None]:
        with ExitStack() as patches:
            for fault in faults:
                patches.enter_context(fault())
            yield

    return patched


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
Programs = tuple[LinearProgram, LinearProgram]


def _whole(
    row: Any, b: float, *, n: int = _N, others: float = 1.0, slack: float = 1e6, **options: Any
) -> LinearProgram:
    """One row of interest; n - 1 constant ones, which move nothing."""
    A = np.vstack([row, np.full((n - 1, len(row)), others)])
    return LinearProgram(np.ones(len(row)), A, [b, *[slack] * (n - 1)], **options)


def _flipped(b: float = -1e6, size: float = _LONG, **options: Any) -> Programs:
    """A row that is violated everywhere is replaced by its opposite."""
    return _whole([size, -size], b, **options), _whole([-size, size], b, **options)


def _with_and_without() -> Programs:
    """A row that is there, or not, under add/remove."""
    relation = ConstraintPrivate("add-remove", nominal_n=_N)
    one, other = (_whole([_LONG, -_LONG], -1e6, n=n, neighbours=relation) for n in (30, 29))
    return one, other


def _soft_with_and_without() -> Programs:
    """The same for a soft row at the largest price."""
    relation = ConstraintPrivate("add-remove", nominal_n=_N, largest_penalty=1.0)
    options: dict[str, Any] = {"neighbours": relation, "bounds": (0, 1), "penalty": 1.0}
    one = _whole([_LONG, -_LONG], -1e6, n=30, **options)
    rows = ("A", "b", "row_lower", "private", "penalty")
    return one, one.changed(**{name: getattr(one, name)[1:] for name in rows})


def _satisfied_or_not(**options: Any) -> Programs:
    return _whole([_LONG, -_LONG], 1e6, **options), _whole([_LONG, -_LONG], -1e6, **options)


def _solve(
    method: str, eps: float, delta: float, s: float | None = None, **options: Any
) -> Callable[[LinearProgram], Any]:
    return lambda lp: privlp.solve(lp, eps, delta, s, method=method_of(method), rng=0, **options)


def _faults(**known: Patch | str) -> dict[Bug, Patch | str]:
    """Faults by the names of :class:`Bug`; what is left out does not apply."""
    usual = {"SCALE": NO_ROWS_SCALED, "RELATION": SAME_BOUND}
    usual |= {"STOP": ONE_ROUND_ONLY, "MINIMISER": NO_MINIMISER}
    return {Bug[name]: fault for name, fault in {**usual, **known}.items()}


_STOPS = Patch(_impatient, _satisfied_or_not())
_STOPS_IN_A_BOX = Patch(_impatient, _satisfied_or_not(bounds=(0, 1)))
_FOLLOWS_N = Patch(_TRUE_NUMBER_OF_ROWS, _with_and_without())


def _sums_of_removed_records(self: Any, largest: float, rows_of_one_record: int) -> float:
    return rows_of_one_record * largest


_REMOVED = replaced(ConstraintPrivate, "sum_sensitivity", _sums_of_removed_records)
_SUM = "release the sum of violated rows"
_LENGTH_UNSEEN = "a count does not see how long rows are"
_ROUNDS_ABOVE = "the rounds are those of the row above"


def played(
    *what: Any,
    sharp: float = 0.95,
    covers: str = "",
    answer: conformance_kit.Answer | None = None,
    rare: int = 1,
    **faults: Any,
) -> Played:
    """The draw of the method, estimator or function with which the name begins.

    `what` are the name, the call, two neighbouring data and the purpose of the draw.
    """
    name, call, data, purpose = what
    covered = frozenset({re.split("[:,]", name)[0], covers} - {""})
    return Played(name, covered, call, data, purpose, _faults(**faults), sharp, answer, rare)


_OUT_OF_BOUNDS = replaced(published, "rows_within_bounds", left_as_they_are)
WHOLE_CONSTRAINTS: list[Subject] = [
    played(
        *("dmw: selection", _solve("dmw", 1.0, 1e-6, 19.9, alpha=0.045, opt=1.0)),
        *(_flipped(b=0.0), "select a vertex"),
        SCALE=Patch(NOT_OF_EQUAL_RANGE),
        RELATION=_FOLLOWS_N,
        STOP=_STOPS,
    ),
    played(
        "dmw-published: selection",
        _solve("dmw-published", 1.0, 1e-6, 19.9, alpha=8.0, opt=1.0, width=(_LONG, 1.0)),
        *(_flipped(b=0.0, slack=1.0), "select a vertex"),
        SCALE=Patch(_OUT_OF_BOUNDS, _flipped(b=0.0, size=3 * _LONG)),
        RELATION=_FOLLOWS_N,
        STOP=_STOPS,
        sharp=0.6,
    ),
]


# perturbed programs

_PERTURBED = partial(_solve, "perturbed", 1.0, 1e-6)
_PERTURB, _CHARGES = "perturb the convex program", import_module("privlp.methods.perturbed.charges")
_SECRET_TERM, _ROWS_ARE_SCALED = _CHARGES.secret_term, RowsInCoordinates.__init__


def _secret_term_of_removed_records(*request: Any) -> Any:
    found = _SECRET_TERM(*request)
    half = {name: getattr(found, name) / 2 for name in ("sensitivity", "sigma")}
    return replace(found, **half, parts=found.parts // 2)


def _secret_term_of_half_a_record(*request: Any) -> Any:
    found = _SECRET_TERM(*request)
    return replace(found, sensitivity=found.sensitivity / 2, sigma=found.sigma / 2)


def _as_they_are_in_coordinates(
    self: Any, block: Any, region: Any, unit: Any = None, *more: Any, **named: Any
) -> None:
    _ROWS_ARE_SCALED(self, block, region, unit, *more, **named)
    divisor, varies, below = _divisors(block, region, unit)
    times = np.where(varies, divisor / below, 1.0)
    self.G, self.r = times[:, None] * self.G, times * self.r


def _hard_rows_weigh_more(self: Any, block: Any, *given: Any, **named: Any) -> None:
    """Rows of which the hard ones have a price above the one that is taken for the largest."""
    _ROWS_ARE_SCALED(self, block, *given, **named)
    self.weight = np.where(np.isinf(block.price), 2.0, self.weight)


_COUNTS_ARE_CHEAP = (
    "only counts are drawn several times, for a share of the price that a lower bound does not see:"
    " tests/test_perturbed_privacy.py"
)
_OF_PERTURBED: dict[str, Any] = {
    "SCALE": Patch(replaced(RowsInCoordinates, "__init__", _as_they_are_in_coordinates)),
    "RELATION": Patch(replaced(_CHARGES, "secret_term", _secret_term_of_removed_records)),
    "STOP": _STOPS_IN_A_BOX,
    "MINIMISER": "its error is covered by a draw of its own: tests/test_perturbed_privacy.py",
    "COUNT": _COUNTS_ARE_CHEAP,
}
_WIDTH = _LONG * math.sqrt(2)
_IN_BOX, _HOLD_OR_NOT = _flipped(bounds=(0, 1)), _satisfied_or_not(bounds=(0, 1))
_HARD_AND_SOFT = [math.inf, *[1.0] * (_N // 2), *[math.inf] * (_N // 2 - 1)]
_OF_COUNTS: dict[str, Any] = {"SCALE": _LENGTH_UNSEEN, "RELATION": SAME_BOUND}
_HALF_A_TERM = replaced(_CHARGES, "secret_term", _secret_term_of_half_a_record)
_HEAVY = replaced(RowsInCoordinates, "__init__", _hard_rows_weigh_more)
PERTURBED: list[Subject] = [
    played("perturbed: secret term", _PERTURBED(2.0), _IN_BOX, _PERTURB, **_OF_PERTURBED),
    *(
        played(
            *(
                f"perturbed, soft rows{which}: secret term",
                _PERTURBED(width=_WIDTH),
                pair,
                _PERTURB,
            ),
            **{**_OF_PERTURBED, "STOP": "the stages are those of the row above", **faults},
        )
        for which, pair, faults in (
            ("", _flipped(bounds=(0, 1), penalty=1.0), {}),
            (" that come and go", _soft_with_and_without(), {"RELATION": Patch(_HALF_A_TERM)}),
        )
    ),
    *(
        played(
            f"perturbed, hard rows among soft ones: {what}",
            _PERTURBED(2.0, width=_WIDTH),
            tuple(lp.changed(penalty=_HARD_AND_SOFT) for lp in pair),
            purpose,
            **{**_OF_PERTURBED, "STOP": "as many stages as planned", **faults},
        )
        for what, purpose, pair, faults in (
            ("secret term", _PERTURB, _IN_BOX, {"SCALE": Patch(_HEAVY)}),
            ("count", "count missed hard rows", _HOLD_OR_NOT, _OF_COUNTS),
        )
    ),
    played(
        *("perturbed: count", _PERTURBED(2.0), _HOLD_OR_NOT, "count missed rows"),
        **{**_OF_PERTURBED, **_OF_COUNTS, "MINIMISER": NO_MINIMISER},
    ),
]


def of_one_sign(
    one: Any, other: Any, *, b: float = -1e12, unit: float = _LONG, **options: Any
) -> tuple[LinearProgram, LinearProgram]:
    """One row is replaced by another, among rows that are known to have one sign, and long."""
    A = np.tile(np.eye(4), (_N // 4, 1)) * unit
    side = [b, *[1e12] * (_N - 1)]
    first, second = (np.vstack([[row], A[1:]]) for row in (one, other))
    return tuple(LinearProgram(np.ones(4), rows, side, **options) for rows in (first, second))  # type: ignore[return-value]


_FIRST, _SECOND = _LONG * np.eye(4)[:2]

# a chain of descents

_CHAIN = partial(_solve, "chain", 1.0, 1e-6)(2.0)
_OF_CHAIN = import_module("privlp.methods.chain.charges")
_LOUD_CHAIN = partial(_solve, "chain", 500.0, 1e-6)(2.0)  # the signs of 40 rows are told


_IN_A_BOX = _satisfied_or_not(bounds=(0, 1))
#: A row that passes through the cheapest point, where the search starts, or far from it.
_PASSED_OR_NOT = tuple(_whole([_LONG] * 4, b, bounds=(0, 1)) for b in (0.0, 1e12))


def _of_any_sign_in_coordinates(
    self: Any, block: Any, region: Any, unit: Any = None, largest_price: Any = None, sign: int = 0
) -> None:
    """Rows of which none is left out, whatever sign the entries are said to have."""
    _ROWS_ARE_SCALED(self, block, region, unit, largest_price)


CHAIN: list[Subject] = [
    played(
        "chain: slopes",
        partial(_solve, "chain", 4.0, 1e-6)(2.0),
        _flipped(bounds=(0, 1)),
        "sum the slopes of violations",
        SCALE=Patch(replaced(RowsInCoordinates, "__init__", _as_they_are_in_coordinates)),
        RELATION=Patch(replaced(_OF_CHAIN, "secret_term", _secret_term_of_removed_records)),
        STOP=_STOPS_IN_A_BOX,
    ),
    *(
        played(
            f"chain: {purpose}",
            _CHAIN,
            _IN_A_BOX,
            purpose,
            SCALE=_LENGTH_UNSEEN,
            STOP=_ROUNDS_ABOVE,
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
        played(
            f"chain: {purpose}",
            _LOUD_CHAIN,
            pair,
            purpose,
            SCALE=_LENGTH_UNSEEN,
            STOP="as many as were planned",
        )
        for purpose, pair in (
            *((f"count rows near a point{by}", _PASSED_OR_NOT) for by in ("", ", by variable")),
            (
                "count rows by their signs",
                tuple(_whole([size] * 4, 1e6, others=0.0) for size in (_LONG, -_LONG)),
            ),
        )
    ),
    played(
        "chain, rows of one sign: slopes",
        _LOUD_CHAIN,
        of_one_sign(_FIRST, _SECOND, b=-1e12, bounds=(0, 1)),
        "sum the slopes of violations",
        SCALE=Patch(
            replaced(RowsInCoordinates, "__init__", _of_any_sign_in_coordinates),
            of_one_sign(_FIRST, -_FIRST, b=-1e12, bounds=(0, 1)),
        ),
        RELATION=Patch(replaced(_OF_CHAIN, "secret_term", _secret_term_of_removed_records)),
        STOP=_ROUNDS_ABOVE,
    ),
]

# staged descents

_STAGED = partial(_solve, "staged", 1.0, 1e-6, 2.0)
_COUNT = "count violated rows"


def _of_any_sign(self: Any, part: Any) -> Any:
    """Rows in the units of one sign, with none left out: as long as they are, and of any sign."""
    none = np.zeros_like(part.sums())
    norm = np.sqrt(part.squares_about(none, self._region.size))
    return np.divide(math.sqrt(2.0), norm, out=np.zeros_like(norm), where=norm > 0), none


STAGED: list[Subject] = [
    played(
        *("staged: sum", _STAGED(), _flipped(b=-1e12), _SUM),
        SCALE=Patch(_unscaled(RowsOfEqualNorm)),
        RELATION=Patch(_REMOVED),
        STOP=_STOPS,
    ),
    *(
        played(
            f"staged, rows of one sign{which}: sum",
            *(_STAGED(), of_one_sign(_FIRST, _SECOND, b=-1e12), _SUM),
            SCALE=Patch(fault, of_one_sign(_FIRST, other, b=-1e12)),
            RELATION=Patch(_REMOVED),
            STOP=_ROUNDS_ABOVE,
        )
        for which, fault, other in (
            ("", _unscaled(RowsOfOneSign), _SECOND),
            (", believed", replaced(RowsOfOneSign, "_scaled", _of_any_sign), -_FIRST),
        )
    ),
    played(
        "staged: signs",
        _STAGED(),
        tuple(_whole(size * np.eye(40)[0], 1e6, others=0.0) for size in (_LONG, -_LONG)),
        "sum the signs of rows",
        SCALE="the signs of a row and how much it varies do not depend on its length",
        RELATION="signs are asked for only where records are replaced",
        STOP=_ROUNDS_ABOVE,
    ),
    played(
        *("staged: count", _STAGED(), _satisfied_or_not(), _COUNT),
        SCALE=_LENGTH_UNSEEN,
        STOP=_ROUNDS_ABOVE,
    ),
    played(
        "staged: rows by variable",
        _solve("staged", 20.0, 1e-6, 90.0),
        tuple(_whole(-_LONG * variable, -1e-9, n=100) for variable in np.eye(2)),
        "count rows by the variable that they need most",
        SCALE=_LENGTH_UNSEEN,
        RELATION=Patch(_REMOVED),
        STOP=_ROUNDS_ABOVE,
    ),
]

# numbers that move a little

_D = 0.5
_RANGE = {"lower": -20, "upper": 20}


def _numbers_of(
    relation: Any, *, n: int = 1, d: int = 1, A: Any = 0.0, b: Any = 0.0, c: Any = 0.0
) -> tuple[Any, Any]:
    """A program, and its neighbour at these distances."""
    one = LinearProgram(
        -np.ones(d), np.ones((n, d)), np.full(n, 4.0), bounds=(0, 10), neighbours=relation
    )
    return one, one.changed(c=one.c + c, A=one.A + A, b=one.b + b)


def _scalar(norm: str) -> ScalarPrivate:
    return ScalarPrivate(_D, norm, lower=0, upper=100)


_OF_A_ROW, _OF_A_COLUMN = (
    kind(_D, lower=-100, upper=100) for kind in (RowPrivate, privlp.ColumnPrivate)
)
_COSTS, _FIRST_OF_3 = privlp.ObjectivePrivate(_D, lower=-9, upper=9), _D * np.eye(3)[0]
_USER_UNITS = "numbers are released in the user's units"
#: Neighbours of one relation, in a program that declares another.
_SWAPPED = {
    "b": Patch(data=_numbers_of(_scalar("1"), n=4, b=_D)),
    "A": Patch(data=_numbers_of(_OF_A_COLUMN, d=4, A=np.full((1, 4), _D))),
    "c": "costs have one relation",
}
_NUMBERS = {
    "b": _numbers_of(_scalar("1"), n=3, b=_FIRST_OF_3),
    "A": _numbers_of(_OF_A_ROW, d=1, n=3, A=_FIRST_OF_3[:, None]),
    "c": _numbers_of(_COSTS, d=3, c=_FIRST_OF_3),
}
#: The price of truncated Gaussian noise is sharpest where one number alone is private.
_ONE_NUMBER = {
    "b": _numbers_of(_scalar("1"), b=_D),
    "A": _numbers_of(_OF_A_ROW, A=_D),
    "c": _numbers_of(_COSTS, c=_D),
}
#: x_0 <= 4, which is dear, and x_1 <= 4; both move.
_TWO: dict[str, Any] = {"c": [-1.0, -0.001], "A": np.eye(2), "bounds": (0, 10)}
_DEAR_AND_CHEAP = tuple(
    LinearProgram(**_TWO, b=np.full(2, b), neighbours=_scalar("inf")) for b in (4.0, 4.0 + _D)
)
_NAMES = {"b": "right-hand sides", "A": "coefficients", "c": "costs"}


def _on_numbers(
    method: str, part: str, *price: float, name: str = "", data: Any = _NUMBERS, purpose: str = ""
) -> Played:
    faults = {"SCALE": _USER_UNITS, "RELATION": _SWAPPED[part], "COUNT": ONE_DRAW}
    call, name = _solve(method, *price), f"{method}: {name or part}"
    return played(name, call, data[part], purpose or _NAMES[part], **faults)


_COST = np.array([1.0, 2.0])
_OPT = 6.0


def _weights(relation: Any, rise: float, *, A: Any = 0.0, b: Any = 0.0) -> Programs:
    """Two equal rows, but that the violation of the first rises from below the other to above."""
    return _two_rows(relation, _COST, np.array([4.0 + rise / 2, 4.0]), A + np.zeros((2, 2)), b)


def _violated(relation: Any, A: np.ndarray) -> Programs:
    """The first row is the one that is selected."""
    return _two_rows(relation, np.full(A.shape[1], 0.5), np.array([-90.0, 90.0]), A)


def _two_rows(relation: Any, cost: Any, rhs: Any, A: Any, b: Any = 0.0) -> Programs:
    base = np.ones(A.shape)
    one = LinearProgram(cost, base, rhs, neighbours=relation)
    return one, LinearProgram(cost, base + A, rhs + b, neighbours=relation)


def _before_the_change_of_variables(kind: Any) -> Callable[[], Any]:
    change = kind.row_change
    signs = lambda self, form, scale: change(self, form, np.sign(scale))  # noqa: E731
    return replaced(kind, "row_change", signs)


_UP = _D * np.array([[1.0], [0.0]])
_MW = partial(_solve, "mw", alpha=30.0)
_SELECT, _SELECTED = "select a violated row", "release the selected row"

_GAUSSIAN = _numbers_of(_scalar("inf"), n=16, b=_D)
_MOVING = tuple(ScalarPrivate(_D, norm, lower=-100, upper=100) for norm in ("inf", "1"))
_ROW, _COLUMN = RowPrivate(_D, **_RANGE), privlp.ColumnPrivate(_D, **_RANGE)
#: At the first point the rows hold, or do not.
_SIDES = tuple(np.array([b, 90.0]) for b in (4.75, 4.25))
_MW_STOPS = Patch(
    _impatient, tuple(_two_rows(_MOVING[0], _COST, of, np.zeros((2, 2)))[0] for of in _SIDES)
)

SMALL_CHANGES: list[Subject] = [
    *(_on_numbers("direct-noise", part, 2.0, 0.0) for part in "bAc"),
    _on_numbers("direct-noise", "b", 2.0, 0.02, name="b, Gaussian", data={"b": _GAUSSIAN}),
    *(_on_numbers("truncated-laplace", part, 2.0, 0.1) for part in "bAc"),
    *(_on_numbers("truncated-gaussian", part, 2.0, 0.1, data=_ONE_NUMBER) for part in "bAc"),
    *(
        _on_numbers("measured-slack", "A", 1.0, 0.02, name=purpose, purpose=purpose)
        for purpose in ("coefficients", "measure the slacks")
    ),
    played(
        *("one-margin: b", _solve("one-margin", 1.0, 0.02)),
        *(_ONE_NUMBER["b"], "measure one margin"),
        SCALE=_USER_UNITS,
        RELATION="however many numbers move, the margin moves like one",
        COUNT=ONE_DRAW,
    ),
    played(
        *("by-prices: b", _solve("by-prices", 2.0, 0.1)),
        *(_DEAR_AND_CHEAP, "right-hand sides"),
        SCALE=Patch(replaced(PrivateNumbers, "over", lambda self, scale: self)),
        RELATION=_SWAPPED["b"],
        COUNT=ONE_DRAW,
    ),
    played(
        *("truncated-sup-norm: b", _solve("truncated-sup-norm", 2.0, 0.1)),
        *(_ONE_NUMBER["b"], "right-hand sides"),
        SCALE=_USER_UNITS,
        RELATION="however many numbers move, it asks for the change of one",
        COUNT=ONE_DRAW,
    ),
    _on_numbers("truncated-laplace-published", "b", 2.0, 0.2),
    *(_on_numbers("quantile-noise", part, 2.0, 0.0) for part in "bAc"),
    played(
        "mw: selection, b private",
        *(
            _solve("mw", 1.0, 1e-6, alpha=0.5, opt=_OPT),
            _weights(_MOVING[0], 2 * _D, b=[-_D, _D]),
            _SELECT,
        ),
        SCALE="violations are scored in the user's units",
        STOP=_MW_STOPS,
        RELATION=Patch(data=_weights(_MOVING[1], 2 * _D, b=[-_D, _D])),
    ),
    played(
        "mw: selection, A private",
        _MW(1.0, 1e-6, opt=_OPT),
        *(_weights(_ROW, _D * 4.5, A=np.outer([_D, 0.0], [1.0, 1.0])), _SELECT),
        SCALE=Patch(replaced(RowPrivate, "violation_span", lambda *_: lambda x: _D)),
        STOP=_ROUNDS_ABOVE,
        RELATION=Patch(data=_weights(_ROW, _D * 9, A=np.outer([_D, -_D], [1.0, 0.0]))),
    ),
    played(
        "mw: row, Laplace",
        *(_MW(1.0, 0.0, opt=1.0), _violated(_COLUMN, _UP @ np.eye(2)[:1]), _SELECTED),
        SCALE=Patch(_before_the_change_of_variables(privlp.ColumnPrivate)),
        STOP=_ROUNDS_ABOVE,
        RELATION=Patch(data=_violated(_COLUMN, _UP @ np.ones((1, 2)))),
    ),
    played(
        "mw: row, Gaussian",
        *(_MW(1.0, 1e-6, opt=1.0), _violated(_ROW, _UP @ np.ones((1, 30))), _SELECTED),
        SCALE=Patch(_before_the_change_of_variables(RowPrivate)),
        STOP=_ROUNDS_ABOVE,
        RELATION="a column moves a row by less than a row does",
    ),
]

# reports


def _quality(lp: LinearProgram) -> Any:
    return privlp.quality(lp, np.array([0.5, 0.5]), 1.0, rng=0)


REPORTS: list[Subject] = [
    played(
        *("quality: number of rows", _quality, _satisfied_or_not(), _COUNT),
        SCALE=_LENGTH_UNSEEN,
        COUNT=ONE_DRAW,
    ),
    played(
        "quality: largest violation",
        _quality,
        _numbers_of(_MOVING[1], n=3, d=2, b=[-_D, 0, 0]),
        "largest violation",
        SCALE=_USER_UNITS,
        RELATION="both norms bound the change of one violation",
        COUNT=ONE_DRAW,
    ),
]

# allocations


def _wanting(*persons: Any) -> privlp.Allocation:
    """People who come and go, and want one of two supplies, of which there is plenty."""
    relation = privlp.PersonPrivate("add-remove", nominal_n=9)
    return privlp.Allocation(np.array(persons), [60.0] * 2, largest_value=1.0, neighbours=relation)


def _take_as_they_are(values: Any, uses: Any, limits: Any, closed: Any, units: Any) -> People:
    return People(values / units[0], 3 * uses / units[1], limits / units[2])


_OTHERS = [[-1.0, -1.0]] * 9
_ALLOCATIONS_STOP = "the number of stages follows from public numbers, and no loop looks at data"

people = import_module("privlp.allocation.people")
ALLOCATIONS: list[Subject] = [
    played(
        "allocate: secret term",
        lambda allocation: privlp.allocate(allocation, 1.0, 0.0, feasible=None, rng=0),
        (_wanting([1.0, -1.0], *_OTHERS), _wanting(*_OTHERS)),
        "prices",
        SCALE=Patch(replaced(people, "people_of", _take_as_they_are)),
        RELATION="no relation has less noise: tests/test_allocation_privacy.py has the other",
        STOP=_ALLOCATIONS_STOP,
        MINIMISER="its error is covered by a draw of its own: tests/test_allocation_privacy.py",
        COUNT="each mechanism is drawn once",
        covers="LaplaceObjectivePerturbation",
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
