"""What every release of the package must keep, and the faults that its audit must find.

A :class:`Subject` is a mechanism by itself, or the draw that a solver or an estimator makes: its
real code is run on two neighbouring inputs that see the same released values, and what would be
released without noise on the two, the *pair*, is released again and again by the mechanism that was
paid for, and audited. A fault (:class:`Bug`) of the draw is injected into the mechanism, any other
into the code that leads there. Claims are what a mechanism is charged for: pure eps for Laplace
noise, (eps, delta) for truncated Laplace noise, the exact trade-off of Gaussian noise (Balle and
Wang 2018) and of a bounded-range selection (Dong, Durfee and Rogers 2020).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats
from scipy.special import expit

import privlp
from privlp import AuditResult
from privlp.audits.tape import Release, Tape, changes, differences
from privlp.privacy import (
    EuclideanLaplaceMechanism,
    ExponentialMechanism,
    GaussianMechanism,
    Ledger,
    Mechanism,
    Randomness,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
    WeightedGaussianMechanism,
    accountant,
)
from privlp.privacy.charges import Charge, cost_of

#: Selections, and noise of whole vectors, are released one by one: more of them are drawn from the
#: law that releases are tested to have.
MOST_SINGLE_RELEASES = 1_000


class Bug(StrEnum):
    """A deliberate fault."""

    FACTOR = "factor 2"
    TENTH = "sensitivity −10 %"
    FIFTH = "sensitivity −20 %"
    LAW = "wrong noise law"
    COUNT = "dropped count"
    SEED = "fixed seed"
    SCALE = "unscaled rows"
    RELATION = "relation swapped"
    STOP = "early stop on data"
    MINIMISER = "unconverged minimiser"
    TWICE = "one draw used twice"


#: Share of the right noise that is left.
NOISE_LEFT = {Bug.FACTOR: 0.5, Bug.TENTH: 0.9, Bug.FIFTH: 0.8}


# claims


@dataclass(frozen=True)
class Claim:
    """(eps, delta)-differential privacy."""

    eps: float
    delta: float = 0.0

    def of_two(self) -> Claim:
        """Two releases by basic composition."""
        return Claim(2 * self.eps, 2 * self.delta)


Truncated = TruncatedLaplaceMechanism | TruncatedGaussianMechanism | TruncatedSupNormMechanism
#: The noise of a vector is drawn as one.
OfVectors = EuclideanLaplaceMechanism | TruncatedSupNormMechanism
_SELECTION_EPS, _SELECTION_AT = 4.0, 0.4
_PURE_EPS = 2.5
_GAUSSIAN_RATIO, _GAUSSIAN_AT, _LAW_AT = 2.0, 0.5, 2.0


def sharpest(mechanism: Mechanism) -> Mechanism:
    """The same mechanism for the same sensitivity, with the noise at which audits are sharpest."""
    if isinstance(mechanism, ExponentialMechanism):
        return replace(mechanism, eps=_SELECTION_EPS)
    if isinstance(mechanism, GaussianMechanism):
        of_one = mechanism.sensitivity / _GAUSSIAN_RATIO
        return replace(mechanism, sigma=of_one * math.sqrt(len(draws_of(mechanism))))
    if isinstance(mechanism, Truncated):
        return mechanism
    return replace(mechanism, scale=mechanism.sensitivity / _PURE_EPS)


def draws_of(mechanism: Mechanism) -> list[Mechanism]:
    """The draws that are charged together: one, but for weighted noise."""
    count = len(mechanism.weights) if isinstance(mechanism, WeightedGaussianMechanism) else 1
    return [mechanism.of_draw(number, count) for number in range(count)]


def deviations(mechanism: GaussianMechanism) -> np.ndarray:
    """The noise of these draws."""
    return np.array([draw.sigma for draw in draws_of(mechanism)])  # type: ignore[attr-defined]


def ratio_of(mechanism: GaussianMechanism) -> float:
    """Sensitivity over noise, of all draws that are charged together."""
    return mechanism.sensitivity / mechanism.sigma * math.sqrt(len(draws_of(mechanism)))


def claim_of(mechanism: Mechanism) -> Claim:
    """What one draw is charged for, or all that are charged together."""
    if isinstance(mechanism, ExponentialMechanism):
        return Claim(_SELECTION_AT, delta_of_selection(mechanism.pure_eps, _SELECTION_AT))
    if isinstance(mechanism, GaussianMechanism):
        return Claim(_GAUSSIAN_AT, delta_of_gaussian(ratio_of(mechanism), _GAUSSIAN_AT))
    return Claim(mechanism.pure_eps, mechanism.own_delta)


def delta_of_selection(bounded_range: float, eps: float) -> float:
    """Of any mechanism of this bounded range; two candidates attain it."""
    log_odds = np.linspace(-20, 20 + bounded_range, 40_001)
    return float((expit(log_odds) - math.exp(eps) * expit(log_odds - bounded_range)).max()) + 1e-7


def delta_of_gaussian(ratio: float, eps: float) -> float:
    """Of Gaussian noise, `ratio` being sensitivity/sigma (Balle and Wang 2018)."""
    a, b = ratio / 2, eps / ratio
    return float(stats.norm.cdf(a - b) - math.exp(eps + stats.norm.logcdf(-a - b)))


# pairs, by record and replay


@dataclass(frozen=True)
class Pair:
    """What a mechanism is given on two neighbouring inputs that saw the same releases."""

    mechanism: Mechanism
    here: Any
    there: Any

    @property
    def share(self) -> float:
        """Distance of the two in units of the sensitivity: at most 1 is allowed."""
        return self.mechanism.distance(self.here, self.there) / self.mechanism.sensitivity


#: What a draw answers when the real code is played: ``answer(mechanism, value, purpose)``.
Answer = Callable[[Mechanism, Any, str], Any]


class Script(Tape):
    """A tape whose first run answers as it is told; by default without noise."""

    def __init__(self, answer: Answer | None = None, replay: Tape | None = None) -> None:
        super().__init__(quiet=True, replay=replay)
        self._answer = answer

    def draw(self, mechanism: Mechanism, value: Any, purpose: str) -> Any:
        if self._answer is not None and self._replay is None:
            exact, hidden = np.array(value, dtype=float), value if hasattr(value, "at") else None
            answer = self._answer(mechanism, exact, purpose)
            self.releases.append(Release(mechanism, purpose, exact, answer, hidden))
            return self.releases[-1].released
        return super().draw(mechanism, value, purpose)


@dataclass(frozen=True)
class Play:
    """The real code on one input: what it returned, and its tape."""

    result: Any
    tape: Tape


def play(
    call: Callable[[Any], Any], data: Any, answer: Answer | None = None, replay: Play | None = None
) -> Play:
    """Run real code, every draw of which goes to a tape, or is answered from one."""
    tape = Script(answer, None if replay is None else replay.tape)
    with mock.patch.object(Randomness, "draw", lambda _, *draw: tape.draw(*draw)):
        return Play(call(data), tape)


# outcomes

#: ``sampler(side, rng, runs)``: that many outcomes on one of the two inputs, numbers or labels.
Sampler = Callable[[int, np.random.Generator, int], Sequence[Any]]


def law_of_selection(mechanism: ExponentialMechanism, scores: np.ndarray) -> np.ndarray:
    """The probabilities of a selection."""
    exponents = mechanism.eps / (2 * mechanism.sensitivity) * (scores - scores.max())
    return np.exp(exponents) / np.exp(exponents).sum()


def law_of_euclidean_laplace(
    mechanism: EuclideanLaplaceMechanism, rng: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray:
    """Noise of density proportional to exp(-||v||_2 / scale), one vector in each row."""
    direction = rng.normal(size=shape)
    lengths = rng.gamma(shape[1], mechanism.scale, shape[0]) / np.linalg.norm(direction, axis=1)
    return direction * lengths[:, None]


def law_of_sup_norm(
    mechanism: TruncatedSupNormMechanism, rng: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray:
    """Its noise, one vector in each row."""
    lengths = np.minimum(rng.gamma(shape[1] + 1, mechanism.scale, shape[0]), mechanism.width)
    return lengths[:, None] * rng.uniform(-1, 1, shape) - mechanism.width


def release_many(mechanism: Mechanism, value: Any, randomness: Randomness, runs: int) -> np.ndarray:
    """`runs` independent releases of a value: one row, or one label, for each."""
    rng, selects = randomness.generator, isinstance(mechanism, ExponentialMechanism)
    if selects or isinstance(mechanism, OfVectors):
        if runs <= MOST_SINGLE_RELEASES:
            single = np.array([mechanism.release(value, randomness) for _ in range(runs)])
            return single if selects else single.reshape(runs, -1)
        if selects:
            return rng.choice(len(value), size=runs, p=law_of_selection(mechanism, value))
        of_length = isinstance(mechanism, EuclideanLaplaceMechanism)
        law = law_of_euclidean_laplace if of_length else law_of_sup_norm
        return with_law(law)(mechanism, value, randomness, runs)
    if isinstance(mechanism, WeightedGaussianMechanism):  # one entry of the value for each draw
        draws = zip(draws_of(mechanism), np.ravel(value), strict=True)
        columns = [draw.release(np.full(runs, exact), randomness) for draw, exact in draws]
        return np.stack(columns, axis=1)
    return np.reshape(mechanism.release(np.tile(np.ravel(value), runs), randomness), (runs, -1))


def with_law(
    draw: Callable[[Mechanism, np.random.Generator, tuple[int, ...]], np.ndarray],
) -> Callable[..., np.ndarray]:
    """Releases with noise of another law in place of the mechanism's."""
    return lambda m, value, randomness, runs: (
        np.ravel(value) + draw(m, randomness.generator, (runs, np.size(value)))
    )


