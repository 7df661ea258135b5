"""Accounting: how much the ledger allows per selection, against the composition formula of the published algorithm."""

from __future__ import annotations

import math

from benchmarks.measure import print_table
from privlp import ConstraintPrivate
from privlp.privacy import ExponentialMechanism, Ledger, Randomness

EPS, DELTA = 1.0, 1e-6
ROUNDS = (100, 1_000, 10_000, 30_000)
TARGET = 4.6  # at 1,000 rounds


def main() -> None:
    rows = []
    for rounds in ROUNDS:
        published = EPS / math.sqrt(8 * rounds * math.log(1 / DELTA))
        tight = Ledger(EPS, DELTA).calibrate(lambda eps: ExponentialMechanism(1.0, eps), rounds)
        rows.append([rounds, published, tight.eps, tight.eps / published, _spent(published, rounds), _spent(tight.eps, rounds)])
    print_table(
        f"eps' of each of T selections by the exponential mechanism, eps = {EPS:g} and delta = {DELTA:g} in all.\n"
        "published: eps' = eps / sqrt(8 T ln(1/delta)); tight: the largest eps' of which the ledger allows T.\n"
        f"Target: tight / published >= {TARGET} at T = 1,000.",
        ["T", "published eps'", "tight eps'", "tight / published", "eps spent, published", "eps spent, tight"],
        rows,
        floatfmt=("", ".6f", ".6f", ".3f", ".4f", ".8f"),
        intfmt=",",
    )


def _spent(eps_per_round: float, rounds: int) -> float:
    """What a ledger says `rounds` selections cost."""
    ledger = Ledger(EPS, DELTA)
    ledger.charge(ExponentialMechanism(1.0, eps_per_round), rounds, "selections", ConstraintPrivate(), Randomness(0))
    return ledger.spent()


if __name__ == "__main__":
    main()
