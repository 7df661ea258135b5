"""Noise on a finite computer."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from randomgen import ChaCha
from scipy import stats

from privlp import audit, privacy
from privlp.privacy.noise import (
    Bits,
    EuclideanLaplace,
    Gaussian,
    Laplace,
    OneSidedSupNorm,
    OneSidedTruncatedGaussian,
    OneSidedTruncatedLaplace,
    UniformReals,
    grid,
    nearly,
    rounded_sum,
)
from tests.effort import each, runs

LAWS = {
    "Gaussian": Gaussian(),
    "Laplace": Laplace(),
    "truncated Laplace": OneSidedTruncatedLaplace(3.0),
    "truncated Laplace, far out": OneSidedTruncatedLaplace(300.0),
    "truncated Gaussian, narrow": OneSidedTruncatedGaussian(0.3),
    "truncated Gaussian": OneSidedTruncatedGaussian(6.0),
    "truncated Gaussian, far out": OneSidedTruncatedGaussian(12.0),
    "Euclidean": EuclideanLaplace(),
    "sup-norm": OneSidedSupNorm(40.0),
    "sup-norm, often cut": OneSidedSupNorm(2.0),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)

#: Words at which a careless evaluation goes wrong: no bits at all, all bits, one half from both
#: sides.
EXTREME = [0, 1, 2, 2**10, 2**40, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**11, 2**64 - 1]


class Words:
    """A generator that hands out given words, and the same word again whenever more bits of a number are wanted."""

    def __init__(self, words):
        self._words = np.array(words, dtype=np.uint64)

    def integers(self, low, high, size=None, dtype=None):
        return np.uint64(0x9E3779B97F4A7C15) if size is None else np.resize(self._words, size)


class Uncertain:
    """A law whose double-precision values promise nothing. Everything is left to interval arithmetic."""

    def __init__(self, law):
        self._law = law
        self.uniforms, self.within = law.uniforms, law.within

    def near(self, uniform, size):
        return np.full(size, 1e3), np.full(size, np.inf)

    def one_by_one(self, uniform, size):
        return [(1e3, np.inf)] * size


words = st.lists(
    st.one_of(st.integers(0, 2**64 - 1), st.sampled_from(EXTREME)), min_size=6, max_size=6
)


@every_law
@settings(deadline=None)
@given(words=words, size=st.integers(1, 3))
def test_errors_of_double_precision_are_bounded(law, words, size):
    """By at most half of what is allowed."""
    uniform = UniformReals(law.uniforms(size), Words(words))
    truth = law.within(range(size), size, Bits(uniform, 8))
    values, errors = law.near(uniform, size)
    for found in (zip(values, errors, strict=True), law.one_by_one(uniform, size)):
        for (value, error), true in zip(found, truth, strict=True):
            assert max(abs(float((true - value).a)), abs(float((true - value).b))) <= 0.75 * error


@every_law
@settings(deadline=None)
@given(
    words=words,
    size=st.integers(1, 3),
    value=st.one_of(
        st.floats(-1e6, 1e6),
        st.sampled_from([0.0, 0.5, 1e300, -1e300, 5e-324, 2.0**52 + 1, 1.7e308]),
    ),
    log_scale=st.floats(-300, 300),
    down=st.booleans(),
)
def test_double_precision_and_interval_arithmetic_agree(law, words, size, value, log_scale, down):
    """The same bits give the same release, however it is computed."""
    scale = 10**log_scale
    both, values = (law, Uncertain(law)), np.full(size, value)
    releases = [rounded_sum(values, scale, which, Words(words), down=down) for which in both]
    assert np.array_equal(*releases)
    assert np.isfinite(releases[0]).all()


@pytest.mark.parametrize("law", [Gaussian(), Laplace()], ids=["Gaussian", "Laplace"])
def test_a_release_is_the_same_with_and_without_arrays(law, monkeypatch):
    rng = np.random.default_rng(3)
    for size in (1, 2, 7, 24, 25):
        value = rng.normal(size=size) * 10.0 ** rng.integers(-9, 20, size)
        for scale in (1e-300, 3e-5, 1.0, 7e9, 1e297, -2.0):
            releases = []
            for most in (24, 0):
                monkeypatch.setattr("privlp.privacy.noise._FEW", most)
                generator = np.random.default_rng(size)
                releases.append(rounded_sum(value, scale, law, generator, down=scale < 0))
                releases.append(generator.integers(2**40))
            assert np.array_equal(releases[0], releases[2])
            assert releases[1] == releases[3]


@pytest.mark.parametrize(("law", "value"), each(LAWS.values(), [0.0, 0.1, -3e5, 1 + 2**-50]))
def test_releases_are_multiples_of_the_grid(law, value):
    scale = 0.7
    release = rounded_sum(np.full(200, value), scale, law, np.random.default_rng(0))
    assert grid(scale) == 2.0**-21
    assert np.array_equal(release, np.rint(release / 2.0**-21) * 2.0**-21)
    assert len(np.unique(release)) > 190


def test_a_sum_just_below_a_negative_whole_number():
    """Less than half a unit in the last place below."""
    bits = [0x3123456789ABCDEF, 1]  # a negative Laplace draw
    noise = Laplace().within([0], 1, Bits(UniformReals(2, Words(bits)), 16))[0]
    steps = Fraction(str(noise.mid).strip("[]").split(",")[0]) * 2**20 + Fraction(1, 2)
    value = (
        float(math.ceil(steps) - steps) * 2.0**-20
    )  # makes a whole number of them, but for 53 bits
    for q in (value, math.nextafter(value, 0.0), math.nextafter(value, 1.0)):
        release = rounded_sum([q], 1.0, Laplace(), Words(bits))[0]
        assert release * 2**20 == math.floor(steps + Fraction(q) * 2**20)


@every_law
def test_no_bits_at_all_for_long(law):
    """Number after number without a bit: the interval has no end at first."""

    class Zeros(Words):
        left = 40

        def integers(self, low, high, size=None, dtype=None):
            self.left -= size is None
            return np.uint64(self.left < 0) if size is None else np.zeros(size, dtype=np.uint64)

    assert np.isfinite(rounded_sum(np.zeros(2), 1.0, law, Zeros([0]))).all()


@pytest.mark.parametrize("source", [np.random.PCG64, ChaCha])
def test_words_are_the_generators_next_64_bits(source):
    """As its integers are, also after half a word was drawn; what follows is the same too."""
    one, other = (np.random.Generator(source(7)) for _ in range(2))
    for generator in (one, other):
        generator.integers(0, 5, dtype=np.uint32)
    uniform = UniformReals(9, one)
    words = other.integers(0, 2**64, size=9, dtype=np.uint64)
    assert uniform.one_by_one() == uniform.near.tolist() == ((words + 0.5) * 2.0**-64).tolist()
    assert one.integers(0, 2**40) == other.integers(0, 2**40)


def test_bits_are_drawn_once():
    """Twice as many bits of a number begin with those that were known."""
    uniform = UniformReals(3, np.random.default_rng(0))
    few, many = Bits(uniform, 2)[1], Bits(uniform, 4)[1]
    assert many in few
    assert abs(float(few.mid) - uniform.near[1]) <= 2.0**-52 * uniform.near[1]


def test_threads_that_draw_at_the_same_time_draw_what_each_draws_alone():
    """They share interval arithmetic, at more than one precision."""

    def drawn(seed):
        law = [*LAWS.values()][seed % len(LAWS)]
        uniform = UniformReals(16, np.random.default_rng(seed))
        refinements = uniform.refinements()
        return [str(law.within([0, 1], 2, next(refinements))) for _ in range(1 + seed % 3)]

    seeds, interval = range(48), sys.getswitchinterval()
    alone = [drawn(seed) for seed in seeds]
    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(drawn, seeds)) == alone
    finally:
        sys.setswitchinterval(interval)


def test_sums_are_rounded_once_and_exactly():
    """A sum of doubles would be rounded twice."""
    value, scale = 2.0**53, 2.0**-10
    release = rounded_sum(np.full(1000, value), scale, Gaussian(), np.random.default_rng(0))
    assert (release == value).all()  # no double in between
    noise = rounded_sum(np.full(1000, 1.0), scale, Gaussian(), np.random.default_rng(0)) - 1.0
    assert np.abs(noise / scale).max() < 5
    assert stats.kstest(noise / scale, "norm").pvalue > 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "law_of"),
    [
        (Gaussian(), stats.norm),
        (Laplace(), stats.laplace),
        (OneSidedTruncatedLaplace(2.0), stats.laplace(2.0)),
        (OneSidedTruncatedGaussian(2.0), stats.norm(2.0)),
    ],
    ids=["Gaussian", "Laplace", "truncated Laplace", "truncated Gaussian"],
)
def test_laws(law, law_of):
    """Kolmogorov-Smirnov on 200,000 draws. False-alarm rate 0.001 each; seed fixed."""
    noise, cdf = rounded_sum(np.zeros(200_000), 1.0, law, np.random.default_rng(1)), law_of.cdf
    low, high = cdf([0, 4]) if "Truncated" in type(law).__name__ else (0, 1)
    assert stats.kstest(noise, lambda x: np.clip((cdf(x) - low) / (high - low), 0, 1))[1] > 1e-3
    assert abs(np.corrcoef(noise[::2], noise[1::2])[0, 1]) < 0.015


@pytest.mark.parametrize("law", [Gaussian(), EuclideanLaplace()], ids=["Gaussian", "Euclidean"])
@settings(deadline=None)
@given(words=words, size=st.integers(1, 3))
def test_secret_noise_is_near_the_ideal(law, words, size):
    noise = nearly(3.0, law, size, Words(words))
    uniform = UniformReals(law.uniforms(size), Words(words))
    for value, true in zip(noise, law.within(range(size), size, Bits(uniform, 8)), strict=True):
        assert abs(float((3 * true - value).mid)) <= 3 * 2.0**-40 * math.sqrt(size)


@pytest.mark.parametrize(
    "kind", [privacy.TruncatedLaplaceMechanism, privacy.TruncatedGaussianMechanism]
)
def test_a_release_never_exceeds_the_truth(kind):
    mechanism = kind.of_budget(0.1, 1.0, 1e-6)
    value = np.random.default_rng(0).uniform(-1, 1, 20_000) * 10.0 ** np.arange(-5, 15).repeat(1000)
    release = mechanism.release(value, privacy.Randomness(0))
    assert (release <= value).all()
    decrease = value - release
    rounding = np.spacing(np.abs(release)) + np.spacing(np.abs(value))
    assert (decrease <= mechanism.most + rounding).all()
    assert decrease.min() < 0.5 * mechanism.width < 1.5 * mechanism.width < decrease.max()


def multiple_of_last_bit_of_one(release):
    """Whether a release near 0 has no more bits than the difference of two numbers near 1 would have."""
    return "many bits" if abs(release) < 0.25 and (release * 2.0**53) % 1 else "few bits"


@pytest.mark.statistical
@pytest.mark.parametrize("draw", ["normal", "laplace"])
def test_naive_noise_gives_its_input_away(draw):
    """1 + noise is a multiple of 2**-53; 0 + noise is not. Miss rate below 1e-6."""

    def naive(value, rng):
        return multiple_of_last_bit_of_one(value + getattr(rng, draw)(scale=1.0))

    result = audit(naive, 0.0, 1.0, 2.0, 0.01, runs=runs(10_000, 4_000), rng=0)
    assert result.eps_lower > 3


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [privacy.LaplaceMechanism, privacy.GaussianMechanism])
def test_rounded_noise_does_not(kind):
    """The same attack, the same scale: nothing is seen at all. False-alarm rate 0.001; seed fixed."""
    mechanism = kind(1.0, 1.0)

    def attacked(value, rng):
        return multiple_of_last_bit_of_one(
            float(mechanism.release([value], privacy.Randomness(rng))[0])
        )

    result = audit(attacked, 0.0, 1.0, 2.0, 0.01, runs=runs(10_000, 2_000), rng=0)
    assert result.eps_lower == 0.0


@pytest.mark.statistical
def test_the_attack_of_mironov():
    """Which of two inputs a naive Laplace release came from, read off its bits: of the doubles few can be its noise."""

    def fits(release, value, scale=1.0):
        noise = release - value
        guess = 0.5 * math.exp(-abs(noise) / scale) * 2.0**53
        near = (np.rint(guess) + np.arange(-8, 9)) * 2.0**-53
        drawn = np.copysign(scale * np.log(2 * near), noise) * np.array([[1], [-1]])
        return bool((value + drawn == release).any())

    def told_apart(releases):
        return np.mean([fits(r, 1 / 3) and not fits(r, 0.0) for r in releases.tolist()])

    rng = np.random.default_rng(0)
    both, n = (0.0, 1 / 3), 1_000
    naive = {q: q + np.log(2 * rng.integers(1, 2**52, n) * 2.0**-53) for q in both}
    ours = {q: rounded_sum(np.full(n, q), 1.0, Laplace(), rng) for q in both}
    assert told_apart(naive[0.0]) == 0.0
    assert told_apart(naive[1 / 3]) > 0.2
    assert told_apart(ours[1 / 3]) < math.exp(1 / 3) * told_apart(ours[0.0])
