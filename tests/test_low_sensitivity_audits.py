"""Programs whose numbers move: releases of one part or of several pass their audits, broken twins do not."""

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import privlp
from privlp import ColumnPrivate, LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.methods import SolveRequest
from privlp.methods.published.multiplicative_weights import AdaHedge, MovingRows
from privlp.methods.tightened.noise import TightenedProgram
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    Randomness,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
)
from privlp.privacy.noise import grid
from tests.conformance_kit import Claim, audited, release_many
from tests.effort import each
from tests.programs import ALL

pytestmark = pytest.mark.statistical

D, EPS, DELTA = 0.5, 2.0, 0.02
BOTH = (0, 1)


def passes(mechanism, eps, delta=0.0, *, pair=BOTH, runs=10_000, sharp=0.0):
    """The audit finds no fault, and the measured bound is at least the share `sharp` of the claim."""
    result = privlp.audit(mechanism, *pair, eps, delta, runs=runs, rng=1)
    assert result.passed, str(result)
    assert result.eps_lower >= sharp * eps, str(result)


def is_caught(mechanism, eps, delta=0.0, *, pair=BOTH, runs=10_000):
    result = privlp.audit(mechanism, *pair, eps, delta, runs=runs, rng=1)
    assert not result.passed, str(result)


def finds_no_fault(sampler, delta=DELTA, *, runs=10_000, sharp=0.0):
    result = audited(sampler, Claim(EPS, delta), runs, 1)
    assert result.passed, str(result)
    assert result.eps_lower >= sharp * EPS, str(result)


def finds_a_fault(sampler, delta=DELTA, *, runs=10_000):
    result = audited(sampler, Claim(EPS, delta), runs, 1)
    assert not result.passed, str(result)


def faulty(kind, **wrong):
    """A relation of the same kind with other methods."""
    return type(f"Faulty{kind.__name__}", (kind,), wrong)


# solvers on the test bench


class Tape:
    """What went into the draws of a solver and what came out; a script decides what comes out."""

    def __init__(self):
        self.randomness = Randomness(0)
        self.rewind()

    def rewind(self, script=()):
        self.script, self.lines = script, []


@dataclass
class Draw:
    """A paid draw, made again in every run of an audit."""

    mechanism: Mechanism
    tape: Tape
    ahead: dict = field(default_factory=dict)

    def __call__(self, value):
        tape = self.tape
        script = tape.script
        output = script[len(tape.lines)] if script else self.release(value, tape.randomness)
        tape.lines.append((self.mechanism, value, output))
        return output

    def release(self, value, randomness):
        """Additive noise of many runs is drawn at once."""
        if isinstance(self.mechanism, ExponentialMechanism):
            return self.mechanism.release(value, randomness)
        block = self.ahead.setdefault((value.tobytes(), randomness.generator), [])
        if not block:
            block.extend(self.mechanism.release(np.tile(value, 200), randomness).reshape(200, -1))
        return block.pop()


class OnceCalibrated(privlp.Budget):
    """Noise depends on public numbers alone: it is calibrated once for all runs."""

    known: ClassVar[dict] = {}

    def calibrate_together(self, make):
        key = (self.eps, self.delta, *make(1.0))
        if key not in self.known:
            self.known[key] = super().calibrate_together(make)
        return self.known[key]


class Rehearsing(OnceCalibrated):
    """Charges the right mechanisms, and hands out draws from what `twin` makes of them."""

    def __init__(self, eps, delta, tape, twin):
        super().__init__(eps, delta)
        self.tape, self.twin = tape, twin

    def charge_together(self, requests, *details, **words):
        paid = super().charge_together(requests, *details, **words)
        return [Draw(found, self.tape) for found in self.twin([draw.mechanism for draw in paid])]


