"""Whether the draws of a solve are those that its ledger was charged for."""

from __future__ import annotations

from collections import Counter

from privlp.audits.solve_result import ROUNDING
from privlp.audits.tape import Tape
from privlp.errors import BudgetExceededError
from privlp.privacy import GaussianMechanism, Ledger, Mechanism, WeightedGaussianMechanism
from privlp.problem.linear_program import LinearProgram
from privlp.solution import Solution

#: Purpose, name of the mechanism, sensitivity and parameter of a charge. The parameter is left out
#: where each draw has one of its own.
_Paid = tuple[str, str, float, str]


def price_faults(lp: LinearProgram, tape: Tape, solution: Solution) -> tuple[str, ...]:
    """Draws that were not paid for, and draws that cost more than was claimed."""
    paid: Counter[_Paid] = Counter()
    for entry in solution.privacy.entries:
        parameter = "" if entry.mechanism == WeightedGaussianMechanism.name else entry.parameter
        paid[entry.purpose, entry.mechanism, entry.sensitivity, parameter] += entry.draws
    drawn = Counter(
        _entry_of(release.purpose, release.mechanism, paid) for release in tape.releases
    )
    found = [
        f"{count} draws were paid for, {drawn[of]} made: {of[0]}"
        for of in drawn
        if drawn[of] > (count := paid[of])
    ]
    slack = 1 + ROUNDING
    ledger = Ledger(solution.privacy.eps_limit * slack, solution.privacy.delta_limit * slack)
    requests = [
        (m, n, purpose)
        for (m, purpose), n in Counter((r.mechanism, r.purpose) for r in tape.releases).items()
    ]
    try:
        ledger.charge_together(requests, lp.neighbours, tape)
    except BudgetExceededError:
        record = solution.privacy
        found.append(
            f"the draws that were made cost more than eps = {record.eps_limit:g}, delta ="
            f" {record.delta_limit:g}"
        )
    return tuple(found)


def _entry_of(purpose: str, mechanism: Mechanism, paid: Counter[_Paid]) -> _Paid:
    """The charge that a draw belongs to.

    A draw of weighted noise is Gaussian, with a deviation of its own that its charge does not name.
    """
    own = purpose, mechanism.name, mechanism.sensitivity, mechanism.parameter
    weighted = purpose, WeightedGaussianMechanism.name, mechanism.sensitivity, ""
    is_weighted = own not in paid and type(mechanism) is GaussianMechanism and weighted in paid
    return weighted if is_weighted else own
