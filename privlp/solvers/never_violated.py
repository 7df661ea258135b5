"""Solutions that satisfy the true rows with certainty: noise that only tightens, and a check in exact arithmetic."""

from __future__ import annotations

import math

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.privacy import TruncatedLaplaceMechanism
from privlp.privacy.ledger import ChargedDraws
from privlp.problem import StandardForm
from privlp.problem.highs_model import optimum
from privlp.problem.public_region import require_bounded
from privlp.relations import Figures, PrivateNumbers
from privlp.solvers.game import Released
from privlp.solvers.noisy_numbers import NAMES, low_sensitivity, private_numbers, shares
from privlp.solvers.prediction import NoiseOnNumbers, Prediction
from privlp.solvers.task import Task
from privlp.solvers.tightened_rows import PRECISELY, TightenedRows, certain, point_inside
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]

_METHODS = {False: "truncated-laplace", True: "truncated-laplace-published"}


def truncated_laplace(task: Task) -> NeverViolated:
    """Release tightened numbers, solve the tightened program: its every solution satisfies the true rows.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity.* The L1 change of the numbers themselves, in the user's units. Each is released by
    :class:`~privlp.privacy.TruncatedLaplaceMechanism`, whose noise has bounded support and is shifted to one side: right-hand
    sides only fall, coefficients only grow where x_j >= 0 and only fall where x_j <= 0. A variable of either sign is split, and
    its coefficient taken at both ends of the interval that holds the true one. Costs are released with the same noise, centred.

    *Budget.* Parts that take eps_k with sum eps share one delta: sum_k (e^(eps_k) - 1) <= e^eps - 1. Outside zCDP.

    *Never.* Releases are clipped to the declared public ranges, so they are never tighter than the tightest program within the
    ranges; a point of that program, found and checked before anything is spent, is public and satisfies every possible row. The
    solution of HiGHS, feasible to 1e-9 only, is moved inwards until it satisfies the released rows in exact arithmetic; should
    that fail, the public point is the answer. Muñoz Medina et al. (2021) for b; Benvenuti et al. (2026) for A and c. Proof:
    ``docs/proofs.md``, "Constraints that are never violated".
    """
    return _never_violated(task, published=False)


def published_truncated_laplace(task: Task) -> NeverViolated:
    """As :func:`truncated_laplace`, with the published width ln(m (e^eps - 1)/delta + 1) for m numbers; for comparison."""
    return _never_violated(task, published=True)


def predict_truncated_laplace(task: Task) -> Prediction:
    """What noise :func:`truncated_laplace` draws. No row is violated; what that costs in objective depends on private numbers."""
    return _prediction(task, published=False)


def predict_published_truncated_laplace(task: Task) -> Prediction:
    """What noise :func:`published_truncated_laplace` draws."""
    return _prediction(task, published=True)


def _never_violated(task: Task, *, published: bool) -> NeverViolated:
    numbers, mechanisms, fallback = _prepared(task, published=published)
    requests = [(m, 1, f"tighten {NAMES[p.part]}") for m, p in zip(mechanisms, numbers, strict=True)]
    draws = task.charge_together(requests)
    return NeverViolated(task.form, numbers, draws, fallback=fallback, time_limit=task.time_limit)


def _prediction(task: Task, *, published: bool) -> Prediction:
    numbers, mechanisms, _ = _prepared(task, published=published)
    noise = max(math.sqrt(2) * mechanism.scale / mechanism.sensitivity for mechanism in mechanisms)
    on_numbers = tuple(map(_noise_on, numbers, mechanisms))
    return Prediction(_METHODS[published], 0.0, None, 1, noise, on_numbers=on_numbers)


def _noise_on(numbers: PrivateNumbers, mechanism: TruncatedLaplaceMechanism) -> NoiseOnNumbers:
    """Shifted noise has its width as median; that on costs is centred, and at most its width."""
    declared = float(np.median(numbers.high - numbers.low))
    if numbers.part == "c":
        return NoiseOnNumbers("c", mechanism.scale, mechanism.width, declared)
    return NoiseOnNumbers(numbers.part, mechanism.width, mechanism.most, declared)