class Rehearsal:
    """A solver of one program that is played again and again."""

    def __init__(self, lp, method, eps, delta, *, twin=list, alpha=None, opt=None):
        self.tape = Tape()
        ledger = Rehearsing(eps, delta, self.tape, twin)
        planned = ALL[method].plan(SolveRequest(lp.public(), ledger, alpha=alpha, opt=opt))
        draws = ledger.charge_together(planned.charges, lp.neighbours, Randomness(0))
        self.charges = ledger.entries
        self._renew = partial(planned.start, lp.rows(), draws)

    def play(self, script=()):
        """All rounds; the draws' (mechanism, input, output)."""
        self.tape.rewind(script)
        self.solver = self._renew()
        for t in range(self.solver.rounds):
            self.solver.step(t)
        return self.tape.lines


def log_density(mechanism, value, output):
    """Logarithm of the density of one output, or of a row of each, but for a constant."""
    if isinstance(mechanism, ExponentialMechanism):
        scores = value * (mechanism.eps / (2 * mechanism.sensitivity))
        return scores[output] - math.log(np.exp(scores - scores.max()).sum()) - scores.max()
    noise = output - value
    outside = False
    if isinstance(mechanism, TruncatedLaplaceMechanism | TruncatedGaussianMechanism):
        noise = np.abs(noise + mechanism.width)
        outside = (noise > mechanism.width * (1 + 1e-9)).any(axis=-1)
    if isinstance(mechanism, GaussianMechanism | TruncatedGaussianMechanism):
        found = -0.5 * (noise**2).sum(axis=-1) / mechanism.sigma**2
    else:
        found = -np.abs(noise).sum(axis=-1) / mechanism.scale
    return np.where(outside, -math.inf, found)


def losses_of_noise(programs, method, eps, delta, twin=list):
    """Privacy losses of noise on numbers, where no draw looks at another."""
    played = [Rehearsal(lp, method, eps, delta, twin=twin).play() for lp in programs]

    def sample(side, rng, runs):
        loss = np.zeros(runs)
        for (kind, here, _), (_, there, _) in zip(played[side], played[1 - side], strict=True):
            outputs = release_many(kind, here, Randomness(rng), runs)
            loss += log_density(kind, there, outputs) - log_density(kind, here, outputs)
        return np.round((-1) ** side * np.clip(loss, -50.0, 50.0), 9).tolist()

    return sample


def losses_of_weights(programs, eps, delta, **options):
    """Privacy loss of all that the draws gave away, as a mechanism on the pair (0, 1)."""
    both = [Rehearsal(lp, "mw", eps, delta, **options) for lp in programs]
    known = {}

    def inputs(which, outputs):
        """What goes into the draws of the other program, if the same came out of each before."""
        if any(isinstance(output, np.ndarray) for output in outputs[:-1]):
            return both[which].play(outputs)
        key = (which, *outputs[:-1])
        if key not in known:
            known[key] = both[which].play(outputs)
        return known[key]

    def mechanism(which, rng):
        both[which].tape.randomness = Randomness(rng)
        lines = both[which].play()
        replayed = inputs(1 - which, [output for *_, output in lines])
        loss = sum(
            log_density(kind, there, output) - log_density(kind, here, output)
            for (kind, here, output), (_, there, _) in zip(lines, replayed, strict=True)
        )
        return round(min(max(loss, -50.0), 50.0), 9) * (1 if which == 0 else -1)

    return mechanism


def outcomes(programs, method, eps, delta, observe, **options):
    """What `observe` makes of a solver that was played, as a mechanism on the pair (0, 1)."""
    both = [Rehearsal(lp, method, eps, delta, **options) for lp in programs]

    def mechanism(which, rng):
        both[which].tape.randomness = Randomness(rng)
        lines = both[which].play()
        return observe(lines, both[which].solver)

    return mechanism


def narrowed(width_of):
    """Truncated Laplace noise of another width."""
    return lambda mechanisms: [replace(found, width=width_of(found)) for found in mechanisms]


# worst-case pairs of numbers


def pair_of(relation, *, n=3, d=2, A=0.0, b=0.0, c=0.0):
    """A program with n rows and d variables, and its neighbour at these distances."""
    base = -np.ones(d), np.ones((n, d)), np.full(n, 4.0)
    other = base[0] + c, base[1] + A, base[2] + b
    return [LinearProgram(*of, bounds=(0, 10), neighbours=relation) for of in (base, other)]


