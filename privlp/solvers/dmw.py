"""Dense multiplicative weights: the constants of the published algorithm, and tight ones.

Both build the same :class:`~privlp.solvers.game.Game`; they differ in how rows are scaled, in the
sensitivity, in the split of the budget over the rounds, and in the step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privlp.checks import real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.privacy import ExponentialMechanism
from privlp.solvers.dense_dual import DenseDual
from privlp.solvers.game import Game, Rows, SelectionPlayer
from privlp.solvers.prediction import Prediction
from privlp.solvers.rounds import as_rounds
from privlp.solvers.simplex import CountedRows, RowsOnSimplex, Simplex
from privlp.solvers.task import Task

# Values of a row of equal range span 2 on K; a violation, right-hand side included, is between -2
# and 2.
_DIAMETER = 2.0
_DIAMETER_OF_A_COUNT = 1.0
_WIDTH = 2.0
# Spread assumed for the violations of one vertex over dual-weighted rows: see tight_dmw.
_SPREAD = 0.2
_MOST_DEFAULT_ROUNDS = 2_000
# For predictions alone, measured on the family of docs/results/family.md: violation over the square
# of its bound, in units of half the span of a row's values; and that over their Euclidean norm.
_TYPICAL_SHARE = 0.065
_HALF_SPAN_OF_A_ROW = 0.33
# The published sensitivity covers the rounding of scores below this: docs/proofs.md, "The published
# constants".
_LARGEST_N_TIMES_S = 2.0**45
# Declared bounds beyond these would overflow where they are divided by, or leave a sensitivity
# without digits.
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-100, 1e100
_PURPOSE = "select a vertex each round"


def tight_dmw(task: Task, *, phi: float | None = None) -> Game:
    """Dense multiplicative weights with tight sensitivity and accounting, and nothing declared about A or b.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* Rows are shifted and scaled to span [-1, 1] on K (:mod:`privlp.solvers.simplex`),
    each by numbers that depend on that row alone. So every possible row vector g has ``max_j g_j -
    min_j g_j <= 2``, any two differ by at most W = 2 in the sup norm, and each score, a dense
    average of such vectors, changes by at most min(1, k/s)·2 between neighbours
    (:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity`), plus twice the rounding
    error. Scores are computed without the rows' shifts, which add the same number to all of them
    and so change no selection probability. Right-hand sides never enter a score. Proof:
    ``docs/proofs.md``, "Dense multiplicative weights".

    *Budget.* T draws of the exponential mechanism at the largest eps' of which T fit into (eps,
    delta).

    *Rounds.* With L = ln(n/s), T rounds leave a regret of at most 4·sqrt(L/(2T)) and a selection
    error of at most (2·sensitivity/eps')·ln d each. Given alpha (violation per unit of ||A_i||_2,
    at most the radius of K times the violation in units of the row's span), T makes the regret
    alpha; else T minimises the sum of half the first, about what is seen in trials, and the second.

    *Step.* sqrt(2L/T)/spread per unit of violation is the best step when violations of a vertex
    have standard deviation `spread` over the dual-weighted rows. Two, the most possible, gives the
    worst-case step of the analysis; 0.2 was near the best for covering, packing, game and
    classification programs alike (``benchmarks/step.py``) and is used throughout. The step has no
    part in the privacy argument.

    *Count score.* Given `phi`, a vertex is scored by the dual weight of the rows it satisfies up to
    phi (:class:`~privlp.solvers.simplex.CountedRows`), of diameter 1 in place of 2; all else is
    alike.
    """
    simplex, mechanism, rounds = _tight_plan(task, phi)
    s = task.density()
    step = math.sqrt(2 * math.log(task.n / s) / rounds) / _SPREAD
    select = task.charge(mechanism, rounds, _PURPOSE)
    rows = _scored(simplex, RowsOnSimplex.of_equal_range(simplex), phi)
    return Game(
        rows, SelectionPlayer(simplex, select), DenseDual(rows.count, s, step), rounds=rounds
    )


def predict_tight_dmw(task: Task) -> Prediction:
    """What :func:`tight_dmw` is expected to leave: a share of the square of the bound, which is what trials show."""
    simplex, mechanism, rounds = _tight_plan(task, None)
    regret = _WIDTH * math.sqrt(math.log(task.n / task.density()) / (2 * rounds))
    bound = regret + 2 * mechanism.sensitivity * math.log(max(2, simplex.size)) / mechanism.eps
    violation = _TYPICAL_SHARE * bound**2 * _HALF_SPAN_OF_A_ROW * simplex.typical_norm
    return Prediction("dmw", violation, 0.0, rounds, 2 / mechanism.eps)


def _tight_plan(task: Task, phi: float | None) -> tuple[Simplex, ExponentialMechanism, int]:
    """The region, the mechanism of a round and the number of rounds, from public numbers alone."""
    relation = task.constraint_private("dmw")
    if task.width is not None:
        raise InvalidParameterError(
            "width has no use with method='dmw', which needs no declared bounds; leave it out."
        )
    s, alpha, n = task.density(), task.accuracy(), task.n
    simplex = Simplex(task.form, task.opt)
    diameter = _DIAMETER if phi is None else _DIAMETER_OF_A_COUNT
    sensitivity = relation.dense_average_sensitivity(
        diameter, s, relation.rows_of_one_record(task.lp)
    )
    sensitivity += 2 * RowsOnSimplex.rounding_error(relation.largest_n(n))
    log_ratio = math.log(n / s)
    if alpha is not None:
        rounds = as_rounds(2 * _WIDTH**2 * log_ratio, simplex.radius / alpha, alpha)
    else:
        rounds = _best_rounds(task, log_ratio, sensitivity * math.log(simplex.size))
    return (
        simplex,
        task.ledger.calibrate(lambda eps: ExponentialMechanism(sensitivity, eps), rounds),
        rounds,
    )


def published_dmw(task: Task, *, phi: float | None = None) -> Game:
    """Dense multiplicative weights with the constants of van der Reijden (2019), for comparison.

    *Neighbours*: constraint-private. `width` declares a bound a on every abs(A_ij) and abs(b_i), or
    a pair of bounds (for A, for b); rows beyond it are scaled down, each by itself.

    With v = max_j opt/c_j (1 in the source): width rho = a·v + a_b, T = ceil(36 rho^2 ln n /
    alpha^2), eta = sqrt(ln n / T), sensitivity 3·a·v/s (times k rows per record; twice the entry
    bound would do), eps' = eps/sqrt(8 T ln(1/delta)). The last is the published composition
    formula; the ledger charges what T such draws really cost, which is less. alpha is in the
    source's units, those of A x - b. Given `phi`, the source's count score with its sensitivity
    2/s.

    *Rounding.* The published sensitivity is larger than the lemma's by a·v·k/s, which covers the
    rounding of a score as long as n·s is below 2^45, n being ten times the nominal n under
    add/remove. Larger programs are refused. Proof: ``docs/proofs.md``, "The published constants".
    """
    relation = task.constraint_private("dmw-published")
    entry_bound, rhs_bound = _declared_bounds(task.width)
    s, alpha, n = task.density(), task.accuracy(), task.n
    eps, delta = task.ledger.eps, task.ledger.delta
    if not relation.largest_n(n) * s < _LARGEST_N_TIMES_S:
        count = f"ten times nominal_n={n}" if relation.hides_rows else f"{n}"
        raise UnsupportedProblemError(
            "method='dmw-published' needs s times the number of private rows below 2^45: beyond"
            " it, rounding may move a score by more than the published sensitivity allows for."
            f" Here s is {s:g}, with {count} private rows. Choose a smaller s, or method='dmw'."
        )
    if alpha is None:
        raise InvalidParameterError(
            "alpha is missing: method='dmw-published' takes its number of rounds from alpha."
        )
    if delta == 0 and math.isfinite(eps):
        raise InvalidParameterError(
            "delta must be positive: the published composition formula divides by ln(1/delta)."
        )
    simplex = Simplex(task.form, task.opt)
    largest_value = entry_bound * float(simplex.vertices.max())
    rho = largest_value + rhs_bound
    if not alpha < 9 * rho:
        raise InvalidParameterError(
            f"alpha must be below 9 rho = {9 * rho:g} for method='dmw-published', got {alpha:g}."
        )
    rounds = as_rounds(36 * math.log(n), rho / alpha, alpha)
    eta = math.sqrt(math.log(n) / rounds)
    sensitivity = (
        (3 * largest_value if phi is None else 2.0) * relation.rows_of_one_record(task.lp) / s
    )
    eps_per_round = (
        math.inf if math.isinf(eps) else eps / math.sqrt(8 * rounds * math.log(1 / delta))
    )
    select = task.charge(ExponentialMechanism(sensitivity, eps_per_round), rounds, _PURPOSE)
    rows = _scored(simplex, RowsOnSimplex.within_bounds(simplex, entry_bound, rhs_bound), phi)
    return Game(
        rows,
        SelectionPlayer(simplex, select),
        DenseDual(rows.count, s, eta / (2 * rho)),
        rounds=rounds,
    )


def _scored(simplex: Simplex, rows: RowsOnSimplex, phi: float | None) -> Rows:
    return rows if phi is None else CountedRows(simplex, rows, real(phi, "phi"))


def _best_rounds(task: Task, log_ratio: float, selection_factor: float) -> int:
    """The T that minimises 2 sqrt(L/(2T)) + 2 selection_factor / eps'(T)."""
    rounds = np.unique(np.geomspace(1, _MOST_DEFAULT_ROUNDS, 400).astype(int))
    probe = task.ledger.calibrate(lambda eps: ExponentialMechanism(1.0, eps), _MOST_DEFAULT_ROUNDS)
    eps_at_most_rounds = probe.pure_eps
    # T draws of eps' each cost T eps' when composed purely, and T eps'^2 / 8 otherwise.
    power = 1.0 if task.ledger.delta == 0 else 0.5
    eps_per_round = eps_at_most_rounds * (_MOST_DEFAULT_ROUNDS / rounds) ** power
    error = _WIDTH * np.sqrt(log_ratio / (2 * rounds)) + 2 * selection_factor / eps_per_round
    return int(rounds[np.argmin(error)])


def _declared_bounds(width: Any) -> tuple[float, float]:
    if width is None:
        raise InvalidParameterError(
            "width is missing: method='dmw-published' needs a declared public bound on every |A_ij|"
            " and |b_i|, or a pair of bounds."
        )
    pair = (width, width) if np.ndim(width) == 0 else tuple(width)
    if len(pair) != 2:
        raise InvalidParameterError("width must be one bound, or a pair of bounds (for A, for b).")
    bounds = real(pair[0], "width"), real(pair[1], "width")
    if not all(0 < bound < math.inf for bound in bounds):
        raise InvalidParameterError(f"width must be positive and finite, got {width!r}.")
    if not all(_SMALLEST_BOUND <= bound <= _LARGEST_BOUND for bound in bounds):
        raise InvalidParameterError(
            f"width must lie between {_SMALLEST_BOUND:g} and {_LARGEST_BOUND:g} with"
            f" method='dmw-published', got {width!r}: beyond, numbers overflow. Measure the rows in"
            " other units."
        )
    return bounds
