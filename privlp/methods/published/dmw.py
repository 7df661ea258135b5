"""Dense multiplicative weights: tight, with published constants, and with the count score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray, real
from privlp.errors import InvalidParameterError
from privlp.game.duals import DenseDual
from privlp.game.loop import Game, ScaledRows, SelectionPlayer, as_rounds
from privlp.methods.base import COMPARED, PlannedRun, Prediction, RowsMethod
from privlp.methods.counts import grid_of
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws, ExponentialMechanism
from privlp.regions.simplex import Simplex, is_range
from privlp.rows.access import Rows
from privlp.rows.on_simplex import RowsOnSimplex
from privlp.rows.program_rows import RowBlock

_WIDTH = 2.0  # Values of a row of equal range span this on K, and no violation is larger in size.
# Assumed spread of the violations of one vertex over dual-weighted rows, near the best in trials.
_SPREAD = 0.2
_MOST_DEFAULT_ROUNDS = 2_000
# For predictions only, measured on the programs of docs/results/covering.md: the violation over the
# square of its bound, in units of half the span of a row's values; and this half span over the
# Euclidean norm of the values.
_TYPICAL_SHARE = 0.065
_HALF_SPAN_OF_A_ROW = 0.33
_PURPOSE = "select a vertex each round"  # In the ledger.


class DenseMultiplicativeWeights(RowsMethod):
    """Dense multiplicative weights with tight sensitivity and accounting.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Rows are shifted and scaled to span [-1, 1] on K (:mod:`privlp.rows.on_simplex`),
    each by numbers that depend on that row alone. So every possible row vector g has max_j g_j -
    min_j g_j <= 2, and any two differ by at most W = 2 in the sup norm. Each score is a dense
    average of such vectors, and changes by at most min(1, k/s)·2 between neighbours
    (:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity`). Sums are exact: rows
    and weights stand on public grids (:mod:`privlp.rows.access`, :mod:`privlp.game.duals`), and
    nothing is added for rounding. Right-hand sides never enter a score. Proof: ``docs/proofs.md``,
    "Dense multiplicative weights" and "Exact sums".

    *Budget.* T draws of the exponential mechanism at the largest eps' of which T fit into (eps,
    delta).

    *Rounds.* With L = ln(n/s), T rounds leave a regret of at most 4·sqrt(L/(2T)) and a selection
    error of at most (2·sensitivity/eps')·ln d each. With alpha (violation per unit of ||A_i||_2,
    at most the radius of K times the violation in units of the row's span), T makes the regret
    alpha. Otherwise T minimises the sum of the selection error and half the regret.

    *Step.* sqrt(2L/T)/0.2 per unit of violation; privacy does not depend on it.
    """

    name = "dmw"
    take_it = "whole rows are private, delta is 0, and the optimum is public"
    diameter = _WIDTH  # Largest distance between the score vectors of two rows.

    def rank(self, request: SolveRequest) -> float | None:
        """Also without an optimum if delta is 0: no other method says what is missing."""
        value = request.opt is not None and not is_range(request.opt)
        hard = request.lp.penalty is None
        return COMPARED if hard and (value or not request.has_delta) else None

    def plan(self, request: SolveRequest) -> PlannedRun:
        relation = request.constraint_private(self.name)
        if request.width is not None:
            use = "has no use with method='dmw', which needs no declared bounds; leave it out"
            raise _wrong("width", use)
        if request.opt is None and not request.has_delta:
            raise InvalidParameterError(
                "delta = 0 rules out all methods that find the optimum by themselves: 'dmw' is"
                " left, which must be given it. Give a delta, such as 1e-6 and well below 1/n;"
                " or opt, a public value of the optimum.",
                parameter="delta",
            )
        s, alpha, n = request.density(), request.accuracy(), request.n
        simplex = Simplex(request.form, request.opt)
        d = simplex.size
        k, grid, log_ratio = request.public.rows_of_one_record, grid_of(request), math.log(n / s)
        sensitivity = relation.dense_average_sensitivity(self.diameter, s, k)
        if alpha is not None:
            rounds = as_rounds(2 * _WIDTH**2 * log_ratio, simplex.radius / alpha, alpha)
        else:
            rounds = _best_rounds(request, log_ratio, sensitivity * math.log(d))
        mechanism = request.ledger.calibrate(partial(ExponentialMechanism, sensitivity), rounds)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            step = math.sqrt(2 * log_ratio / rounds) / _SPREAD
            scaled = partial(self.scaled, simplex, largest_n=request.largest_n)
            dual = DenseDual(rows.keep(scaled), s, step, grid)
            return Game(dual, SelectionPlayer(simplex, *draws), rounds=rounds)

        def predict() -> Prediction:
            """A share of the square of the bound, as seen in trials."""
            regret, log_d = _WIDTH * math.sqrt(log_ratio / (2 * rounds)), math.log(max(2, d))
            bound = regret + 2 * mechanism.sensitivity * log_d / mechanism.eps
            violation = _TYPICAL_SHARE * bound**2 * _HALF_SPAN_OF_A_ROW * simplex.typical_norm
            noise, yardstick = 2 / mechanism.eps, simplex.typical_norm / math.sqrt(d)
            return Prediction(self.name, violation, 0.0, rounds, noise, yardstick=yardstick)

        return PlannedRun([(mechanism, rounds, _PURPOSE)], start, predict)

    def scaled(self, simplex: Simplex, block: Any, largest_n: int = 0) -> Any:
        """A block of rows, scaled for the duals and the scores."""
        return RowsOnSimplex.of_equal_range(simplex, block, largest_n=largest_n)


def _best_rounds(request: SolveRequest, log_ratio: float, selection_factor: float) -> int:
    """The T that minimises 2 sqrt(L/(2T)) + 2 selection_factor / eps'(T)."""
    rounds = np.unique(np.geomspace(1, _MOST_DEFAULT_ROUNDS, 400).astype(int))
    probe = request.ledger.calibrate(partial(ExponentialMechanism, 1.0), _MOST_DEFAULT_ROUNDS)
    # T draws of eps' each cost T eps' when composed purely, and T eps'^2 / 8 otherwise.
    power = 1.0 if request.ledger.delta == 0 else 0.5
    eps_per_round = probe.pure_eps * (_MOST_DEFAULT_ROUNDS / rounds) ** power
    error = _WIDTH * np.sqrt(log_ratio / (2 * rounds)) + 2 * selection_factor / eps_per_round
    return int(rounds[np.argmin(error)])


_NAME = "method='dmw-published'"
# Declared bounds beyond these would overflow in divisions, or leave a sensitivity without digits.
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-100, 1e100


class PublishedDenseWeights(RowsMethod):
    """Dense multiplicative weights with the constants of van der Reijden (2019).

    *Neighbours*: constraint-private. `width` declares a bound a on every abs(A_ij) and abs(b_i), or
    a pair of bounds (for A, for b); rows beyond it are scaled down, each by itself.

    With v = max_j opt/c_j (1 in the source): width rho = a·v + a_b, T = ceil(36 rho^2 ln n /
    alpha^2), eta = sqrt(ln n / T), sensitivity 3·a·v/s (times k rows per record; twice the entry
    bound would suffice), eps' = eps/sqrt(8 T ln(1/delta)). The last is the published composition
    formula; the ledger charges the true cost of T such draws, which is less. alpha is in the units
    of the source, those of A x - b.

    *Rounding.* Sums are exact, of rows on a public grid (:mod:`privlp.rows.access`). The published
    sensitivity is larger than that of the lemma by a·v·k/s: more than the rounding of a row to the
    grid. Proof: ``docs/proofs.md``, "The published constants".
    """

    name = "dmw-published"
    take_it = "you compare with van der Reijden (2019)"
    listed = False

    def plan(self, request: SolveRequest) -> PlannedRun:
        request.constraint_private(self.name)
        entry_bound, rhs_bound = _declared_bounds(request.width)
        s, alpha, n = request.density(), request.accuracy(), request.n
        eps, delta = request.ledger.eps, request.ledger.delta
        grid = grid_of(request)
        if alpha is None:
            raise _wrong("alpha", f"is missing: {_NAME} takes its number of rounds from alpha")
        if delta == 0 and math.isfinite(eps):
            formula = "the published composition formula divides by ln(1/delta)"
            raise _wrong("delta", f"must be positive: {formula}")
        simplex = Simplex(request.form, request.opt)
        largest_value = entry_bound * float(simplex.vertices.max())
        rho = largest_value + rhs_bound
        if not alpha < 9 * rho:
            limit = f"must be below 9 rho = {9 * rho:g} for {_NAME}, got {alpha:g}"
            raise _wrong("alpha", limit)
        rounds = as_rounds(36 * math.log(n), rho / alpha, alpha)
        eta = math.sqrt(math.log(n) / rounds)
        sensitivity = self._largest_change(largest_value) * request.public.rows_of_one_record / s
        own = math.inf if math.isinf(eps) else eps / math.sqrt(8 * rounds * math.log(1 / delta))
        mechanism = ExponentialMechanism(sensitivity, own)
        bounds = simplex, entry_bound, rhs_bound
        within = partial(rows_within_bounds, *bounds, largest_n=request.largest_n)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            scaled = rows.keep(partial(self._scored, simplex, within))
            dual = DenseDual(scaled, s, eta / (2 * rho), grid)
            return Game(dual, SelectionPlayer(simplex, *draws), rounds=rounds)

        return PlannedRun([(mechanism, rounds, _PURPOSE)], start)

    def _largest_change(self, largest_value: float) -> float:
        """The published change of s times a score when one row is replaced."""
        return 3 * largest_value

    def _scored(self, simplex: Simplex, within: Any, block: Any) -> Any:  # noqa: ARG002
        return within(block)


def rows_within_bounds(
    simplex: Simplex, entry_bound: float, rhs_bound: float, block: RowBlock, *, largest_n: int = 0
) -> RowsOnSimplex:
    """Rows of the program; one beyond the bounds on abs(A'_ij) and abs(b'_i) is scaled down."""
    low, high = block.extremes(np.ones(len(simplex.form.column)))
    # A row that is infinitely far beyond a tiny bound is scaled to zero; no warning may tell of it.
    with np.errstate(over="ignore"):
        largest = np.maximum(np.abs(low), np.abs(high))
        excess = np.maximum(largest / entry_bound, np.abs(block.rhs) / rhs_bound)
    scale = 1.0 / np.maximum(excess, 1.0)
    unit = 2.0 ** math.frexp(entry_bound * float(simplex.vertices.max()))[1]
    return RowsOnSimplex(block, simplex, scale, scale * block.rhs, largest_n=largest_n, unit=unit)


def _declared_bounds(width: Any) -> tuple[float, float]:
    """The bounds on entries of A and of b, checked."""
    if width is None:
        bound = "a declared public bound on every |A_ij| and |b_i|, or a pair of bounds"
        raise _wrong("width", f"is missing: {_NAME} needs {bound}")
    pair = (width, width) if np.ndim(width) == 0 else tuple(width)
    if len(pair) != 2:
        raise _wrong("width", "must be one bound, or a pair of bounds (for A, for b)")
    bounds = real(pair[0], "width"), real(pair[1], "width")
    if not all(_SMALLEST_BOUND <= bound <= _LARGEST_BOUND for bound in bounds):
        ends = f"{_SMALLEST_BOUND:g} and {_LARGEST_BOUND:g} with {_NAME}, got {width!r}"
        why = "beyond, numbers overflow. Measure the rows in other units"
        raise _wrong("width", f"must lie between {ends}: {why}")
    return bounds


def _wrong(parameter: str, reason: str) -> InvalidParameterError:
    return InvalidParameterError(f"{parameter} {reason}.", parameter=parameter)


_BLOCK = 4096


class CountScore(DenseMultiplicativeWeights):
    """Dense multiplicative weights with the count score: :class:`CountedRows`, of diameter 1."""

    diameter = 1.0

    def __init__(self, phi: float) -> None:
        self._phi = real(phi, "phi")

    def scaled(self, simplex: Simplex, block: Any, largest_n: int = 0) -> Any:
        """A block of rows whose scores are counts."""
        return CountedRows(block, simplex, super().scaled(simplex, block, largest_n), self._phi)


class PublishedCountScore(PublishedDenseWeights):
    """The published constants with the source's count score and its sensitivity 2/s."""

    def __init__(self, phi: float) -> None:
        self._phi = real(phi, "phi")

    def _largest_change(self, largest_value: float) -> float:  # noqa: ARG002
        return 2.0

    def _scored(self, simplex: Simplex, within: Any, block: Any) -> Any:
        return CountedRows(block, simplex, within(block), self._phi)


class CountedRows:
    """Private rows on K: the score of a vertex is the dual weight of the rows that it satisfies.

    The count score of van der Reijden (2019), section 3.5: Q_j = sum_i z_i 1[A_i x_j <= b_i + phi].
    An indicator depends on its row alone, and spans 1: Q is a dense average of diameter W = 1.
    """

    def __init__(self, block: RowBlock, simplex: Simplex, rows: ScaledRows, phi: float) -> None:
        rhs = block.rhs + phi
        self._satisfied = np.empty((len(simplex.vertices), len(rhs)), dtype=bool)
        for some, part in block.parts(simplex.vertices):
            self._satisfied[:, some] = (part.table() <= rhs[some, None]).T
        self._rows = rows  # its memory counts
        self.count, self.add_violations = rows.count, rows.add_violations

    def scores(self, z: FloatArray) -> FloatArray:
        """Dual weight of the rows that each vertex satisfies; exact for integers."""
        total = np.zeros(len(self._satisfied))
        for start in range(0, len(z), _BLOCK):
            span = slice(start, start + _BLOCK)
            total += self._satisfied[:, span].astype(float) @ z[span]
        return total
