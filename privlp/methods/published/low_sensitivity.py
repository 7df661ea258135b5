"""Published methods for private numbers: multiplicative weights, and truncated Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privlp.checks import BoolArray, FloatArray
from privlp.errors import UnsupportedProblemError
from privlp.game.loop import Path, Released, as_rounds
from privlp.methods.base import COMPARED, ChargeRequest, Method, PlannedRun, Prediction
from privlp.methods.noisy_numbers import (
    AdditiveNoise,
    deviation,
    largest_of,
    low_sensitivity,
    quieter_noise,
)
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import TruncatedLaplace
from privlp.privacy import ChargedDraws, ExponentialMechanism, Mechanism, TruncatedLaplaceMechanism
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers
from privlp.rows.access import Rows
from privlp.rows.program_rows import RowBlock, SelectableRows


class MovingRows:
    """All rows of a program on a simplex: how far they move, and which coefficients are private."""

    def __init__(self, relation: LowSensitivity, simplex: Simplex) -> None:
        form = simplex.form
        self.simplex = simplex
        self.violation_change = relation.violation_change(form)
        scale = np.zeros(form.lp.shape[1])
        scale[form.column] = simplex.vertices
        self.row_change = relation.row_change(form, scale)
        self._matrix_is_public = "A" not in relation.private_parts
        private = relation.private_numbers(form)
        self._numbers = next((numbers for numbers in private if numbers.part == "A"), None)

    def private_coefficients(self, row: int) -> BoolArray:
        """Which coefficients of a row of A are private, (d,)."""
        found = np.zeros(self.simplex.form.lp.shape[1], dtype=bool)
        if self._numbers is not None:
            rows, columns = self._numbers.at
            found[columns[rows == row]] = True
        return found

    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Public ranges of the coefficients, (n, d) each: public ones are their own range."""
        lp = self.simplex.form.lp
        A = lp.A.toarray() if lp.is_sparse else lp.A
        low, high = A.copy(), A.copy()
        if (numbers := self._numbers) is not None:
            low[numbers.at], high[numbers.at] = numbers.low, numbers.high
        return low, high

    def span_and_spread(self) -> tuple[float, float]:
        """Public bound on max_j A'_ij - min_j A'_ij over all rows i; typical deviation over j."""
        if self._matrix_is_public:
            return self._span_and_spread_of_public_rows()
        numbers = self._numbers
        if numbers is not None and not np.isfinite([numbers.low, numbers.high]).all():
            raise UnsupportedProblemError(
                "method='mw' plans its rounds from a public range of the entries of A, and none was"
                " declared: give lower and upper to the neighbour relation, or use"
                " method='direct-noise'.",
                parameter="lower",
            )
        form = self.simplex.form
        scale = form.column_sign * self.simplex.vertices
        # Private rows without sides constrain nothing.
        counted = ~form.lp.private | (form.lp.sides() > 0)
        ends = [end[counted][:, form.column] * scale for end in self.ranges()]
        low, high = np.minimum(*ends), np.maximum(*ends)
        spread = ((low + high) / 2).var(axis=1) + ((high - low) ** 2 / 12).mean(axis=1)
        return float((high.max(axis=1) - low.min(axis=1)).max()), math.sqrt(float(spread.mean()))

    def _span_and_spread_of_public_rows(self) -> tuple[float, float]:
        rows, vertices = RowBlock(self.simplex.form), self.simplex.vertices
        low, high = rows.extremes(vertices)
        mean, square = np.zeros(len(low)), np.zeros(len(low))
        for j, vertex in enumerate(vertices):
            values = rows.column(j) * vertex
            mean += values / len(vertices)
            square += values**2 / len(vertices)
        variance = np.maximum(square - mean**2, 0.0)
        return float((high - low).max()), math.sqrt(float(variance.mean()))


_NAME = "mw"
_MOST_DEFAULT_ROUNDS = 2_000
# Measured errors over bounds with the standard deviation of a row instead of its span: see
# docs/results/low_sensitivity.md.
_TYPICAL_REGRET, _TYPICAL_SELECTION = 0.35, 0.17


