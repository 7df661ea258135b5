"""Scalar-, row-, column- and objective-private programs: releases of one part or of several pass their audits, broken twins do not."""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

import privlp
from privlp import (
    Budget,
    ColumnPrivate,
    LinearProgram,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
    audit,
)
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
from privlp.privacy.noise.rounding import grid
from tests.conformance_kit import Claim, audited, release_many
from tests.programs import ALL, method_of

pytestmark = pytest.mark.statistical

D = 0.5
EPS = 2.0
DELTA = 0.02


def passes(mechanism, pair, eps, delta=0.0, *, runs=10_000, seed=1, sharp=0.0):
    """The audit finds no fault, and the measured bound is at least the share `sharp` of the claim."""
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert result.passed, str(result)
    assert result.eps_lower >= sharp * eps, str(result)


def is_caught(mechanism, pair, eps, delta=0.0, *, runs=10_000, seed=1):
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert not result.passed, str(result)


def through(mechanism):
    """The mechanism as the audit runs it."""
    return lambda value, rng: mechanism.release(value, Randomness(rng))


def faulty(kind, **wrong):
    """A relation of the same kind with other methods."""
    return type(f"Faulty{kind.__name__}", (kind,), wrong)


# solvers on the test bench


class Tape:
    """What went into the draws of a solver and what came out.

    With a script, what comes out was decided before.
    """

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
        output = (
            tape.script[len(tape.lines)] if tape.script else self.release(value, tape.randomness)
        )
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


class OnceCalibrated(Budget):
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
        self.draws = [
            Draw(mechanism, self.tape) for mechanism in self.twin([draw.mechanism for draw in paid])
        ]
        return self.draws


class Rehearsal:
    """A solver of one program that is played again and again."""

    def __init__(self, lp, method, eps, delta, *, twin=list, alpha=None, opt=None):
        self.tape = Tape()
        ledger = Rehearsing(eps, delta, self.tape, twin)
        planned = ALL[method].plan(SolveRequest(lp.public(), ledger, alpha=alpha, opt=opt))
        draws = ledger.charge_together(planned.charges, lp.neighbours, Randomness(0))
        self.charges = ledger.entries
        rows = lp.rows()
        self._renew = lambda: planned.start(rows, draws)
        self.solver = self._renew()

    def play(self, script=()):
        """All rounds; the draws' (mechanism, input, output)."""
        self.tape.rewind(script)
        self.solver = self._renew()
        for t in range(self.solver.rounds):
            self.solver.step(t)
        return self.tape.lines


def log_density(mechanism, value, output):
    """Logarithm of the density, up to a constant that does not depend on the value."""
    if isinstance(mechanism, ExponentialMechanism):
        scores = value * (mechanism.eps / (2 * mechanism.sensitivity))
        return scores[output] - math.log(np.exp(scores - scores.max()).sum()) - scores.max()
    noise = output - value
    if isinstance(mechanism, GaussianMechanism):
        return -0.5 * float(noise @ noise) / mechanism.sigma**2
    if isinstance(mechanism, TruncatedLaplaceMechanism | TruncatedGaussianMechanism):
        noise = np.abs(noise + mechanism.width)
        if (noise > mechanism.width * (1 + 1e-9)).any():
            return -math.inf
    if isinstance(mechanism, TruncatedGaussianMechanism):
        return -0.5 * float(noise @ noise) / mechanism.sigma**2
    return -float(np.abs(noise).sum()) / mechanism.scale


def losses(programs, method, eps, delta, **options):
    """Privacy loss of all that the draws gave away, as a mechanism on the pair (0, 1)."""
    both = [Rehearsal(lp, method, eps, delta, **options) for lp in programs]
    known = {}

    def inputs(which, outputs):
        """What goes into the draws of the other program, if what came out of each draw before is the same."""
        if method != "mw":
            key = which
        elif any(isinstance(output, np.ndarray) for output in outputs[:-1]):
            return both[which].play(outputs)
        else:
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


