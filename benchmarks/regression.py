"""Private medians and quantiles: how much more they lose than the exact fit, beside rivals.

Run with ``python -m benchmarks.regression`` (statsmodels brings the real records: ``pip install
'privlp[bench]'``). A few minutes of one core.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.published import over_eps, picture, write_page
from benchmarks.tables import Table
from benchmarks.tables import said as mean_and_error
from privlp import ConstraintPrivate, LinearProgram, MostlyNoiseWarning, solve
from privlp.checks import FloatArray
from privlp.pictures import COLOURS
from privlp.privacy import GaussianMechanism, GaussianObjectivePerturbation, Ledger, Randomness
from svm_models import LPSVR, LPQuantileRegressor, PrivateLPSVR, PrivateQuantileRegressor

EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
QUANTILES = (0.5, 0.9)
SEVERAL = (0.1, 0.5, 0.9)
SEEDS = range(1000, 1010)
#: Errors that support vector regression ignores, as a share of the range of y.
IGNORED = 0.025
N, P = 5_000, 5


@dataclass(frozen=True, eq=False)
class Data:
    """Records with their public bounds."""

    title: str
    X: FloatArray
    y: FloatArray
    X_bounds: tuple[Any, Any]
    y_bounds: tuple[float, float]

    def bounds(self) -> dict[str, Any]:
        return {"X_bounds": self.X_bounds, "y_bounds": self.y_bounds}

    def scaled(self) -> tuple[FloatArray, FloatArray, float]:
        """A constant and features between -1 and 1, y between -1 and 1, and the unit of y."""
        low, high = (np.broadcast_to(side, (self.X.shape[1],)) for side in self.X_bounds)
        X = np.clip((2 * self.X - low - high) / (high - low), -1, 1)
        middle, unit = sum(self.y_bounds) / 2, (self.y_bounds[1] - self.y_bounds[0]) / 2
        y = np.clip((self.y - middle) / unit, -1, 1)
        return np.column_stack([np.ones(len(y)), X]), y, unit


def family(name: str, seed: int, n: int = N, p: int = P) -> Data:
    """A generated data set: features within -1 and 1, and y within -6 and 6."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(0, 0.25, (n, p)), -1, 1)
    w = rng.uniform(-2, 2, p)
    noise = rng.normal(0, 0.3, n)
    if name == "heavy tails":
        noise = 0.2 * rng.standard_t(2, n)
    if name == "skewed noise":
        X = rng.uniform(-1, 1, (n, p))
        noise = rng.laplace(0, 0.4, n) + rng.exponential(0.2, n)
    if name == "unequal noise":
        X = rng.uniform(-1, 1, (n, p))
        noise = (0.2 + 0.2 * (X[:, 0] + 1)) * rng.normal(size=n)
    if name == "skewed features":
        X = 2 * np.clip(rng.lognormal(0, 0.8, (n, p)) / 10, 0, 1) - 1
    if name == "correlated features":
        common = 0.95 * rng.normal(size=(n, 1))
        X = np.clip(0.25 * (common + 0.31 * rng.normal(size=(n, p))), -1, 1)
    return Data(name, X, np.clip(X @ w + 0.3 + noise, -6, 6), (-1, 1), (-6, 6))


FAMILIES = (
    *("normal", "heavy tails", "skewed noise", "unequal noise"),
    *("skewed features", "correlated features"),
)


def real() -> list[Data]:
    """Two data sets that statsmodels ships, with ranges that follow from what is asked."""
    from statsmodels.datasets import fair, randhie  # noqa: PLC0415 (heavy; for this page only)

    def data(found: Any, title: str, columns: dict[str, Any], y: str, most: float) -> Data:
        title = f"{title} ({len(found):,} × {len(columns)})"
        ends = tuple(np.array(list(columns.values()), dtype=float).T)
        X = found[list(columns)].to_numpy(float)
        return Data(title, X, found[y].to_numpy(float), ends, (0.0, most))

    visits = {
        **{"lncoins": (0, 5), "idp": (0, 1), "lpi": (0, 8), "fmde": (0, 9), "physlm": (0, 1)},
        **{"disea": (0, 60), "hlthg": (0, 1), "hlthf": (0, 1), "hlthp": (0, 1)},
    }
    years = {
        **{"rate_marriage": (1, 5), "age": (15, 45), "children": (0, 6), "religious": (1, 4)},
        **{"educ": (9, 20), "occupation": (1, 6)},
    }
    insurance, marriages = randhie.load_pandas().data, fair.load_pandas().data
    return [
        data(insurance, "RAND insurance, visits to a doctor", visits, "mdvis", 100.0),
        data(marriages, "Fair, years married", years, "yrs_married", 25.0),
    ]


#: Each returns predictions for the records.
Method = Callable[[Data, float, float, int], FloatArray]