def permute_and_flip(
    mechanism: ExponentialMechanism, scores: np.ndarray, randomness: Randomness, runs: int
) -> np.ndarray:
    """The maximum under exponential noise (Ding et al. 2021): eps-private, of no bounded range."""
    scale = 2 * mechanism.sensitivity / mechanism.eps
    return np.argmax(scores + randomness.generator.exponential(scale, (runs, len(scores))), axis=1)


def of_another_law(
    mechanism: Mechanism, value: Any, randomness: Randomness, runs: int
) -> np.ndarray:
    """Plausible noise of the right size that is not what is charged for."""
    if isinstance(mechanism, ExponentialMechanism):
        return permute_and_flip(mechanism, value, randomness, runs)
    if isinstance(mechanism, GaussianMechanism):
        law = lambda m, rng, k: rng.uniform(-1, 1, k) * math.sqrt(3) * deviations(m)  # noqa: E731
    elif isinstance(mechanism, Truncated):
        law = lambda m, rng, k: -rng.uniform(0, 2 * m.width, k)  # noqa: E731
    else:
        law = lambda m, rng, k: rng.normal(0, math.sqrt(2) * m.scale, k)  # noqa: E731
    return with_law(law)(mechanism, value, randomness, runs)


def with_less_noise(mechanism: Mechanism, left: float) -> Mechanism:
    """The mechanism with this share of its noise."""
    if isinstance(mechanism, ExponentialMechanism):
        return replace(mechanism, eps=mechanism.eps / left)
    sizes = {field.name for field in fields(mechanism)} & {"sigma", "scale", "width"}
    return replace(mechanism, **{name: left * getattr(mechanism, name) for name in sizes})