BOTH = (0, 1)


def outcomes(programs, method, eps, delta, observe, **options):
    """What `observe` makes of a solver that was played, as a mechanism on the pair (0, 1)."""
    both = [Rehearsal(lp, method, eps, delta, **options) for lp in programs]

    def mechanism(which, rng):
        both[which].tape.randomness = Randomness(rng)
        lines = both[which].play()
        return observe(lines, both[which].solver)

    return mechanism


def scaled(factor):
    """Noise of another size."""

    def smaller(mechanism):
        if isinstance(mechanism, ExponentialMechanism):
            return replace(mechanism, eps=mechanism.eps / factor)
        if isinstance(mechanism, GaussianMechanism):
            return replace(mechanism, sigma=factor * mechanism.sigma)
        width = (
            {"width": factor * mechanism.width}
            if isinstance(mechanism, TruncatedLaplaceMechanism)
            else {}
        )
        return replace(mechanism, scale=factor * mechanism.scale, **width)

    return lambda mechanisms: [smaller(mechanism) for mechanism in mechanisms]


def narrowed(width_of):
    """Truncated Laplace noise of another width."""
    return lambda mechanisms: [
        replace(mechanism, width=width_of(mechanism)) for mechanism in mechanisms
    ]


# worst-case pairs of numbers


def pair_of(relation, *, n=3, d=2, A=0.0, b=0.0, c=0.0):
    """A program with n rows and d variables, and its neighbour at these distances."""
    options = {"bounds": (0, 10), "neighbours": relation}
    base = -np.ones(d), np.ones((n, d)), np.full(n, 4.0)
    return LinearProgram(*base, **options), LinearProgram(
        base[0] + c, base[1] + A, base[2] + b, **options
    )


def first(shape):
    """A change of D at the first entry."""
    change = np.zeros(shape)
    change.flat[0] = D
    return change


def first_row(n, d):
    return np.outer(first(n), np.ones(d))


def first_column(n, d):
    return np.outer(np.ones(n), first(d))


def correct(kind):
    return kind


def scalar(norm, of=correct):
    return of(ScalarPrivate)(D, norm, lower=0, upper=100)


def row(of=correct):
    return of(RowPrivate)(D, lower=-100, upper=100)


def column(of=correct):
    return of(ColumnPrivate)(D, lower=-100, upper=100)


