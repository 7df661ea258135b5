"""Share supplies among people by private prices."""

from __future__ import annotations

import warnings

import numpy as np

from privlp.allocation.people import Allocation
from privlp.allocation.planning import planned
from privlp.allocation.result import AllocationResult
from privlp.allocation.stages import private_prices, taken_off
from privlp.checks import frozen, warn_of_large_delta
from privlp.errors import InvalidParameterError, MostlyNoiseWarning
from privlp.float_errors import unnoticed
from privlp.privacy import Budget, Randomness
from privlp.privacy.opening import ledger_of_call
from privlp.privacy.randomness import RandomSource
from privlp.verdict import Verdict


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
    if not isinstance(allocation, Allocation):
        raise InvalidParameterError(
            f"allocation must be a privlp.Allocation, got {type(allocation).__name__}.",
            parameter="allocation",
        )
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameterError(
            f"budget must be a privlp.Budget, got {type(budget).__name__}.", parameter="budget"
        )
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
        )