def _prepared(task: Task, *, published: bool) -> tuple[list[PrivateNumbers], list[TruncatedLaplaceMechanism], FloatArray]:
    """The private numbers, the noise on each part, and a public point that satisfies every possible row."""
    method = _METHODS[published]
    relation = low_sensitivity(task, method)
    task.refuse(
        method,
        s="no row is given up",
        alpha="no row is violated",
        width="ranges are declared by the neighbour relation",
        opt="the tightened program is solved for its own optimum",
    )
    if math.isfinite(task.ledger.eps) and task.ledger.delta == 0:
        raise InvalidParameterError(f"delta must be positive with method={method!r}: noise of bounded support needs it.")
    numbers = private_numbers(task, relation)
    _require_ranges(task.form, numbers)
    require_bounded(task.form, numbers, within_ranges=True)
    fallback = _surely_feasible(TightenedRows.tightest(task.form, numbers))
    split = shares(task, numbers, lambda part: part.l1)
    return numbers, _mechanisms(task, numbers, split, published=published), fallback


def _mechanisms(
    task: Task, numbers: list[PrivateNumbers], split: list[float], *, published: bool
) -> list[TruncatedLaplaceMechanism]:
    entries = sum(len(part) for part in numbers) if published else None
    delta = task.ledger.delta_left

    def make(eps: float) -> list[tuple[TruncatedLaplaceMechanism, int]]:
        return [
            (TruncatedLaplaceMechanism.of_budget(part.l1, share * eps, delta, shift=eps, published_for=entries), 1)
            for part, share in zip(numbers, split, strict=True)
        ]

    return [mechanism for mechanism, _ in make(task.ledger.calibrate_together(make))]