def first(count):
    """A change of D at the first entry."""
    return np.array([D, *[0.0] * (count - 1)])


def first_row(n, d):
    return np.outer(first(n), np.ones(d))


def first_column(n, d):
    return np.outer(np.ones(n), first(d))


def correct(kind):
    return kind


def scalar(norm, of=correct):
    return of(ScalarPrivate)(D, norm, lower=0, upper=100)


def row(of=correct, kind=RowPrivate):
    return of(kind)(D, lower=-100, upper=100)


column = partial(row, kind=ColumnPrivate)


#: Pairs at the full distance in few numbers, for noise on the L1 change. `of` makes a twin of the
#: relation.
PAIRS = {
    "scalar-inf": lambda of=correct: pair_of(scalar("inf", of), n=2, b=D),
    "row": lambda of=correct: pair_of(row(of), A=first_row(3, 2)),
    "column": lambda of=correct: pair_of(column(of), n=2, A=first_column(2, 2)),
    "scalar+row": lambda: pair_of((scalar("1"), row()), A=first_row(3, 2), b=first(3)),
    "scalar+objective": lambda: pair_of((scalar("inf"), ObjectivePrivate(D)), n=2, b=D, c=first(2)),
    "row+column": lambda: pair_of((row(), column()), n=2, A=first_row(2, 2) + first_column(2, 2)),
    "scalar+column+objective": lambda: pair_of(
        (scalar("1"), column(), ObjectivePrivate(D)),
        n=2,
        A=first_column(2, 2),
        b=first(2),
        c=first(2),
    ),
}
TUPLES = [name for name in PAIRS if "+" in name]
#: Tuples whose parts are released by mechanisms of their own.
PARTS_APART = ["scalar+row", "scalar+objective", "scalar+column+objective"]

#: Pairs in so many numbers that Gaussian noise is the quieter one where delta > 0.
MANY = {
    "scalar-inf": lambda of=correct: pair_of(scalar("inf", of), n=16, b=D),
    "row": lambda of=correct: pair_of(row(of), n=2, d=16, A=first_row(2, 16)),
    "column": lambda of=correct: pair_of(column(of), n=16, A=first_column(16, 2)),
}


# direct noise


def the_whole_eps(mechanisms):
    """Laplace noise of every part as if there were no other."""
    return [replace(mechanism, scale=mechanism.sensitivity / EPS) for mechanism in mechanisms]


def the_whole_budget(mechanisms):
    """Truncated noise of every part as if there were no other."""
    of_budget = TruncatedLaplaceMechanism.of_budget
    return [of_budget(mechanism.sensitivity, EPS, DELTA) for mechanism in mechanisms]


def one_number(kind):
    """The relation that takes the change of a single number for the change of all."""

    def private_numbers(self, form):
        found, one = kind.private_numbers(self, form), self.sensitivity
        return [replace(numbers, l1=one, l2=one) for numbers in found]

    return faulty(kind, private_numbers=private_numbers)


def width_of_ten_times_delta(mechanism):
    odds = math.expm1(mechanism.width / mechanism.scale)
    return mechanism.scale * math.log1p(odds / 10)


def half_a_step(mechanism):
    return 0.5 * D


ONE_NUMBER = ["scalar-inf", "row", "column"]


def twins():
    """By name: a pair of programs, the method, delta, the twin's draws and runs."""
    wholes = {"eps": (0.0, the_whole_eps, 4_000), "budget": (DELTA, the_whole_budget, 5_000)}
    for name, whole in itertools.product(PARTS_APART, wholes):
        yield f"{name}: whole {whole} for each part", PAIRS[name], *wholes[whole]
    for name in ONE_NUMBER:
        for many, delta, noise in (
            (PAIRS, 0.0, "Laplace"),
            (MANY, DELTA, "Gaussian"),
            (PAIRS, DELTA, "truncated"),
        ):
            programs = partial(many[name], one_number)
            yield f"{name}: {noise} noise for a single number", programs, delta, list, 4_000
    widths = {width_of_ten_times_delta: 5_000, half_a_step: 2_000}
    for name, width_of in itertools.product([*TUPLES, "row"], widths):
        twin = narrowed(width_of)
        yield f"{name}: {width_of.__name__}", PAIRS[name], DELTA, twin, widths[width_of]


