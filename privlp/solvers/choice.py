"""The method that ``"auto"`` stands for: the one of the least error predicted from public numbers."""

from __future__ import annotations

from collections.abc import Sequence

from privlp.errors import UnsupportedProblemError
from privlp.solvers.direct_noise import predicted_violation
from privlp.solvers.multiplicative_weights import Plan
from privlp.solvers.task import Task


def best_method(task: Task, available: Sequence[str]) -> str:
    """The best of the available methods, which are those of the task's neighbour relation in order of preference.

    Multiplicative weights needs a simplex, a public optimum and a public range of the coefficients; where any is missing, or where
    noise on the numbers is predicted to violate rows less, direct noise is chosen.
    """
    if not {"mw", "direct-noise"} <= set(available):
        return available[0]
    task.accuracy()  # refused here as anywhere, whichever method is taken
    if task.opt is None or task.split is not None:
        return "direct-noise"
    try:
        plan = Plan(task)
    except UnsupportedProblemError:
        return "direct-noise"
    return "mw" if plan.predicted_violation() < predicted_violation(task, plan.typical_size()) else "direct-noise"
