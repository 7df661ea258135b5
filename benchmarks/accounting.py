"""Exact Gaussian prices against other computations, and what budgets pay for."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from tqdm import tqdm

from benchmarks.published import write_page
from benchmarks.tables import Part, Table
from privlp import Budget, BudgetExceededError, ConstraintPrivate
from privlp.privacy import ExponentialMechanism, GaussianMechanism, Ledger, Randomness
from privlp.privacy.gaussian_dp import delta_of, eps_of, mu_of

POINTS, SEED, TOLERANCE = 50, 1, 1e-6
DIGITS = 60
#: Squared widths of a step of the grid of privacy losses, times T, in units of mu^2: smaller ones
#: discretise less and round more.
GRIDS = (1e-7, 1e-6, 1e-5, 1e-4)

EPS, DELTA = 1.0, 1e-6
SELECTIONS = (100, 1_000, 10_000, 30_000)
#: Calls of this much that a shared budget of so much is asked for.
CALL, SHARED, ROUNDS = (0.1, 1e-7), (1.0, 1e-6), 1000


def main() -> None:
    write_page("accounting", *_exactness(), _calls(), _against_published())


def _exactness() -> list[Part]:
    """The curve against 60 digits, and against privacy loss distributions of 1 and T releases."""
    rng = np.random.default_rng(SEED)
    ends = ((-2, math.log10(8)), (-10, -3), (0, 4))
    points = [[10 ** rng.uniform(*of) for of in ends] for _ in range(POINTS)]
    names = [f"{DIGITS} digits (mpmath)"]
    names += [f"privacy loss distribution, {how}" for how in ("as one release", "T-fold")]
    # (point, reference, delta or eps)
    found = np.array([_differences(*point) for point in tqdm(points, desc="exactness")])
    rows = []
    for name, of_delta, of_eps in zip(names, found[:, :, 0].T, found[:, :, 1].T, strict=True):
        within = np.maximum(np.abs(of_delta), np.abs(of_eps)) <= TOLERANCE
        cells = [f"{of.min():.1e} to {of.max():.1e}" for of in (of_delta, of_eps)]
        rows.append([name, *cells, f"{within.sum()} of {POINTS}"])
    below = int((found[:, 0] < 0).any(axis=1).sum())
    return [
        f"Ours lay below the {DIGITS} digits at {below} points.",
        (["against", "δ at ε", "ε at δ", f"within {TOLERANCE:g}"], rows),
    ]


def _differences(eps: float, delta: float, rounds: float) -> list[tuple[float, float]]:
    """(of delta, of eps) against each of the references."""
    mu = mu_of(eps, delta)
    ours = delta_of(eps, mu), eps_of(mu, delta)
    exact = _exact_delta(eps, mu), _exact_eps(mu, delta, ours[1])
    found = [(float((mpmath.mpf(o) - e) / e) for o, e in zip(ours, exact, strict=True))]
    for count in (1, round(rounds)):
        each = [_by_loss_distribution(mu, count, eps, delta, grid) for grid in GRIDS]
        nearest = min(each, key=lambda theirs: abs(theirs[0] - ours[0]))
        found.append((o - e) / e for o, e in zip(ours, nearest, strict=True))
    return [tuple(pair) for pair in found]  # type: ignore[misc]


def _exact_delta(eps: mpmath.mpf, mu: float) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        e, m, root = mpmath.mpf(eps), mpmath.mpf(mu), mpmath.sqrt(2)
        above, below = (mpmath.erfc((e / m + sign * m / 2) / root) for sign in (-1, 1))
        return (above - mpmath.exp(e) * below) / 2


def _exact_eps(mu: float, delta: float, start: float) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        logarithm = mpmath.log(mpmath.mpf(delta))
        return mpmath.findroot(
            lambda eps: mpmath.log(_exact_delta(eps, mu)) - logarithm, (start, start * (1 + 1e-9))
        )


def _by_loss_distribution(
    mu: float, rounds: int, eps: float, delta: float, grid: float
) -> tuple[float, float]:
    """(delta at eps, eps at delta) of `rounds` releases, mu-Gaussian-DP together."""
    composed = privacy_loss_distribution.from_gaussian_mechanism(
        math.sqrt(rounds) / mu,
        pessimistic_estimate=True,
        value_discretization_interval=mu * math.sqrt(grid / rounds),
        use_connect_dots=True,
    )
    if rounds > 1:
        composed = composed.self_compose(rounds, tail_mass_truncation=1e-18)
    return composed.get_delta_for_epsilon(eps), composed.get_epsilon_for_delta(delta)


def _calls() -> Table:
    kinds: list[tuple[Any, int]] = [
        (lambda t: GaussianMechanism(1.0, 1.0 / t), 1),
        (lambda t: ExponentialMechanism(1.0, t), ROUNDS),
    ]
    rows = [
        [composition, *(str(_paid(composition, *kind)) for kind in kinds)]
        for composition in ("basic", "adaptive", "planned")
    ]
    of_dmw = f"`dmw`: {ROUNDS:,} selections a call"
    return ["composition", "one Gaussian release a call", of_dmw], rows


def _paid(composition: Any, make: Callable[[float], Any], count: int) -> int:
    """How many calls of `count` draws each a shared budget pays for."""
    budget, paid = Budget(*SHARED, composition=composition), 0
    while True:
        try:
            ledger = budget.ledger(*CALL)
            draw = ledger.calibrate(make, count)
            ledger.charge(draw, count, "a call", ConstraintPrivate(), Randomness(0))
        except BudgetExceededError:
            return paid
        paid += 1


def _against_published() -> Table:
    rows = []
    for rounds in SELECTIONS:
        published = EPS / math.sqrt(8 * rounds * math.log(1 / DELTA))
        tight = Ledger(EPS, DELTA).calibrate(lambda eps: ExponentialMechanism(1.0, eps), rounds).eps
        spent = (_spent(published, rounds), _spent(tight, rounds))
        row = f"{rounds:,} | {published:.6f} | {tight:.6f} | {tight / published:.3f}"
        rows.append(f"{row} | {spent[0]:.4f} | {spent[1]:.8f}")
    return _OF_SELECTIONS, rows


_OF_SELECTIONS = (
    "T | published ε' | tight ε' | tight / published | ε spent, published | ε spent, tight"
)


def _spent(eps_per_round: float, rounds: int) -> float:
    """What a ledger says `rounds` selections cost."""
    ledger, each = Ledger(EPS, DELTA), ExponentialMechanism(1.0, eps_per_round)
    ledger.charge(each, rounds, "selections", ConstraintPrivate(), Randomness(0))
    return ledger.spent()


if __name__ == "__main__":
    main()