def _require_ranges(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private equalities, and numbers without a declared end on the side they are tightened to."""
    lower, upper = form.lp.bounds.T
    parts = {part.part for part in numbers}
    if (form.lp.private & (form.lp.row_lower == form.lp.b)).any() and parts != {"c"}:
        raise UnsupportedProblemError(
            "A private equality cannot be tightened, so it cannot be satisfied with certainty. Make it public (private=...), or "
            "state the inequality that matters."
        )
    if "b" in parts and (form.lp.sides()[form.lp.private] > 1).any():
        raise UnsupportedProblemError(
            "A private range lower <= A x <= upper has one declared interval for both of its ends, which leaves nothing between "
            "them in the worst case. Write it as two rows, with an interval for each end."
        )
    for part in numbers:
        if part.part == "c":
            continue
        if part.part == "b":
            open_ended = ~np.isfinite(part.low)
            end = "lower (for <= rows) or upper (for >= rows)"
        else:
            side, column = form.lp.sides()[part.at[0]], part.at[1]
            above, below = np.isfinite(form.lp.b[part.at[0]]), np.isfinite(form.lp.row_lower[part.at[0]])
            grows = (above & (upper[column] > 0)) | (below & (lower[column] < 0))
            falls = (above & (lower[column] < 0)) | (below & (upper[column] > 0))
            open_ended = (side > 0) & ((grows & ~np.isfinite(part.high)) | (falls & ~np.isfinite(part.low)))
            end = "upper (where growth tightens a row) or lower (where a fall does)"
        if open_ended.any():
            raise UnsupportedProblemError(
                f"feasible='always' needs a declared public range of the {NAMES[part.part]}: give the neighbour relation a finite "
                f"{end}, the same for every neighbour and not read off the data."
            )


def _surely_feasible(rows: TightenedRows) -> FloatArray:
    """A point of the tightest program, certified in exact arithmetic. Public.

    Raises
    ------
    UnsupportedProblemError
        If there is none.
    """
    deepest = point_inside(rows, np.ones(len(rows.rhs), dtype=bool))
    x = None if deepest is None else certain(rows, deepest)
    if x is None:
        raise UnsupportedProblemError(
            "The tightened worst case has no feasible point: with every private number at the tight end of its declared range, no "
            "x satisfies all rows (or none that double precision can certify). Declare narrower ranges, or leave out "
            "feasible='always'. Nothing was drawn and nothing was charged."
        )
    return x


class NeverViolated:
    """One release of tightened numbers, HiGHS on the tightened program, and a point that certainly satisfies it.

    Parameters
    ----------
    form : StandardForm
        The program.
    numbers : list of PrivateNumbers
    draws : list of ChargedDraws
        One paid draw of a truncated Laplace mechanism for each.
    fallback : (d,)
        Public point that satisfies every possible program.
    time_limit : float or None
        Seconds for HiGHS.
    """

    rounds = 1

    def __init__(
        self,
        form: StandardForm,
        numbers: list[PrivateNumbers],
        draws: list[ChargedDraws],
        *,
        fallback: FloatArray,
        time_limit: float | None,
    ) -> None:
        self._form, self._numbers, self._draws, self._fallback = form, numbers, draws, fallback
        self._options = PRECISELY if time_limit is None else {**PRECISELY, "time_limit": time_limit}
        self._figures = Figures.of(form)
        self._ends: tuple[PrivateNumbers, FloatArray, FloatArray] | None = None
        self._trace: dict[str, npt.NDArray[np.generic]] = {}

    def step(self, t: int) -> None:  # noqa: ARG002 (the only round)
        """Release the tightened numbers, clipped to their declared ranges; only released ones are kept."""
        for numbers, draw in zip(self._numbers, self._draws, strict=True):
            mechanism: TruncatedLaplaceMechanism = draw.mechanism  # type: ignore[assignment]
            if numbers.part == "A":
                largest = -draw(-numbers.values)
                smallest = largest - mechanism.most
                # Four roundings, of at most half a unit in the last place each, must not lift it above the true value.
                smallest -= 4 * np.spacing(np.maximum(np.abs(largest), np.abs(smallest))) if mechanism.most > 0 else 0.0
                self._ends = numbers, np.maximum(smallest, numbers.low), np.minimum(largest, numbers.high)
                self._trace["largest A"] = self._ends[2]
                continue
            released = draw(numbers.values) + (mechanism.width if numbers.part == "c" else 0.0)
            released = np.clip(released, numbers.low, numbers.high)
            self._figures = self._figures.having(numbers, released)
            self._trace["noisy c" if numbers.part == "c" else "tightened b"] = released

    def released(self) -> Released:
        """The solution of the tightened program, moved until it certainly satisfies it."""
        lp, cost = self._form.lp, self._figures.c
        rows = TightenedRows.of(self._figures, self._ends)
        equal, values = rows.equalities()
        matrix = sp.vstack([rows.A, equal])
        lower, upper = np.concatenate([np.full(len(rows.rhs), -np.inf), values]), np.concatenate([rows.rhs, values])
        status, point = optimum(
            cost[rows.column] * rows.sign, matrix, lower, upper, rows.bounds, sense=lp.sense, options=self._options
        )
        if status == highspy.HighsModelStatus.kTimeLimit:
            return Released(None, None, self._trace, Status.TIME_LIMIT, "HiGHS reached the time limit")
        x = certain(rows, rows.point(point)) if status == highspy.HighsModelStatus.kOptimal else None
        message = "Solved the tightened program; x satisfies every inequality row with certainty"
        if x is None:
            x = self._fallback
            message = "No certain optimum of the tightened program was found; x is a public point that satisfies every possible row"
        return Released(x, float(cost @ x) + lp.offset, self._trace, message=self._caution() + message)

    def _caution(self) -> str:
        """A word on parts of the program that noise drowns, from public numbers."""
        mechanisms: list[TruncatedLaplaceMechanism] = [draw.mechanism for draw in self._draws]  # type: ignore[misc]
        noises = map(_noise_on, self._numbers, mechanisms)
        drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
        return f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. " if drowned else ""