def ours(data: Data, q: float, eps: float, seed: int) -> FloatArray:
    """PrivateQuantileRegressor: no parameter but bounds."""
    fit = PrivateQuantileRegressor(eps, DELTA, q, random_state=seed, **data.bounds())
    return fit.fit(data.X, data.y).predict(data.X)


def soft_rows(data: Data, q: float, eps: float, seed: int) -> FloatArray:
    """The same loss as soft rows of a linear program, coefficients within 10 ranges of y."""
    A, y, _ = data.scaled()
    soft = {"row_lower": -y, "penalty": np.tile([1 - q, q], (len(y), 1)), "bounds": (-10, 10)}
    lp = LinearProgram(np.zeros(A.shape[1]), -A, -y, **soft)
    with warnings.catch_warnings(action="ignore", category=MostlyNoiseWarning):
        x = solve(lp, eps, DELTA, method="perturbed", rng=seed).x
    return _of(data, A @ np.asarray(x))


def objective(data: Data, q: float, eps: float, seed: int, *, width: float) -> FloatArray:
    """Objective perturbation of the pinball loss smoothed within `width` ranges of y."""
    A, y, _ = data.scaled()
    p = A.shape[1]
    longest, steep = np.sqrt(p), max(q, 1 - q)
    cost = eps / 5
    strength = longest**2 / (2 * width * np.expm1(cost))
    size = 2 * steep * longest
    ledger = Ledger(eps, DELTA)
    mu = ledger.calibrate(
        lambda t: GaussianObjectivePerturbation(size, size / t, cost, one_sided=False), 1
    )
    secret = ledger.charge(mu, 1, "perturb", ConstraintPrivate(), Randomness(seed))(np.zeros(p))

    def value(w: FloatArray) -> tuple[float, FloatArray]:
        r = y - A @ w
        slope = np.clip(q - 0.5 + r / (2 * width), q - 1, q)
        low, high = (q - 1) * 2 * width, q * 2 * width
        t = np.clip(r + (2 * q - 1) * width, low, high)
        loss = t**2 / (4 * width) + slope * (r + (2 * q - 1) * width - t)
        total = loss.sum() + strength / 2 * w @ w + np.asarray(secret) @ w
        return float(total), -A.T @ slope + strength * w + np.asarray(secret)

    found = minimize(value, np.zeros(p), jac=True, method="L-BFGS-B")
    return _of(data, A @ found.x)


def statistics(data: Data, q: float, eps: float, seed: int) -> FloatArray:
    """Least squares from noisy sums: the functional mechanism's polynomial, with Gaussian noise."""
    del q
    A, y, _ = data.scaled()
    p = A.shape[1]
    Z = np.column_stack([A, y])
    size = np.sqrt(2.0) * (p + 1)  # of z z^T, |z|^2 <= p + 1
    ledger = Ledger(eps, DELTA)
    mechanism = ledger.calibrate(lambda t: GaussianMechanism(size, size / t), 1)
    release = ledger.charge(mechanism, 1, "moments", ConstraintPrivate(), Randomness(seed))
    upper = np.triu_indices(p + 1)
    unit = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    M = np.zeros((p + 1, p + 1))
    M[upper] = np.asarray(release((Z.T @ Z)[upper] * unit)) / unit
    M = M + np.triu(M, 1).T
    ridge = mechanism.sigma * np.sqrt(2 * p)
    values, vectors = np.linalg.eigh(M[:p, :p])
    w = vectors @ ((vectors.T @ M[:p, p]) / np.maximum(values, ridge))
    return _of(data, A @ w)


def _of(data: Data, predicted: FloatArray) -> FloatArray:
    """Predictions in the units of y."""
    low, high = data.y_bounds
    return np.asarray((low + high) / 2 + (high - low) / 2 * predicted)


WIDTHS = (0.03, 0.1, 0.3)
OURS, SOFT = "PrivateQuantileRegressor", "soft rows by hand"
PERTURBED, SUMS = "objective perturbation", "noisy least squares"


def lost(data: Data, q: float, predicted: FloatArray, best: float) -> float:
    """Excess of the mean pinball loss, in percent of the exact fit's."""
    r = data.y - predicted
    return 100 * (float(np.mean(np.maximum(q * r, (q - 1) * r))) / best - 1)


def measured(data: list[Data], q: float, eps: float) -> dict[str, FloatArray]:
    """Excess of each method, one data set and seed after the other."""
    best = [_exact(each, q) for each in data]
    draws = [(each, loss, seed) for each, loss in zip(data, best, strict=True) for seed in SEEDS]
    if len(data) > 1:  # as many data sets as seeds
        draws = list(zip(data, best, SEEDS, strict=True))

    def of(method: Method) -> FloatArray:
        return np.array([lost(e, q, method(e, q, eps, seed), loss) for e, loss, seed in draws])

    found = {OURS: of(ours), SOFT: of(soft_rows)}
    widths = [of(partial(objective, width=width)) for width in WIDTHS]
    found[PERTURBED] = min(widths, key=lambda each: float(each.mean()))
    if q == 0.5:
        found[SUMS] = of(statistics)
    return found


