"""What methods share that release private numbers once, and then solve the program of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.methods.base import PlannedRun
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.problem.standard_form import StandardForm
from privlp.relations.private_numbers import PrivateNumbers, ProgramNumbers
from privlp.rows.program_rows import ProgramRows

FloatArray = npt.NDArray[np.float64]


class OneRelease:
    """A run of one round: each part of the private numbers is drawn for once.

    Parameters
    ----------
    form : StandardForm
        The public part of the program.
    numbers : sequence of PrivateNumbers
    values : sequence of arrays
        The private numbers; private.
    draws : sequence of ChargedDraws
        One charged draw for each.
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
        time_limit: float | None,
    ) -> None:
        self._form, self._numbers, self._values, self._draws = form, numbers, values, draws
        self._options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
        self._known = ProgramNumbers.of(form)
        self._trace: dict[str, npt.NDArray[np.generic]] = {}

    def step(self, t: int) -> None:  # noqa: ARG002 (the only round)
        """Release the private numbers; only what is released is kept."""
        for numbers, values, draw in zip(self._numbers, self._values, self._draws, strict=True):
            self._release_part(numbers, values, draw)

    def _release_part(
        self, numbers: PrivateNumbers, values: FloatArray, draw: ChargedDraws
    ) -> None:
        """Draw for one part, and put what is released into the known numbers and the trace."""
        raise NotImplementedError

    def released(self) -> Released:
        """The solution of the program of released numbers."""
        raise NotImplementedError

    def _at(
        self,
        x: FloatArray,
        message: str,
        warning: str = "",
        prices: FloatArray | None = None,
    ) -> Released:
        """A released point, with its objective under the released costs."""
        objective = float(self._known.c @ x) + self._form.lp.offset
        return Released(x, objective, self._trace, message=message, warning=warning, prices=prices)


def run_of_one_release(
    task: Task,
    numbers: Sequence[PrivateNumbers],
    mechanisms: Sequence[Any],
    purpose: str,
    program: Callable[..., OneRelease],
    predict: Callable[[], Prediction],
) -> PlannedRun:
    """The planned run: one draw of a mechanism for each part, then the program.

    Parameters
    ----------
    task : Task
    numbers : sequence of PrivateNumbers
    mechanisms : sequence of Mechanism
        One for each part.
    purpose : str
        What a draw does; the name of the part follows.
    program : callable
        A class that derives from `OneRelease`, with its own options set.
    predict : callable
        Of the planned run.
    """

    def start(rows: ProgramRows, draws: Sequence[ChargedDraws]) -> OneRelease:
        values = [rows.values(part) for part in numbers]
        return program(task.form, numbers, values, draws, time_limit=task.time_limit)

    charges = [
        (mechanism, 1, f"{purpose} {NAMES[part.part]}")
        for part, mechanism in zip(numbers, mechanisms, strict=True)
    ]
    return PlannedRun(charges, start, predict, by_place=True)
