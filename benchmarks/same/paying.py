"""Mechanisms, ledgers and budgets: what is drawn from a seed, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

import privlp
from benchmarks.same.canonical import Parts, record
from benchmarks.same.cases import Case, later

_RELATION = privlp.ConstraintPrivate()


def public(name: str) -> Any:
    """A public name of privlp, or one that the documentation of its ledgers uses.

    Raises
    ------
    LookupError
        If it is in neither place any more: then its results count as missing.
    """
    for home in ("privlp", "privlp.privacy"):
        found = getattr(import_module(home), name, None)
        if found is not None:
            return found
    raise LookupError(f"{name} is neither in privlp nor in privlp.privacy.")


# ------------------------------------------------------------------------------------ mechanisms

_VALUES: dict[str, Any] = {
    "a number": 17.25,
    "an integer": 3,
    "ten numbers": np.linspace(-3.0, 40.0, 10),
    "a matrix": np.arange(6.0).reshape(2, 3) / 7,
    "large": np.array([1e15, -1e-15, 0.0, 1e100]),
}

#: Arguments of each mechanism, several sets of them.
_NOISE: dict[str, list[tuple[Any, ...]]] = {
    "LaplaceMechanism": [(1.0, 2.0), (1e-3, 1e-2), (100.0, 33.3)],
    "GaussianMechanism": [(1.0, 5.0), (1e-3, 1e-2), (100.0, 333.3)],
    "EuclideanLaplaceMechanism": [(1.0, 2.0), (0.5, 7.0)],
    "ObjectivePerturbation": [(2.0, 4.0, 0.1), (2.0, 40.0, 0.0)],
    "GaussianObjectivePerturbation": [(2.0, 9.0, 0.1, True), (2.0, 9.0, 0.1, False)],
    "TruncatedLaplaceMechanism": [(1.0, 2.0, 30.0), (10.0, 5.0, 80.0, 1.0)],
    "TruncatedGaussianMechanism": [(1.0, 4.0, 20.0, 1.0, 1.0, 1.0, 1)],
}
_OF_BUDGET: dict[str, list[tuple[tuple[float, ...], dict[str, Any]]]] = {
    "TruncatedLaplaceMechanism": [
        ((1.0, 1.0, 1e-6), {}),
        ((10.0, 0.5, 1e-9), {"entry": 1.0}),
        ((10.0, 0.5, 1e-9), {"published_for": 10}),
        ((10.0, 0.5, 1e-9), {"shift": 1.0}),
    ],
    "TruncatedGaussianMechanism": [
        ((1.0, 1.0, 1e-6), {}),
        ((3.0, 0.7, 1e-7), {"l1": 9.0, "entry": 1.0, "touched": 9}),
    ],
}


def mechanisms() -> Iterator[Case]:
    """Paid draws of every mechanism, its price and how it words itself."""
    for name, sets in _NOISE.items():
        for number, arguments in enumerate(sets):
            make = later(_made, name, None, arguments, {})
            for kind in _VALUES:
                yield f"mechanism:{name} {number}:{kind}", later(_draws, make, kind, number)
                yield f"mechanism:{name} {number}:{kind}:distance", later(_distance, make, kind)
    for name, calls in _OF_BUDGET.items():
        for number, (budget, options) in enumerate(calls):
            make = later(_made, name, "of_budget", budget, options)
            label = f"mechanism:{name} of budget {number}"
            yield label, later(_draws, make, "ten numbers", number)
    for eps in (0.1, 1.0, 3.7):
        make = later(_made, "LaplaceMechanism", "of_eps", (1.0, eps), {})
        yield f"mechanism:LaplaceMechanism of eps {eps}", later(_draws, make, "a number", 1)
    for eps in (0.0, 0.5, 20.0, math.inf):
        yield f"mechanism:ExponentialMechanism eps={eps}", later(_selections, eps)
    for weights in ((1.0, 3.0), tuple(float(t) for t in range(1, 9))):
        label = f"mechanism:WeightedGaussianMechanism {len(weights)} draws"
        yield label, later(_weighted, weights)
    for source in (0, 1, 2**40):
        yield f"mechanism:Randomness {source}", later(_source, source)


def _made(name: str, how: str | None, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    kind = public(name)
    return (kind if how is None else getattr(kind, how))(*arguments, **options)


def _worded(mechanism: Any) -> list[Any]:
    """What a mechanism says of itself: sensitivity, parameter, prices."""
    price = [mechanism.pure_eps, mechanism.own_delta, getattr(mechanism, "most", None)]
    words = [mechanism.name, mechanism.parameter, mechanism.arithmetic, repr(mechanism)]
    return [mechanism.sensitivity, *price, *words]


def _draws(make: Callable[[], Any], kind: str, seed: int) -> Parts:
    """Five draws through a ledger without a limit that matters, and what they cost."""
    mechanism, value = make(), _VALUES[kind]
    ledger = public("Ledger")(1e9, 0.5)
    rng = np.random.default_rng(seed)
    release = ledger.charge(mechanism, 5, "a test", _RELATION, public("Randomness")(rng))
    drawn = [np.asarray(release(value)) for _ in range(5)]
    return Parts(
        {
            "": [drawn, rng.bit_generator.state],
            "price": [_worded(mechanism), record(ledger.record())],
        }
    )


def _distance(make: Callable[[], Any], kind: str) -> list[Any]:
    """What an audit asks of a mechanism."""
    mechanism, value = make(), _VALUES[kind]
    distance = mechanism.distance(np.ravel(value), np.zeros(np.size(value)))
    return [distance, mechanism.without_noise(value)]


def _selections(eps: float) -> Parts:
    mechanism = public("ExponentialMechanism")(0.5, eps)
    ledger = public("Ledger")(math.inf, 0.0)
    release = ledger.charge(mechanism, 50, "select", _RELATION, public("Randomness")(11))
    scores = np.array([0.0, 1.0, 1.5, -300.0, 1.4999])
    drawn = [release(scores) for _ in range(50)]
    return Parts({"": drawn, "price": [_worded(mechanism), record(ledger.record())]})


def _weighted(weights: tuple[float, ...]) -> Parts:
    mechanism = public("WeightedGaussianMechanism")(1.0, 10.0, weights)
    budget = privlp.Budget(2.0, 1e-6)
    count = len(weights)
    release = budget.charge(mechanism, count, "sums", _RELATION, public("Randomness")(12))
    drawn = [np.asarray(release(np.arange(3.0))) for _ in weights]
    each = [_worded(mechanism.of_draw(t, count)) for t in range(count)]
    return Parts({"": drawn, "price": [_worded(mechanism), each, state(budget)]})


def _source(seed: int) -> list[Any]:
    source = public("Randomness")(seed)
    drawn = source.generator.random(3)
    return [
        drawn,
        source.seeded,
        source.description,
        repr(source),
        public("Randomness").of(source) is source,
    ]


# --------------------------------------------------------------------------------------- budgets


def state(budget: Any) -> list[Any]:
    """What a budget says of itself."""
    sums = budget.sums()
    calls = [[call.eps, call.delta, call.square] for call in budget.calls.values()]
    numbers = [budget.spent(), sums.eps, sums.delta, sums.mu, sums.mu_limit, budget.delta_left]
    return [*numbers, calls, record(budget.record()), repr(budget), str(budget.statement())[:20]]


def budgets() -> Iterator[Case]:
    """Sequences of releases under each kind of composition, shares and disjoint parts."""
    for composition in ("adaptive", "planned", "basic"):
        for eps, delta in ((1.0, 0.0), (3.0, 1e-5), (10.0, 1e-9), (math.inf, 0.0)):
            label = f"budget:{composition} ({eps}, {delta})"
            yield f"{label}:calls", later(_calls, composition, eps, delta)
            yield f"{label}:draws", later(_direct, composition, eps, delta)
            yield f"{label}:shares", later(_shares, composition, eps, delta)
            yield f"{label}:disjoint", later(_disjoint, composition, eps, delta)
            yield f"{label}:calibrated", later(_calibrated, composition, eps, delta)
        yield f"budget:{composition}:in a file", later(_in_a_file, composition)
    yield "budget:ledger", _ledger


def _budget(composition: Any, eps: float, delta: float) -> privlp.Budget:
    return privlp.Budget(eps, delta, composition=composition)


def tried(call: Callable[[], Any]) -> list[str] | None:
    """What is said where a budget refuses."""
    try:
        call()
    except privlp.PrivLPError as error:
        return [type(error).__name__, str(error)]
    return None


def _diet(budget: privlp.Budget, eps: Any, delta: Any, seed: int) -> privlp.Solution:
    lp = privlp.examples.diet(seed, foods=4, nutrients=2)
    return privlp.solve(lp, eps, delta, budget=budget, rng=seed)


def _calls(composition: str, eps: float, delta: float) -> list[Any]:
    """Solves until the budget refuses one, then all that is left, then another relation."""
    budget: privlp.Budget = _budget(composition, eps, delta)
    told: list[Any] = []
    each = (0.3, 0.2 * delta) if math.isfinite(eps) else (0.3, 0.0)
    for seed in range(6):
        told.append([tried(later(_diet, budget, *each, seed)), state(budget)])
    told.append([tried(later(_diet, budget, None, None, 9)), state(budget)])
    other = privlp.examples.advertising(private="budgets", pages=2, advertisers=2)
    told.append(tried(lambda: privlp.solve(other, 0.1, 0.0, budget=budget, rng=0)))
    return told


def _direct(composition: str, eps: float, delta: float) -> list[Any]:
    """Draws of several mechanisms, each paid for by itself."""
    budget: privlp.Budget = _budget(composition, eps, delta)
    told: list[Any] = []
    source = public("Randomness")(3)
    made: list[tuple[Any, int]] = [
        (public("LaplaceMechanism")(1.0, 10.0), 2),
        (public("GaussianMechanism")(1.0, 20.0), 3),
        (public("ExponentialMechanism")(1.0, 0.05), 4),
        (public("GaussianMechanism")(1.0, 2.0), 5),
    ]
    for mechanism, count in made:

        def pay(mechanism: Any = mechanism, count: int = count) -> None:
            release = budget.charge(mechanism, count, "a number", _RELATION, source)
            told.append([np.asarray(release(np.arange(2.0))) for _ in range(count)])

        told.append([tried(pay), state(budget)])
    return told


def _shares(composition: str, eps: float, delta: float) -> list[Any]:
    """Shares of a budget, one of them with another kind of composition, and what does not fit."""
    budget: privlp.Budget = _budget(composition, eps, delta)
    told: list[Any] = []
    for seed, kind in enumerate(("adaptive", "basic", "planned")):

        def spend(seed: int = seed, kind: Any = kind) -> None:
            part = budget.share(0.4, delta / 4, composition=kind)
            told.append(tried(later(_diet, part, 0.2, 0.0, seed)))
            told.append(tried(later(_diet, part, None, None, seed + 10)))
            told.append(state(part))

        told.append([tried(spend), state(budget)])
    told.append(tried(lambda: budget.require_room_for(0.5, delta)))
    budget.close()
    told.append(tried(later(_diet, budget, 0.1, 0.0, 5)))
    return told


def _disjoint(composition: str, eps: float, delta: float) -> list[Any]:
    """Parts of the records, one of them divided again."""
    budget: privlp.Budget = _budget(composition, eps, delta)
    told: list[Any] = []
    parts = budget.disjoint(3)
    for seed, part in enumerate([*parts, *parts[0].disjoint(2)]):
        told.append(tried(later(_diet, part, 0.1 * (1 + seed), 0.0, seed)))
        told.append(state(part))
    return [told, state(budget)]


def _calibrated(composition: str, eps: float, delta: float) -> list[Any]:
    """The least noise that fits, from a budget and from a call of it."""
    budget: privlp.Budget = _budget(composition, eps, delta)
    told: list[Any] = []
    for kind in ("LaplaceMechanism", "GaussianMechanism", "ExponentialMechanism"):

        def fit(kind: str = kind) -> None:
            make = later(_scaled, kind)
            ledger = budget.ledger(0.5, delta / 2)
            for payer in (ledger, budget):
                mechanism = payer.calibrate(make, 7)
                told.append(_worded(mechanism))
            source = public("Randomness")(1)
            release = ledger.charge(ledger.calibrate(make, 7), 7, kind, _RELATION, source)
            told.append(np.asarray(release(np.arange(3.0))))

        told.append([tried(fit), state(budget)])
    return told


def _scaled(kind: str, intensity: float) -> Any:
    """A mechanism of sensitivity 1; a larger intensity costs more."""
    return public(kind)(1.0, intensity if kind == "ExponentialMechanism" else 1.0 / intensity)


def _in_a_file(composition: Any) -> list[Any]:
    name = f"{composition}.budget"
    budget = privlp.Budget.open(name, 2.0, 1e-6, composition=composition)
    told: list[Any] = [tried(later(_diet, budget, 0.3, 1e-8, seed)) for seed in range(3)]
    again = privlp.Budget.open(name)
    told.append(tried(later(_diet, again, 5.0, 0.0, 7)))
    events = [[e.what, e.mechanisms, e.eps, e.delta] for e in again.history()]
    return [told, state(budget), state(again), events]


def _ledger() -> list[Any]:
    """Several charges at once, and none after the first draw."""
    ledger, source = public("Ledger")(1.0, 1e-6), public("Randomness")(2)
    laplace, gaussian = public("LaplaceMechanism")(1.0, 4.0), public("GaussianMechanism")(1.0, 30.0)
    requests = [(laplace, 1, "a count"), (gaussian, 3, "sums")]
    releases = ledger.charge_together(requests, _RELATION, source, description="in words")
    told = [ledger.spent(), ledger.delta_left, [release.remaining for release in releases]]
    drawn = [float(release(5.0)) for release in releases]
    late = tried(lambda: ledger.charge(laplace, 1, "late", _RELATION, source))
    used = tried(lambda: releases[0](1.0))
    return [told, drawn, late, used, record(ledger.record()), repr(ledger)]