#: Labels into which the privacy loss of noise of a vector is sorted.
_LOSSES = 20


def along(pair: Pair, outcomes: np.ndarray) -> np.ndarray:
    """Of each outcome its projection on the difference, or its privacy loss; labels stay."""
    if isinstance(pair.mechanism, ExponentialMechanism):
        return outcomes
    here, there = np.ravel(pair.here), np.ravel(pair.there)
    difference = there - here
    if isinstance(pair.mechanism, EuclideanLaplaceMechanism) and len(difference) > 1:
        loss = np.linalg.norm(outcomes - here, axis=1) - np.linalg.norm(outcomes - there, axis=1)
        return np.rint(_LOSSES * loss / np.linalg.norm(difference)).astype(int)
    if isinstance(pair.mechanism, WeightedGaussianMechanism):  # the loss, but for a constant
        difference = difference / deviations(pair.mechanism) ** 2
    return (outcomes - here) @ difference / max(float(difference @ difference), 1e-300)


def farthest(pair: Pair, outcomes: np.ndarray) -> np.ndarray:
    """The entry that went farthest along the difference: it shows noise of bounded support."""
    signs = np.sign(np.ravel(pair.there) - np.ravel(pair.here))
    if isinstance(pair.mechanism, WeightedGaussianMechanism):
        signs = signs / deviations(pair.mechanism)
    return ((outcomes - np.ravel(pair.here)) * signs).max(axis=1)


