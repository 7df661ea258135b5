"""The step of tight dense multiplicative weights, chosen by trial.

The mean of the s largest residuals (A x - b) / ||A_i||, in units of the radius of K, for several
assumed spreads of violations, averaged over seeds; smaller is better. A spread of 2 is the worst
case. Run with ``python -m benchmarks.step``.
"""

from __future__ import annotations

from unittest import mock

import click
import numpy as np
from tabulate import tabulate

import privlp
from benchmarks.problems import Instance, classification, covering, game, packing
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex

FAMILY = {"covering": covering, "packing": packing, "game": game, "classification": classification}
SPREADS = (2.0, 0.6, 0.2, 0.06)
EPSILONS = (0.5, 2.0, 8.0)
SHARES = (0.025, 0.2)
DELTA = 1e-6


def residual(instance: Instance, eps: float, s: int, spread: float, seed: int) -> float:
    """Mean of the s largest scaled residuals of one private solve."""
    lp = instance.lp
    with mock.patch("privlp.methods.published.dmw._SPREAD", spread):
        x = privlp.solve(lp, eps, DELTA, s, opt=instance.opt, method="dmw", rng=seed).x
    norms = np.sqrt((lp.A * lp.A).sum(axis=1))  # of a sparse A too
    scaled = (lp.A @ x - lp.b)[norms > 0] / norms[norms > 0]
    radius = Simplex(StandardForm.of(lp), instance.opt).radius
    return float(np.sort(scaled)[-s:].mean() / radius)


@click.command()
@click.option(
    "--seeds", default=3, show_default=True, help="Programs and noise seeds to average over."
)
def main(seeds: int) -> None:
    """Measure and print the table."""
    rows = []
    for name, make in FAMILY.items():
        instances = [make(seed) for seed in range(seeds)]
        for eps in EPSILONS:
            for share in SHARES:
                s = int(share * instances[0].lp.shape[0])
                means = [
                    np.mean([residual(instances[k], eps, s, spread, k) for k in range(seeds)])
                    for spread in SPREADS
                ]
                rows.append([name, eps, s, *means])
    print(
        tabulate(
            rows,
            headers=("family", "eps", "s", *(f"spread {spread:g}" for spread in SPREADS)),
            floatfmt=".3g",
        )
    )
    excess = np.array([row[3:] for row in rows])
    excess = excess - excess.min(axis=1, keepdims=True)
    distances = ", ".join(
        f"spread {v:g}: {e:.4f}" for v, e in zip(SPREADS, excess.mean(axis=0), strict=True)
    )
    print(f"mean distance to the best of each line: {distances}")


if __name__ == "__main__":
    main()