#: Pairs at the full distance in few numbers, for noise on the L1 change. `of` makes a twin of the
#: relation.
PAIRS = {
    "scalar-inf": lambda of=correct: pair_of(scalar("inf", of), n=2, b=D),
    "scalar-1": lambda of=correct: pair_of(scalar("1", of), b=first(3)),
    "row": lambda of=correct: pair_of(row(of), A=first_row(3, 2)),
    "column": lambda of=correct: pair_of(column(of), n=2, A=first_column(2, 2)),
    "objective": lambda of=correct: pair_of(of(ObjectivePrivate)(D), c=first(2)),
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
SINGLE = [name for name in PAIRS if "+" not in name]
TUPLES = [name for name in PAIRS if "+" in name]
#: Tuples whose parts are released by mechanisms of their own.
PARTS_APART = ["scalar+row", "scalar+objective", "scalar+column+objective"]

#: Pairs in so many numbers that Gaussian noise is the quieter one where delta > 0.
MANY = {
    "scalar-inf": lambda of=correct: pair_of(scalar("inf", of), n=16, b=D),
    "scalar-1": lambda of=correct: pair_of(scalar("1", of), n=64, b=first(64)),
    "row": lambda of=correct: pair_of(row(of), n=2, d=16, A=first_row(2, 16)),
    "column": lambda of=correct: pair_of(column(of), n=16, A=first_column(16, 2)),
    "objective": lambda of=correct: pair_of(of(ObjectivePrivate)(D), d=64, c=first(64)),
    "scalar+row": lambda: pair_of((scalar("inf"), row()), n=16, d=16, A=first_row(16, 16), b=D),
}


# direct noise


@pytest.mark.slow
@pytest.mark.parametrize("name", TUPLES)
@pytest.mark.parametrize("delta", [0.0, DELTA], ids=["pure", "with delta"])
def test_direct_noise(name, delta):
    """Laplace noise at delta = 0, the quieter one otherwise. False-alarm rate 0.001."""
    passes(
        losses(PAIRS[name](), "direct-noise", EPS, delta), BOTH, EPS, delta, runs=3_000, sharp=0.2
    )


def the_whole_eps(mechanisms):
    """Laplace noise of every part as if there were no other."""
    return [replace(mechanism, scale=mechanism.sensitivity / EPS) for mechanism in mechanisms]


@pytest.mark.parametrize("name", PARTS_APART)
def test_direct_noise_with_the_whole_eps_for_every_part(name):
    """Caught. Miss rate below 0.01."""
    is_caught(
        losses(PAIRS[name](), "direct-noise", EPS, 0.0, twin=the_whole_eps), BOTH, EPS, runs=4_000
    )


def one_number(kind):
    """The relation that takes the change of a single number for the change of all, whatever their number and the norm."""

    def private_numbers(self, form):
        return [
            replace(numbers, l1=self.sensitivity, l2=self.sensitivity)
            for numbers in kind.private_numbers(self, form)
        ]

    return faulty(kind, private_numbers=private_numbers)


@pytest.mark.parametrize("name", ["scalar-inf", "row", "column"])
@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
def test_direct_noise_for_the_change_of_a_single_number(name, noise):
    """D where all m right-hand sides, or k entries of a row or column, move by D: caught.

    Miss rate below 0.01.
    """
    programs, delta = (PAIRS[name], 0.0) if noise == "Laplace" else (MANY[name], DELTA)
    is_caught(
        losses(programs(one_number), "direct-noise", EPS, delta), BOTH, EPS, delta, runs=4_000
    )


#: The claim at which Gaussian noise is audited: larger where it has no advantage from many small
#: changes.
GAUSSIAN_CLAIM = {"scalar-1": (1.0, 0.1), "objective": (1.0, 0.1)}


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_direct_gaussian_noise(name):
    """Gaussian noise. False-alarm rate 0.001."""
    eps, delta = GAUSSIAN_CLAIM.get(name, (EPS, DELTA))
    programs = MANY[name]()
    assert {
        charge.mechanism for charge in Rehearsal(programs[0], "direct-noise", eps, delta).charges
    } == {"Gaussian mechanism"}
    passes(losses(programs, "direct-noise", eps, delta), BOTH, eps, delta, runs=4_000, sharp=0.1)


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

    return [
        *(
            faulty(type(mechanism), release=release)(**vars(mechanism))
            for mechanism in mechanisms[:-1]
        ),
        mechanisms[-1],
    ]


@pytest.mark.parametrize(
    ("method", "delta", "up"), [("direct-noise", 0.0, 1), ("truncated-laplace", DELTA, -1)]
)
def test_noise_on_right_hand_sides_used_again_for_coefficients(method, delta, up):
    """Right-hand sides fall while what is drawn on for A rises."""
    programs = pair_of((scalar("1"), row()), d=1, A=up * first_row(3, 1), b=-first(3))
    passes(outcomes(programs, method, EPS, delta, noise_of_the_parts_apart), BOTH, EPS, delta)
    twin = outcomes(programs, method, EPS, delta, noise_of_the_parts_apart, twin=one_noise_for_all)
    is_caught(twin, BOTH, EPS, delta, runs=500)


# truncated Laplace mechanism

TRUNCATED = TruncatedLaplaceMechanism.of_budget(1.0, EPS, DELTA)
#: An L1 change of 1, spread over the entries.
SPREAD = {1: np.ones(1), 3: np.array([0.6, -0.3, 0.1]), 10: np.array([0.7, *[-0.3 / 9] * 9])}


def width_of_delta(delta, sensitivity=1.0):
    return TruncatedLaplaceMechanism.of_budget(sensitivity, EPS, delta).width


def noise_of(mechanism, change, side, rng, runs):
    """Releases of entries that move by `change`, and their distances from the centre of the noise on either side, in rows."""
    values = np.zeros_like(change), change
    outputs = release_many(mechanism, values[side], Randomness(rng), runs)
    return [np.abs(outputs - value + mechanism.width) for value in values]


def loss_of(mechanism, change):
    """Privacy losses of releases of entries that move by `change`."""

    def sample(side, rng, runs):
        here, there = (
            np.where(
                (noise > mechanism.width * (1 + 1e-9)).any(axis=1),
                -50.0,
                -noise.sum(axis=1) / mechanism.scale,
            )
            for noise in noise_of(mechanism, change, side, rng, runs)
        )
        return np.round(np.clip(there - here, -50.0, 50.0), 5).tolist()

    return sample


def finds_no_fault(sampler, delta=DELTA, *, runs=10_000, sharp=0.0):
    result = audited(sampler, Claim(EPS, delta), runs, 1)
    assert result.passed, str(result)
    assert result.eps_lower >= sharp * EPS, str(result)


def finds_a_fault(sampler, delta=DELTA, *, runs=10_000):
    result = audited(sampler, Claim(EPS, delta), runs, 1)
    assert not result.passed, str(result)


@pytest.mark.parametrize("m", SPREAD)
def test_truncated_laplace_mechanism(m):
    """One width for any number of entries. False-alarm rate 0.001."""
    finds_no_fault(loss_of(TRUNCATED, SPREAD[m]), sharp=0.6)


@pytest.mark.parametrize("m", SPREAD)
@pytest.mark.parametrize(
    ("twin", "runs"),
    [
        pytest.param(
            replace(TRUNCATED, width=width_of_delta(10 * DELTA)),
            6_000,
            id="width of ten times delta",
        ),
        pytest.param(
            replace(TRUNCATED, width=TRUNCATED.scale * math.log(0.5 / DELTA)),
            10_000,
            id="width of a tail, the step left out",
        ),
        pytest.param(replace(TRUNCATED, width=0.4), 3_000, id="narrower than the step"),
    ],
)
def test_truncated_laplace_twins(twin, runs, m):
    """Broken: caught. Miss rate below 0.01."""
    finds_a_fault(loss_of(twin, SPREAD[m]), runs=runs)


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
    """Masses of the losses -step, ..., step in steps of a cell, and the mass that only one of the two inputs can release."""
    cells = round(step * CELLS_PER_UNIT)
    masses = np.concatenate([np.zeros(cells), cell_masses(width)])
    other = np.concatenate([cell_masses(width), np.zeros(cells)])
    both = (masses > 0) & (other > 0)
    index = np.rint(np.log(masses[both] / other[both]) * CELLS_PER_UNIT).astype(int) + cells
    assert np.allclose(
        np.log(masses[both] / other[both]) * CELLS_PER_UNIT, index - cells, atol=1e-4
    )
    return np.bincount(index, masses[both], 2 * cells + 1), masses[~both].sum()


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
    """The width in units of the scale, and the delta of the formula there, where the width is a multiple of a cell."""
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
    assert (
        exact_delta(0.9 * eps, [eps], width) > 1.1 * claimed
    )  # eps is no larger than it has to be


@pytest.mark.parametrize(("eps", "delta"), CLAIMS)
@pytest.mark.parametrize("m", [2, 3, 4, 5, 6])
def test_delta_of_several_entries(m, eps, delta):
    """However the change is split, the divergence is at most the delta of one entry, and near it where one entry moves most of it."""
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


# never violated

NEVER = ["truncated-laplace", "truncated-gaussian", "truncated-laplace-published"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TUPLES)
@pytest.mark.parametrize("method", NEVER)
def test_never_violated(method, name):
    """False-alarm rate 0.001."""
    sharp = 0.15 if method == "truncated-gaussian" else 0.2
    passes(losses(PAIRS[name](), method, EPS, DELTA), BOTH, EPS, DELTA, runs=2_500, sharp=sharp)


@pytest.mark.parametrize("name", ["scalar-inf", "row", "column"])
def test_truncated_noise_for_the_change_of_a_single_number(name):
    """Caught. Miss rate below 0.01."""
    is_caught(
        losses(PAIRS[name](one_number), "truncated-laplace", EPS, DELTA),
        BOTH,
        EPS,
        DELTA,
        runs=4_000,
    )


def width_of_ten_times_delta(mechanism):
    odds = math.expm1(mechanism.width / mechanism.scale)
    return mechanism.scale * math.log1p(odds / 10)


def half_a_step(mechanism):
    return 0.5 * D


@pytest.mark.parametrize("name", [*TUPLES, "row"])
@pytest.mark.parametrize(
    ("width_of", "runs"),
    [
        pytest.param(width_of_ten_times_delta, 5_000, id="ten times delta"),
        pytest.param(half_a_step, 2_000, id="half a step"),
    ],
)
def test_truncated_noise_that_is_too_narrow(width_of, runs, name):
    """Some releases are impossible on the neighbour, with more than delta: caught. Miss rate below 0.01."""
    is_caught(
        losses(PAIRS[name](), "truncated-laplace", EPS, DELTA, twin=narrowed(width_of)),
        BOTH,
        EPS,
        DELTA,
        runs=runs,
    )


@pytest.mark.parametrize("name", PARTS_APART)
def test_truncated_noise_with_the_whole_budget_for_every_part(name):
    """Caught. Miss rate below 0.01."""

    def twin(mechanisms):
        return [
            TruncatedLaplaceMechanism.of_budget(mechanism.sensitivity, EPS, DELTA)
            for mechanism in mechanisms
        ]

    is_caught(
        losses(PAIRS[name](), "truncated-laplace", EPS, DELTA, twin=twin),
        BOTH,
        EPS,
        DELTA,
        runs=5_000,
    )


def least_right_hand_side(lines, solver):
    return float(solver.released().trace["tightened b"].min())


def test_range_read_off_the_data():
    """Releases are clipped: to a public end they pass, to an end at a distance from the data they show the data.

    False-alarm rate 0.001, miss rate below 0.01.
    """

    def programs(end):
        return [
            LinearProgram([-1.0], [[1.0]], [b], neighbours=ScalarPrivate(D, lower=end(b)))
            for b in (4.0, 4.0 + D)
        ]

    passes(
        outcomes(programs(lambda b: 3.5), "truncated-laplace", EPS, DELTA, least_right_hand_side),
        BOTH,
        EPS,
        DELTA,
        runs=150,
    )
    twin = outcomes(
        programs(lambda b: b - D), "truncated-laplace", EPS, DELTA, least_right_hand_side
    )
    is_caught(twin, BOTH, EPS, DELTA, runs=200)


def test_fallback_from_the_private_program():
    """Where the tightened program may contradict itself, a point of the true one must not take its place. Rates 0.001."""
    programs = [
        LinearProgram([-1.0], [[1.0]], [b], neighbours=ScalarPrivate(D, lower=0))
        for b in (D, 2 * D)
    ]
    mechanism = outcomes(
        programs, "truncated-laplace", EPS, DELTA, lambda lines, solver: solver.released().x
    )
    passes(mechanism, BOTH, EPS, DELTA, runs=150)

    def twin(b, rng):
        lp = LinearProgram([-1.0], [[1.0]], [b], neighbours=ScalarPrivate(D))
        form = lp.public().form
        numbers = lp.neighbours.private_numbers(form)
        tape = Tape()
        tape.randomness = Randomness(rng)
        draw = Draw(TruncatedLaplaceMechanism.of_budget(D, EPS, DELTA), tape)
        solver = TightenedProgram(
            form,
            numbers,
            [lp.rows().values(part) for part in numbers],
            [draw],
            fallback=np.array([b / 2]),
            time_limit=None,
        )
        solver.step(0)
        return solver.released().x

    is_caught(twin, (D, 2 * D), EPS, DELTA, runs=300)


# multiplicative weights

N = 12
OPT = 6.0
COST = np.array([1.0, 2.0])
CENTRE = OPT / COST / 2
RANGE = {"lower": -20, "upper": 20}
#: One round, whatever the span of the rows.
ONE_ROUND = 1e9
FEW_ROUNDS = 3


def alpha_for(rounds, span):
    """The accuracy at which rows of that span are answered in so many rounds.

    T = ceil(ln(d)/2 (span/alpha)^2).
    """
    return span * math.sqrt(math.log(2) / 2 / (rounds - 0.5))


def weights_pair(*, n, relation, rise, A=None, b=None):
    """Programs of equal rows, but that the violation of row 0 rises by `rise` from one to the other, from below to above."""
    base, rhs = np.ones((n, 2)), np.full(n, 4.0)
    rhs[0] += rise / 2
    A, b = (0.0 if change is None else change[:n] for change in (A, b))
    options = {"neighbours": relation}
    return LinearProgram(COST, base, rhs, **options), LinearProgram(
        COST, base + A, rhs + b, **options
    )


#: Row 0 is violated by more, all the others by less.
ONE_UP = np.array([D, *[-D] * (N - 1)])


def mw_scalar(norm, of=correct):
    return of(ScalarPrivate)(D, norm, lower=-100, upper=100)


def mw_row(of=correct):
    return of(RowPrivate)(D, **RANGE)


def mw_column(of=correct):
    return of(ColumnPrivate)(D, **RANGE)


ROW_UP, COLUMN_UP = first_row(N, 2), np.outer(ONE_UP, [1.0, 0.0])
SPAN_OF_ROW, SPAN_OF_COLUMN, SPAN_OF_SCALAR = D * CENTRE.sum(), 2 * D * CENTRE[0], 2 * D

#: Pairs at the full distance: row 0 is violated by more and, where they may move, all the others by
#: less.
WEIGHTS = {
    "scalar-inf": lambda of=correct, n=5: weights_pair(
        n=n, relation=mw_scalar("inf", of), b=-ONE_UP, rise=SPAN_OF_SCALAR
    ),
    "scalar-1": lambda of=correct, n=5: weights_pair(
        n=n, relation=mw_scalar("1", of), b=-first(N), rise=D
    ),
    "row": lambda of=correct, n=5: weights_pair(
        n=n, relation=mw_row(of), A=ROW_UP, rise=SPAN_OF_ROW
    ),
    "column": lambda of=correct, n=5: weights_pair(
        n=n, relation=mw_column(of), A=COLUMN_UP, rise=SPAN_OF_COLUMN
    ),
    "scalar+row": lambda of=correct, n=5: weights_pair(
        n=n,
        relation=(mw_scalar("inf", of), mw_row(of)),
        A=ROW_UP,
        b=-ONE_UP,
        rise=SPAN_OF_SCALAR + SPAN_OF_ROW,
    ),
    "row+column": lambda of=correct, n=5: weights_pair(
        n=n,
        relation=(mw_row(of), mw_column(of)),
        A=ROW_UP + COLUMN_UP,
        rise=SPAN_OF_ROW + SPAN_OF_COLUMN,
    ),
    "scalar+row+column": lambda of=correct, n=5: weights_pair(
        n=n,
        relation=(mw_scalar("1", of), mw_row(of), mw_column(of)),
        A=ROW_UP + COLUMN_UP,
        b=-first(N),
        rise=D + SPAN_OF_ROW + SPAN_OF_COLUMN,
    ),
}
#: Single relations are audited in ``test_conformance.py``.
WEIGHTS_OF_TUPLES = [name for name in WEIGHTS if "+" in name]
MW_EPS = 3.0


def weighed(name, of=correct, *, eps=MW_EPS, delta=0.0, alpha=ONE_ROUND, **options):
    return losses(WEIGHTS[name](of), "mw", eps, delta, alpha=alpha, opt=OPT, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTS_OF_TUPLES)
def test_one_round(name):
    """Selection and, where A is private, the release of the selected row, on a pair that moves both as far as can be.

    False-alarm rate 0.001.
    """
    passes(weighed(name), BOTH, MW_EPS, runs=2_500, sharp=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scalar+row+column"])
def test_one_round_with_delta(name):
    """Gaussian noise on rows where it is quieter. False-alarm rate 0.001."""
    passes(weighed(name, delta=DELTA), BOTH, MW_EPS, DELTA, runs=3_000, sharp=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "span"), [("scalar-inf", 3.0), ("column", 240.0)])
def test_a_few_rounds(name, span):
    """All rounds together keep the claim. False-alarm rate 0.001."""
    mechanism = weighed(name, alpha=alpha_for(FEW_ROUNDS, span))
    passes(mechanism, BOTH, MW_EPS, runs=1_500, sharp=0.02)


def spans(factor):
    """Relations whose violations are taken to move by this part of what they do."""

    def of(kind):
        def violation_span(self, form):
            span = kind.violation_span(self, form)
            return lambda x: factor * span(x)

        return faulty(kind, violation_span=violation_span)

    return of


def spans_of_right_hand_sides_only(kind):
    return kind if kind is ScalarPrivate else spans(0)(kind)


def spans_of_d(kind):
    """Every violation moves by D: no ||x||_1, no factor 2 for violations that move apart."""
    return faulty(kind, violation_span=lambda self, form: lambda x: self.sensitivity)


def rows_by_d(kind):
    """A row moves by D in each entry: V/c_j left out."""
    return faulty(
        kind, row_change=lambda self, form, scale: kind.row_change(self, form, np.sign(scale))
    )


def a_third_of_everything(kind):
    third = {
        "row_change": lambda self, form, scale: tuple(
            change / 3 for change in kind.row_change(self, form, scale)
        )
    }
    return faulty(spans(1 / 3)(kind), **third)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        pytest.param(
            "scalar-inf",
            spans_of_d,
            marks=pytest.mark.slow,
            id="scalar: violations that move apart taken for one",
        ),
        pytest.param(
            "column",
            spans_of_d,
            marks=pytest.mark.slow,
            id="column: violations without the size of x",
        ),
        pytest.param(
            "scalar+row",
            spans_of_right_hand_sides_only,
            marks=pytest.mark.slow,
            id="tuple: violations by one part only",
        ),
        pytest.param("row+column", a_third_of_everything, id="tuple: a third"),
        pytest.param(
            "scalar+row+column",
            rows_by_d,
            marks=pytest.mark.slow,
            id="tuple: release before the change of variables",
        ),
    ],
)
def test_weights_twins(name, of):
    """Broken sensitivities: caught. Miss rate below 0.01."""
    is_caught(weighed(name, of), BOTH, MW_EPS, runs=6_000 if name.startswith("scalar-") else 4_000)