TWINS = {name: twin for name, *twin in twins()}


@pytest.mark.parametrize("name", TWINS)
def test_twins_of_noise_on_numbers_are_caught(name):
    """A part that takes all of the budget; D where m numbers move by D; noise that is too narrow.

    Miss rate below 0.01.
    """
    programs, delta, twin, runs = TWINS[name]
    truncated = delta > 0 and "Gaussian" not in name
    method = "truncated-laplace" if truncated else "direct-noise"
    finds_a_fault(losses_of_noise(programs(), method, EPS, delta, twin), delta, runs=runs)


NEVER = ["truncated-laplace", "truncated-gaussian", "truncated-laplace-published"]


@pytest.mark.parametrize("name", TUPLES)
@pytest.mark.parametrize(
    ("method", "delta"),
    [("direct-noise", 0.0), *((name, DELTA) for name in ("direct-noise", *NEVER))],
)
def test_noise_on_tuples(method, delta, name):
    """Laplace noise at delta = 0, the quieter one otherwise. False-alarm rate 0.001."""
    sharp = 0.15 if method == "truncated-gaussian" else 0.2
    finds_no_fault(
        losses_of_noise(PAIRS[name](), method, EPS, delta), delta, runs=3_000, sharp=sharp
    )


def noise_of_the_parts_apart(lines, solver):
    """The difference of the first outputs of two draws, in units of their noise."""
    one, other = (output[0] / mechanism.scale for mechanism, _, output in lines)
    return float(one - other)


def one_noise_for_all(mechanisms):
    """All draws of a run from the same stretch of random bits."""

    def release(self, value, randomness):
        bits = randomness.generator.bit_generator
        start = bits.state
        output = super(type(self), self).release(value, randomness)
        bits.state = start
        return output

    *others, last = mechanisms
    return [*(faulty(type(found), release=release)(**vars(found)) for found in others), last]


@pytest.mark.parametrize(
    ("method", "delta", "up"), [("direct-noise", 0.0, 1), ("truncated-laplace", DELTA, -1)]
)
def test_noise_on_right_hand_sides_used_again_for_coefficients(method, delta, up):
    """Right-hand sides fall while what is drawn on for A rises."""
    programs = pair_of((scalar("1"), row()), d=1, A=up * first_row(3, 1), b=-first(3))
    observed = programs, method, EPS, delta, noise_of_the_parts_apart
    passes(outcomes(*observed), EPS, delta, runs=2_000)
    is_caught(outcomes(*observed, twin=one_noise_for_all), EPS, delta, runs=500)


# truncated Laplace mechanism

TRUNCATED = TruncatedLaplaceMechanism.of_budget(1.0, EPS, DELTA)
#: An L1 change of 1, spread over the entries.
SPREAD = {1: np.ones(1), 3: np.array([0.6, -0.3, 0.1]), 10: np.array([0.7, *[-0.3 / 9] * 9])}


def width_of_delta(delta, sensitivity=1.0):
    return TruncatedLaplaceMechanism.of_budget(sensitivity, EPS, delta).width


def noise_of(mechanism, change, side, rng, runs):
    """Distances of releases of entries that move by `change` from the centre of either noise."""
    values = np.zeros_like(change), change
    outputs = release_many(mechanism, values[side], Randomness(rng), runs)
    return [np.abs(outputs - value + mechanism.width) for value in values]


def loss_of(mechanism, change):
    """Privacy losses of releases of entries that move by `change`."""

    def sample(side, rng, runs):
        noises, most = noise_of(mechanism, change, side, rng, runs), mechanism.width * (1 + 1e-9)
        here, there = (
            np.where((noise > most).any(axis=1), -50.0, -noise.sum(axis=1) / mechanism.scale)
            for noise in noises
        )
        return np.round(np.clip(there - here, -50.0, 50.0), 5).tolist()

    return sample


