"""Private answers beside one answer for everyone, and beside what plans foretell.

Run with ``python -m benchmarks.fallback``. About eight minutes of one core.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.measure import caught
from benchmarks.published import write_page
from benchmarks.tables import Table, by_group
from privlp import LinearProgram, Verdict, solve, solve_exact
from privlp import plan as plan_of_program
from privlp.checks import FloatArray
from svm_models import LPQuantileRegressor, PrivateLPSVC, PrivateQuantileRegressor, plan

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 4.0)
SIZES = (300, 1_000, 4_000)
CLASSIFIED = (300, 750, 3_000)
QUANTILES = (0.5, 0.9)
#: Constants were chosen on seeds below 100.
SEEDS = range(1000, 1004)
#: Records beyond those of a fit, on which a classifier's mistakes are counted.
TESTED = 5_000
VERDICTS = (Verdict.ENOUGH_ROWS, Verdict.ROUGH, Verdict.TOO_FEW_ROWS)
#: A fit is worse than the constant where its loss is so many times as large, or where it makes so
#: many more mistakes in a hundred.
WORSE, MORE_MISTAKES = 1.5, 0.02


@dataclass(frozen=True)
class Outcome:
    """One private answer. Losses are mean losses, costs, or shares of mistakes."""

    family: str
    records: int
    eps: float
    verdict: Verdict
    foretold: float
    loss: float
    exact: float
    constant: float
    instead: bool
    warned: bool

    @property
    def excess(self) -> float:
        """By what share the loss exceeds the least."""
        return self.loss / self.exact - 1


# ------------------------------------------------------------------------------- the families

#: Features, y, X_bounds, y_bounds.
Records = tuple[FloatArray, FloatArray, Any, tuple[float, float]]


def _expenses(r: np.random.Generator, n: int) -> Records:
    age, sex, income = r.uniform(18, 90, n), r.integers(0, 2, n), r.lognormal(3.3, 0.7, n)
    chronic = r.poisson(1.2, n)
    X = np.column_stack([age, sex, chronic, np.minimum(income, 300)])
    y = np.exp(5 + 0.02 * age + 0.35 * np.minimum(chronic, 8) + r.normal(0, 1.3, n))
    return X, np.minimum(y, 1e5), ([18, 0, 0, 0], [90, 1, 20, 300]), (0.0, 1e5)


def _visits(r: np.random.Generator, n: int, most: float = 100.0) -> Records:
    age, ill, pays = r.uniform(18, 90, n), r.poisson(1.5, n), r.choice([0, 25, 50, 95], n)
    mean = np.exp(-0.3 + 0.01 * age + 0.25 * np.minimum(ill, 7) - 0.005 * pays)
    y = np.minimum(r.poisson(mean * r.gamma(0.8, 1 / 0.8, n)), 100).astype(float)
    return np.column_stack([age, ill, pays]), y, ([18, 0, 0], [90, 20, 100]), (0.0, most)


def _wages(r: np.random.Generator, n: int) -> Records:
    years, worked, groups = r.integers(8, 20, n), r.uniform(0, 40, n), r.integers(0, 2, (n, 3))
    y = np.exp(1 + 0.09 * years + 0.02 * worked + 0.1 * groups[:, 0] + r.normal(0, 0.5, n))
    bounds = [0, 0, 0, 0, 0], [25, 50, 1, 1, 1]
    return np.column_stack([years, worked, groups]), np.minimum(y, 500), bounds, (0.0, 500.0)


def _weak(r: np.random.Generator, n: int) -> Records:
    X = np.clip(r.normal(0, 0.3, (n, 8)), -1, 1)
    y = np.clip(0.1 * X[:, 0] + r.standard_t(3, n), -20, 20)
    return X, y, (-1, 1), (-20.0, 20.0)


def _stays(r: np.random.Generator, n: int) -> Records:
    """Days in hospital: waiting times with a few that are very long."""
    X = np.column_stack([r.uniform(0, 1, (n, 2)), r.integers(0, 2, (n, 4))])
    y = np.minimum(r.gamma(1.5, 1 + 4 * X[:, 0] + 3 * X[:, 2]) + r.pareto(2.5, n), 365)
    return X, y, (0, 1), (0.0, 365.0)


def _crops(r: np.random.Generator, n: int) -> Records:
    """A yield that follows ten features closely."""
    X = r.uniform(-1, 1, (n, 10))
    y = np.clip(3 + X @ np.linspace(1, -1, 10) + r.laplace(0, 0.3, n), -10, 20)
    return X, y, (-1, 1), (-10.0, 20.0)


#: The last two were never looked at before constants were chosen.
REGRESSIONS: dict[str, Callable[[np.random.Generator, int], Records]] = {
    "expenses": _expenses,
    "visits": _visits,
    "visits, y_bounds five times too wide": lambda r, n: _visits(r, n, 500.0),
    "wages": _wages,
    "features that tell little": _weak,
    "days in hospital (new)": _stays,
    "crops (new)": _crops,
}


def _pinball(y: FloatArray, predicted: FloatArray | float, q: float) -> float:
    r = y - predicted
    return float(np.mean(np.maximum(q * r, (q - 1) * r)))


def _with_classes(X: FloatArray, s: FloatArray, positive: float) -> tuple[FloatArray, FloatArray]:
    """Records of norm 1, of which a share has the class 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True), (s > np.quantile(s, 1 - positive)) * 1.0


