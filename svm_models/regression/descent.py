"""Averaged gradient descent on private records of a regression, in whitened coordinates.

Proofs: ``docs/proofs.md``, "Regression by averaged descent", "The better of a fit and a constant".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import BoolArray
from privlp.methods.fallback import keeps, reach
from privlp.privacy import ChargedDraws
from privlp.rows.access import Rows
from svm_models.account import Account
from svm_models.parameters import FloatArray
from svm_models.records.grid import RecordGrid, Whitening
from svm_models.regression.losses import (
    MEDIAN_SIZE,
    ResidualLoss,
    Together,
    crossings,
    normal_quantile,
    public_levels,
    selected,
)
from svm_models.regression.plan import COUNTS, OF_A_MEAN, SIZES, TURNS, Plan, Stage
from svm_models.regression.records import (
    MeasuredPairs,
    Pairs,
    WhitenedPairs,
    above,
    second_moments,
    up_to,
)
from svm_models.whitening import second_moments as released_moments

# A round moves by noise no more than this share of the scale of residuals.
_NOISE_OF_A_ROUND = 0.3
_LONGEST_STEP = 3.0
# Binary logarithms between which norms and, in units of y's range, residuals are searched.
_NORMS, _SIZES = 12.0, (-20.0, 2.0)
# Where half of the residuals of a constant are smaller, beside the range of y, most of them may be
# 0: so few of all tell that, by a size so many times as large. It is then taken, and a later one is
# not believed below a share of it.
_SMALL, _FEW, _TIED, _LEAST_OF_TIED = 2.0**-9, 0.125, 8.0, 0.25
# After the first stage residuals may be smaller by so many powers of two.
_LESS = 14.0
# Share of records that the middle turns of whitening shorten; moments below this share of n are not
# told apart.
_SHORTENED, _LEAST_MOMENT = 0.5, 1e-4
# Shorter records are not scaled to norm 1 at first.
_SMALLEST = 2.0**-100
# A step is cut if it is this many times what the shown curvature allows.
_MOST_OF_A_STEP = 1.5
# A curvature that rounds show is believed beyond so many deviations of their noise.
_BEYOND_NOISE = 2.0
# A quantile is looked for up to so many times where it would be if residuals were normal.
_FARTHEST = 2.7


@dataclass(frozen=True)
class Fit:
    """What a descent releases: K fits, `points` (K, p), which predict y_i by a_i·w_k.

    `constant` takes the place of a fit that is not `kept`; predictions stay within `limit` of it.
    """

    points: FloatArray
    constant: FloatArray
    limit: FloatArray
    kept: BoolArray


def descend(rows: Rows[Pairs], lift: FloatArray, plan: Plan, account: Account) -> Fit:
    """Minimise the mean loss, abs(y_i) <= 2; all draws are charged before the first."""
    p, loss, levels = plan.p, plan.loss, plan.quantiles
    first = plan.paid(account)
    best = _constants(rows, first.pop(0), plan) if plan.constant else np.zeros(loss.count)
    if plan.alone:
        points = np.zeros((loss.count, p))
        points[:, 0] = best
        return Fit(points, best, np.zeros(loss.count), np.full(loss.count, p == plan.constant))
    *first, choice = first
    moments, of_norms, sizes, *stages = first
    of_levels, last = (stages.pop(0), stages.pop(0)) if levels else (None, None)
    whole = stages.pop(0) if loss.centre.any() else None
    on_grid = _OnGrid(rows, lift, RecordGrid.of(plan.neighbours.most))
    whiten = _whitening(on_grid, moments, of_norms, plan)
    measured, bound = on_grid.bound(whiten, of_norms, plan.longer)
    pairs = measured.keep(partial(WhitenedPairs, bound=bound))
    run = _Descent(pairs, plan, bound, lift @ whiten, on_grid.matrix(whiten))
    if whole is not None:
        run = replace(run, whole=np.asarray(whole(run.centre())), of_whole=whole.sigma)
    of_constant = np.linalg.solve(whiten, np.eye(p)[0]) if plan.constant else np.zeros(p)
    nearest = np.argmin(np.abs(np.array(levels or (0.5,)) - 0.5))
    points = best[nearest] * of_constant[None]
    size = run.size_of_residuals(points[0], sizes, _SIZES)
    small, tied = size < _SMALL, False
    if small:  # takes the next turn
        of_few = run.size_of_residuals(points[0], sizes, _SIZES, _FEW)
        of_few *= MEDIAN_SIZE / normal_quantile(1 - _FEW / 2)
        tied = of_few > _TIED * size
        size = max(size, of_few)
    for number in range(SIZES - 1):
        points = run.stage(plan.stages[number], stages[number], points, size / MEDIAN_SIZE)
        if number or not small:
            searched = math.log2(size) - _LESS, math.log2(size) + 1
            told = run.size_of_residuals(points[0], sizes, searched)
            size = max(told, size * _LEAST_OF_TIED) if tied else told
    number, scale = SIZES - 1, size / MEDIAN_SIZE
    median, points = points[0], np.repeat(points, loss.count, axis=0)
    if of_levels is not None:
        shift = _levels(run, median, of_levels, levels, scale, plan.together(levels))
        points = points + shift[:, None] * of_constant
    for stage, draws in zip(plan.stages[number:], stages[number:], strict=True):
        points = run.stage(stage, draws, points, scale)
    own = run.variances(stage, draws, scale)
    if last is not None:
        (of_median,) = run.variances(plan.stages[number - 1], stages[number - 1], scale)
        points = towards(points, own, median, of_median, of_constant)
        points = run.raised(points, own, last, levels, scale, of_constant)
    chosen = _chosen(run, points, whiten, best, of_constant, choice, plan)
    # What a prediction is by noise alone grows with its record as the prediction itself does.
    clear = np.linalg.norm(points - best[:, None] * of_constant, axis=1) / np.sqrt(
        np.maximum(p * own, 1e-300)
    )
    return replace(chosen, limit=chosen.limit * np.maximum(clear, 1.0))


def _constants(rows: Rows[Pairs], draws: ChargedDraws, plan: Plan) -> FloatArray:
    """Quantiles of y alone, (K,), by counts."""
    if plan.selected:
        return np.array([selected(rows.total(up_to, public_levels()), draws, *plan.answers)])
    of_y = 1 - np.array(plan.answers)

    def excess(level: FloatArray) -> FloatArray:
        return np.asarray(rows.total(above, level, of_y))

    if len(of_y) == 1:
        return crossings(excess, draws, 1)
    together = plan.together(plan.answers)
    return together.quantiles(excess, draws, plan.answers, plan.neighbours.n)


def _chosen(
    run: _Descent,
    points: FloatArray,
    whiten: FloatArray,
    best: FloatArray,
    of_constant: FloatArray,
    choice: ChargedDraws,
    plan: Plan,
) -> Fit:
    """Each fit, or its constant where noisy sums of losses speak against it."""
    alone = best[:, None] * of_constant
    sigma, n = choice.sigma, plan.neighbours.n
    # Whitened records have second moments of about 1: this is what predictions typically move by.
    limit = reach(sigma, n) * np.linalg.norm(points - alone, axis=1)
    if sigma:
        limit = np.maximum(limit, 1e-150)
        total = run.total(WhitenedPairs.lost, points, best, limit, plan.loss)
    else:
        total = np.zeros(len(points))
    kept = keeps(np.asarray(choice(total)), sigma, n * math.sqrt(2 * plan.least))
    found = points @ whiten.T
    found[~kept] = 0.0
    found[~kept, 0] = best[~kept]  # 0 where the first entry is no constant
    return Fit(found, best, limit, kept)


@dataclass(frozen=True)
class _Descent:
    """Descents over the same records, of which sums are in units of the bound."""

    pairs: Rows[WhitenedPairs]
    plan: Plan
    bound: float
    lift: FloatArray
    whiten: Whitening
    whole: FloatArray | float = 0.0
    of_whole: float = 0.0

    def total(self, kernel: Callable[..., Any], points: FloatArray, *released: Any) -> Any:
        """A sum over records of what predictions at points, (K, p), lead to."""
        return self.pairs.total(kernel, self.lift @ np.atleast_2d(points).T, *released)

    def centre(self) -> FloatArray:
        """The sum of all records: exact, then each entry is rounded."""
        return self.whiten.of_sum(self.pairs.total(WhitenedPairs.centre)) * (2 / self.bound)

    def slopes(self, points: FloatArray, loss: ResidualLoss, width: FloatArray) -> FloatArray:
        """The sum of records times their slopes, (K, p), likewise."""
        total = self.total(WhitenedPairs.gradient, points, loss, width)
        unit = 2 * loss.farthest / self.bound
        return np.array([self.whiten.of_sum(each) for each in total]) * unit

    def size_of_residuals(
        self,
        point: FloatArray,
        counts: ChargedDraws,
        ends: tuple[float, float],
        share: float = 0.5,
    ) -> float:
        """About the size that a share of the residuals exceed, by noisy counts."""

        def larger(level: float) -> float:
            return float(self.total(WhitenedPairs.larger, point, 2.0**level, share))

        return float(2.0 ** _crossing(larger, counts, *ends))

    def stage(
        self, stage: Stage, draws: ChargedDraws, points: FloatArray, scale: float
    ) -> FloatArray:
        """The mean of a stage's later points, of little noise (Polyak and Juditsky 1992)."""
        p = self.plan.p
        loss = stage.loss
        if stage.width is None:  # half of the records are within the median size of residuals
            width = np.full(loss.count, scale * MEDIAN_SIZE)
            curvature = 0.25 / width
        else:
            curvature, width = loss.curvature(scale), loss.width(stage.width, scale)
        of_sums = self._of_sums(curvature)
        sigma = draws.sigma
        noise = sigma * math.sqrt(p)
        step = np.minimum(stage.step, _NOISE_OF_A_ROUND * scale * of_sums / max(noise, 1e-300))
        total, counted = np.zeros_like(points), 0
        last_points, last_sums = points, np.zeros_like(points)
        for number in range(stage.rounds):
            sums = self.slopes(points, loss, width)
            noisy = np.asarray(draws(sums.ravel())).reshape(points.shape)
            noisy = noisy + loss.centre[:, None] * self.whole
            if number:
                shown = _shown_curvature(points - last_points, last_sums - noisy, sigma)
                steeper = step * shown > _MOST_OF_A_STEP * of_sums
                if steeper.any():  # the average starts anew
                    step = np.where(
                        steeper, stage.step * of_sums / np.maximum(shown, of_sums), step
                    )
                    total, counted = np.zeros_like(points), 0
            last_points, last_sums = points, noisy
            move = (step / of_sums)[:, None] * noisy
            length = np.linalg.norm(move, axis=1) / (_LONGEST_STEP * scale)
            points = points + move / np.maximum(length, 1.0)[:, None]
            if number >= stage.skipped * stage.rounds:
                total, counted = total + points, counted + 1
        return np.asarray(total / counted)

    def variances(self, stage: Stage, draws: ChargedDraws, scale: float) -> FloatArray:
        """About the variance of noise in each coordinate of what a stage returns, (K,)."""
        of_rounds = draws.sigma**2 / stage.rounds
        of_centre = np.square(stage.loss.centre * self.of_whole)
        of_sums = self._of_sums(stage.loss.curvature(scale))
        return np.asarray(OF_A_MEAN * (of_rounds + of_centre) / np.square(of_sums))

    def raised(
        self,
        points: FloatArray,
        variances: FloatArray,
        counts: ChargedDraws,
        quantiles: tuple[float, ...],
        scale: float,
        of_constant: FloatArray,
    ) -> FloatArray:
        """Intercepts moved by a noisy count of the records above, weighed by its variance."""
        shares = 1 - np.array(quantiles)
        excess = self.total(WhitenedPairs.above, points, np.zeros(len(points)), shares)
        density = self.plan.neighbours.n * self.plan.stages[-1].loss.curvature(scale)
        together = self.plan.together(quantiles)
        of_count = np.square(counts.sigma * together.noise / density)
        own = variances / float(of_constant @ of_constant)
        weight = np.divide(own, own + of_count, out=np.zeros_like(own), where=of_count > 0)
        noisy = together.released(counts, excess)
        return points + (weight * noisy / density)[:, None] * of_constant

    def _of_sums(self, curvature: FloatArray) -> FloatArray:
        """Curvature of the sum of losses, in units of released sums."""
        # Sums are of records of norm 1 at most, in units of the bound.
        # Where many are shortened their weight in moments is less than in sums.
        n, longer = self.plan.neighbours.n, self.plan.longer
        return np.asarray(curvature * n * (1 + 0.5 * longer) / self.bound)