def sampler_of(
    pair: Pair,
    mechanism: Mechanism,
    release: Callable[..., np.ndarray] = release_many,
    seen: Callable[[Pair, np.ndarray], np.ndarray] = along,
) -> Sampler:
    """Releases of a pair through a mechanism, as seen by the audit."""
    here, there, moved = np.ravel(pair.here), np.ravel(pair.there), slice(None)
    if not isinstance(mechanism, ExponentialMechanism | OfVectors):
        moved = here != there  # entries that stay say nothing
    few = replace(pair, here=here[moved], there=there[moved])

    def sample(side: int, rng: np.random.Generator, runs: int) -> Sequence[Any]:
        value = (few.here, few.there)[side]
        return seen(few, release(mechanism, value, Randomness(rng), runs)).tolist()

    return sample


def sampler_of_one_seed(pair: Pair, mechanism: Mechanism) -> Sampler:
    """The same noise in every run, of the first seed at which the neighbours show."""

    def release(value: Any, seed: int) -> np.ndarray:
        return along(pair, release_many(mechanism, value, Randomness(seed), 1))

    def sample(side: int, rng: np.random.Generator, runs: int) -> Sequence[Any]:
        seeds = ((release(pair.here, seed), release(pair.there, seed)) for seed in range(100))
        return np.repeat(next(two for two in seeds if two[0] != two[1])[side], runs).tolist()

    return sample


def sampler_of_two(pair: Pair, mechanism: Mechanism, *, fresh: bool) -> Sampler:
    """Two releases of queries that move in opposite directions, with noise of their own or the same."""

    def sample(side: int, rng: np.random.Generator, runs: int) -> Sequence[Any]:
        values = (pair.here, pair.there) if side == 0 else (pair.there, pair.here)
        selects = isinstance(mechanism, ExponentialMechanism)
        seeds = rng.integers(2**62, size=(runs if selects else 1, 2 if fresh else 1))
        seeds = np.broadcast_to(seeds, (len(seeds), 2)).tolist()
        both = [list(zip(values, map(Randomness, two), strict=True)) for two in seeds]
        if selects:
            return [tuple(mechanism.release(*each) for each in two) for two in both]
        one, two = (along(pair, release_many(mechanism, *each, runs)) for each in both[0])
        return (one - two).tolist()

    return sample


def audited(sampler: Sampler, claim: Claim, runs: int, seed: int) -> AuditResult:
    """:func:`privlp.audit` of outcomes that are sampled all at once."""
    outcomes: dict[int, Iterator[Any]] = {}

    def mechanism(side: int, rng: np.random.Generator) -> Any:
        if side not in outcomes:
            outcomes[side] = iter(sampler(side, rng, runs))
        return next(outcomes[side])

    return privlp.audit(mechanism, 0, 1, claim.eps, claim.delta, runs=runs, rng=seed)


# composition