def solution(lines, solver):
    return solver.released().x


@pytest.mark.parametrize("name", ["column", "scalar+row"])
def test_true_row_not_released(name, monkeypatch):
    """Two rounds: the second point is made from the row of the first."""

    options = {"alpha": alpha_for(2, 240.0), "opt": OPT}
    tilt = (
        np.array([[D, 0.0]] * N)
        if name == "column"
        else np.array([[D, -D], *[[0.0, 0.0]] * (N - 1)])
    )
    neighbours = {"column": mw_column(), "scalar+row": (mw_scalar("inf"), mw_row())}[name]

    def programs():
        # Rows that favour the second variable a little, or the first.
        base, b = np.outer(np.ones(N), [0.4, 1.0]), np.array([-30.0, *[30.0] * (N - 1)])
        return [
            LinearProgram(COST, matrix, b, neighbours=neighbours) for matrix in (base, base + tilt)
        ]

    passes(outcomes(programs(), "mw", MW_EPS, 0.0, solution, **options), BOTH, MW_EPS, runs=1_000)
    nothing = np.zeros(2, dtype=bool)
    monkeypatch.setattr(MovingRows, "private_coefficients", lambda self, row: nothing)
    is_caught(outcomes(programs(), "mw", MW_EPS, 0.0, solution, **options), BOTH, MW_EPS, runs=500)


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

    passes(honest, pair, EPS, sharp=0.4)
    is_caught(twin, pair, EPS, runs=2_000)