class MultiplicativeWeights(Method):
    """Multiplicative weights on K = {u >= 0, cost·u = V} against the most violated row.

    The row is selected by the exponential mechanism (Hsu, Roth, Roughgarden and Ullman 2014,
    section 4).

    *Neighbours*: scalar-, row- or column-private, or several at once; the costs are public, and so
    is V (`opt`).

    *Sensitivity.* At the public point x of a round the violations of two neighbours differ by a
    vector that spans at most :meth:`~privlp.relations.LowSensitivity.violation_change` there.
    Violations are scored in units of that number. Where A is private, the selected row is released
    with noise for its sensitivity after the change of variables,
    :meth:`~privlp.relations.LowSensitivity.row_change` at v_j = V/c_j. Where only b is private, the
    selected row is public. Proof: ``docs/proofs.md``, "Multiplicative weights over the variables".

    *Budget.* T selections and, where A is private, T releases, half of the budget each.

    *Rounds.* With rows that span r on K, T rounds leave a regret of at most r sqrt(ln d/(2T)), or
    alpha, in units of A x - b. The step follows from released rows (AdaHedge).
    """

    name = _NAME
    take_it = (
        "only numbers move, and you want the method of Hsu, Roth, Roughgarden and Ullman (2014)"
    )

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity) and "c" not in relation.private_parts

    def rank(self, request: SolveRequest) -> float | None:
        return COMPARED if request.opt is not None and request.split is None else None

    def plan(self, request: SolveRequest) -> PlannedRun:
        request.refuse_prices(self.name, "without opt method='direct-noise' does")
        forecast = Forecast(request)
        rounds = forecast.rounds()
        select, release = forecast.mechanisms(rounds)
        charges: list[ChargeRequest] = [(select, rounds, "select a violated row each round")]
        if release is not None:
            charges.append((release, rounds, "release the selected row"))

        def start(rows: Rows[RowBlock], draws: Sequence[ChargedDraws]) -> Hedge:
            return Hedge(forecast.rows, rows, *draws, rounds=rounds)

        def predict() -> Prediction:
            return Prediction(_NAME, float(forecast.error(rounds)), 0.0, rounds, 2 / select.eps)

        return PlannedRun(charges, start, predict, by_place=True)


class Forecast:
    """Rounds and noise, from public numbers."""

    def __init__(self, request: SolveRequest) -> None:
        relation = _relation_of(request)
        self._request = request
        form = StandardForm.of(request.lp, every_row=True)
        simplex = Simplex(form, request.opt)
        self.rows = MovingRows(relation, simplex)
        d, self._n = len(simplex.vertices), len(form.row)
        self._log_d = math.log(max(2, d))
        points = simplex.centre(), simplex.farthest()
        self._changes = [self.rows.violation_change(point) for point in points]
        self.span, self._spread = self.rows.span_and_spread()
        l1, l2 = self.rows.row_change
        self._release = None
        if l2 != 0:
            self._release, _ = quieter_noise(request, l1, l2, lambda noise: largest_of(noise, d))

    def rounds(self) -> int:
        """T from alpha, or the one of the least predicted error."""
        alpha = self._request.accuracy()
        if alpha is not None:
            return as_rounds(self._log_d / 2, self.span / alpha, alpha)
        rounds = np.unique(np.geomspace(1, _MOST_DEFAULT_ROUNDS, 200).astype(int))
        return int(rounds[np.argmin(self.error(rounds))])

    def mechanisms(self, rounds: int) -> tuple[ExponentialMechanism, AdditiveNoise | None]:
        """Selection, and release of a row where A is private: half of the budget each."""

        def make(intensity: float) -> tuple[ExponentialMechanism, AdditiveNoise | None]:
            change = max(self._changes) / 2
            if self._release is None:
                return ExponentialMechanism(change, intensity), None
            # eps^2/8 for a selection is 1/(2 sigma^2) for Gaussian noise of one unit.
            eps = 2 * intensity if self._release.gaussian else intensity
            release = self._release.mechanism(*self.rows.row_change, 1.0, intensity)
            return ExponentialMechanism(change, eps), release

        def with_counts(intensity: float) -> list[tuple[Mechanism, int]]:
            return [(mechanism, rounds) for mechanism in make(intensity) if mechanism is not None]

        return make(self._request.ledger.calibrate_together(with_counts))

    def error(self, rounds: npt.ArrayLike) -> FloatArray:
        """Predicted violation: typical shares of regret and selection error, and the noise."""
        rounds = np.asarray(rounds, dtype=float)
        # T draws of eps' each cost T eps' when composed purely, and T eps'^2 / 8 otherwise.
        power = 1.0 if self._request.ledger.delta == 0 else 0.5
        scarcity = (rounds / _MOST_DEFAULT_ROUNDS) ** power
        select, release = self._most_rounds
        noise = 0.0 if release is None else deviation(release) * scarcity
        regret = np.hypot(self._spread, noise) * np.sqrt(self._log_d / (2 * rounds))
        typical = math.sqrt(self._changes[0] * self._changes[1])
        selection = typical / select.eps * scarcity * math.log(max(2, self._n))
        drift = noise * np.sqrt(2 * self._log_d / rounds)
        return _TYPICAL_REGRET * regret + _TYPICAL_SELECTION * selection + drift

    @cached_property
    def _most_rounds(self) -> tuple[ExponentialMechanism, AdditiveNoise | None]:
        return self.mechanisms(_MOST_DEFAULT_ROUNDS)