def least_delta(mechanisms: Sequence[Mechanism], eps: float) -> float:
    """What draws on worst pairs lose at least: delta at `eps`, without dp-accounting.

    Gaussian releases compose exactly. Of any other release one bit is kept, and equal ones are
    composed by the binomial law. Kinds are not composed with each other, so this is a lower bound.
    """
    noisy = [m for m in mechanisms if isinstance(m, GaussianMechanism) and m.sigma > 0]
    ratio = math.hypot(*(m.sensitivity / m.sigma for m in noisy))
    found = [delta_of_gaussian(ratio, eps)] if ratio > 0 else [0.0]
    for mechanism, count in Counter(mechanisms).items():
        for p, q in _bits(mechanism):
            hits = np.arange(count + 1)
            ours, theirs = (stats.binom.logpmf(hits, count, each) for each in (p, q))
            beyond = np.exp(ours) - np.exp(np.minimum(eps + theirs, 700.0))
            found.append(float(np.maximum(0.0, beyond).sum()))
    return max(found)


def _bits(mechanism: Mechanism) -> list[tuple[float, float]]:
    """Probabilities of a bit of one release on the two inputs of a worst pair."""
    if isinstance(mechanism, ExponentialMechanism):
        middle = mechanism.eps / 2
        return [(expit(middle), expit(-middle)), (expit(-3.0), expit(-3.0 - mechanism.eps))]
    if isinstance(mechanism, GaussianMechanism):
        return []
    if isinstance(mechanism, TruncatedGaussianMechanism):
        end = mechanism.width / mechanism.sigma
        law = stats.truncnorm(-end, end, scale=mechanism.sigma)
        step = min(mechanism.entry, mechanism.sensitivity)
        places = np.linspace(-step, mechanism.width, 40)[:-1]
        return list(zip(law.sf(places).tolist(), law.sf(places + step).tolist(), strict=True))
    half = 0.5 * math.exp(-mechanism.pure_eps / 2)
    return [(1 - half, half)]


def overspent(mechanisms: Sequence[Mechanism], eps: float, delta: float) -> bool:
    """Whether draws of these mechanisms certainly lose more than (eps, delta)."""
    return least_delta(mechanisms, eps) > delta * (1 + 1e-6) + 1e-15


