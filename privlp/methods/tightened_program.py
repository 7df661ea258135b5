"""The run of methods that never violate a row: tightened numbers, then the tightened program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.methods.bounded_noise import BoundedNoise, noise_on
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.tightened_rows import PRECISELY, TightenedRows, certain
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.problem.highs_model import optimum
from privlp.problem.standard_form import StandardForm
from privlp.relations.private_numbers import PrivateNumbers, ProgramNumbers
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]


class TightenedProgram:
    """One release of tightened numbers, then HiGHS on the tightened program.

    Parameters
    ----------
    form : StandardForm
        The public part of the program.
    numbers : sequence of PrivateNumbers
    values : sequence of arrays
        The private numbers; private.
    draws : sequence of ChargedDraws
        One charged draw of a truncated mechanism for each.
    fallback : (d,)
        Public point that satisfies every possible program.
    time_limit : float or None
        Seconds for HiGHS.
    """

    rounds = 1

    def __init__(
        self,
        form: StandardForm,
        numbers: Sequence[PrivateNumbers],
        values: Sequence[FloatArray],
        draws: Sequence[ChargedDraws],
        *,
        fallback: FloatArray,
        time_limit: float | None,
    ) -> None:
        self._form, self._numbers, self._values, self._draws = form, numbers, values, draws
        self._fallback = fallback
        self._options = PRECISELY if time_limit is None else {**PRECISELY, "time_limit": time_limit}
        self._known = ProgramNumbers.of(form)
        self._ends: tuple[PrivateNumbers, FloatArray, FloatArray] | None = None
        self._trace: dict[str, npt.NDArray[np.generic]] = {}

    def step(self, t: int) -> None:  # noqa: ARG002 (the only round)
        """Release the tightened numbers, clipped to their declared ranges."""
        for numbers, values, draw in zip(self._numbers, self._values, self._draws, strict=True):
            mechanism = cast("BoundedNoise", draw.mechanism)
            if numbers.part == "A":
                largest = -draw(-values)
                smallest = largest - mechanism.most
                # There are four roundings of at most half a unit in the last place. They must not
                # lift it above the true value.
                smallest -= (
                    4 * np.spacing(np.maximum(np.abs(largest), np.abs(smallest)))
                    if mechanism.most > 0
                    else 0.0
                )
                self._ends = (
                    numbers,
                    np.maximum(smallest, numbers.low),
                    np.minimum(largest, numbers.high),
                )
                self._trace["largest A"] = self._ends[2]
                continue
            released = draw(values) + (mechanism.width if numbers.part == "c" else 0.0)
            released = np.clip(released, numbers.low, numbers.high)
            self._known = self._known.having(numbers, released)
            self._trace["noisy c" if numbers.part == "c" else "tightened b"] = released

    def released(self) -> Released:
        """The solution of the tightened program, moved until it certainly satisfies it."""
        lp, cost = self._form.lp, self._known.c
        rows = TightenedRows.of(self._known, self._ends)
        equal, values = rows.equalities()
        matrix = sp.vstack([rows.A, equal])
        lower, upper = (
            np.concatenate([np.full(len(rows.rhs), -np.inf), values]),
            np.concatenate([rows.rhs, values]),
        )
        status, point = optimum(
            cost[rows.column] * rows.sign,
            matrix,
            lower,
            upper,
            rows.bounds,
            sense=lp.sense,
            options=self._options,
        )
        if status == highspy.HighsModelStatus.kTimeLimit:
            return Released(
                None, None, self._trace, Status.TIME_LIMIT, "HiGHS reached the time limit"
            )
        x = (
            certain(rows, rows.point(point))
            if status == highspy.HighsModelStatus.kOptimal
            else None
        )
        message = "Solved the tightened program; x satisfies every inequality row with certainty"
        if x is None:
            x = self._fallback
            message = (
                "No certain optimum of the tightened program was found; x is a public point that"
                " satisfies every possible row"
            )
        return Released(
            x, float(cost @ x) + lp.offset, self._trace, message=self._caution() + message
        )

    def _caution(self) -> str:
        """A warning about parts whose noise is as wide as their range, from public numbers."""
        mechanisms = [cast("BoundedNoise", draw.mechanism) for draw in self._draws]
        noises = map(noise_on, self._numbers, mechanisms)
        drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
        return (
            f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
            if drowned
            else ""
        )
