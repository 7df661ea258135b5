"""Noise that is narrow where a row is dear: each number has a scale, by public shadow prices."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from privlp.checks import FloatArray
from privlp.errors import PrivLPError
from privlp.methods.base import NoiseOnNumbers, PlannedRun
from privlp.methods.noisy_numbers import BoundedNoise, private_numbers, shares
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import TruncatedLaplace, kinds_on
from privlp.methods.tightened.program import tightened_run
from privlp.methods.tightened.ranges import WorstCase, made_up_numbers
from privlp.methods.tightened.rows import TightenedRows
from privlp.privacy import ChargedDraws
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers

#: Share of the squares over scales that numbers without a price get; and how many made-up programs
#: are priced. Chosen on staffing, flow and sales of seats with seed 2.
_SPARE, _PROGRAMS = 0.2, 3
_STEPS = 20  # By which weights of records come near those at which all kinds count alike.
_MOST_APART = 20  # Scales are within 2^20 of their median, either way.
#: Weighted noise is taken where its tightening loses so much less, as a share of the objective.
_WORTH_IT = 1e-3


def scales_by(part: PrivateNumbers, prices: FloatArray) -> FloatArray:
    """Scales of the numbers, (m,), powers of two: nearly the best for rows of these prices.

    Noise on number i is as wide as its scale S_i. The sum of price_i S_i, given the sum of v_i /
    S_i^2, is least for S_i^3 in proportion to v_i / price_i, where v_i is the square of a change of
    the number: a mean over kinds of records, with weights at which none of them moves the numbers
    over their scales much farther than others do.
    """
    m, largest = len(part), float(prices.max(initial=0.0))
    if largest <= 0:
        return np.ones(m)
    power = (prices / largest) ** (2 / 3)
    square = None if part.moves is None else part.moves.multiply(part.moves).tocsr()
    weight = np.ones(1) if square is None else np.full(square.shape[1], 1 / square.shape[1])
    for _ in range(_STEPS):
        v = np.ones(m) if square is None else square @ weight
        v = np.cbrt(np.maximum(v, v.max() * 2.0**-60))
        scale = v / np.sqrt(power + _SPARE * float(v @ power) / v.sum())
        if square is None:
            break
        load = square.T @ scale**-2.0
        weight = weight * load / float(weight @ load)
    exponent = np.round(np.log2(scale / np.median(scale)))
    return np.asarray(2.0 ** np.clip(exponent, -_MOST_APART, _MOST_APART))


class Weighted(NamedTuple):
    """Scales of the numbers, the noise over them, and whether that loses less. All are public."""

    prices: FloatArray
    scale: FloatArray
    noise: BoundedNoise
    pays: bool

    @classmethod
    def of(cls, request: SolveRequest, part: PrivateNumbers, worst: WorstCase) -> Weighted:
        """By prices of the tightest program, and of made-up ones after tightening."""
        plain = _narrowest(request, part)
        budget, known = (plain.pure_eps, plain.own_delta), _KNOWN.setdefault(request.form, {})
        if budget not in known:
            known[budget] = cls._found(request, part, worst, plain)
        return known[budget]

    @classmethod
    def _found(
        cls, request: SolveRequest, part: PrivateNumbers, worst: WorstCase, plain: BoundedNoise
    ) -> Weighted:
        row = request.form.row[part.at]
        found = [] if worst.prices is None else [np.abs(worst.prices[row])]
        gains = []
        for seed in range(_PROGRAMS):
            if not found:
                break
            scale = scales_by(part, np.mean(found, axis=0))
            noise = _narrowest(request, part.over(scale))
            made_up = made_up_numbers([part], np.random.default_rng(seed))
            if made_up is None:
                break
            ours, others = (
                _tightened(request.form, part, made_up["b"] - width)
                for width in (noise.width * scale, plain.width)
            )
            if ours is None or others is None:
                break
            found.append(np.abs(ours[1][row]))
            gain = request.lp.sign * (others[0] - ours[0])
            gains.append(gain - _WORTH_IT * abs(others[0]))
        prices = np.mean(found, axis=0) if found else np.zeros(len(part))
        scale, pays = scales_by(part, prices), len(gains) == _PROGRAMS and sum(gains) > 0
        return cls(prices, scale, _narrowest(request, part.over(scale)), pays)


#: Of the programs that are in use, by budget.
_KNOWN: WeakKeyDictionary[StandardForm, dict[tuple[float, float], Weighted]] = WeakKeyDictionary()


def _narrowest(request: SolveRequest, part: PrivateNumbers) -> BoundedNoise:
    """Laplace, Gaussian or sup-norm noise on a part, whichever is the narrowest."""
    return min(kinds_on(request, part), key=lambda noise: noise.width)


def _tightened(
    form: StandardForm, part: PrivateNumbers, sides: FloatArray
) -> tuple[float, FloatArray] | None:
    """Objective and shadow prices of a program with public sides, clipped to their ranges."""
    known = ProgramNumbers.of(form).having(part, np.clip(sides, part.low, part.high))
    found = TightenedRows.of(known, None).best_with_prices(known.c)
    return None if found is None else (float(known.c @ found[0]), found[1])


def scaled_ends(
    scale: FloatArray, numbers: PrivateNumbers, draw: ChargedDraws, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw once for numbers over their scales, which are powers of two; ends below each number."""
    over = values / scale
    over = np.where(over * scale > values, np.nextafter(over, -np.inf), over)  # it was too small
    return draw(over) * scale, np.full(len(numbers), np.inf)