def share_of_the_price(mechanisms: Sequence[Mechanism], eps: float, delta: float) -> float:
    """The least epsilon of :func:`least_delta`, as a share of what was paid."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if overspent(mechanisms, middle * eps, delta) else (low, middle)
    return low


@contextmanager
def count_forgotten() -> Iterator[None]:
    """Accounting that prices every charge as a single draw."""
    one = mock.patch.object(Charge, "cost", property(lambda charge: (charge.price, 1)))
    beforehand = mock.patch.object(accountant, "cost_of", lambda of, _: cost_of(of, 1))
    with one, beforehand:
        yield


# subjects


@dataclass(frozen=True)
class Statistical:
    """A twin to be audited: caught if the claim is refuted."""

    sampler: Sampler
    claim: Claim


@dataclass(frozen=True)
class Exact:
    """A twin that needs no audit: how it is compared, and whether that found the fault."""

    caught: bool
    how: str


@dataclass(frozen=True)
class NotApplicable:
    """Why a fault cannot be injected."""

    reason: str


Case = Statistical | Exact | NotApplicable


class Subject(ABC):
    """One kind of release."""

    name: str
    #: Names of mechanism classes, methods, estimators and functions whose release this is.
    covers: frozenset[str]

    @abstractmethod
    def correct(self) -> Statistical:
        """The release as it is: must pass."""

    @abstractmethod
    def fresh(self) -> Statistical:
        """Two releases with noise of their own: must pass at the price of two."""

    @abstractmethod
    def twin(self, bug: Bug) -> Case:
        """The release with a fault: must be caught."""


@dataclass
class Mechanical(Subject):
    """A mechanism by itself, on a pair at the full distance."""

    name: str
    pair: Pair
    claim: Claim | None = None
    another_law: Callable[..., np.ndarray] = of_another_law
    shown_elsewhere: frozenset[Bug] = frozenset()
    #: How many times as many runs it needs, because what tells neighbours apart is rare.
    rare: int = 1
    covers: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.covers = frozenset([type(self.pair.mechanism).__name__])
        self.claim = self.claim or claim_of(self.pair.mechanism)

    def correct(self) -> Statistical:
        return Statistical(sampler_of(self.pair, self.pair.mechanism), self.claim)

    def fresh(self) -> Statistical:
        return two_releases(self.pair, self.pair.mechanism, fresh=True)

    def twin(self, bug: Bug) -> Case:
        if bug in self.shown_elsewhere:
            return NotApplicable("shown on the row above")
        if bug is Bug.COUNT:
            return self._composed()
        draw = faulty_draw(bug, self.pair, self.pair.mechanism, self.claim, self.another_law)
        return draw or NotApplicable("a mechanism knows nothing of rows, neighbours or rounds")

    def _composed(self) -> Exact:
        """Ten draws through a ledger, or all that are charged together."""
        mechanism = self.pair.mechanism
        together = draws_of(mechanism)
        drawn = together if len(together) > 1 else 10 * together
        with count_forgotten():
            ledger = Ledger(1e6, 1.5 * mechanism.own_delta or 1e-6)
            relation = privlp.ConstraintPrivate()
            ledger.charge(mechanism, len(drawn), "draw many times", relation, Randomness(0))
            return Exact(overspent(drawn, ledger.spent(), ledger.delta), "ledger")


def faulty_draw(
    bug: Bug,
    pair: Pair,
    mechanism: Mechanism,
    claim: Claim,
    another_law: Callable[..., np.ndarray] = of_another_law,
) -> Statistical | None:
    """The release of a pair with a fault of the draw itself, if this is one."""
    if bug in NOISE_LEFT:
        return Statistical(sampler_of(pair, with_less_noise(mechanism, NOISE_LEFT[bug])), claim)
    if bug is Bug.LAW and isinstance(mechanism, GaussianMechanism):
        sampler = sampler_of(pair, mechanism, another_law, farthest)
        return Statistical(sampler, claim_of_law(mechanism))
    if bug is Bug.LAW:
        return Statistical(sampler_of(pair, mechanism, another_law), claim)
    if bug is Bug.SEED:
        return Statistical(sampler_of_one_seed(pair, mechanism), claim)
    if bug is Bug.TWICE:
        return two_releases(pair, mechanism, fresh=False)
    return None


def claim_of_law(mechanism: GaussianMechanism, cost: float = 0.0) -> Claim:
    """Of Gaussian noise, where noise of bounded support shows best; `cost` is added to eps."""
    return Claim(_LAW_AT + cost, delta_of_gaussian(ratio_of(mechanism), _LAW_AT))


def noisier(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with the noise at which a faulty use of a pure one shows at once."""
    if isinstance(mechanism, ExponentialMechanism):
        return replace(mechanism, eps=1.0)
    kept = isinstance(mechanism, GaussianMechanism | Truncated)
    return mechanism if kept else replace(mechanism, scale=mechanism.sensitivity)


def two_releases(pair: Pair, mechanism: Mechanism, *, fresh: bool) -> Statistical:
    """The same as a case, at the price of two."""
    mechanism = noisier(mechanism)
    return Statistical(sampler_of_two(pair, mechanism, fresh=fresh), claim_of_two(mechanism))


def claim_of_two(mechanism: Mechanism) -> Claim:
    """Two draws."""
    if isinstance(mechanism, GaussianMechanism):
        ratio = math.sqrt(2) * ratio_of(mechanism)
        return Claim(_GAUSSIAN_AT, delta_of_gaussian(ratio, _GAUSSIAN_AT))
    return Claim(mechanism.pure_eps, mechanism.own_delta).of_two()


@dataclass(frozen=True)
class Patch:
    """A fault of the code, and the neighbours and the call that show it best, if not the subject's."""

    inject: Callable[[], AbstractContextManager[Any]] = nullcontext
    data: tuple[Any, Any] | None = None
    call: Callable[[Any], Any] | None = None


_MADE: dict[Any, Any] = {}