# solve(), from end to end


def solved(method, eps, delta, observe, *, twin=list, **options):
    """solve() as a mechanism."""
    tape = Tape()

    def mechanism(lp, rng):
        tape.rewind()
        tape.randomness = Randomness(rng)
        result = privlp.solve(
            lp,
            None,
            None,
            method=method_of(method),
            budget=Rehearsing(eps, delta, tape, twin),
            **options,
        )
        assert result.privacy.eps <= eps
        return observe(result)

    return mechanism


def point(result):
    return result.x


#: x is what the noisy program allows: the right-hand side over the coefficient, or the cheaper
#: variable.
ONE_VARIABLE = {
    "scalar": lambda: [
        LinearProgram([-1.0], [[1.0]], [b], neighbours=ScalarPrivate(D, lower=0))
        for b in (4.0, 4.0 + D)
    ],
    "row": lambda: [
        LinearProgram(
            [-1.0], [[a]], [4.0], bounds=(0, 10), neighbours=RowPrivate(D, lower=0.1, upper=20)
        )
        for a in (4.0, 4.0 + D)
    ],
    "objective": lambda: [
        LinearProgram(
            [cost, 1 + D / 2],
            [[-1.0, -1.0]],
            [-1.0],
            bounds=(0, 10),
            neighbours=ObjectivePrivate(D, lower=[-9, 1 + D / 2], upper=[9, 1 + D / 2]),
        )
        for cost in (1.0, 1.0 + D)
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "delta", "name"),
    [("direct-noise", 0.0, "row"), ("truncated-laplace", 0.1, "scalar")],
)
def test_solve_with_noise_on_the_numbers(method, delta, name):
    """The solution alone, after all post-processing."""
    passes(solved(method, 1.0, delta, point), ONE_VARIABLE[name](), 1.0, delta, runs=100)
    is_caught(
        solved(method, 1.0, delta, point, twin=scaled(0.1)),
        ONE_VARIABLE[name](),
        1.0,
        delta,
        runs=100,
    )


def selected_and_point(result):
    return (*(result.trace["selected rows"] == 0).tolist(), *np.round(result.x, 9).tolist())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "span"), [("column", 240.0), ("scalar+row", 240.0)])
def test_solve_by_weights(name, span):
    """Two rounds: which rows were selected, and the solution. False-alarm rate 0.001, miss rate below 0.01."""
    mechanism = solved("mw", EPS, 0.0, selected_and_point, opt=OPT, alpha=alpha_for(2, span))
    passes(mechanism, WEIGHTS[name](), EPS, runs=300)
    is_caught(mechanism, WEIGHTS[name](spans(0.02)), EPS, runs=400)


# what is charged is public


def charges(lp, method, delta, **options):
    return [
        replace(entry, sensitivity=entry.sensitivity.hex())
        for entry in Rehearsal(lp, method, EPS, delta, **options).charges
    ]


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
        charges(program(size), "mw", 0.0, alpha=ONE_ROUND, opt=OPT) for size in (1.0, 9e5)
    )
    assert one == other
