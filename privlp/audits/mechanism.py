"""Audit a mechanism by running it: a lower bound on its epsilon, and never a proof of privacy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr
from tqdm import tqdm

from privlp.audits.results import AuditResult, Outcomes
from privlp.audits.tape import Release
from privlp.checks import FloatArray, is_integer, real, require, require_flag
from privlp.errors import InvalidParameterError
from privlp.privacy.budget_rule import validated_budget
from privlp.privacy.mechanisms import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.privacy.randomness import Randomness, RandomSource

#: Larger numbers would overflow in the variance of a projection.
LARGEST_OUTCOME = 1e100
_MOST_BARS, _BINS = 12, 40


def audit(
    mechanism: Callable[[Any, np.random.Generator], Hashable | Sequence[float] | FloatArray],
    data: Any,
    neighbour: Any,
    eps: float,
    delta: float,
    *,
    runs: int = 100_000,
    rng: RandomSource = None,
    confidence: float = 0.999,
    progress: bool = False,
) -> AuditResult:
    """Test the claim that `mechanism` is (eps, delta)-DP on one pair of neighbouring inputs.

    An event is a set of outputs. One that is far likelier on one input than on the other is chosen
    on the first half of the runs. On the second half its two probabilities p and q are bounded by
    Clopper and Pearson (1934), each at half the error. This gives ``ln((p_low - delta) / q_high)``
    as a lower bound on eps.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)`` returns a hashable outcome or a 1-D array. It must take its
        randomness from `rng` alone.
    data, neighbour
        Two neighbouring inputs. The bound is only as good as the pair: try the worst one.
    eps, delta : float
        The claim.
    runs : int
        Runs on each input, at least 100.
    rng : None, int or numpy.random.Generator
        Source of the runs' randomness.
    confidence : float
        In (0, 1).
    progress : bool
        Show a progress bar. An interrupted audit (Ctrl-C) returns nothing.

    Returns
    -------
    AuditResult

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its domain, or outputs cannot be compared.

    Notes
    -----
    A failure is evidence at the given confidence. A pass is not a proof: it says that these runs on
    this pair found nothing. Small faults need the worst pair and many runs. An audit sees next to
    nothing of the composition of many draws, so audit a single draw. :func:`audit_solve` looks for
    a worst pair of a linear program, and compares the exact values behind each draw.

    Examples
    --------
    >>> import privlp
    >>> def noisy_count(records, rng):
    ...     return [len(records) + rng.laplace(scale=0.5)]  # scale 1 would give eps = 1
    >>> privlp.audit(noisy_count, [1] * 9, [1] * 10, eps=1.0, delta=0.0, runs=20_000, rng=0).passed
    False
    """
    eps, delta = validated_budget(eps, delta)
    met = is_integer(runs) and runs >= 100
    require(met, f"runs must be an integer of at least 100, got {runs!r}.", "runs")
    confidence = require_confidence(confidence)
    require_flag(progress, "progress")
    generator = Randomness(rng).generator
    outcomes: list[list[Any]] = [[], []]
    with tqdm(total=2 * int(runs), disable=not progress, unit="run") as bar:
        for source, side in zip((data, neighbour), outcomes, strict=True):
            for _ in range(runs):
                side.append(mechanism(source, generator))
                bar.update()
    first, second = map(_tabulate, outcomes)
    if getattr(first, "shape", None) != getattr(second, "shape", None):
        raise InvalidParameterError(
            "The mechanism must return outcomes of the same kind and length on both inputs. Pad"
            " arrays to one length, or return a label that can be hashed, such as a tuple of"
            " rounded entries."
        )
    half = int(runs) // 2
    choose = _likeliest_labels if isinstance(first, list) else _best_threshold
    membership, event, describe = choose(first[:half], second[:half], delta, confidence)
    hits = (int(np.count_nonzero(membership(side[half:]))) for side in (first, second))
    eps_lower = max(0.0, _either(*hits, int(runs) - half, delta, confidence))
    drawn = describe(first[half:], second[half:])
    return AuditResult(eps, delta, eps_lower, confidence, int(runs), event, drawn)


def require_confidence(confidence: Any) -> float:
    """Check a confidence and return it as a float."""
    confidence = real(confidence, "confidence")
    met = 0 < confidence < 1
    require(met, f"confidence must be in (0, 1), got {confidence!r}.", "confidence")
    return confidence


def _bound(hits: int, other_hits: int, trials: int, delta: float, confidence: float) -> float:
    """Lower bound on eps from one event's counts; each probability takes a quarter of the error."""
    error = (1 - confidence) / 4
    low = float(betaincinv(hits, trials - hits + 1, error)) if hits > 0 else 0.0
    rest = trials - other_hits
    high = float(betaincinv(other_hits + 1, rest, 1 - error)) if rest else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf


