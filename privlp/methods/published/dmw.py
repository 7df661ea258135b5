"""Dense multiplicative weights with the constants of van der Reijden (2019), for comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import real
from privlp.errors import InvalidParameterError
from privlp.game.dense import DenseDual
from privlp.game.loop import Game, SelectionPlayer, as_rounds
from privlp.methods.base import Method, PlannedRun
from privlp.methods.descent import grid_of
from privlp.methods.dmw import PURPOSE
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws, ExponentialMechanism
from privlp.regions.simplex import Simplex
from privlp.relations.base import NeighbourRelation
from privlp.rows.access import Rows
from privlp.rows.on_simplex import RowsOnSimplex, ends_of
from privlp.rows.program_rows import RowBlock

# Declared bounds beyond these would overflow in divisions, or leave a sensitivity without digits.
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-100, 1e100


class PublishedDenseMultiplicativeWeights(Method):
    """Dense multiplicative weights with the constants of van der Reijden (2019).

    *Neighbours*: constraint-private. `width` declares a bound a on every abs(A_ij) and abs(b_i), or
    a pair of bounds (for A, for b); rows beyond it are scaled down, each by itself.

    With v = max_j opt/c_j (1 in the source): width rho = a·v + a_b, T = ceil(36 rho^2 ln n /
    alpha^2), eta = sqrt(ln n / T), sensitivity 3·a·v/s (times k rows per record; twice the entry
    bound would suffice), eps' = eps/sqrt(8 T ln(1/delta)). The last is the published composition
    formula; the ledger charges the true cost of T such draws, which is less. alpha is in the units
    of the source, those of A x - b.

    *Rounding.* Sums are exact, of rows on a public grid (:mod:`privlp.rows.grid`). The published
    sensitivity is larger than that of the lemma by a·v·k/s: more than the rounding of a row to the
    grid. Proof: ``docs/proofs.md``, "The published constants".
    """

    name = "dmw-published"
    listed = False

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name)
        entry_bound, rhs_bound = _declared_bounds(task.width)
        s, alpha, n = task.density(), task.accuracy(), task.n
        eps, delta = task.ledger.eps, task.ledger.delta
        grid = grid_of(task)
        if alpha is None:
            raise InvalidParameterError(
                "alpha is missing: method='dmw-published' takes its number of rounds from alpha.",
                parameter="alpha",
            )
        if delta == 0 and math.isfinite(eps):
            raise InvalidParameterError(
                "delta must be positive: the published composition formula divides by ln(1/delta).",
                parameter="delta",
            )
        simplex = Simplex(task.form, task.opt)
        largest_value = entry_bound * float(simplex.vertices.max())
        rho = largest_value + rhs_bound
        if not alpha < 9 * rho:
            raise InvalidParameterError(
                f"alpha must be below 9 rho = {9 * rho:g} for method='dmw-published', got"
                f" {alpha:g}.",
                parameter="alpha",
            )
        rounds = as_rounds(36 * math.log(n), rho / alpha, alpha)
        eta = math.sqrt(math.log(n) / rounds)
        sensitivity = self._largest_change(largest_value) * task.public.rows_of_one_record / s
        eps_per_round = (
            math.inf if math.isinf(eps) else eps / math.sqrt(8 * rounds * math.log(1 / delta))
        )
        mechanism = ExponentialMechanism(sensitivity, eps_per_round)
        within = partial(
            rows_within_bounds, simplex, entry_bound, rhs_bound, largest_n=task.largest_n
        )

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            scaled = rows.keep(partial(self._scored, simplex, within))
            dual = DenseDual(scaled, s, eta / (2 * rho), grid)
            return Game(dual, SelectionPlayer(simplex, *draws), rounds=rounds)

        return PlannedRun([(mechanism, rounds, PURPOSE)], start)

    def _largest_change(self, largest_value: float) -> float:
        """The published change of s times a score when one row is replaced."""
        return 3 * largest_value

    def _scored(self, simplex: Simplex, within: Any, block: Any) -> Any:  # noqa: ARG002
        return within(block)


def rows_within_bounds(
    simplex: Simplex,
    entry_bound: float,
    rhs_bound: float,
    block: RowBlock,
    *,
    largest_n: int = 0,
) -> RowsOnSimplex:
    """Rows of the program; a row beyond the declared bounds is scaled down to them.

    The bounds are on abs(A'_ij) and abs(b'_i).
    """
    low, high = ends_of(block, np.ones(len(simplex.form.column)))
    # A row that is infinitely far beyond a tiny bound is scaled to zero; no warning may tell of it.
    with np.errstate(over="ignore"):
        excess = np.maximum(
            np.maximum(np.abs(low), np.abs(high)) / entry_bound, np.abs(block.rhs) / rhs_bound
        )
    scale = 1.0 / np.maximum(excess, 1.0)
    unit = 2.0 ** math.frexp(entry_bound * float(simplex.vertices.max()))[1]
    return RowsOnSimplex(block, simplex, scale, scale * block.rhs, largest_n=largest_n, unit=unit)


def _declared_bounds(width: Any) -> tuple[float, float]:
    """The bounds on entries of A and of b, checked."""
    if width is None:
        raise InvalidParameterError(
            "width is missing: method='dmw-published' needs a declared public bound on every |A_ij|"
            " and |b_i|, or a pair of bounds.",
            parameter="width",
        )
    pair = (width, width) if np.ndim(width) == 0 else tuple(width)
    if len(pair) != 2:
        raise InvalidParameterError(
            "width must be one bound, or a pair of bounds (for A, for b).", parameter="width"
        )
    bounds = real(pair[0], "width"), real(pair[1], "width")
    if not all(_SMALLEST_BOUND <= bound <= _LARGEST_BOUND for bound in bounds):
        raise InvalidParameterError(
            f"width must lie between {_SMALLEST_BOUND:g} and {_LARGEST_BOUND:g} with"
            f" method='dmw-published', got {width!r}: beyond, numbers overflow. Measure the rows in"
            " other units.",
            parameter="width",
        )
    return bounds