@pytest.mark.parametrize("m", SPREAD)
def test_truncated_laplace_mechanism(m):
    """One width for any number of entries. False-alarm rate 0.001."""
    finds_no_fault(loss_of(TRUNCATED, SPREAD[m]), sharp=0.6)


WIDTHS = {
    "that of ten times delta": (width_of_delta(10 * DELTA), 6_000),
    "that of a tail, the step left out": (TRUNCATED.scale * math.log(0.5 / DELTA), 10_000),
    "narrower than the step": (0.4, 3_000),
}


@pytest.mark.parametrize(("m", "name"), each(SPREAD, WIDTHS))
def test_truncated_laplace_twins(name, m):
    """Of another width: caught. Miss rate below 0.01."""
    width, runs = WIDTHS[name]
    finds_a_fault(loss_of(replace(TRUNCATED, width=width), SPREAD[m]), runs=runs)


@pytest.mark.parametrize("m", SPREAD)
def test_truncated_laplace_mechanism_whose_delta_is_forgotten(m):
    """The release beyond what the neighbour can release. Miss rate below 0.01."""

    def beyond_the_neighbour(side, rng, runs):
        here, _ = noise_of(TRUNCATED, SPREAD[m], side, rng, runs)
        return (here > TRUNCATED.width + grid(TRUNCATED.scale)).any(axis=1).tolist()

    finds_a_fault(beyond_the_neighbour, 0.0, runs=30_000)
    finds_no_fault(beyond_the_neighbour, runs=5_000)


# The exact divergence. On a grid of cells that the steps and the width are multiples of, the loss
# of a cell is a multiple of the cell: the losses of independent entries add, by convolution of
# their masses. A grid can lose divergence, but loses none at eps.

CELLS_PER_UNIT = 200


def cell_masses(width):
    """Masses of noise of scale 1, truncated to [-width, width], in cells of a grid."""
    cells = np.exp(-np.arange(round(width * CELLS_PER_UNIT)) / CELLS_PER_UNIT)
    return np.concatenate([cells[::-1], cells]) / (2 * cells.sum())


def losses_of_one_entry(step, width):
    """Masses of the losses -step, ..., step by cells, and that which one input alone can release."""
    cells = round(step * CELLS_PER_UNIT)
    masses = np.concatenate([np.zeros(cells), cell_masses(width)])
    other = np.concatenate([cell_masses(width), np.zeros(cells)])
    both = (masses > 0) & (other > 0)
    loss = np.log(masses[both] / other[both]) * CELLS_PER_UNIT
    index = np.rint(loss).astype(int)
    assert np.allclose(loss, index, atol=1e-4)
    return np.bincount(index + cells, masses[both], 2 * cells + 1), masses[~both].sum()


