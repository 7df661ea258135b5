"""What a method is expected to leave, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """Expected outcome of a method.

    Attributes
    ----------
    method : str
        Its name.
    violation : float
        Largest violation to expect once s rows are given up (largest of all where no rows are), over the least possible: 0 is the
        least if some point satisfies all private rows. Per unit of ||A_i||_2 for constraint-private programs, whose rows are taken
        to have entries of like size; in units of A x - b for others.
    objective_loss : float or None
        Loss of objective to expect, as a share of the public range of the optimum; 0 where the optimum is given, ``None`` where
        it is not predicted.
    rounds : int
        Rounds T, each of which is paid for.
    noise : float
        Deviation of one released number per unit of its sensitivity; for selections 2 over their eps.
    power : float
        The violation falls as n or eps to the minus this power, s growing with n.
    """

    method: str
    violation: float
    objective_loss: float | None
    rounds: int
    noise: float
    power: float = 1.0
