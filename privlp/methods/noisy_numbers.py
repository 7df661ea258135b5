"""Noise on a program's private numbers: which kind, and the share of the budget of each part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, real
from privlp.errors import BudgetExceededError, InvalidParameterError, UnsupportedProblemError
from privlp.game.loop import Released
from privlp.methods.base import PlannedRun, Prediction
from privlp.methods.request import SolveRequest
from privlp.privacy import (
    ChargedDraws,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.problem.standard_form import StandardForm
from privlp.regions.public_rows import largest_size
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers
from privlp.rows.program_rows import ProgramRows

_SMALLEST_SHARE = 1e-6
NAMES = {"b": "right-hand sides b", "A": "coefficients A", "c": "costs c"}


def low_sensitivity(request: SolveRequest, method: str) -> LowSensitivity:
    """The relation of a request, if it is one that bounds the change of numbers."""
    if not isinstance(request.relation, LowSensitivity):
        raise UnsupportedProblemError(
            f"method={method!r} protects programs whose numbers change a little (ScalarPrivate,"
            f" RowPrivate, ColumnPrivate, ObjectivePrivate), not: {request.public.description}.",
            parameter="method",
        )
    request.refuse_soft_rows(method)
    return request.relation


def private_numbers(request: SolveRequest, method: str) -> list[PrivateNumbers]:
    """The private numbers of each part; a request without any is refused."""
    numbers = low_sensitivity(request, method).private_numbers(request.form)
    if not numbers:
        raise request.unprotected("numbers")
    return numbers


def shares(
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    noise: Callable[[PrivateNumbers], float],
) -> list[float]:
    """Share of the budget for each part: as given by ``split``, or chosen from public numbers.

    `noise` says how much noise the whole budget would leave on a part. With a share f of the budget
    it is noise/f. Its effect e on a row is the noise on b, or the noise on A times a row's part of
    a typical sum_j |x_j|. The sum of e_k/f_k is least where f_k is proportional to sqrt(e_k). Costs
    have no effect on rows, and get an equal part.
    """
    if request.split is not None:
        return _given_shares(request.split, numbers)
    reach = {"b": 1.0, "A": _size_seen_by_a_row(request, numbers), "c": 0.0}
    effects = np.array([noise(part) * reach[part.part] for part in numbers])
    on_rows = effects > 0
    weights = np.ones(len(numbers))
    if np.isfinite(effects).all() and on_rows.any():
        weights[on_rows] = (
            on_rows.sum() * np.sqrt(effects[on_rows]) / np.sqrt(effects[on_rows]).sum()
        )
    return [float(share) for share in weights / weights.sum()]


def _given_shares(split: Any, numbers: Sequence[PrivateNumbers]) -> list[float]:
    """The shares of ``split``, checked and scaled to a sum of one."""
    try:
        entries: list[Any] = [split] if isinstance(split, bytes) else list(split)
    except TypeError:  # not a sequence
        entries = [split]
    given = [real(share, "split") for share in entries]
    total = sum(given)
    if (
        len(given) != len(numbers)
        or not all(share >= _SMALLEST_SHARE * total > 0 for share in given)
        or not total < math.inf
    ):
        parts = ", ".join(NAMES[part.part] for part in numbers)
        raise InvalidParameterError(
            f"split needs {len(numbers)} positive number(s), none below a millionth of their sum,"
            f" one for each of: {parts}.",
            parameter="split",
        )
    return [share / total for share in given]


def _size_seen_by_a_row(request: SolveRequest, numbers: Sequence[PrivateNumbers]) -> float:
    """Half the largest sum_j |x_j|, times the share of private coefficients in a row."""
    entries = sum(len(part) for part in numbers if part.part == "A")
    if not entries or len(numbers) == 1:
        return 1.0
    return (
        largest_size(request.lp)
        / 2
        * entries
        / (int(request.lp.private.sum()) * request.lp.shape[1])
    )


#: Noise that is added to numbers, of unbounded support or truncated.
AdditiveNoise = LaplaceMechanism | GaussianMechanism
BoundedNoise = TruncatedLaplaceMechanism | TruncatedGaussianMechanism | TruncatedSupNormMechanism


@dataclass(frozen=True)
class Noise:
    """A kind of additive noise, scaled by an intensity."""

    gaussian: bool

    def mechanism(self, l1: float, l2: float, share: float, intensity: float) -> AdditiveNoise:
        """The mechanism that takes `share` of what `intensity` costs."""
        if self.gaussian:
            return GaussianMechanism(l2, l2 / (math.sqrt(share) * intensity))
        return LaplaceMechanism(l1, l1 / (share * intensity))


def scale_of(mechanism: AdditiveNoise | BoundedNoise) -> float:
    """Its parameter: sigma of Gaussian noise, else its scale."""
    gaussian = isinstance(mechanism, GaussianMechanism | TruncatedGaussianMechanism)
    return mechanism.sigma if gaussian else mechanism.scale  # type: ignore[union-attr]


def deviation(mechanism: AdditiveNoise | BoundedNoise) -> float:
    """Standard deviation of the noise on one entry, before it is truncated."""
    if isinstance(mechanism, TruncatedSupNormMechanism):
        return mechanism.scale * math.sqrt((mechanism.size + 1) * (mechanism.size + 2) / 3)
    gaussian = isinstance(mechanism, GaussianMechanism | TruncatedGaussianMechanism)
    return scale_of(mechanism) if gaussian else math.sqrt(2) * scale_of(mechanism)


def largest_of(mechanism: AdditiveNoise, count: int) -> float:
    """Typical largest of `count` draws of the noise."""
    if isinstance(mechanism, GaussianMechanism):
        return mechanism.sigma * math.sqrt(2 * math.log(2 * count))
    return mechanism.scale * (1 + math.log(count))


def quieter_noise(
    request: SolveRequest, l1: float, l2: float, size: Callable[[AdditiveNoise], float]
) -> tuple[Noise, AdditiveNoise]:
    """Laplace or Gaussian noise at the whole budget, whichever has the smaller size."""
    found: list[tuple[Noise, AdditiveNoise]] = []
    for kind in [Noise(False)] if request.ledger.delta == 0 else [Noise(False), Noise(True)]:
        try:
            intensity = request.ledger.calibrate_together(
                lambda t, kind=kind: [(kind.mechanism(l1, l2, 1.0, t), 1)]  # type: ignore[misc]
            )
        except BudgetExceededError:
            # A budget with a limit on pure eps, say, has no room for Gaussian noise.
            if kind.gaussian and found:
                continue
            raise
        found.append((kind, kind.mechanism(l1, l2, 1.0, intensity)))
    return min(found, key=lambda pair: size(pair[1]))


def quieter_noise_on(request: SolveRequest, part: PrivateNumbers) -> tuple[Noise, AdditiveNoise]:
    """Laplace or Gaussian noise on one part, whichever has the smaller largest entry."""
    return quieter_noise(request, part.l1, part.l2, lambda noise: largest_of(noise, len(part)))


def mechanisms_of(
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    kinds: Sequence[Noise],
    split: Sequence[float],
) -> list[AdditiveNoise]:
    """The noise on each part, at its share of the budget."""

    def make(intensity: float) -> list[AdditiveNoise]:
        return [
            kind.mechanism(part.l1, part.l2, share, intensity)
            for part, kind, share in zip(numbers, kinds, split, strict=True)
        ]

    return make(
        request.ledger.calibrate_together(lambda t: [(mechanism, 1) for mechanism in make(t)])
    )


class OneRelease:
    """A run of one round: each part of the private numbers is drawn for once."""

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
        self, x: FloatArray, message: str, warning: str = "", prices: FloatArray | None = None
    ) -> Released:
        """A released point, with its objective under the released costs."""
        objective = float(self._known.c @ x) + self._form.lp.offset
        return Released(x, objective, self._trace, message=message, warning=warning, prices=prices)


def run_of_one_release(
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    mechanisms: Sequence[Any],
    purpose: str,
    program: Callable[..., OneRelease],
    predict: Callable[[], Prediction],
) -> PlannedRun:
    """The planned run: one draw of a mechanism for each part, then the program."""

    def start(rows: ProgramRows, draws: Sequence[ChargedDraws]) -> OneRelease:
        values = [rows.values(part) for part in numbers]
        return program(request.form, numbers, values, draws, time_limit=request.time_limit)

    charges = [
        (mechanism, 1, f"{purpose} {NAMES[part.part]}")
        for part, mechanism in zip(numbers, mechanisms, strict=True)
    ]
    return PlannedRun(charges, start, predict, by_place=True)
