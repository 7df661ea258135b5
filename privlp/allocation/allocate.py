"""From people to released prices: a first common price, then perturbed programs one by one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from privlp.allocation.demand import People, Sizes
from privlp.allocation.people import Allocation
from privlp.allocation.planning import LEVELS, AllocationPlan, planned
from privlp.allocation.result import AllocationResult
from privlp.checks import FloatArray, frozen, require_kind, warn_of_large_delta
from privlp.errors import MostlyNoiseWarning
from privlp.privacy import Budget, ChargedDraws, Randomness
from privlp.privacy.budget import ledger_of_call
from privlp.privacy.mechanisms.selection import HiddenGradient
from privlp.privacy.randomness import RandomSource
from privlp.quiet import unnoticed
from privlp.regions.quadratic import minimum, where_flat
from privlp.status import Verdict

# The search starts with a softness larger by these factors, and takes this many steps at each.
_SOFTER = (16.0, 4.0)
_STEPS_ON_THE_WAY = 6
# A step on the way that is shorter than this is the last one.
_SHORT = 1e-3
_NEWTON_STEPS = 60
_MOST_ACCELERATED = 20_000
_NEAR_ENOUGH = 0.05
_HALVINGS = 30
_TINY = 1e-9  # Prices below this with a gradient that pushes them down are set to 0.


@dataclass(frozen=True)
class PriceProgram:
    """F(p) = linear·p + sum_i f_i(p) + strength |p - centre|^2 / 2 for p >= 0.

    Newton's method on the quadrant does the work. Should it bring no certificate, accelerated
    projected gradients take over. Nothing but running time tells which: no error, no status.
    """

    people: People  # Gradient and Hessian of sum_i f_i.
    linear: FloatArray  # Supplies and the secret noise, (d,).
    centre: FloatArray  # At least 0, (d,).
    strength: float
    softness: float
    smoothness: float  # Public bound on the curvature of F.

    def minimise(self, tolerance: float, *, sharp: bool = False) -> FloatArray:
        """A point p >= 0 within `tolerance` of the minimum, (d,).

        The minimum p* has |p - p*| <= |rho| / strength, rho being the gradient without its positive
        entries where p = 0: rho·(p - p*) is at least strength |p - p*|^2, because the entries left
        out are multiplied by -p*. `sharp` says that there is nothing to cover: then the last point
        of Newton's method is taken.
        """
        p = self.centre
        for factor in _SOFTER:
            for _ in range(_STEPS_ON_THE_WAY):
                before, p = p, self._newton(p, self.softness * factor)
                if np.abs(p - before).max() < _SHORT:
                    break
        for _ in range(_NEWTON_STEPS):
            p, distance = self._certified(p)
            if distance <= tolerance:
                return p
            p = self._newton(p, self.softness)
        return p if sharp else self._accelerated(p, tolerance)

    def _gradient(self, p: FloatArray, softness: float) -> FloatArray:
        pull = self.strength * (p - self.centre)
        return np.asarray(self.linear - self.people.demand(p, softness) + pull)

    def _certified(self, p: FloatArray) -> tuple[FloatArray, float]:
        """A point next to p, and how far it is from the minimum at most."""
        gradient = self._gradient(p, self.softness)
        tiny = (p > 0) & (p < _TINY) & (gradient > 0)
        if tiny.any():
            p = np.where(tiny, 0.0, p)
            gradient = self._gradient(p, self.softness)
        rest = np.where((p == 0) & (gradient > 0), 0.0, gradient)
        return p, float(np.linalg.norm(rest)) / self.strength * (1 + 1e-9)

    def _newton(self, p: FloatArray, softness: float) -> FloatArray:
        gradient = self._gradient(p, softness)
        hessian = self.people.hessian(p, softness)
        hessian[np.diag_indices_from(hessian)] += self.strength
        down = sp.csc_array(-sp.eye_array(len(p), format="csc"))
        step = np.maximum(p + minimum(hessian, gradient, down, p), 0.0) - p

        def slope(length: float) -> float:
            return float(self._gradient(p + length * step, softness) @ step)

        # Nearly the length at which F is least along the step, at most 1.
        length, at_low = 1.0, float(gradient @ step)
        enough = _NEAR_ENOUGH * abs(at_low)
        if at_low < 0 and (at_high := slope(1.0)) > enough:
            length = where_flat(slope, at_low, at_high, enough, enough, _HALVINGS)
        return np.maximum(p + length * step, 0.0)

    def _accelerated(self, p: FloatArray, tolerance: float) -> FloatArray:
        """Accelerated projected gradients (Nesterov 2004, scheme 2.2.19), until certified."""
        ratio = math.sqrt(self.strength / self.smoothness)
        momentum, ahead = (1 - ratio) / (1 + ratio), p
        for number in range(_MOST_ACCELERATED):
            if number % 20 == 0:
                found, distance = self._certified(p)
                if distance <= tolerance:
                    return found
            step = self._gradient(ahead, self.softness) / self.smoothness
            before, p = p, np.maximum(ahead - step, 0.0)
            ahead = np.maximum(p + momentum * (p - before), 0.0)
        return self._certified(p)[0]


def _minus_use(people: People, softness: float, prices: FloatArray) -> FloatArray:
    """Minus the total use at given prices. Not private: for audits."""
    return -people.demand(prices, softness)


def private_prices(
    people: People, sizes: Sizes, plan: AllocationPlan, draws: Sequence[ChargedDraws]
) -> tuple[list[FloatArray], FloatArray]:
    """The released prices of the start and of each stage, and the last stage's centre."""
    stages = plan._stages
    supplies = np.maximum(sizes.supplies - stages[-1].reserve, 0.0)
    supplies[list(plan.closed)] = 1.0  # nobody asks for them, and their price falls to 0
    start, *pairs = draws
    uses = people.uses_at_one_price(LEVELS, stages[0].softness)
    # One person moves each total by at most 1.
    level = LEVELS[start(-np.abs(uses - supplies.sum()))]
    released = [np.full(len(supplies), level)]
    for stage, term, cover in zip(stages, pairs[::2], pairs[1::2], strict=True):
        # The secret term is drawn once. The point is computed to a certified distance, and noise of
        # its own covers that distance.
        hidden = HiddenGradient(len(supplies), partial(_minus_use, people, stage.softness))
        program = PriceProgram(
            people=people,
            linear=supplies + np.asarray(term(hidden)),
            centre=released[-1],
            strength=stage.strength,
            softness=stage.softness,
            smoothness=stage.strength + sizes.most_people / stage.softness,
        )
        # Half of the tolerance is for rounding.
        prices = program.minimise(stage.tolerance / 2, sharp=stage.term.scale == 0)
        hidden.minimum = prices
        covered = stage.tolerance * np.asarray(cover(prices / stage.tolerance))
        released.append(np.maximum(covered, 0.0))
    return released, released[-2]