def exact_delta(eps, steps, width):
    """Hockey-stick divergence at `eps` of entries that move by `steps`, in units of their scales."""
    pieces = [losses_of_one_entry(step, width) for step in steps]
    total = np.ones(1)
    for masses, _ in pieces:
        total = np.convolve(total, masses)
    loss = (np.arange(len(total)) - len(total) // 2) / CELLS_PER_UNIT
    alone = 1 - math.prod(1 - mass for _, mass in pieces)
    return alone + float(total @ np.maximum(0.0, -np.expm1(eps - loss)))


def on_the_grid(mechanism):
    """The width in units of the scale, rounded down to cells, and the delta of the formula there."""
    width = math.floor(mechanism.width / mechanism.scale * CELLS_PER_UNIT) / CELLS_PER_UNIT
    return width, replace(mechanism, width=width * mechanism.scale).own_delta


CLAIMS = [(0.5, 0.1), (1.0, 1e-3), (2.0, 0.02), (4.0, 1e-6)]


@pytest.mark.parametrize(("eps", "delta"), CLAIMS)
def test_delta_of_one_entry_is_exact(eps, delta):
    """The divergence is the delta of the formula, no less. No randomness."""
    mechanism = TruncatedLaplaceMechanism.of_budget(1.0, eps, delta)
    assert mechanism.own_delta == pytest.approx(delta, rel=1e-9)
    width, claimed = on_the_grid(mechanism)
    assert exact_delta(eps, [eps], width) == pytest.approx(claimed, rel=1e-9)
    # eps is no larger than it has to be
    assert exact_delta(0.9 * eps, [eps], width) > 1.1 * claimed


@pytest.mark.parametrize(("m", "claim"), each([2, 3, 4, 5, 6], CLAIMS))
def test_delta_of_several_entries(m, claim):
    """However the change is split, at most that of one entry, and near it where one moves most."""
    eps, delta = claim
    width, claimed = on_the_grid(TruncatedLaplaceMechanism.of_budget(1.0, eps, delta))
    even, geometric = np.full(m, 1.0 / m), 2.0 ** -np.arange(m)
    lopsided = np.array([1 - 0.02 * (m - 1), *[0.02] * (m - 1)])
    for split in (even, geometric / geometric.sum(), lopsided):
        steps = np.floor(split * eps * CELLS_PER_UNIT) / CELLS_PER_UNIT
        steps[0] += eps - steps.sum()
        assert 0 < exact_delta(eps, steps, width) <= claimed * (1 + 1e-9)
    assert exact_delta(eps, steps, width) > 0.5 * claimed  # the lopsided split


@pytest.mark.parametrize("m", [1, 3])
def test_published_width_is_wider(m):
    """It keeps the same claim, with room to spare. No randomness."""
    published = TruncatedLaplaceMechanism.of_budget(1.0, EPS, DELTA, published_for=m)
    assert published.width > TRUNCATED.width
    assert published.own_delta == pytest.approx(DELTA / (2 * m))
    assert exact_delta(EPS, [EPS], on_the_grid(published)[0]) < DELTA


# post-processing


def least_right_hand_side(lines, solver):
    return float(solver.released().trace["tightened b"].min())


def solution(lines, solver):
    return solver.released().x


def one_variable(b, **declared):
    """The largest x that is at most b."""
    return LinearProgram([-1.0], [[1.0]], [b], neighbours=ScalarPrivate(D, **declared))


def test_range_read_off_the_data():
    """Releases are clipped to an end: a public one passes, one at a distance from the data does not.

    False-alarm rate 0.001, miss rate below 0.01.
    """

    def with_end(end):
        programs = [one_variable(b, lower=end(b)) for b in (4.0, 4.0 + D)]
        return outcomes(programs, "truncated-laplace", EPS, DELTA, least_right_hand_side)

    passes(with_end(lambda b: 3.5), EPS, DELTA, runs=100)
    is_caught(with_end(lambda b: b - D), EPS, DELTA, runs=200)


def test_fallback_from_the_private_program():
    """A point of the true program must not stand in for one that contradicts itself. Rates 0.001."""
    programs = [one_variable(b, lower=0) for b in (D, 2 * D)]
    passes(outcomes(programs, "truncated-laplace", EPS, DELTA, solution), EPS, DELTA, runs=100)

    def twin(b, rng):
        lp, tape = one_variable(b), Tape()
        form, tape.randomness = lp.public().form, Randomness(rng)
        numbers = lp.neighbours.private_numbers(form)
        values = [lp.rows().values(part) for part in numbers]
        draws = [Draw(TruncatedLaplaceMechanism.of_budget(D, EPS, DELTA), tape)]
        fallback = np.array([b / 2])
        solver = TightenedProgram(form, numbers, values, draws, fallback=fallback, time_limit=None)
        solver.step(0)
        return solver.released().x

    is_caught(twin, EPS, DELTA, pair=(D, 2 * D), runs=300)


# multiplicative weights

N, OPT, COST = 5, 6.0, np.array([1.0, 2.0])
CENTRE = OPT / COST / 2
#: One round, whatever the span of the rows.
ONE_ROUND = 1e9


def alpha_for(rounds, span):
    """The accuracy at which T = ceil(ln(d)/2 (span/alpha)^2) is so many rounds."""
    return span * math.sqrt(math.log(2) / 2 / (rounds - 0.5))


def weights_pair(relation, rise, A=0.0, b=0.0):
    """Five equal rows, but that the violation of row 0 rises by `rise`, from below to above."""
    base, rhs = np.ones((N, 2)), np.full(N, 4.0)
    rhs[0] += rise / 2
    pair = (base, rhs), (base + A, rhs + b)
    return [LinearProgram(COST, *of, neighbours=relation) for of in pair]


#: Row 0 is violated by more, all the others by less.
ONE_UP = np.array([D, *[-D] * (N - 1)])


ROW_UP, COLUMN_UP = first_row(N, 2), np.outer(ONE_UP, [1.0, 0.0])
SPAN_OF_ROW, SPAN_OF_COLUMN, SPAN_OF_SCALAR = D * CENTRE.sum(), 2 * D * CENTRE[0], 2 * D

#: Pairs at the full distance: row 0 is violated by more and, where they may move, all the others by
#: less.
WEIGHTS = {
    "scalar-inf": lambda of=correct: weights_pair(scalar("inf", of), SPAN_OF_SCALAR, b=-ONE_UP),
    "scalar-1": lambda of=correct: weights_pair(scalar("1", of), D, b=-first(N)),
    "row": lambda of=correct: weights_pair(row(of), SPAN_OF_ROW, ROW_UP),
    "column": lambda of=correct: weights_pair(column(of), SPAN_OF_COLUMN, COLUMN_UP),
    "scalar+row": lambda of=correct: weights_pair(
        (scalar("inf", of), row(of)), SPAN_OF_SCALAR + SPAN_OF_ROW, ROW_UP, -ONE_UP
    ),
    "row+column": lambda of=correct: weights_pair(
        (row(of), column(of)), SPAN_OF_ROW + SPAN_OF_COLUMN, ROW_UP + COLUMN_UP
    ),
    "scalar+row+column": lambda of=correct: weights_pair(
        (scalar("1", of), row(of), column(of)),
        D + SPAN_OF_ROW + SPAN_OF_COLUMN,
        ROW_UP + COLUMN_UP,
        -first(N),
    ),
}
#: Single relations are audited in ``test_conformance.py``.
WEIGHTS_OF_TUPLES = [name for name in WEIGHTS if "+" in name]
MW_EPS = 3.0


def weighed(name, of=correct, *, eps=MW_EPS, delta=0.0, alpha=ONE_ROUND, **options):
    return losses_of_weights(WEIGHTS[name](of), eps, delta, alpha=alpha, opt=OPT, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "delta", "alpha", "runs", "sharp"),
    [
        *((name, 0.0, ONE_ROUND, 2_500, 0.3) for name in WEIGHTS_OF_TUPLES),
        ("scalar+row+column", DELTA, ONE_ROUND, 3_000, 0.2),
        ("scalar-inf", 0.0, alpha_for(3, 3.0), 1_500, 0.02),
        ("column", 0.0, alpha_for(3, 1200.0), 1_500, 0.02),
    ],
)
def test_weights(name, delta, alpha, runs, sharp):
    """One round on a pair that moves selection and release as far as can be, and three rounds.

    False-alarm rate 0.001.
    """
    mechanism = weighed(name, delta=delta, alpha=alpha)
    passes(mechanism, MW_EPS, delta, runs=runs, sharp=sharp)