def _tabular(r: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    X = np.column_stack([r.uniform(-1, 1, (n, 3)), np.eye(5)[r.integers(0, 5, n)], np.ones(n)])
    return _with_classes(X, 2.5 * X[:, 0] + 1.5 * X[:, 1] + X[:, 3] + r.logistic(0, 0.6, n), 0.43)


def _vague(r: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    X = np.column_stack([r.normal(0, 1, (n, 9)), np.ones(n)])
    return _with_classes(X, 0.5 * X[:, 0] + 0.3 * X[:, 1] + r.logistic(0, 0.8, n), 0.43)


def _forty(r: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    X = np.column_stack([r.normal(0, 1, (n, 39)), np.ones(n)])
    return _with_classes(X, X[:, :8].sum(axis=1) + r.logistic(0, 0.7, n), 0.57)


def _rare(r: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    X = np.column_stack([r.uniform(-1, 1, (n, 5)), np.ones(n)])
    return _with_classes(X, 3 * X[:, 0] + 2 * X[:, 1] + r.logistic(0, 0.5, n), 0.12)


CLASSIFIERS = {
    "a table, classes .57/.43": _tabular,
    "features that tell little, .57/.43": _vague,
    "40 features, .57/.43": _forty,
    "12 % positive": _rare,
}


def _quantile_program(X: FloatArray, y: FloatArray, q: float, bounds: Any) -> LinearProgram:
    penalty = np.tile([1 - q, q], (len(y), 1))
    zero = np.zeros(X.shape[1])
    return LinearProgram(zero, -X, -y, row_lower=-y, penalty=penalty, bounds=bounds)


def _isotonic(r: np.random.Generator, n: int) -> LinearProgram:
    """A median that rises with twelve levels."""
    levels, k = r.integers(0, 12, n), 12
    y = np.clip(3 * np.exp(0.18 * levels) * r.lognormal(0, 0.8, n), 0, 100)
    rises = np.eye(k)[:-1] - np.eye(k)[1:]
    own, public = np.eye(k)[levels], len(rises)
    return LinearProgram(
        np.zeros(k),
        np.vstack([-own, rises]),
        np.r_[-y, np.zeros(public)],
        row_lower=np.r_[-y, np.full(public, -np.inf)],
        penalty=np.vstack([np.full((n, 2), 0.5), np.full((public, 2), np.inf)]),
        private=np.arange(n + public) < n,
        bounds=(0, 100),
    )


def _outer(r: np.random.Generator, n: int) -> LinearProgram:
    X = np.column_stack([np.ones(n), r.uniform(-1, 1, (n, 4))])
    return _quantile_program(X, X @ [1, 1, -0.5, 0.5, 0] + r.gumbel(0, 0.5, n), 0.9, (-20, 20))


def _costs(r: np.random.Generator, n: int) -> LinearProgram:
    ill = np.minimum(r.poisson(1.2, n), 10) / 10
    X = np.column_stack([np.ones(n), r.uniform(0, 1, (n, 2)), ill, r.integers(0, 2, n)])
    y = np.minimum(np.exp(4 + 1.2 * X[:, 1] + 4 * ill + r.normal(0, 1.2, n)), 2e4) / 1e3
    return _quantile_program(X, y, 0.5, (-20, 20))


def _stock(r: np.random.Generator, n: int) -> LinearProgram:
    """Six goods to order; each person who does not get enough costs."""
    good, size = r.integers(0, 6, n), np.array([1, 2, 0.5, 3, 1, 0.2])
    need = r.gamma(2, 1, n) * size[good]
    cost = np.full(6, 0.08 * n / 6)
    return LinearProgram(cost, -np.eye(6)[good], -need, penalty=np.full(n, 0.6), bounds=(0, 30))


def _reserve(r: np.random.Generator, n: int) -> LinearProgram:
    """Two plants cover a demand that depends on the hour; tails are heavy."""
    hours = r.uniform(0, 1, n)
    need = 5 + 10 * hours + 2 * r.standard_t(3, n)
    rows = -np.column_stack([np.ones(n), hours])
    return LinearProgram([0.3 * n, 0.1 * n], rows, -need, penalty=np.ones(n), bounds=(0, 200))


SOFT = {
    "isotonic median": _isotonic,
    "0.9-quantile": _outer,
    "median of expenses": _costs,
    "orders of stock": _stock,
    "reserves (new)": _reserve,
}


def cost_of(lp: LinearProgram, x: FloatArray) -> float:
    """Costs and prices of violations at a point that keeps the public rows."""
    prices = np.nan_to_num(np.asarray(lp.penalty, dtype=float), posinf=0.0)
    above = np.maximum(lp.A @ x - lp.b, 0.0)
    if prices.ndim == 1:
        return float(lp.c @ x + prices @ above)
    below = np.maximum(np.asarray(lp.row_lower) - lp.A @ x, 0.0)
    return float(lp.c @ x + prices[:, 0] @ below + prices[:, 1] @ above)


def regressions(name: str) -> Iterator[Outcome]:
    """Every quantile at every eps, on records of one family; the constant is the exact quantile."""
    for n, seed, q in product(SIZES, SEEDS, QUANTILES):
        X, y, X_bounds, y_bounds = REGRESSIONS[name](np.random.default_rng(seed), n)
        exact = _pinball(y, LPQuantileRegressor(q).fit(X, y).predict(X), q)
        constant = _pinball(y, float(np.quantile(y, q)), q)
        for eps in EPSILONS:
            bounds = {"X_bounds": X_bounds, "y_bounds": y_bounds}
            fit = PrivateQuantileRegressor(eps, DELTA, q, random_state=seed, **bounds)
            found = plan(fit, n, X.shape[1])
            _, warned = caught(lambda fit=fit, X=X, y=y: fit.fit(X, y))
            losses = _pinball(y, fit.predict(X), q), exact, constant
            instead = not fit.coef_.any()
            told = found.verdict, found.excess_loss
            yield Outcome(name, n, eps, *told, *losses, instead, bool(warned))


CLASSIFIER: dict[str, Any] = {"classes": (0, 1), "fit_intercept": False}


def classified(name: str) -> Iterator[Outcome]:
    """Mistakes on other records; the constant is the larger class."""
    for n, seed in product(CLASSIFIED, SEEDS):
        X, y = CLASSIFIERS[name](np.random.default_rng(seed), n + TESTED)
        train, test = (X[:n], y[:n]), (X[n:], y[n:])
        exact = PrivateLPSVC(np.inf, DELTA, rounds=100, **CLASSIFIER).fit(*train)
        constant = float(min(test[1].mean(), 1 - test[1].mean()))
        for eps in EPSILONS:
            fit = PrivateLPSVC(eps, DELTA, random_state=seed, **CLASSIFIER)
            found = plan(fit, n, X.shape[1])
            _, warned = caught(lambda fit=fit, train=train: fit.fit(*train))
            losses = 1 - fit.score(*test), 1 - exact.score(*test), constant
            told = found.verdict, found.excess_loss
            yield Outcome(name, n, eps, *told, *losses, bool(fit.intercept_[0]), bool(warned))


def soft(name: str) -> Iterator[Outcome]:
    """The constant: the cheapest point whose variables are all equal."""
    for n, seed in product(SIZES, SEEDS):
        lp = SOFT[name](np.random.default_rng(seed), n)
        exact = cost_of(lp, np.asarray(solve_exact(lp).x))
        low, high = np.asarray(lp.bounds, dtype=float)[0]
        ones = np.ones(len(lp.c))
        same = minimize_scalar(
            lambda t, lp=lp, ones=ones: cost_of(lp, t * ones), (low, high), method="golden"
        )
        for eps in EPSILONS:
            verdict = plan_of_program(lp, eps, DELTA).verdict
            found, warned = caught(
                lambda lp=lp, eps=eps, seed=seed: solve(lp, eps, DELTA, rng=seed)
            )
            told = verdict, 0.05 if verdict is Verdict.ENOUGH_ROWS else np.inf
            losses = cost_of(lp, np.asarray(found.x)), exact, float(same.fun)
            yield Outcome(name, n, eps, *told, *losses, "does not speak" in warned, bool(warned))


# ------------------------------------------------------------------------------------ the page

Group = Sequence[Outcome]


def _within(own: Group, more: Callable[[Outcome], float]) -> str:
    """How often no more was lost than the plan foretold, where it did."""
    told = [more(of) <= of.foretold for of in own if of.foretold < 1e9]
    return f"{sum(told)} of {len(told)}" if told else "not foretold"


def _columns(
    much: Callable[[Outcome], bool], **own: Callable[[Group], str]
) -> dict[str, Callable[[Group], str]]:
    """What all tables share around columns of their own."""
    named = {name.replace("_", " "): text for name, text in own.items()}
    return {
        "answers": lambda own: str(len(own)),
        **named,
        "much worse": lambda own: str(sum(map(much, own))),
        "of those unsaid": lambda own: str(sum(much(of) and not of.warned for of in own)),
    }


_LOSSES = {
    **_columns(
        lambda of: of.loss > WORSE * of.constant,
        median=lambda own: f"{100 * np.median([of.excess for of in own]):.2g}",
        most=lambda own: f"{100 * np.quantile([of.excess for of in own], 0.95):.3g}",
        within=lambda own: _within(own, lambda of: of.excess),
        beside=lambda own: f"{np.median([of.loss / of.constant for of in own]):.2f}",
        worst=lambda own: f"{max(of.loss / of.constant for of in own):.2f}",
    ),
    "constant released": lambda own: str(sum(of.instead for of in own)),
}
_MISTAKES = {
    **_columns(
        lambda of: of.loss - of.constant > MORE_MISTAKES,
        median=lambda own: f"{100 * np.median([of.loss for of in own]):.1f}",
        without_noise=lambda own: f"{100 * np.median([of.exact for of in own]):.1f}",
        of_the_larger_class=lambda own: f"{100 * np.median([of.constant for of in own]):.1f}",
        within=lambda own: _within(own, lambda of: of.loss - of.exact),
        worst=lambda own: f"{100 * max(of.loss - of.constant for of in own):.1f}",
    ),
    "larger class named": lambda own: str(sum(of.instead for of in own)),
}


def _table(found: list[Outcome], columns: dict[str, Callable[[Group], str]]) -> Table:
    """By verdict, and by family."""
    verdicts = [
        (("all", f"`{verdict.name}`"), [of for of in found if of.verdict is verdict])
        for verdict in VERDICTS
    ]
    families = [
        ((family, "any"), [of for of in found if of.family == family])
        for family in dict.fromkeys(of.family for of in found)
    ]
    return by_group([*verdicts, *families], ("", "plan"), columns)


def main() -> None:
    tables = [
        _table([outcome for name in families for outcome in of(name)], columns)
        for of, families, columns in (
            (regressions, REGRESSIONS, _LOSSES),
            (classified, CLASSIFIERS, _MISTAKES),
            (soft, SOFT, _LOSSES),
        )
    ]
    write_page("fallback", *tables)


if __name__ == "__main__":
    main()