def _relation_of(request: SolveRequest) -> LowSensitivity:
    """The relation of a request to which the method applies."""
    relation = low_sensitivity(request, _NAME)
    s, width = "only constraint-private solvers give up rows", "ranges are declared by the relation"
    split = "it spends on violations and rows, not on parts of the program"
    request.refuse(_NAME, s=s, width=width, split=split)
    if "c" in relation.private_parts:
        raise UnsupportedProblemError(
            "method='mw' moves on {c·x = opt}, which shows c: where c is private use"
            " 'direct-noise'.",
            parameter="method",
        )
    if not request.form.n_private:
        raise request.unprotected("numbers")
    return relation


class Hedge:
    """Hedge over the variables; each round answers one privately selected row."""

    def __init__(
        self,
        known: MovingRows,
        rows: Rows[RowBlock],
        select: ChargedDraws,
        release: ChargedDraws | None = None,
        *,
        rounds: int,
    ) -> None:
        self.rounds = rounds
        self._known, self._simplex = known, known.simplex
        self._select, self._release = select, release
        self._unit = 2 * select.mechanism.sensitivity
        self._rows = rows.keep(SelectableRows)
        self._weights = AdaHedge(len(self._simplex.vertices))
        self._total = np.zeros(len(self._simplex.vertices))
        self._selected: list[int] = []
        self._path = Path()

    def step(self, t: int) -> None:  # noqa: ARG002 (every round is alike)
        """Select a row that the point violates, and move weight to variables that satisfy it."""
        form = self._simplex.form
        share = self._weights.distribution()
        self._total += share
        self._path.add(self._average())
        x = form.undo(share * self._simplex.vertices)
        violations = np.concatenate(self._rows.map(SelectableRows.violations, x))
        side = self._select(violations * (self._unit / self._known.violation_change(x)))
        self._selected.append(int(form.row[side]))
        self._weights.learn(self._row(side) * form.column_sign * self._simplex.vertices)

    def released(self) -> Released:
        """The average of the points of all rounds."""
        form = self._simplex.form
        x = form.undo(self._average())
        trace = {"selected rows": np.array(self._selected), **self._path.trace(form.undo)}
        return Released(x, form.lp.objective(x), trace)

    def _average(self) -> FloatArray:
        return self._total / self._total.sum() * self._simplex.vertices

    def _row(self, side: int) -> FloatArray:
        """The coefficients of a ``<=`` row at the variables of the region, private ones noisy."""
        form = self._simplex.form
        coefficients = self._rows.total(SelectableRows.coefficients, side)[form.column]
        private = self._known.private_coefficients(int(form.row[side]))[form.column]
        if self._release is None or not private.any():
            return coefficients
        vertices, noisy = self._simplex.vertices[private], coefficients.copy()
        noisy[private] = self._release(coefficients[private] * vertices) / vertices
        return noisy


class AdaHedge:
    """Exponential weights whose step follows from the losses (de Rooij et al. 2014)."""

    def __init__(self, size: int) -> None:
        self._losses = np.zeros(size)
        self._gap = 0.0

    def _rate(self) -> float:
        return math.log(max(2, len(self._losses))) / self._gap if self._gap > 0 else math.inf

    def distribution(self) -> FloatArray:
        """Weights of the experts, which sum to one."""
        ahead = self._losses - self._losses.min()
        # The best experts have weight 1, also if the rate is infinite (inf * 0 would be NaN).
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.where(ahead > 0, np.exp(-self._rate() * ahead), 1.0)
        return weights / weights.sum()

    def learn(self, losses: FloatArray) -> None:
        """Add the losses of a round."""
        rate, before = self._rate(), self._mixed_loss()
        expected = float(self.distribution() @ losses)
        self._losses += losses
        self._gap += max(0.0, expected - (self._mixed_loss(rate) - before))

    def _mixed_loss(self, rate: float | None = None) -> float:
        rate = self._rate() if rate is None else rate
        least = float(self._losses.min())
        if math.isinf(rate):
            return least
        return least - math.log(np.exp(-rate * (self._losses - least)).mean()) / rate


class PublishedTruncatedLaplace(TruncatedLaplace):
    """As :class:`~privlp.methods.tightened.noise.TruncatedLaplace`, with the published width.

    The width is ln(m (e^eps - 1)/delta + 1) for m numbers (Muñoz Medina et al. 2021).
    Proof: ``docs/proofs.md``, "Truncated Laplace mechanism".
    """

    name = "truncated-laplace-published"
    take_it = "you compare with Muñoz Medina et al. (2021)"
    listed = False

    def _of_eps(
        self, numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
    ) -> list[TruncatedLaplaceMechanism]:
        entries = sum(len(part) for part in numbers)
        return [
            TruncatedLaplaceMechanism.of_budget(
                part.l1, share * eps, delta, shift=eps, published_for=entries
            )
            for part, share in zip(numbers, split, strict=True)
        ]