def spans(factor, kind):
    """A relation whose violations are taken to move by this part of what they do."""

    def violation_span(self, form):
        span = kind.violation_span(self, form)
        return lambda x: factor * span(x)

    return faulty(kind, violation_span=violation_span)


def spans_of_right_hand_sides_only(kind):
    return kind if kind is ScalarPrivate else spans(0, kind)


def spans_of_d(kind):
    """Every violation moves by D: no ||x||_1, no factor 2 for violations that move apart."""
    return faulty(kind, violation_span=lambda self, form: lambda x: self.sensitivity)


def rows_by_d(kind):
    """A row moves by D in each entry: V/c_j left out."""

    def row_change(self, form, scale):
        return kind.row_change(self, form, np.sign(scale))

    return faulty(kind, row_change=row_change)


def a_third_of_everything(kind):
    def row_change(self, form, scale):
        return tuple(change / 3 for change in kind.row_change(self, form, scale))

    return faulty(spans(1 / 3, kind), row_change=row_change)


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        slow("scalar-inf", spans_of_d, id="scalar: violations that move apart taken for one"),
        slow("column", spans_of_d, id="column: violations without the size of x"),
        slow("scalar+row", spans_of_right_hand_sides_only, id="tuple: violations by one part"),
        pytest.param("row+column", a_third_of_everything, id="tuple: a third"),
        slow("scalar+row+column", rows_by_d, id="tuple: release before the change of variables"),
    ],
)
def test_weights_twins(name, of):
    """Broken sensitivities: caught. Miss rate below 0.01."""
    runs = {"scalar-inf": 6_000, "row+column": 2_000}.get(name, 4_000)
    is_caught(weighed(name, of), MW_EPS, runs=runs)


