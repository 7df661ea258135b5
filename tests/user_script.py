"""What a user writes: ``make test-install`` runs it, and type-checks it, beside an installed package."""

import numpy as np

import privlp


def main() -> None:
    """Plan, solve within a budget, compare."""
    needs = np.random.default_rng(1).uniform(0.2, 1.0, size=(2000, 4))
    lp = privlp.LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(2000))
    plan: privlp.Plan = privlp.plan(lp, eps=1.0, delta=1e-6, s=100)
    budget = privlp.Budget(1.0, 1e-6)
    solution: privlp.Solution = privlp.solve(lp, 1.0, 1e-6, s="5%", budget=budget, rng=0)
    seen: privlp.Comparison = privlp.compare(lp, solution)
    missed: int = seen.n_violated()
    assert not plan.verdict.worrying
    assert solution.success
    assert budget.spent() <= 1.0
    assert missed <= 100
    print(privlp.__version__, solution.status.value, solution.x)


if __name__ == "__main__":
    main()
