"""``"tightened"``: private numbers are released so that the true rows hold, surely or probably."""

from __future__ import annotations

from numbers import Real

from privlp.errors import PrivLPError
from privlp.methods.base import COMPARED, NumbersMethod, PlannedRun
from privlp.methods.noisy_numbers import private_numbers
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.margin import OneMargin
from privlp.methods.tightened.noise import TruncatedGaussian, TruncatedLaplace, gaussian_is_narrower
from privlp.methods.tightened.quantiles import QuantileNoise
from privlp.methods.tightened.slacks import MeasuredSlack
from privlp.methods.tightened.trials import loss_in_trials

#: Slacks are measured where the loss in trials is at most this share of that of released numbers
#: alone, and less by this share of the optimum. Chosen on advertising, packing and staffing
#: programs with seeds below 100: docs/explanation/methods.md says what came of it.
_CLEARLY_LESS, _WORTH_IT = 0.9, 1e-3


class Tightened(NumbersMethod):
    """Release tightened numbers, solve the tightened program: its solutions satisfy the true rows.

    With a probability (``feasible=0.99``) by :mod:`privlp.methods.tightened.quantiles`. Otherwise
    with certainty, by :mod:`privlp.methods.tightened.noise`, `slacks` or `margin`, whichever public
    numbers say loses less: the choice costs nothing. Neighbours, sensitivity, budget: those of
    that way.
    """

    name = "tightened"
    take_it = "only numbers move, and rows must hold: for certain, or with a probability"
    rows_hold = "always"

    def rank(self, request: SolveRequest) -> float | None:  # noqa: ARG002
        return COMPARED

    def plan(self, request: SolveRequest) -> PlannedRun:
        if isinstance(request.feasible, Real):
            return QuantileNoise().plan(request)
        return by_slacks(request) or by_margin(request) or _by_noise(request)


def _by_noise(request: SolveRequest) -> PlannedRun:
    """Laplace noise on numbers, or Gaussian noise where that is narrower."""
    law = TruncatedGaussian() if gaussian_is_narrower(request) else TruncatedLaplace()
    return law.plan(request)


def by_slacks(request: SolveRequest) -> PlannedRun | None:
    """Measured slacks, if they lose clearly less on made-up public programs."""
    private = "A" in request.relation.private_parts  # type: ignore[attr-defined]
    return _if_better(request, MeasuredSlack()) if private else None


def by_margin(request: SolveRequest) -> PlannedRun | None:
    """One margin for all rows, if a record moves several right-hand sides and that loses less."""
    method = OneMargin()
    if not method.protects(request.relation):
        return None
    (part,) = private_numbers(request, method.name)
    return _if_better(request, method) if part.l2 > part.entry else None


def _if_better(request: SolveRequest, method: NumbersMethod) -> PlannedRun | None:
    """The run of a method that loses clearly less than noise on the numbers alone."""
    try:
        numbers = private_numbers(request, Tightened.name)
        planned = method.plan(request)
        losses = loss_in_trials(request, numbers, [planned, _by_noise(request)])
    except PrivLPError:
        return None
    if losses is None:
        return None
    own, others = losses
    return planned if own <= _CLEARLY_LESS * others and others - own >= _WORTH_IT else None