def _either(hits: int, other_hits: int, *claim: Any) -> float:
    """The larger bound of the two directions."""
    return max(_bound(hits, other_hits, *claim), _bound(other_hits, hits, *claim))


def _tabulate(outcomes: list[Any]) -> Any:
    """Outcomes as a (runs, k) table, or as they are if they are labels; a float has length one."""
    sample = outcomes[0]
    try:
        if not isinstance(sample, float | np.floating | np.ndarray | list):
            Counter(outcomes)
            return outcomes
        table = np.array(outcomes, dtype=float)
    except (TypeError, ValueError, OverflowError):
        lists = (one for one in outcomes if isinstance(one, list) or np.ndim(one) == 1)
        raise InvalidParameterError(
            "The mechanism returned arrays of varying lengths, which cannot be projected: pad them"
            " to one length, or return a label that can be hashed, such as a tuple of rounded"
            " entries."
            if len({len(one) for one in lists}) > 1
            else "The mechanism must return hashable outcomes that can be compared, or numbers or"
            f" 1-D arrays of a fixed length; the first was of type {type(sample).__name__}."
        ) from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not np.all(np.abs(table) <= LARGEST_OUTCOME):
        raise InvalidParameterError(
            "The mechanism must return 1-D arrays of a fixed length, of finite numbers of at most"
            f" {LARGEST_OUTCOME:g} in size."
        )
    return table


#: Which outputs lie in the event, the event in words, and what to draw of two lists of outputs.
_Event = tuple[Callable[[Any], Any], str, Callable[[Any, Any], Outcomes]]


def _likeliest_labels(
    first: list[Any], second: list[Any], delta: float, confidence: float
) -> _Event:
    """The set of labels, in order of likelihood ratio, that gives the best bound on these runs."""
    counts, other_counts = Counter(first), Counter(second)
    labels = sorted(
        counts | other_counts, key=lambda label: (counts[label] + 0.5) / (other_counts[label] + 0.5)
    )
    best, chosen = -math.inf, frozenset(labels[:1])
    for ordered, *sides in ((labels, other_counts, counts), (labels[::-1], counts, other_counts)):
        totals = (np.cumsum([side[label] for label in ordered]).tolist() for side in sides)
        for size, (hits, others) in enumerate(zip(*totals, strict=True), start=1):
            value = _bound(hits, others, len(first), delta, confidence)
            if value > best:
                best, chosen = value, frozenset(ordered[:size])
    return (
        lambda side: [outcome in chosen for outcome in side],
        f"{len(chosen)} of {len(labels)} outcomes",
        lambda one, two: label_counts(one, two, chosen),
    )


def _best_threshold(
    first: FloatArray, second: FloatArray, delta: float, confidence: float
) -> _Event:
    """The half-space along the direction that separates the means best, with the best bound."""
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0))
    apart = second.mean(axis=0) - first.mean(axis=0)
    # Of constant entries the difference itself.
    direction = np.divide(apart, spread**2, out=apart.copy(), where=spread > 0)
    if not direction.any():
        direction[:] = 1.0
    direction /= np.abs(direction).max(initial=0.0)  # so that squares do not overflow
    direction = np.ones(1) if len(direction) == 1 else direction / np.linalg.norm(direction)
    what = "released number" if len(direction) == 1 else "projection"
    one, two = first @ direction, second @ direction
    cuts = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0.0, 1.0, 400)))
    best, chosen = -math.inf, (float(cuts[0]), True)
    for above in (True, False):
        for cut in cuts.tolist():
            hits = (int(np.count_nonzero((side >= cut) == above)) for side in (one, two))
            value = _either(*hits, len(one), delta, confidence)
            if value > best:
                best, chosen = value, (cut, above)
    cut, above = chosen
    return (
        lambda side: (side @ direction >= cut) == above,
        f"{what} {'at least' if above else 'below'} {cut:.6g}",
        lambda one, two: histogram(one @ direction, two @ direction, cut, above, what),
    )


def label_counts(first: list[Any], second: list[Any], chosen: frozenset[Any]) -> Outcomes:
    """The commonest labels, those of the event first; then the other labels, as two groups."""
    counts, other_counts = Counter(first), Counter(second)
    both = counts + other_counts
    common = [label for label, _ in both.most_common(_MOST_BARS)]
    rest = both.keys() - set(common)
    groups = [(str(label), [label]) for label in sorted(common, key=lambda one: one not in chosen)]
    groups += [("others of the event", [*rest & chosen]), ("others", [*rest - chosen])]
    groups = [(name, labels) for name, labels in groups if labels]
    one, two = (
        tuple(sum(of[label] for label in labels) for _, labels in groups)
        for of in (counts, other_counts)
    )
    in_event = tuple(labels[0] in chosen for _, labels in groups)
    return Outcomes(tuple(name for name, _ in groups), (), (one, two), in_event)


