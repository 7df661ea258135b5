"""Audit a mechanism by running it: a lower bound on its epsilon. An audit finds faults; it never proves privacy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv
from tqdm import tqdm

from privlp.errors import InvalidParameterError
from privlp.privacy.ledger import validated_budget
from privlp.privacy.randomness import Randomness, RandomSource

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AuditResult:
    """Outcome of an audit.

    Attributes
    ----------
    eps, delta : float
        The claim.
    eps_lower : float
        With probability `confidence` over the runs, the mechanism is not (e, delta)-DP for any e below this.
    confidence : float
        Of the lower bound; 1 - confidence is the false-alarm rate of :attr:`passed` for a correct mechanism.
    runs : int
        Runs on each of the two inputs.
    event : str
        The set of outputs that gave the bound.
    """

    eps: float
    delta: float
    eps_lower: float
    confidence: float
    runs: int
    event: str

    @property
    def passed(self) -> bool:
        """Whether the claim survived. A pass is not a proof of privacy."""
        return self.eps_lower <= self.eps

    def __str__(self) -> str:
        verdict = "no fault found (this is not a proof of privacy)" if self.passed else "THE CLAIM IS FALSE"
        return (
            f"claimed eps = {self.eps:g} at delta = {self.delta:g}; measured eps >= {self.eps_lower:.4g} with confidence "
            f"{self.confidence:g} from {self.runs} runs on each input: {verdict}."
        )


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

    An event, a set of outputs far likelier on one input than on the other, is chosen on the first half of the runs; on the second
    half its two probabilities are bounded by Clopper and Pearson (1934), each at half the error, which gives
    ``ln((p_low - delta) / q_high)`` as a lower bound on eps.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)`` returns a hashable outcome or a 1-D array. Take randomness from `rng` alone.
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

    Examples
    --------
    >>> import privlp
    >>> def noisy_count(records, rng):
    ...     return [len(records) + rng.laplace(scale=0.5)]  # scale 1 would give eps = 1
    >>> privlp.audit(noisy_count, [1] * 9, [1] * 10, eps=1.0, delta=0.0, runs=20_000, rng=0).passed
    False
    """
    eps, delta = validated_budget(eps, delta)
    if not isinstance(runs, int | np.integer) or runs < 100:
        raise InvalidParameterError(f"runs must be an integer of at least 100, got {runs!r}.")
    if not 0 < confidence < 1:
        raise InvalidParameterError(f"confidence must be in (0, 1), got {confidence!r}.")
    generator = Randomness(rng).generator
    outcomes = [
        [mechanism(source, generator) for _ in tqdm(range(runs), disable=not progress, unit="run")] for source in (data, neighbour)
    ]
    first, second = (_tabulate(side) for side in outcomes)
    if getattr(first, "shape", None) != getattr(second, "shape", None):
        raise InvalidParameterError("The mechanism must return outcomes of the same kind and length on both inputs.")
    half = int(runs) // 2
    choose = _likeliest_labels if isinstance(first, list) else _best_threshold
    membership, event = choose(first[:half], second[:half], delta, confidence)
    hits = np.array([np.count_nonzero(membership(side[half:])) for side in (first, second)])
    trials = int(runs) - half
    eps_lower = max(_bound(hits[0], hits[1], trials, delta, confidence), _bound(hits[1], hits[0], trials, delta, confidence))
    return AuditResult(eps, delta, max(0.0, eps_lower), confidence, int(runs), event)


def _bound(hits: int, other_hits: int, trials: int, delta: float, confidence: float) -> float:
    """Lower bound on eps from one event's counts; each probability is bounded at a quarter of the error (two directions)."""
    error = (1 - confidence) / 4
    low = float(betaincinv(hits, trials - hits + 1, error)) if hits > 0 else 0.0
    high = float(betaincinv(other_hits + 1, trials - other_hits, 1 - error)) if other_hits < trials else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf


def _tabulate(outcomes: list[Any]) -> Any:
    """Arrays, and floats as arrays of length one, become a (runs, k) table; everything else stays a list of labels."""
    sample = outcomes[0]
    if isinstance(sample, float | np.floating):
        return np.array(outcomes, dtype=float)[:, None]
    if isinstance(sample, np.ndarray | list):
        try:
            table = np.array(outcomes, dtype=float)
        except ValueError:
            table = np.empty(0)
        if table.ndim != 2:
            raise InvalidParameterError("The mechanism must return a hashable outcome or a 1-D array of a fixed length.")
        return table
    if not isinstance(sample, Hashable):
        raise InvalidParameterError(f"The mechanism must return a hashable outcome or a 1-D array, got {type(sample).__name__}.")
    return outcomes


def _likeliest_labels(first: list[Any], second: list[Any], delta: float, confidence: float) -> tuple[Callable[[Any], Any], str]:
    """The set of labels, in order of likelihood ratio, that gives the best bound on these runs."""
    counts, other_counts = Counter(first), Counter(second)
    labels = sorted(counts | other_counts, key=lambda label: (counts[label] + 0.5) / (other_counts[label] + 0.5))
    best, chosen = -math.inf, frozenset(labels[:1])
    for ordered, (one, two) in ((labels, (other_counts, counts)), (labels[::-1], (counts, other_counts))):
        hits, other_hits = np.cumsum([one[label] for label in ordered]), np.cumsum([two[label] for label in ordered])
        for size, pair in enumerate(zip(hits.tolist(), other_hits.tolist(), strict=True), start=1):
            value = _bound(*pair, len(first), delta, confidence)
            if value > best:
                best, chosen = value, frozenset(ordered[:size])
    return lambda side: [outcome in chosen for outcome in side], f"{len(chosen)} of {len(labels)} outcomes"


def _best_threshold(
    first: FloatArray, second: FloatArray, delta: float, confidence: float
) -> tuple[Callable[[FloatArray], npt.NDArray[np.bool_]], str]:
    """The half-space, along the direction that separates the two means best, that gives the best bound on these runs."""
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0))
    direction = np.divide(second.mean(axis=0) - first.mean(axis=0), spread**2, out=np.zeros_like(spread), where=spread > 0)
    constant = spread == 0
    direction[constant] = second.mean(axis=0)[constant] - first.mean(axis=0)[constant]
    if not direction.any():
        direction[:] = 1.0
    one, two = first @ direction, second @ direction
    cuts = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0.0, 1.0, 400)))
    best, chosen = -math.inf, (float(cuts[0]), True)
    for above in (True, False):
        for cut in cuts.tolist():
            hits, other_hits = (int(np.count_nonzero((side >= cut) == above)) for side in (one, two))
            value = max(
                _bound(hits, other_hits, len(one), delta, confidence), _bound(other_hits, hits, len(one), delta, confidence)
            )
            if value > best:
                best, chosen = value, (cut, above)
    cut, above = chosen
    return lambda side: (side @ direction >= cut) == above, f"projection {'at least' if above else 'below'} {cut:.6g}"