class WeightedNoise(TruncatedLaplace):
    """As :class:`~privlp.methods.tightened.noise.TruncatedLaplace`, narrower where rows are dear.

    Right-hand sides over public scales are released, with Laplace, Gaussian or sup-norm noise,
    whichever is the narrowest; then multiplied by the scales. So noise on a number is as wide as
    its scale.

    *Neighbours*: scalar-private.

    *Sensitivity.* That of the numbers over their scales:
    :meth:`~privlp.relations.numbers.PrivateNumbers.over`.

    *Scales* follow from shadow prices of the tightest program within the declared ranges, and of
    programs made up within them: public numbers alone. They are powers of two, so that dividing by
    them rounds nothing. A number whose row costs nothing there gets wide noise. Proof:
    ``docs/proofs.md``, "Noise by shadow prices".
    """

    _purpose = "tighten by shadow prices:"

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity) and relation.private_parts == {"b"}

    def plan(self, request: SolveRequest) -> PlannedRun:
        numbers, worst = self._checked(request)
        shares(request, numbers, lambda part: part.l1)  # checks a split
        (part,) = numbers
        prices, scale, noise, _ = Weighted.of(request, part, worst)
        width, declared, weights = noise.width * scale, part.high - part.low, prices
        if not np.isfinite(declared).all() or not prices.any():
            weights = np.ones(len(part))
        typical, own = (float(np.average(each, weights=weights)) for each in (width, declared))
        on = NoiseOnNumbers("b", typical, noise.most * float(scale.max()), own)
        ends, note = partial(scaled_ends, scale), worst.note(request.lp.sense)
        released = [(part, noise, on)]
        return tightened_run(self.name, request, released, self._purpose, worst, note, ends=ends)


def weights_pay(request: SolveRequest) -> bool:
    """Whether noise by shadow prices loses clearly less than noise that is alike on all numbers."""
    method = WeightedNoise()
    if not method.protects(request.relation) or not request.has_noise:
        return False
    try:
        (part,) = private_numbers(request, method.name)
        if part.l2 <= part.entry:
            return False
        numbers, worst = method._checked(request)
        return Weighted.of(request, numbers[0], worst).pays
    except PrivLPError:
        return False