RANGE = {"lower": -20, "upper": 20}


@pytest.mark.parametrize(
    ("neighbours", "tilt"),
    [
        (ColumnPrivate(D, **RANGE), [[D, 0.0]] * 12),
        ((ScalarPrivate(D), RowPrivate(D, **RANGE)), [[D, -D], *[[0.0, 0.0]] * 11]),
    ],
    ids=["column", "scalar+row"],
)
def test_true_row_not_released(neighbours, tilt, monkeypatch):
    """Two rounds: the second point is made from the row of the first."""
    # Rows that favour the second variable a little, or the first.
    base, b = np.outer(np.ones(12), [0.4, 1.0]), np.array([-30.0, *[30.0] * 11])
    pair = base, base + np.array(tilt)
    programs = [LinearProgram(COST, matrix, b, neighbours=neighbours) for matrix in pair]
    observed = programs, "mw", MW_EPS, 0.0, solution
    options = {"alpha": alpha_for(2, 240.0), "opt": OPT}
    passes(outcomes(*observed, **options), MW_EPS, runs=100)
    nothing = np.zeros(2, dtype=bool)
    monkeypatch.setattr(MovingRows, "private_coefficients", lambda self, row: nothing)
    is_caught(outcomes(*observed, **options), MW_EPS, runs=350)


def test_step_from_the_true_row():
    """The step follows from the released row, or from the true one, whose span it then shows."""
    mechanism = LaplaceMechanism(2 * D, 2 * D / EPS)
    pair = np.array([0.0, 0.01]), np.array([-D, D + 0.01])

    def honest(row, rng):
        hedge = AdaHedge(2)
        hedge.learn(mechanism.release(row, Randomness(rng)))
        return hedge.distribution()

    def twin(row, rng):
        noisy = mechanism.release(row, Randomness(rng))
        weights = np.exp(-math.log(2) / (row.mean() - row.min()) * (noisy - noisy.min()))
        return bool(weights.min() < 1e-9)

    passes(honest, EPS, pair=pair, runs=3_000, sharp=0.3)
    is_caught(twin, EPS, pair=pair, runs=1_000)


# what is charged is public


@pytest.mark.parametrize("name", WEIGHTS)
def test_charges_of_weights_do_not_depend_on_the_private_numbers(name):
    """Likewise, though the sensitivities make room for rounding, which depends on sizes."""
    relation = WEIGHTS[name]()[0].neighbours
    parts = tuple(
        replace(part, lower=-1e6, upper=1e6) for part in getattr(relation, "parts", (relation,))
    )
    kinds = {type(part) for part in parts}

    def program(size):
        A = np.full((4, 2), size if kinds & {RowPrivate, ColumnPrivate} else 1.0)
        b = np.full(4, size if ScalarPrivate in kinds else 1.0)
        return LinearProgram(COST, A, b, neighbours=parts if len(parts) > 1 else parts[0])

    one, other = (
        Rehearsal(program(size), "mw", EPS, 0.0, alpha=ONE_ROUND, opt=OPT).charges
        for size in (1.0, 9e5)
    )
    assert one == other
