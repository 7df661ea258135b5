"""Predictions: the error that a method is expected to leave, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Difficulty of most methods beyond which results are mostly noise.
HOPELESS = 3.0


@dataclass(frozen=True)
class NoiseOnNumbers:
    """Noise on the private numbers of one part of a program, which tightens them.

    Attributes
    ----------
    part : str
        "b", "A" or "c".
    typical, most : float
        How far noise moves one number typically and at most, in its units. It only tightens b and
        A; costs move both ways. Infinite for noise of unbounded support.
    declared : float
        Width of the declared public range (the median over the numbers), infinite where an end was
        not declared.
    """

    part: str
    typical: float
    most: float
    declared: float

    @property
    def share(self) -> float:
        """Typical noise over the width of the declared range.

        0 where no range was declared, infinite where the range is a point.
        """
        return self.typical / self.declared if self.declared > 0 else math.inf

    @property
    def drowns(self) -> bool:
        """Whether noise is typically as wide as the declared range.

        Then a release is likely an end of the range, whatever the data.
        """
        return self.share >= 1


@dataclass(frozen=True)
class Prediction:
    """Expected outcome of a method.

    What it leaves also depends on the private rows, of which nothing is used here. One program may
    do much better or several times worse.

    Attributes
    ----------
    method : str
        Its name.
    violation : float
        Largest violation to expect, beyond the least possible one. Where s rows may be violated, it
        is the largest of all other rows. The least possible one is 0 if some point satisfies all
        private rows. Per unit of ||A_i||_2 for constraint-private programs, whose rows are taken to
        have entries of like size; in units of A x - b for others. Infinite where
        nothing is known of the size of the variables.
    objective_loss : float or None
        Loss of objective to expect, as a share of the public range of the optimum; 0 where the
        optimum is given, ``None`` where it is not predicted.
    rounds : int
        Rounds T, each of which is charged.
    noise : float
        Deviation of one released number per unit of its sensitivity; for selections 2 over their
        eps.
    power : float
        The violation falls as n or eps to the minus this power, s growing with n.
    yardstick : float or None
        The amount by which a row typically varies over the public region, in the same units, where
        it is known.
    difficulty : float or None
        For perturbed programs: variables times noise over s, 1 where most draws still succeed.
    hopeless : float
        A difficulty beyond which results are mostly noise.
    on_numbers : tuple of NoiseOnNumbers
        For methods that tighten the private numbers: the noise on each part of the program. It
        costs objective, which is not predicted.
    note : str
        What else public numbers say, in sentences for the advice.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(5000, 4))
    >>> lp = privlp.LinearProgram([1, 2, 1, 3], -needs, -np.ones(5000))
    >>> plan = privlp.plan(lp, eps=1.0, delta=1e-6, s=100, opt=3.0)
    >>> prediction = plan.predictions["dmw"]
    >>> prediction.method, 0 < prediction.violation < plan.yardstick, prediction.rounds > 1
    ('dmw', True, True)
    """

    method: str
    violation: float
    objective_loss: float | None
    rounds: int
    noise: float
    power: float = 1.0
    yardstick: float | None = None
    difficulty: float | None = None
    on_numbers: tuple[NoiseOnNumbers, ...] = ()
    hopeless: float = HOPELESS
    note: str = ""