def _shown_curvature(moves: FloatArray, changes: FloatArray, sigma: float) -> FloatArray:
    """The curvature along each move that released sums show beyond their noise, (K,)."""
    square = np.maximum(np.square(moves).sum(axis=1), 1e-300)
    noise = _BEYOND_NOISE * sigma * math.sqrt(2) / np.sqrt(square)
    return np.asarray(np.maximum((changes * moves).sum(axis=1) / square - noise, 0.0))


@dataclass(frozen=True)
class _OnGrid:
    """Records on the grid, and how they become those of the descent."""

    rows: Rows[Pairs]
    lift: FloatArray
    grid: RecordGrid

    def matrix(self, whiten: FloatArray) -> Whitening:
        """A whitening matrix of a_i, (p, p), as one of records on the grid."""
        return Whitening.of(self.lift @ whiten, self.grid)

    def bound(
        self, whiten: FloatArray, counts: ChargedDraws, share: float
    ) -> tuple[Rows[MeasuredPairs], float]:
        """Records with their norms, and about the norm that a share of them exceeds."""
        longest = math.log2(float(np.linalg.norm(whiten, 2)) * math.sqrt(len(whiten)))
        pairs = self.rows.keep(partial(MeasuredPairs, whiten=self.matrix(whiten)))

        def longer(level: float) -> float:
            return float(pairs.total(MeasuredPairs.longer, 2.0**level, share))

        return pairs, float(2.0 ** _crossing(longer, counts, longest - _NORMS, longest + 1))