@dataclass
class Played(Subject):
    """The draw that real code makes: ``call(data)`` is run on two neighbouring inputs."""

    name: str
    covers: frozenset[str]
    #: Runs the code; its result has ``privacy`` or ``privacy_``.
    call: Callable[[Any], Any]
    #: Two neighbouring inputs, as far apart as the sensitivity allows.
    data: tuple[Any, Any]
    #: Which draw, in the words of the ledger.
    purpose: str
    #: For each fault of the code a patch, or the reason why it does not apply.
    faults: dict[Bug, Patch | str]
    #: Distance of the pair in units of the sensitivity, at least.
    sharp: float = 0.95
    #: What the draws of the first run answer.
    answer: Answer | None = None
    #: How many times as many runs its audits need, because the pair is not as far apart.
    rare: int = 1

    def plays(self, patch: Patch | None = None) -> tuple[Play, Play]:
        """Both runs, perhaps of faulty code."""
        patch = patch or Patch()
        first, two = self.first(patch), (patch.data or self.data)[1]
        with patch.inject():
            return first, play(patch.call or self.call, two, self.answer, first)

    def first(self, patch: Patch) -> Play:
        """The run on the first input."""
        with patch.inject():
            return play(patch.call or self.call, (patch.data or self.data)[0], self.answer)

    def widest(self, plays: tuple[Play, Play]) -> Pair:
        """The pair at the largest distance among the draws of this purpose."""
        pairs = changes(*(p.tape for p in plays))
        one, two, _ = max((p for p in pairs if self.purpose in p[0].purpose), key=lambda p: p[2])
        return Pair(one.mechanism, one.exact, two.exact)

    def _once(self, make: Callable[[], Any], *of: Any) -> Any:
        """What `make` returns, once for all subjects of this call, data and answer."""
        key = id(self.call), id(self.data), id(self.answer), *of
        if key not in _MADE:  # which keeps the objects, so that none gets the id of another
            _MADE[key] = self.call, self.data, self.answer, make()
        return _MADE[key][-1]

    @cached_property
    def right(self) -> tuple[Play, Play]:
        """Both runs of the correct code."""
        return self._once(self.plays)

    @cached_property
    def pair(self) -> Pair:
        """The pair of the correct code."""
        assert not differences(*(p.tape for p in self.right))
        return self.widest(self.right)

    def correct(self) -> Statistical:
        return self._audit_of(self.pair)

    def fresh(self) -> Statistical:
        return two_releases(self.pair, sharpest(self.pair.mechanism), fresh=True)

    def _audit_of(self, pair: Pair) -> Statistical:
        mechanism = sharpest(pair.mechanism)
        return Statistical(sampler_of(pair, mechanism), claim_of(mechanism))

    def twin(self, bug: Bug) -> Case:
        mechanism = self.pair.mechanism
        if bug in (Bug.LAW, Bug.TWICE):  # have nothing to do with a sensitivity that leaves room
            mechanism = replace(mechanism, sensitivity=self.pair.share * mechanism.sensitivity)
        mechanism = sharpest(mechanism)
        if self.pair.share <= NOISE_LEFT.get(bug, 0.0):
            return NotApplicable(f"neighbours use {self.pair.share:.0%} of the sensitivity")
        draw = faulty_draw(bug, self.pair, mechanism, claim_of(mechanism))
        if draw is not None:
            return draw
        fault = self.faults.get(bug, Patch(count_forgotten) if bug is Bug.COUNT else "not stated")
        if isinstance(fault, str):
            return NotApplicable(fault)
        if bug is Bug.COUNT:
            of = fault.inject, id(fault.data), id(fault.call)
            return Exact(self.overspent(self._once(lambda: self.first(fault), *of)), "ledger")
        plays = self.plays(fault)
        if differences(*(p.tape for p in plays)):
            return Exact(True, "replay")
        pair = self.widest(plays)
        return self._audit_of(pair) if pair.share > 1 + 1e-9 else Exact(False, "replay")

    def spent(self, played: Play) -> tuple[list[Mechanism], float, float]:
        """The mechanisms that drew, and what the ledger says was spent."""
        privacy = getattr(played.result, "privacy", None) or played.result.privacy_
        return [release.mechanism for release in played.tape.releases], privacy.eps, privacy.delta

    def overspent(self, played: Play) -> bool:
        """Whether what was drawn certainly costs more than the ledger says."""
        return overspent(*self.spent(played))
