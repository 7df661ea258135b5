"""What `privlp.audit` measures of mechanisms that other packages have released.

Run with ``python -m benchmarks.foreign_audits``, two to three minutes of one core, where ``python
-m pip install --target audited diffprivlib==0.6.6 opendp==0.16.0 "scikit-learn<1.7"`` put the
packages into a folder of their own that ``PYTHONPATH=audited`` names: diffprivlib 0.6.6 cannot be
imported beside newer versions of scikit-learn. An audit finds faults; passing one proves nothing.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import click
import numpy as np

from benchmarks.published import write_page
from privlp import AuditResult, audit

CONFIDENCE = 0.999
INSTALL = (
    'python -m pip install --target audited diffprivlib==0.6.6 opendp==0.16.0 "scikit-learn<1.7"'
)
Mechanism = Callable[[Any, np.random.Generator], Any]


@dataclass(frozen=True)
class Case:
    """A claim of eps on two neighbours: its name, they in words, and what is looked at."""

    told: str
    mechanism: Mechanism
    pair: tuple[Any, Any]
    runs: int
    eps: float = 1.0

    def audited(self) -> AuditResult:
        """The audit, whatever the package warns of."""
        with warnings.catch_warnings(action="ignore"):
            how = {"runs": self.runs, "confidence": CONFIDENCE, "rng": 0}
            return audit(self.mechanism, *self.pair, self.eps, 0.0, **how)


def imported(package: str, name: str) -> Any:
    """A module of a package that is no dependency of this one."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return importlib.import_module(name)
    except ImportError as error:
        raise click.ClickException(
            f"{package} cannot be imported ({error}). It is audited, not used: install it beside"
            f" this package by\n  {INSTALL}\nand run\n  PYTHONPATH=audited python -m"
            " benchmarks.foreign_audits"
        ) from None


def state(rng: np.random.Generator) -> np.random.RandomState:
    """The same randomness in the form that diffprivlib takes."""
    return np.random.RandomState(rng.bit_generator)


def changed(data: Sequence[Any], last: Any) -> tuple[np.ndarray, np.ndarray]:
    """Records, and the same with another last one."""
    one = np.array(data, dtype=float)
    other = one.copy()
    other[-1] = last
    return one, other