def _whitening(
    records: _OnGrid, release: ChargedDraws, counts: ChargedDraws, plan: Plan
) -> FloatArray:
    """Coordinates in which records, long ones shortened, have the second moments 1."""
    n, p = plan.neighbours.n, plan.p
    whiten, bound, unit = np.eye(p), _SMALLEST, 1.0
    sigma = release.sigma
    # Noise in a symmetric matrix has eigenvalues of up to about sigma sqrt(2 p).
    hidden = max(sigma * math.sqrt(2 * p), _LEAST_MOMENT * n)
    for turn in range(TURNS):
        if turn:
            share = plan.longer if turn == TURNS - 1 else _SHORTENED
            _, bound = records.bound(whiten, counts, share)
        kernel = partial(second_moments, whiten=records.matrix(whiten / bound))
        matrix = released_moments(records.rows, kernel, records.grid, release)
        values, vectors = np.linalg.eigh(matrix, UPLO="U")
        values = np.maximum(values, hidden)
        whiten = whiten @ ((vectors * np.sqrt(values.max() / values)) @ vectors.T)
        unit = math.sqrt(n / float(values.max())) / bound
    return whiten * unit


def _levels(
    run: _Descent,
    point: FloatArray,
    counts: ChargedDraws,
    quantiles: tuple[float, ...],
    scale: float,
    together: Together,
) -> FloatArray:
    """How far each quantile of the residuals is from 0, by bisection, (K,)."""
    ends = _FARTHEST * scale * np.array([normal_quantile(q) for q in quantiles])
    low, high = np.minimum(0.0, ends), np.maximum(0.0, ends)
    shares = 1 - np.array(quantiles)

    def excess(levels: FloatArray) -> FloatArray:
        return np.asarray(run.total(WhitenedPairs.above, point, levels, shares))

    low, high = bisected(excess, partial(together.released, counts), low, high, COUNTS)
    return np.asarray(0.5 * (low + high))


