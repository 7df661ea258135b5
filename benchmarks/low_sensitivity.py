"""Private numbers that move a little: multiplicative weights against direct noise.

What is predicted and measured.
Run with ``python -m benchmarks.low_sensitivity``; about ten minutes of one core.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from tqdm import tqdm

import privlp
from benchmarks import problems
from benchmarks.published import picture, write_page
from privlp import ColumnPrivate, LinearProgram, RowPrivate, ScalarPrivate
from privlp.pictures import MARKERS

STEPS = (1e-4, 3e-4, 1e-3)
PICTURED = 3e-4
EPS, DELTA, DRAWS = 1.0, 1e-6, 10
METHODS = {"mw": "multiplicative weights", "direct-noise": "direct noise"}


def covering(n: int) -> LinearProgram:
    """Cover n needs from 20 services, half of which help with each."""
    rng, d = np.random.default_rng(0), 20
    A = np.where(rng.random((n, d)) < 0.5, rng.uniform(0.2, 1.0, (n, d)), 0.0)
    c, x = rng.uniform(0.5, 2.0, d), np.zeros(d)
    used = rng.choice(d, 4, replace=False)
    x[used] = 3.0 * rng.dirichlet(np.ones(4)) / c[used]
    return LinearProgram(c, -A, -(A @ x - np.abs(rng.normal(0, 0.1, n))))


def packing(n: int) -> LinearProgram:
    """The packing program of the other benchmarks, 60 variables."""
    return problems.packing(n=n).lp


def wide_covering(n: int) -> LinearProgram:
    """The covering program of the other benchmarks, 80 services."""
    return problems.covering(n=n).lp


@dataclass(frozen=True)
class Section:
    """A family of programs and what is private in it."""

    program: Callable[[int], LinearProgram]
    relation: Callable[[float], Any]
    rows: tuple[int, ...] = (100, 1_000, 10_000, 100_000)


_FEW = (100, 1_000, 10_000)
SECTIONS = {
    "scalar-private": Section(covering, ScalarPrivate),
    "column-private": Section(covering, lambda step: ColumnPrivate(step, lower=-1.0, upper=0.0)),
    "row-private": Section(covering, lambda step: RowPrivate(step, lower=-1.0, upper=0.0)),
    "scalar-private packing": Section(packing, ScalarPrivate),
    "scalar-private covering, held out": Section(wide_covering, ScalarPrivate, _FEW),
}


@dataclass(frozen=True)
class Cell:
    """What was predicted and measured for one program; methods in the order of METHODS."""

    step: float
    n: int
    predicted: tuple[float, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]
    auto: str

    @property
    def tie(self) -> bool:
        """Whether the means differ by less than two standard errors."""
        return bool(abs(self.mean[0] - self.mean[1]) < 2 * math.hypot(*self.error))

    @property
    def better(self) -> str:
        """The method of the smaller mean."""
        return list(METHODS)[int(np.argmin(self.mean))]

    def row(self) -> list[str]:
        """The cell as a row of a table."""
        told = zip(self.predicted, self.mean, self.error, strict=True)
        texts = [t for p, m, error in told for t in (f"{p:.4f}", f"{m:.4f} ± {error:.4f}")]
        better = "tie" if self.tie else self.better
        return [f"{self.step:g}", f"{self.n:,}", *texts, better, self.auto]


def largest_violations(lp: LinearProgram, method: str, opt: float) -> list[float]:
    """Of private solutions, one seed each."""
    solutions = [privlp.solve(lp, EPS, DELTA, method=method, opt=opt, rng=k) for k in range(DRAWS)]
    return [float(np.max(lp.A @ solution.x - lp.b)) for solution in solutions]


def measure(lp: LinearProgram, step: float) -> Cell:
    """Predict from public numbers, then draw; the optimum is given to both methods."""
    opt = privlp.solve_exact(lp).objective
    plan = privlp.plan(lp, EPS, DELTA, opt=opt)
    found = np.array([largest_violations(lp, method, opt) for method in METHODS])
    errors = found.std(axis=1, ddof=1) / math.sqrt(DRAWS)
    predicted = tuple(plan.predictions[method].violation for method in METHODS)
    means = tuple(found.mean(axis=1).tolist()), tuple(errors.tolist())
    return Cell(step, lp.shape[0], predicted, *means, str(plan.best))


def crossing(cells: Sequence[Cell], what: str) -> str:
    """Between which n multiplicative weights begins to be better."""
    both = [getattr(cell, what) for cell in cells]
    ahead = [math.log(weights / direct) for weights, direct in both]
    for (left, a), (right, b) in pairwise(zip(cells, ahead, strict=True)):
        if a > 0 >= b:
            return f"n ≈ {left.n * (right.n / left.n) ** (a / (a - b)):.2g}"
    return f"n ≤ {cells[0].n}" if ahead[0] <= 0 else f"no n up to {cells[-1].n:,}"


def main() -> None:
    found = {
        name: [
            measure(replace(section.program(n), neighbours=section.relation(step)), step)
            for step in STEPS
            for n in tqdm(section.rows, desc=f"{name} {step:g}")
        ]
        for name, section in SECTIONS.items()
    }
    columns = ("predicted", "measured")
    of_methods = (f"{method} {column}" for method in METHODS for column in columns)
    headers = ("sensitivity", "n", *of_methods, "better", "auto")
    parts: list[Any] = []
    for cells in found.values():
        said = []
        for step in STEPS:
            of_step = [cell for cell in cells if cell.step == step]
            measured, predicted = (crossing(of_step, what) for what in ("mean", "predicted"))
            said.append(
                f"Sensitivity {step:g}: multiplicative weights is better from {measured}; by"
                f" prediction from {predicted}."
            )
        parts += [(headers, [cell.row() for cell in cells]), "\n".join(said)]
    cells = [cell for of_section in found.values() for cell in of_section]
    clear = [cell for cell in cells if not cell.tie]
    wrong = [cell for cell in cells if cell.better != cell.auto]
    cost = max((max(cell.mean) / min(cell.mean) for cell in wrong), default=1.0)
    parts.append(
        f"*auto* is on the right side in {sum(c.better == c.auto for c in clear)} of the"
        f" {len(clear)} cells that are no tie; ties included, what it loses by a wrong choice is at"
        f" most a factor of {cost:.2f}."
    )
    _draw(found)
    write_page("low_sensitivity", *parts)


def _draw(found: dict[str, list[Cell]]) -> None:
    with picture("low_sensitivity", len(found), sharey=True) as axes:
        for axis, (name, cells) in zip(axes, found.items(), strict=True):
            pictured = [cell for cell in cells if cell.step == PICTURED]
            for k, method in enumerate(METHODS.values()):
                style = {"color": f"C{k}", "marker": MARKERS[k]}
                hollow = {**style, "linestyle": "--", "markerfacecolor": "none"}
                for what, look in (("mean", style), ("predicted", hollow)):
                    values = [getattr(cell, what)[k] for cell in pictured]
                    label = f"{method},\n{'measured' if what == 'mean' else what}"
                    axis.plot([cell.n for cell in pictured], values, label=label, **look)
            axis.set(xscale="log", yscale="log", xlabel="private rows n (number)", title=name)
        for axis in axes[::3]:
            axis.set_ylabel(f"worst violation,\nsensitivity {PICTURED:g}\n(units of A x − b)")


if __name__ == "__main__":
    main()