def of_diffprivlib() -> Iterable[Case]:
    """Mechanisms of diffprivlib, on the pair that is worst for what their code computes."""
    models = imported("diffprivlib", "diffprivlib.models")
    tools = imported("diffprivlib", "diffprivlib.tools")

    def slope(low: float, label: Callable[[float], bool]) -> Mechanism:
        def mechanism(records: Any, rng: np.random.Generator) -> bool:
            options = {"bounds_X": (low, 1), "bounds_y": (-1, 1), "fit_intercept": False}
            model = models.LinearRegression(epsilon=1.0, random_state=state(rng), **options)
            return label(float(model.fit(records[:, :1], records[:, 1]).coef_[0]))

        return mechanism

    def logistic(norm: float, label: Callable[[float], Any]) -> Mechanism:
        def mechanism(records: Any, rng: np.random.Generator) -> Any:
            options = {"fit_intercept": False, "tol": 1e-12, "max_iter": 1000}
            model = models.LogisticRegression(
                epsilon=1.0, data_norm=norm, random_state=state(rng), **options
            )
            return label(float(model.fit(records[:, :1], records[:, 1]).coef_[0, 0]))

        return mechanism

    def scaler(records: Any, rng: np.random.Generator) -> list[float]:
        model = models.StandardScaler(epsilon=1.0, bounds=(0, 1), random_state=state(rng))
        model.fit(records)
        return [float(model.mean_[0]), float(model.var_[0])]

    def component(records: Any, rng: np.random.Generator) -> float:
        options = {"n_components": 1, "data_norm": 1.0, "centered": True}
        model = models.PCA(epsilon=4.0, random_state=state(rng), **options)
        return float(model.fit(records.copy()).components_[0, 0] ** 2)

    def of_numbers(tool: Callable[..., Any]) -> Mechanism:
        return lambda numbers, rng: float(
            tool(numbers, epsilon=1.0, bounds=(0, 1), random_state=state(rng))
        )

    halves = changed(np.full((20, 1), 0.5), 1.0)

    def inertia(records: Any, rng: np.random.Generator) -> bool:
        model = models.KMeans(1, epsilon=1.0, bounds=(0, 1), random_state=state(rng)).fit(records)
        of_first = np.square(halves[0] - model.cluster_centers_).sum()
        return bool(abs(model.inertia_ - of_first) < 1e-9)

    labelled = np.column_stack([np.zeros(3), [0, 1, 1]])
    yield from [
        Case(
            "LinearRegression, columns in [0, 1] | 20 records, y = 0, x = 0.001; one with x = 1"
            " | whether the slope is beyond ±1000",
            slope(0, lambda w: abs(w) > 1000),
            changed(np.column_stack([np.full(20, 0.001), np.zeros(20)]), (1.0, 0.0)),
            3_000,
        ),
        Case(
            "LinearRegression, columns in [−1, 1] | beside (0, 0): (1, 1) against (1, −1)"
            " | the sign of the slope",
            slope(-1, lambda w: w > 0),
            changed([[0, 0], [1, 1]], (1, -1)),
            3_000,
        ),
        Case(
            "LogisticRegression, data_norm = 100 | three records, x = 0; one with x = 100"
            " | whether the weight is within ±0.02",
            logistic(100.0, lambda w: abs(w) < 0.02),
            changed(labelled, (100, 1)),
            8_000,
        ),
        Case(
            "LogisticRegression, data_norm = 1 | beside two with x = 0: x = −1 against 1"
            " | the weight",
            logistic(1.0, lambda w: [w]),
            changed(np.vstack([labelled[:2], [-1, 1]]), (1, 1)),
            3_000,
        ),
        Case(
            "nanmean | 98 of 100 values missing, the others 0; one is 1 | the mean",
            of_numbers(tools.nanmean),
            changed([np.nan] * 98 + [0, 0], 1.0),
            4_000,
        ),
        Case(
            "KMeans, with inertia_ | 20 records at 0.5; one at 1"
            " | whether inertia_ is that of the first data set about the released centre",
            inertia,
            halves,
            2_000,
        ),
        Case(
            "StandardScaler | 10 records at 0; one at 1 | mean_ and var_",
            scaler,
            changed(np.zeros((10, 1)), 1.0),
            4_000,
        ),
        Case(
            "median | five values 0.01, five 0; one of the latter is 1 | the median",
            of_numbers(tools.median),
            changed([0.01] * 5 + [0.0] * 5, 1.0),
            20_000,
        ),
        Case(
            "PCA, one centred component | beside (1, 0): (1, 0) against (0, 1) | the component",
            component,
            changed([[1, 0], [1, 0]], (0, 1)),
            2_000,
            eps=4.0,
        ),
    ]


def of_opendp() -> Iterable[Case]:
    """Measurements of OpenDP, which claims what its own privacy map says."""
    dp = imported("opendp", "opendp.prelude")
    dp.enable_features("contrib")
    metric = dp.symmetric_distance()
    unit = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False))
    total = (unit, metric) >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)
    ten = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=10)
    quantile = dp.m.make_private_quantile(
        ten, metric, dp.max_divergence(), candidates=[0.25, 0.75], alpha=0.5, scale=2.0
    )
    thirds = [0.5] * 5 + [0.0] * 5
    yield from [
        Case(
            "sum of clamped values, then_laplace | nine values 0; a tenth, 1, is added | the sum",
            lambda numbers, _: float(total(numbers)),
            ([0.0] * 9, [0.0] * 9 + [1.0]),
            20_000,
            eps=total.map(1),
        ),
        Case(
            "make_private_quantile, two candidates"
            " | five values 0.5, five 0; one of the latter is 1 | the candidate",
            lambda numbers, _: str(quantile(numbers)),
            (thirds, [*thirds[:-1], 1.0]),
            10_000,
            eps=quantile.map(2),
        ),
    ]


def row(case: Case) -> list[str]:
    """A line of the table."""
    found, (name, neighbours, looked_at) = case.audited(), case.told.split(" | ")
    told = "no fault found" if found.passed else "**refuted**"
    claim = [name, f"{case.eps:.3g}", f"{found.eps_lower:.2f}", told]
    return [*claim, neighbours, looked_at, f"{case.runs:,}"]


HEADERS = ("mechanism", "claimed ε", "audited ε ≥", "verdict", "pair", "looked at", "runs on each")


@click.command()
def main() -> None:
    """Audit, and write the page."""
    tables = [(HEADERS, [row(case) for case in of()]) for of in (of_diffprivlib, of_opendp)]
    packages = ("diffprivlib", "opendp", "scikit-learn", "numpy", "scipy")
    versions = ", ".join(f"{of} {version(of)}" for of in packages)
    write_page("foreign_audits", *tables, f"With {versions}.")


if __name__ == "__main__":
    main()
