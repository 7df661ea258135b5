"""Small seeded results, one for each kind of draw and price: they change where pages' figures may.

A page of docs/results keeps the numbers that its probes gave when it was measured. Moved files, new
names and new words leave them as they are; another noise, step, charge or rule does not.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import privlp
import svm_models
from benchmarks.families import HARD, SOFT
from privlp import privacy

Probe = Callable[[], Iterable[float]]
_BUDGET = {"eps": 1.0, "delta": 1e-6}


def _summary(solution: Any) -> list[float]:
    """Numbers that stand for a private solution and what was paid for it."""
    x = np.asarray(solution.x, dtype=float)
    entries = solution.privacy.entries
    paid = [sum(e.draws for e in entries), sum(float(e.sensitivity) * e.draws for e in entries)]
    return [x.sum(), x @ np.arange(1, len(x) + 1), solution.privacy.eps, *paid]


def _solved(lp: privlp.LinearProgram, **asked: Any) -> list[float]:
    return _summary(privlp.solve(lp, **{**_BUDGET, "rng": 1, **asked}))


def _needs(n: int, **parts: Any) -> privlp.LinearProgram:
    """Covering rows of n people: four or, with `wide`, twelve supplies."""
    A = np.random.default_rng(1).uniform(0.2, 1.0, (n, 12 if parts.pop("wide", False) else 4))
    costs = 1.0 + np.arange(A.shape[1]) % 3
    return privlp.LinearProgram(costs, -A, -np.ones(n), **parts)


def _by_method(method: str) -> Probe:
    alpha = 1.0 if method == "dmw-published" else 0.3
    asked = {"s": 100, "opt": 1.6, "alpha": alpha, "method": method}
    width = {"width": 1.0} if method == "dmw-published" else {}
    return lambda: _solved(_needs(2000), **asked, **width)


def _default() -> list[float]:
    lp = HARD["diet"](0, n=1500, d=6, stock=True).lp
    added = privlp.ConstraintPrivate(change="add-remove", nominal_n=2000)
    return [
        *_solved(_needs(2000), s=100),
        *_solved(_needs(300, wide=True), s=10),
        *_solved(_needs(2000), s=100, opt=1.6),
        *_solved(_needs(2000, bounds=(0, 4), neighbours=added), s=100),
        *_solved(lp, s=60),
    ]


def _soft() -> list[float]:
    lp = privlp.LinearProgram([1, 2], [[-1, -1]] * 500, -np.ones(500), penalty=0.1, bounds=(0, 9))
    return [*_solved(lp), *_solved(SOFT["quantile_regression"](0, n=1500).lp)]


def _ways() -> list[float]:
    """Largest shares, bounds that are far too wide, and free variables as differences."""
    A = np.random.default_rng(1).uniform(0.2, 1.0, (2000, 4))
    share = privlp.LinearProgram(
        [0, 0, 0, 0, 1],
        np.vstack([np.append(np.ones(4), 0), np.column_stack([-A, np.ones(2000)])]),
        np.append(1.0, np.zeros(2000)),
        sense="max",
        bounds=[(0, 1)] * 4 + [(0, 10)],
        private=np.arange(2001) > 0,
    )
    around = np.random.default_rng(2).normal(size=(2000, 3))
    costs, both = np.array([1.0, 1, 1, -0.9, -0.9, -0.9]), np.hstack([around, -around])
    split = privlp.LinearProgram(costs, both, np.ones(2000), bounds=(0, 1e4))
    wide = _needs(2000, bounds=(0, 1e6))
    return [number for lp in (share, wide, split) for number in _solved(lp, s=100)]


def _sold(**parts: Any) -> privlp.LinearProgram:
    return privlp.examples.advertising(pages=4, advertisers=3, **parts)


def _numbers() -> list[float]:
    costs = privlp.LinearProgram(
        [1.0, 2.0], [[-1.0, -1.0]], [-2.0], bounds=(0, 3), neighbours=privlp.ObjectivePrivate(0.1)
    )
    return [
        *_solved(_sold(private="budgets"), method="direct-noise"),
        *_solved(_sold(private="budgets"), feasible=0.9),
        *_solved(_needs(30, neighbours=privlp.ScalarPrivate(0.05)), method="direct-noise"),
        *_solved(_needs(30, neighbours=privlp.ScalarPrivate(0.05)), opt=1.6, method="mw"),
        *_solved(costs, delta=0.0),
    ]


def _always() -> list[float]:
    sold = [_sold(private=private) for private in ("budgets", "prices")]
    found = [_solved(lp, feasible="always") for lp in sold]
    return [*found[0], *found[1], *_solved(sold[0], method="truncated-laplace-published")]


def _margin() -> list[float]:
    lp = _needs(300, wide=True, neighbours=privlp.ScalarPrivate(0.003, lower=-2, upper=-0.5))
    return _solved(lp, feasible="always")


def _together() -> list[float]:
    """Twelve numbers that one record moves all."""
    rng = np.random.default_rng(1)
    A = np.eye(12) + rng.uniform(0.2, 1, (12, 12)) * (rng.random((12, 12)) < 1 / 6)
    moved = privlp.ScalarPrivate(0.02, lower=1, upper=5)
    lp = privlp.LinearProgram(
        np.ones(12), A, np.full(12, 3.0), sense="max", bounds=(0, 9), neighbours=moved
    )
    return _solved(lp, feasible="always")


def _prices() -> list[float]:
    rng = np.random.default_rng(0)
    needs = privlp.LinearProgram(
        [3.0, 1.0, 2.0],
        np.vstack([np.ones(3), -rng.uniform(0.1, 1.0, (1000, 3))]),
        np.append(4.0, -np.ones(1000)),
        private=np.arange(1001) > 0,
    )
    solution = privlp.solve(needs, s=50, prices=True, rng=2, **_BUDGET)
    return [*_summary(solution), *np.ravel(solution.prices)[:1]]


def _blocks() -> list[float]:
    A = -np.random.default_rng(1).uniform(0.2, 1.0, (2000, 4))
    blocks, sides = [A[:700], A[700:]], [-np.ones(700), -np.ones(1300)]
    return _solved(privlp.LinearProgram([1.0, 2, 3, 1], blocks, sides), s=100)


def _plan() -> list[float]:
    told = [privlp.plan(_needs(n), s=n // 20, **_BUDGET) for n in (100, 2000, 100_000)]
    numbers = [[p.violation, p.rounds, p.noise] for t in told for p in t.predictions.values()]
    return [float(number) for row in numbers for number in row if number is not None]


def _allocation() -> list[float]:
    wishes = np.random.default_rng(0).uniform(size=(500, 4))
    shared = privlp.Allocation(wishes, supplies=[100] * 4, largest_value=1.0)
    return np.ravel(privlp.allocate(shared, eps=1.0, rng=0).prices).tolist()


def _mechanisms() -> list[float]:
    """A draw of each noise, and what it costs together with others."""
    found: list[float] = []
    kinds = (
        *(privacy.LaplaceMechanism(1.0, 2.0), privacy.GaussianMechanism(1.0, 5.0)),
        privacy.EuclideanLaplaceMechanism(1.0, 2.0),
        privacy.TruncatedLaplaceMechanism(1.0, 2.0, 30.0),
        privacy.TruncatedGaussianMechanism(1.0, 4.0, 20.0, 1.0, 1.0, 1.0, 1),
    )
    for seed, mechanism in enumerate(kinds):
        ledger = privacy.Ledger(1e9, 0.5)
        source = privacy.Randomness(np.random.default_rng(seed))
        release = ledger.charge(mechanism, 5, "a probe", privlp.ConstraintPrivate(), source)
        found += [*np.ravel(release(np.linspace(0, 9, 10))), ledger.spent()]
    return found


def _audits() -> list[float]:
    def noisy_count(records: list[int], rng: np.random.Generator) -> list[float]:
        return [len(records) + rng.laplace()]

    found = privlp.audit(noisy_count, [1] * 9, [1] * 10, eps=1.0, delta=0.0, runs=3000, rng=1)
    asked = {"s": 6, "opt": 3.0, "pairs": 2, "runs": 0, "rng": 2}
    released = privlp.audit_solve(_needs(40), 1.0, 1e-6, **asked).releases
    return [found.eps_lower, *(float(release.ratio) for release in released)]


# ------------------------------------------------------------------------------- svm_models


def _records(n: int = 600) -> tuple[Any, Any]:
    return svm_models.make_separable_sphere(n, n_features=5, random_state=1)


def _fitted(*estimators: Any) -> list[float]:
    found: list[float] = []
    for estimator in estimators:
        X, y = _records()
        if hasattr(estimator, "random_state"):
            estimator.set_params(random_state=3)
        learnt = estimator.fit(X, y)
        found += [*np.ravel(learnt.coef_), *np.ravel(learnt.intercept_)]
    return found


def _exact() -> list[float]:
    exact = [getattr(svm_models, name)() for name in ("LPSVC", "QPSVC", "HuberSVC")]
    return _fitted(*exact, svm_models.RegularizedLogisticRegression())


def _perturbed() -> list[float]:
    kinds = [
        getattr(svm_models, f"{how}Perturbation{what}")
        for how in ("Output", "Objective")
        for what in ("SVC", "LogisticRegression")
    ]
    pairs = ((1.0, 0.0), (0.5, 1e-5))
    return _fitted(
        *(kind(eps=eps, delta=delta, fit_intercept=False) for kind in kinds for eps, delta in pairs)
    )


def _kernel() -> list[float]:
    X, y = svm_models.make_nested_balls(300, random_state=2)
    lifted = svm_models.RandomFourierFeatures(0.5, 20, random_state=1).fit_transform(X)
    perturbed = partial(svm_models.ObjectivePerturbationSVC, 1.0, fit_intercept=False)
    models = [perturbed(reg=reg) for reg in (1e-3, 1e-1)]
    selected = svm_models.PrivateModelSelector(models, 1.0, random_state=1).fit(lifted, y)
    return [lifted.sum(), selected.best_index_]


def _whole_rows(method: str, score: str) -> Any:
    asked = {"s": 60, "alpha": 0.5, "radius": 4.0, "random_state": 1, "fit_intercept": False}
    return svm_models.DMWSVC(5.0, 1e-6, method=method, score=score, **asked)


def _private_lp_svc() -> list[float]:
    budgets = ((1.0, 1e-6), (0.1, 1e-5))
    by_game = partial(svm_models.PrivateLPSVC, fit_intercept=False)
    added = by_game(1.0, 1e-6, relation="add-remove", nominal_n=600)
    return _fitted(*(by_game(*budget) for budget in budgets), added)


def _quantiles() -> list[float]:
    X = np.random.default_rng(0).normal(size=(1500, 3))
    pay = 30 + 10 * X[:, 0] + np.random.default_rng(1).normal(0, 5, len(X))
    found: list[float] = []
    asked = {"data_norm": 4.0, "y_bounds": (0, 100), "random_state": 0}
    for quantile in (0.5, 0.9):
        fit = svm_models.PrivateQuantileRegressor(1.0, 1e-6, quantile, **asked).fit(X, pay)
        found += [*np.ravel(fit.coef_), *np.ravel(fit.intercept_)]
    return found


def _families() -> list[float]:
    """Checksums of the programs that pages are measured on."""
    found = []
    for make in (*HARD.values(), *SOFT.values()):
        lp = make(1).lp
        found += [float(lp.A.sum()), float(np.sum(lp.c)), float(np.sum(lp.b))]
    return found


PROBES: dict[str, Probe] = {
    "mechanisms": _mechanisms,
    "default": _default,
    **{name: _by_method(name) for name in ("staged", "perturbed", "chain", "dmw", "dmw-published")},
    "ways": _ways,
    "soft": _soft,
    "numbers": _numbers,
    "always": _always,
    "margin": _margin,
    "together": _together,
    "prices": _prices,
    "blocks": _blocks,
    "plan": _plan,
    "allocation": _allocation,
    "audits": _audits,
    "exact SVM": _exact,
    "perturbed SVM": _perturbed,
    "kernel": _kernel,
    "DMWSVC": lambda: _fitted(_whole_rows("dmw", "distance"), _whole_rows("dmw", "count")),
    "PrivateLPSVC": _private_lp_svc,
    "PrivateClassifier": lambda: _fitted(
        *(svm_models.PrivateClassifier(eps, 1e-6, fit_intercept=False) for eps in (0.1, 1.0))
    ),
    "quantiles": _quantiles,
    "families": _families,
}


def values_of(name: str) -> tuple[float, ...]:
    """What a probe gives now; an error counts as no numbers."""
    with warnings.catch_warnings(action="ignore"):
        return tuple(float(value) for value in PROBES[name]())