def taken_off(
    prices: FloatArray, centre: FloatArray, sizes: Sizes, plan: AllocationPlan
) -> FloatArray:
    """The part of each supply's demand that is served, in [0, 1]: of released numbers.

    At the minimum demand is at most supply - reserve + noise + strength (price - centre). The last
    of these is known: so much is taken off everybody's shares.
    """
    last = plan._stages[-1]
    supplies = np.maximum(sizes.supplies - last.reserve, 0.0)
    excess = np.maximum(last.strength * (prices - centre), 0.0)
    return np.divide(supplies, supplies + excess, out=np.zeros_like(supplies), where=supplies > 0)


def allocate(
    allocation: Allocation,
    eps: float | None,
    delta: float | None = 0.0,
    *,
    feasible: float | None = 0.95,
    budget: Budget | None = None,
    rng: RandomSource = None,
) -> AllocationResult:
    """Share supplies among people, with joint differential privacy.

    *Neighbours*: those of ``allocation.neighbours``, one person with all her data. *Release*:
    prices of the supplies. The dual of the allocation is to minimise over prices p >= 0

        sum_l supplies_l p_l + sum_i max(0, max_j (values_ij - uses_ij·p)),

    a convex function, a sum over people. With the maximum smoothed, a secret Laplace term and a
    quadratic, its minimum is private: one perturbed convex program. *Sensitivity*: a person's
    gradient is what she uses, of sum at most one unit, so that neighbours differ by two units (one
    if a person is added or removed). Each person then computes her own shares from the prices and
    from her own data. So the prices and the shares of all others together are (eps, delta)-private
    to her data: joint differential privacy, by the billboard lemma (Hsu, Huang, Roth, Roughgarden
    and Wu 2014). Proof: ``docs/proofs.md``, "Allocation by private prices".

    Parameters
    ----------
    allocation : Allocation
        Who wants what, and how much there is.
    eps : float or None
        In (0, inf]; ``inf`` means no noise, and the result is marked as not private. ``None`` with
        ``delta=None`` and a budget: all that is left of it.
    delta : float
        In [0, 1); 0, the default, gives a guarantee without delta.
    feasible : float or None
        The probability, over the noise and whatever the data, with which all supplies hold
        together. A reserve of each supply is kept back for it, which the plan names. None: no
        reserve; use of a supply then varies about it.
    budget : Budget, optional
        A budget shared with other calls; this call spends at most (eps, delta) of it.
    rng : None, int or numpy.random.Generator
        ``None``: cryptographic randomness. A seed is for experiments, and the result says so.

    Returns
    -------
    AllocationResult

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its domain.
    BudgetExceededError
        If the budget does not allow it. All errors are raised before any draw.

    Warns
    -----
    MostlyNoiseWarning
        If public numbers say that supplies are too little for this eps.
    NotPrivateWarning
        If delta is 1/n or more.

    Notes
    -----
    How much supply it takes follows from public numbers: noise on the use of each supply has a
    standard deviation of about 3.8 units over eps, a unit being the most that one person uses, and
    the reserve for 10 supplies at 95 % is 12 to 15 units over eps. ``allocation.plan(eps)`` says
    it.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> wishes = np.random.default_rng(0).uniform(size=(3000, 10))
    >>> allocation = privlp.Allocation(wishes, supplies=[300] * 10, largest_value=1.0)
    >>> result = privlp.allocate(allocation, eps=1.0, rng=0)
    >>> best = privlp.solve_exact(allocation.program()).objective  # not private
    >>> bool(allocation.worth(result.shares_of(allocation)) > 0.9 * best)
    True
    """
    require_kind(allocation, Allocation, "allocation", "a privlp.Allocation")
    require_kind(budget, Budget | None, "budget", "a privlp.Budget")
    # Whether a number overflows depends on the people; no warning may tell, or become an error.
    with unnoticed():
        ledger, sizes = ledger_of_call(eps, delta, budget), allocation.sizes()
        randomness = Randomness.of(rng)
        plan = planned(sizes, ledger, feasible)
        warn_of_large_delta(ledger.eps, ledger.delta, sizes.people)
        if plan.verdict is Verdict.TOO_LITTLE_SUPPLY:
            warnings.warn(plan.advice, MostlyNoiseWarning, stacklevel=2)
        draws = ledger.charge_together(plan.charges, allocation.neighbours, randomness)
        people = allocation.people(plan.closed)
        released, centre = private_prices(people, sizes, plan, draws)
        value, use, limit = allocation._units
        return AllocationResult(
            prices=frozen(released[-1] * (value / use)),
            served=frozen(taken_off(released[-1], centre, sizes, plan)),
            softness=plan.softness,
            closed=plan.closed,
            reserve=plan.reserve,
            feasible=plan.feasible,
            privacy=ledger.record(),
            verdict=plan.verdict,
            advice=plan.advice,
            uses=allocation.uses if allocation.uses.ndim == 2 else None,
            limit=limit,
            units=(value, use, limit),
            trace={"prices": np.array(released) * (value / use)},
            options=allocation.options,
        )