def _crossing(
    excess: Callable[[float], float], counts: ChargedDraws, low: float, high: float
) -> float:
    """About the least level at which a falling sum is 0 or less, by bisection with noise."""
    ends = np.array([low]), np.array([high])
    _, found = bisected(lambda t: np.array([excess(float(t[0]))]), counts, *ends, COUNTS)
    return float(found[0])


def towards(
    points: FloatArray,
    variances: FloatArray,
    middle: FloatArray,
    of_middle: float,
    left_out: FloatArray,
) -> FloatArray:
    """Fits drawn towards one that has noise of its own, as far as noise explains the difference.

    Made of released numbers alone. The share is the positive part of the factor of James and Stein
    (1961), so the mean squared error is never larger. `left_out`, (p,), is a direction in which
    points keep their places; `variances`, (K,), and `of_middle` are those of noise in each
    coordinate.
    """
    unit = left_out / max(float(np.linalg.norm(left_out)), 1e-300)
    apart = points - middle
    apart = apart - np.outer(apart @ unit, unit)
    both = np.maximum(variances + of_middle, 1e-300)
    length = np.maximum(np.square(apart).sum(axis=1), 1e-300)
    directions = len(unit) - 1
    share = np.minimum(max(directions - 2, 0) * both / length, 1.0) * variances / both
    return np.asarray(points - share[:, None] * apart)


def bisected(
    excess: Callable[[FloatArray], FloatArray],
    draws: Callable[[FloatArray], Any],
    low: FloatArray,
    high: FloatArray,
    steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Ends between which falling sums pass 0, by bisection with noise; levels asked for rise."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        below = np.asarray(draws(excess(middle))) <= 0
        low = np.sort(np.where(below, low, middle))
        high = np.sort(np.where(below, middle, high))
    return low, high
