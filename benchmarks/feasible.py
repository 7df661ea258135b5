"""Rows that hold nearly, with a probability, or always: what each promise costs.

Staffing with private demands, a flow of least cost with private capacities, and advertising with
private budgets, each at three eps.

Run with ``python -m benchmarks.feasible``; about 10 minutes of one core.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from tqdm import tqdm

import privlp
from benchmarks.published import over_eps, picture, write_page
from benchmarks.tables import Table
from privlp import ConstraintPrivate, LinearProgram, ScalarPrivate
from privlp.examples import advertising
from privlp.pictures import MARKERS
from privlp.problem.standard_form import StandardForm, violated

EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6
PROBABILITY, DRAWS, DRAWS_OF_OTHERS = 0.99, 1000, 200
PROMISES = {"None": None, f"{PROBABILITY:g}": PROBABILITY, '"always"': "always"}


def staffing(seed: int = 0, *, hours: int = 168, shift: int = 8) -> LinearProgram:
    """Start shifts at the least cost, so that each hour of a week has enough people."""
    rng = np.random.default_rng(seed)
    clock = np.arange(hours)
    on_duty = (clock[:, None] - clock[None, :]) % hours < shift
    demand = 45 + 25 * np.sin((clock % 24 - 8) / 24 * 2 * np.pi) + rng.normal(0, 6, hours)
    night = np.where((clock % 24 < 5) | (clock % 24 > 20), 1.4, 1.0)
    least = np.round(demand.clip(8, 110))
    fields = {"row_lower": least, "bounds": (0, 200), "name": "staffing"}
    fields["neighbours"] = ScalarPrivate(1.0, norm="1", lower=5, upper=120)
    c, A = night * rng.uniform(0.95, 1.05, hours), sp.csr_array(on_duty.astype(float))
    return LinearProgram(c, A, np.full(hours, np.inf), **fields)


def flow(seed: int = 0, *, nodes: int = 24, amount: float = 100.0) -> LinearProgram:
    """Send an amount through a network at the least cost; capacities of its arcs are private."""
    rng = np.random.default_rng(seed)
    arcs = [(i, j) for i in range(nodes) for j in range(i + 1, min(i + 7, nodes))]
    balance = np.zeros((nodes, len(arcs)))
    for k, (i, j) in enumerate(arcs):
        balance[i, k], balance[j, k] = 1.0, -1.0
    supply = np.zeros(nodes)
    supply[0], supply[-1] = amount, -amount
    length = np.array([j - i for i, j in arcs])
    capacity = rng.uniform(30, 60, len(arcs)).round()
    return LinearProgram(
        length ** rng.uniform(0.7, 1.3, len(arcs)),
        sp.csr_array(np.vstack([balance, np.eye(len(arcs))])),
        np.concatenate([supply, capacity]),
        row_lower=np.concatenate([supply, np.full(len(arcs), -np.inf)]),
        private=np.arange(nodes + len(arcs)) >= nodes,
        neighbours=ScalarPrivate(1.0, norm="1", lower=20, upper=150),
        name="flow",
    )


PROGRAMS: dict[str, Callable[[], LinearProgram]] = {
    "staffing": staffing,
    "min-cost flow": flow,
    "advertising": advertising,
}


def violates(lp: LinearProgram) -> Callable[[np.ndarray], bool]:
    """Whether x violates an inequality row of the true program, in exact arithmetic."""
    rows = np.flatnonzero(lp.row_lower < lp.b)
    private = np.isin(np.arange(lp.shape[0]), rows)
    form = StandardForm.of(replace(lp, private=private, neighbours=ConstraintPrivate()))
    A = sp.csr_array(sp.diags_array(form.row_sign.astype(float)) @ sp.csr_array(lp.A)[form.row])
    rhs = np.where(form.row_sign > 0, lp.b[form.row], -lp.row_lower[form.row])
    return lambda x: bool(violated(A, x, rhs).any())


def measure(lp: LinearProgram, eps: float, promise: Any, draws: int) -> tuple[np.ndarray, int]:
    """The cost of each draw as a share of the optimum, and in how many draws some row fails."""
    best, fails = privlp.solve_exact(lp).objective, violates(lp)
    found = [
        privlp.solve(lp, eps, DELTA, feasible=promise, rng=seed).x
        for seed in tqdm(range(draws), desc=f"{lp.name}, {promise}, {eps:g}", leave=False)
    ]
    return np.array([lp.objective(x) / best for x in found]), sum(map(fails, found))


def main() -> None:
    columns = product(PROMISES, ("cost", "fails"))
    headers = ("ε", *(f"feasible={name}: {what}" for name, what in columns))
    tables: list[Table] = []
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for program, make in PROGRAMS.items():
        lp, rows = make(), []
        curves[program] = {name: [] for name in PROMISES}
        for eps in EPSILONS:
            row: list[Any] = [f"{eps:g}"]
            for name, promise in PROMISES.items():
                count = DRAWS if promise == PROBABILITY else DRAWS_OF_OTHERS
                cost, failed = measure(lp, eps, promise, count)
                error = float(cost.std(ddof=1) / np.sqrt(count))
                curves[program][name].append((float(cost.mean()), error))
                row += [f"{cost.mean():.4f} ± {error:.4f}", f"{failed} of {count}"]
            rows.append(row)
        tables.append((headers, rows))
    _draw(curves)
    write_page("feasible", *tables)


def _draw(curves: dict[str, dict[str, Sequence[tuple[float, float]]]]) -> None:
    with picture("feasible", len(curves)) as axes:
        for axis, (program, of_promises) in zip(axes, curves.items(), strict=True):
            for (name, points), marker in zip(of_promises.items(), MARKERS, strict=False):
                look = {"marker": marker, "label": f"feasible={name}"}
                axis.errorbar(EPSILONS, *zip(*points, strict=True), **look)
            over_eps(axis, EPSILONS)
            axis.set(title=program)
        axes[0].set_ylabel("mean objective / optimum")


if __name__ == "__main__":
    main()
