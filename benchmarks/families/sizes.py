"""Sizes of programs that are drawn from a seed, so that nobody can choose them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Rows and variables lie between these.
ROWS, VARIABLES = (1_000, 1_000_000), (5, 1_000)
#: Filled entries of a program, so that HiGHS takes seconds.
MOST_ENTRIES = 600_000


class Sizes(NamedTuple):
    """Rows n, variables d, and the share of entries that are filled."""

    n: int
    d: int
    density: float


def drawn(
    rng: np.random.Generator,
    *,
    density: tuple[float, float] = (1.0, 1.0),
    rows: tuple[int, int] = ROWS,
    variables: tuple[int, int] = VARIABLES,
    entries: int = MOST_ENTRIES,
) -> Sizes:
    """Sizes with uniform logarithms, drawn anew until a program has few enough entries.

    A column has at least one filled entry in expectation for every hundred rows, and a row at
    least two.
    """
    while True:
        n, d = (log_uniform(rng, *ends) for ends in (rows, variables))
        filled = max(log_uniform(rng, *density), 0.01, min(1.0, 2 / d))
        if n * d * filled <= entries:
            return Sizes(round(n), round(d), filled)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between `low` and `high` whose logarithm is uniform."""
    return float(min(max(np.exp(rng.uniform(np.log(low), np.log(high))), low), high))