def histogram(
    first: FloatArray, second: FloatArray, cut: float, above: bool, axis: str
) -> Outcomes:
    """Bins of two lists of numbers, with the cut among their ends."""
    low, high = np.quantile(np.concatenate([first, second]), [0.001, 0.999]).tolist()
    width = max(high - low, abs(cut) * 1e-9, 1e-300) / _BINS
    below, beyond = (
        max(1, min(_BINS, math.ceil(distance / width))) for distance in (cut - low, high - cut)
    )
    edges = cut + width * np.arange(-below, beyond + 1)
    bins = np.arange(below + beyond)
    counts = []
    for side in (first, second):
        where = np.clip(np.floor((side - cut) / width) + below, 0, len(bins) - 1).astype(int)
        counts.append(tuple(np.bincount(where, minlength=len(bins)).tolist()))
    in_event = tuple(((bins >= below) == above).tolist())
    return Outcomes((), tuple(edges.tolist()), (counts[0], counts[1]), in_event, axis)


# How far apart the two values of an audited draw are: in standard deviations of Gaussian noise, and
# in eps for other noise.
_DEVIATIONS, _EPS = 1.5, 2.0


def audit_draw(
    one: Release,
    two: Release,
    ratio: float,
    runs: int,
    generator: np.random.Generator,
    confidence: float,
) -> AuditResult | None:
    """Audit one draw, of two neighbours `ratio` sensitivities apart, where noise hides it worst."""
    mechanism = one.mechanism
    times, eps, delta = _claim(mechanism)
    if not (0 < ratio < math.inf and 0 < times < math.inf):
        return None
    step = two.exact - one.exact
    bounds = _bounds_of_entries(mechanism)
    if bounds:  # the price holds within these bounds: the change is scaled up to them
        size = mechanism.distance(step, np.zeros_like(step)) / mechanism.sensitivity
        times = min(times, *(size * bound / norm(step) for norm, bound in bounds))
    elif isinstance(mechanism, LaplaceMechanism | TruncatedLaplaceMechanism) and step.ndim:
        # Entries have noise of their own, and it hides a change of many entries better than the
        # same change of one.
        step = np.where(np.arange(step.size) == np.abs(step).argmax(), step, 0.0)
    step = step * (times * mechanism.sensitivity / mechanism.distance(step, np.zeros_like(step)))
    values = one.exact, one.exact + step
    if not math.isclose(mechanism.distance(*values), times * mechanism.sensitivity, rel_tol=1e-6):
        return None  # lost in rounding errors
    size = float(np.linalg.norm(step))

    def run(value: Any, rng: np.random.Generator) -> Any:
        released = mechanism.release(value, Randomness(rng))
        if isinstance(mechanism, ExponentialMechanism):
            return released
        return [float(np.vdot(step / size, released - one.exact)) / size]  # in units of the step

    return audit(run, *values, eps, delta, runs=runs, rng=generator, confidence=confidence)


def _bounds_of_entries(mechanism: Mechanism) -> list[tuple[Callable[[Any], float], float]]:
    """Norms, other than that of the sensitivity, for which a mechanism has bounds; the bounds."""
    found: list[tuple[Callable[[Any], float], float]] = []
    if getattr(mechanism, "entry", None) is not None:
        found.append((lambda step: float(np.abs(step).max()), mechanism.entry))  # type: ignore[attr-defined]
    if isinstance(mechanism, TruncatedGaussianMechanism):
        found.append((lambda step: float(np.abs(step).sum()), mechanism.l1))
    return found


def _claim(mechanism: Mechanism) -> tuple[float, float, float]:
    """How many sensitivities apart a draw is audited (0: no claim), and the (eps, delta) there."""
    eps, delta = mechanism.pure_eps, mechanism.own_delta
    if isinstance(mechanism, TruncatedGaussianMechanism):
        return float(mechanism.sigma > 0), eps, delta
    if isinstance(mechanism, TruncatedLaplaceMechanism | TruncatedSupNormMechanism):
        # Its width is made for neighbours only.
        return float(mechanism.scale > 0), eps, delta
    if isinstance(mechanism, GaussianMechanism):
        eps = _DEVIATIONS**2 / 2
        delta = 0.5 - math.exp(eps) * float(ndtr(-_DEVIATIONS))
        return _DEVIATIONS * mechanism.sigma / mechanism.sensitivity, eps, delta
    if delta > 0 or not 0 < eps < math.inf:
        return 0.0, eps, delta
    return _EPS / eps, _EPS, 0.0