@cache
def _exact(data: Data, q: float) -> float:
    return float(LPQuantileRegressor(q).fit(data.X, data.y).objective_)


#: Mean and standard error, in percent.
said = partial(mean_and_error, words="{:.3g} ± {:.2g}")


def several(data: list[Data]) -> list[list[str]]:
    """Three quantiles from one budget, each beside the exact one."""
    rows = []
    for eps in EPSILONS:
        found = []
        for each, seed in zip(data, SEEDS, strict=True):
            fit = PrivateQuantileRegressor(eps, DELTA, SEVERAL, random_state=seed, **each.bounds())
            predicted = zip(SEVERAL, fit.fit(each.X, each.y).predict(each.X).T, strict=True)
            found.append([lost(each, q, p, _exact(each, q)) for q, p in predicted])
        rows.append([f"{eps:g}", *(said(column) for column in np.array(found).T)])
    return rows


def insensitive(data: Data, predicted: FloatArray) -> float:
    """Mean of max(0, abs(r) - epsilon), epsilon the share IGNORED of the range of y."""
    return float(np.mean(np.maximum(np.abs(data.y - predicted) - _ignored(data), 0.0)))


def _ignored(data: Data) -> float:
    return IGNORED * (data.y_bounds[1] - data.y_bounds[0])


def support_vectors(title: str, data: list[Data]) -> list[list[str]]:
    """PrivateLPSVR and noisy least squares beside the exact LPSVR, in its loss."""
    draws = list(zip(data if len(data) > 1 else data * len(SEEDS), SEEDS, strict=True))
    exact = {id(each): LPSVR(C=1e3, epsilon=_ignored(each)).fit(each.X, each.y) for each in data}
    best = {id(each): insensitive(each, exact[id(each)].predict(each.X)) for each in data}

    def private(each: Data, eps: float, seed: int) -> FloatArray:
        asked = {"epsilon": _ignored(each), "random_state": seed, **each.bounds()}
        fit = PrivateLPSVR(eps, DELTA, **asked)
        return fit.fit(each.X, each.y).predict(each.X)

    def least_squares(each: Data, eps: float, seed: int) -> FloatArray:
        return statistics(each, 0.5, eps, seed)

    rows = []
    for name, method in (("PrivateLPSVR", private), (SUMS, least_squares)):
        found = []
        for eps in EPSILONS:
            ratios = [insensitive(d, method(d, eps, seed)) / best[id(d)] for d, seed in draws]
            found.append(said(100 * (np.array(ratios) - 1)))
        rows.append([title, name, *found])
    return rows


def main() -> None:
    generated = {name: [family(name, seed) for seed in SEEDS] for name in FAMILIES}
    sets = [*generated.items(), *((each.title, [each]) for each in real())]
    tables: list[Table] = []
    shown: dict[float, dict[str, list[list[float]]]] = {}
    for q in QUANTILES:
        rows, curves = [], {}
        for title, data in sets:
            found = {eps: measured(data, q, eps) for eps in EPSILONS}
            for method in found[EPSILONS[0]]:
                values = [found[eps][method] for eps in EPSILONS]
                rows.append([title, method, *(said(each) for each in values)])
                if title in generated:
                    curves.setdefault(method, []).append([float(v.mean()) for v in values])
        shown[q] = curves
        headers = ["records", "method", *(f"ε = {eps:g}" for eps in EPSILONS)]
        tables.append((headers, rows))
    several_of = ["ε", *(f"q = {q:g}" for q in SEVERAL)], several(generated["normal"])
    rows = [row for title, data in sets for row in support_vectors(title, data)]
    tables += [several_of, (headers, rows)]
    draw(shown)
    write_page("regression", *tables)


def draw(shown: dict[float, dict[str, list[list[float]]]]) -> None:
    """Geometric means over the families, one panel for each quantile."""
    colours = {OURS: "blue", SOFT: "green", PERTURBED: "vermilion", SUMS: "purple"}
    with picture("regression", panels=len(shown), size=(12, 5.5), sharey=True) as axes:
        for ax, (q, curves) in zip(axes, shown.items(), strict=True):
            for method, values in curves.items():
                mean = np.exp(np.log(np.maximum(values, 1e-4)).mean(axis=0))
                ax.plot(EPSILONS, mean, "o-", color=COLOURS[colours[method]], label=method)
            over_eps(ax, EPSILONS)
            ax.set(yscale="log", title=f"{q:g}-quantile, six families")
        axes[0].set_ylabel("% more loss than the exact fit")


if __name__ == "__main__":
    main()
