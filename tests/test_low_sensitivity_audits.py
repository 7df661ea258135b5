"""Scalar-, row-, column- and objective-private programs: every mechanism passes its audit, and deliberately broken twins do not.

A solver is played on both programs of a worst-case pair, and the audit sees the privacy loss of what its draws gave away, the most
telling function there is (Neyman and Pearson). Where a fault lies outside the draws, the audit sees the outcome itself.

Each audit has confidence 0.999 and a fixed seed. So over the choice of seed a correct mechanism is accused, and a test here fails
without cause, at a rate of at most 0.001 per audit; runs are chosen so that a twin is missed at a rate below 0.01.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import logsumexp

import privlp
from privlp import ColumnPrivate, LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate, audit
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Ledger,
    Mechanism,
    Randomness,
    TruncatedLaplaceMechanism,
)
from privlp.problem import StandardForm
from privlp.solvers import METHODS, Task
from privlp.solvers.multiplicative_weights import AdaHedge, MultiplicativeWeights
from privlp.solvers.never_violated import NeverViolated
from privlp.solvers.simplex import Simplex

pytestmark = pytest.mark.statistical

D = 0.5
EPS = 2.0
DELTA = 0.02


def passes(mechanism, pair, eps, delta=0.0, *, runs=10_000, seed=1, sharp=0.0):
    """The audit finds no fault, and the measured bound exceeds the share `sharp` of the claim."""
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert result.passed, str(result)
    assert result.eps_lower > sharp * eps, str(result)


def is_caught(mechanism, pair, eps, delta=0.0, *, runs=10_000, seed=1):
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert not result.passed, str(result)


def through(mechanism):
    """The mechanism as the audit runs it."""
    return lambda value, rng: mechanism.release(value, Randomness(rng))


def faulty(kind, **wrong):
    """A relation of the same kind with other methods."""
    return type(f"Faulty{kind.__name__}", (kind,), wrong)


# ---------------------------------------------------------------------------------------------- solvers on the test bench


class Tape:
    """What went into the draws of a solver and what came out; with a script, what comes out was decided before."""

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

    def __call__(self, value):
        tape = self.tape
        output = tape.script[len(tape.lines)] if tape.script else self.mechanism.release(value, tape.randomness)
        tape.lines.append((self.mechanism, value, output))
        return output


class OnceCalibrated(Ledger):
    """Noise depends on public numbers alone: it is calibrated once for all runs."""

    known = {}

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
        self.draws = [Draw(mechanism, self.tape) for mechanism in self.twin([draw.mechanism for draw in paid])]
        return self.draws


class Rehearsal:
    """A solver of one program that is played again and again."""

    def __init__(self, lp, method, eps, delta, *, twin=list, alpha=None, opt=None):
        self.tape = Tape()
        ledger = Rehearsing(eps, delta, self.tape, twin)
        request = {"alpha": alpha, "opt": opt, "s": None, "width": None}
        task = Task(form=StandardForm.of(lp), ledger=ledger, randomness=Randomness(0), **request)
        self.solver = METHODS[method](task)
        self.charges = ledger.entries
        self._renew = lambda: self.solver
        if method == "mw":
            simplex, rounds = Simplex(StandardForm.of(lp, every_row=True), opt), self.solver.rounds
            self._renew = lambda: MultiplicativeWeights(lp.neighbours, simplex, *ledger.draws, rounds=rounds)

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
        return scores[output] - logsumexp(scores)
    noise = output - value
    if isinstance(mechanism, GaussianMechanism):
        return -0.5 * float(noise @ noise) / mechanism.sigma**2
    if isinstance(mechanism, TruncatedLaplaceMechanism):
        noise = np.abs(noise + mechanism.width)
        if (noise > mechanism.width * (1 + 1e-9)).any():
            return -math.inf
    return -float(np.abs(noise).sum()) / mechanism.scale


def losses(programs, method, eps, delta, **options):
    """Privacy loss of all that the draws gave away, as a mechanism on the pair (0, 1)."""
    both = [Rehearsal(lp, method, eps, delta, **options) for lp in programs]
    adaptive = both[0].solver.rounds > 1 or len({charge.mechanism for charge in both[0].charges}) > 1
    once = [each.play() for each in both]

    def mechanism(which, rng):
        played, other = both[which], both[1 - which]
        played.tape.randomness = Randomness(rng)
        lines = played.play()
        replayed = other.play([output for *_, output in lines]) if adaptive else once[1 - which]
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
        width = {"width": factor * mechanism.width} if isinstance(mechanism, TruncatedLaplaceMechanism) else {}
        return replace(mechanism, scale=factor * mechanism.scale, **width)

    return lambda mechanisms: [smaller(mechanism) for mechanism in mechanisms]


def narrowed(width_of):
    """Truncated Laplace noise of another width."""
    return lambda mechanisms: [replace(mechanism, width=width_of(mechanism)) for mechanism in mechanisms]


# ---------------------------------------------------------------------------------------------- worst-case pairs of numbers


def pair_of(relation, *, n=3, d=2, A=0.0, b=0.0, c=0.0):
    """A program with n rows and d variables, and its neighbour at these distances."""
    options = {"bounds": (0, 10), "neighbours": relation}
    base = -np.ones(d), np.ones((n, d)), np.full(n, 4.0)
    return LinearProgram(*base, **options), LinearProgram(base[0] + c, base[1] + A, base[2] + b, **options)


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


#: Pairs at the full distance in few numbers, for noise on the L1 change. `of` makes a twin of the relation.
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
        (scalar("1"), column(), ObjectivePrivate(D)), n=2, A=first_column(2, 2), b=first(2), c=first(2)
    ),
}
SINGLE = [name for name in PAIRS if "+" not in name]
TUPLES = [name for name in PAIRS if "+" in name]

#: Pairs in so many numbers that Gaussian noise is the quieter one where delta > 0.
MANY = {
    "scalar-inf": lambda of=correct: pair_of(scalar("inf", of), n=16, b=D),
    "scalar-1": lambda of=correct: pair_of(scalar("1", of), n=64, b=first(64)),
    "row": lambda of=correct: pair_of(row(of), n=2, d=16, A=first_row(2, 16)),
    "column": lambda of=correct: pair_of(column(of), n=16, A=first_column(16, 2)),
    "objective": lambda of=correct: pair_of(of(ObjectivePrivate)(D), d=64, c=first(64)),
    "scalar+row": lambda: pair_of((scalar("inf"), row()), n=16, d=16, A=first_row(16, 16), b=D),
}


# ---------------------------------------------------------------------------------------------- direct noise


@pytest.mark.parametrize("name", PAIRS)
def test_direct_noise(name):
    """Laplace noise. False-alarm rate 0.001."""
    passes(losses(PAIRS[name](), "direct-noise", EPS, 0.0), BOTH, EPS, sharp=0.6)


@pytest.mark.parametrize("name", PAIRS)
def test_half_of_the_direct_noise(name):
    """Caught. Miss rate below 0.01."""
    is_caught(losses(PAIRS[name](), "direct-noise", EPS, 0.0, twin=scaled(0.5)), BOTH, EPS, runs=4_000)


@pytest.mark.parametrize("name", SINGLE)
def test_direct_noise_for_a_sensitivity_20_percent_too_small(name):
    """Caught. Miss rate below 0.01."""
    is_caught(losses(PAIRS[name](), "direct-noise", EPS, 0.0, twin=scaled(0.8)), BOTH, EPS, runs=20_000)


def the_whole_eps(mechanisms):
    """Laplace noise of every part as if there were no other."""
    return [replace(mechanism, scale=mechanism.sensitivity / EPS) for mechanism in mechanisms]


@pytest.mark.parametrize("name", TUPLES)
def test_direct_noise_with_the_whole_eps_for_every_part(name):
    """Caught, unless the parts move the same numbers, which are one part. Miss rate below 0.01."""
    mechanism = losses(PAIRS[name](), "direct-noise", EPS, 0.0, twin=the_whole_eps)
    (passes if name == "row+column" else is_caught)(mechanism, BOTH, EPS)


def one_number(kind):
    """The relation that takes the change of a single number for the change of all, whatever their number and the norm."""

    def private_numbers(self, form):
        return [replace(numbers, l1=self.sensitivity, l2=self.sensitivity) for numbers in kind.private_numbers(self, form)]

    return faulty(kind, private_numbers=private_numbers)


@pytest.mark.parametrize("name", ["scalar-inf", "row", "column"])
@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
def test_direct_noise_for_the_change_of_a_single_number(name, noise):
    """D where all m right-hand sides, or k entries of a row or column, move by D: caught. Miss rate below 0.01."""
    programs, delta = (PAIRS[name], 0.0) if noise == "Laplace" else (MANY[name], DELTA)
    is_caught(losses(programs(one_number), "direct-noise", EPS, delta), BOTH, EPS, delta)


#: The claim at which Gaussian noise is audited: larger where it has no advantage from many small changes.
GAUSSIAN_CLAIM = {"scalar-1": (1.0, 0.1), "objective": (1.0, 0.1)}


@pytest.mark.parametrize("name", MANY)
def test_direct_gaussian_noise(name):
    """Gaussian noise. False-alarm rate 0.001."""
    eps, delta = GAUSSIAN_CLAIM.get(name, (EPS, DELTA))
    programs = MANY[name]()
    assert {charge.mechanism for charge in Rehearsal(programs[0], "direct-noise", eps, delta).charges} == {"Gaussian mechanism"}
    passes(losses(programs, "direct-noise", eps, delta), BOTH, eps, delta, sharp=0.3)


@pytest.mark.parametrize("name", MANY)
def test_direct_gaussian_noise_too_small(name):
    """Half of the noise: caught. Miss rate below 0.01."""
    eps, delta = GAUSSIAN_CLAIM.get(name, (EPS, DELTA))
    is_caught(losses(MANY[name](), "direct-noise", eps, delta, twin=scaled(0.5)), BOTH, eps, delta)
