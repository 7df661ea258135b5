"""``method="auto"``: the method with the least error predicted from public numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from privlp.checks import PROBABILITY, is_one_of, is_probability, shown
from privlp.errors import (
    BudgetExceededError,
    InvalidParameterError,
    PrivLPError,
    UnsupportedProblemError,
)
from privlp.methods import METHODS
from privlp.methods.base import Method, PlannedRun
from privlp.methods.perturbed import require_enough_rows
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.relations.base import NeighbourRelation

# So many variables are many. An end of a variable's range of at most this share of it is natural.
_MANY, _NATURAL = 15, 1e-3


class Proposals:
    """Planned runs of several methods for one task, and why other methods refuse it.

    Parameters
    ----------
    task : Task
    methods : sequence of Method
        Those that protect the relation of the task, in the order of the registry.

    Attributes
    ----------
    planned : dict of str to PlannedRun
    predictions : dict of str to Prediction
        Of the planned methods that predict their error.
    reasons : dict of str to PrivLPError
        Why other methods cannot be planned, or predict nothing.
    """

    def __init__(self, task: Task, methods: Sequence[Method]) -> None:
        self._task = task
        self.planned: dict[str, PlannedRun] = {}
        self.predictions: dict[str, Prediction] = {}
        self.reasons: dict[str, PrivLPError] = {}
        for method in methods:
            try:
                run = self.planned[method.name] = method.plan(method.adapted(task))
                if run.predict is not None:
                    self.predictions[method.name] = run.predict()
            except (InvalidParameterError, UnsupportedProblemError, BudgetExceededError) as error:
                self.reasons[method.name] = error

    def best(self, candidates: Sequence[Method]) -> str:
        """The candidate of the least predicted error.

        Raises
        ------
        InvalidParameterError, UnsupportedProblemError, BudgetExceededError
            If none can be planned, with the reasons.
        """
        found = [method for method in candidates if method.name in self.predictions]
        difficulties = {
            method.name: difficulty
            for method in found
            if (difficulty := self.predictions[method.name].difficulty) is not None
        }
        if difficulties:
            return next(name for name in in_order(self._task) if name in difficulties)
        if found:
            return min(found, key=lambda method: self.predictions[method.name].violation).name
        for method in candidates:  # nothing is predicted
            if method.name in self.planned:
                return method.name
        raise self._refusal(candidates)

    def _refusal(self, candidates: Sequence[Method]) -> PrivLPError:
        """Why none of the candidates can be planned."""
        reasons = {method.name: self.reasons[method.name] for method in candidates}
        for reason in reasons.values():
            if isinstance(reason, BudgetExceededError):
                return reason
        # The last candidate has the fewest requirements.
        cause = reasons.pop(candidates[-1].name)
        several = self._task.relation.changes_whole_rows
        if not several or not set(map(str, reasons.values())) - {str(cause)}:
            return cause
        return UnsupportedProblemError(
            " ".join(["No method applies.", str(cause), *in_short(reasons)]),
            parameter=cause.parameter,
        )


def in_order(task: Task) -> list[str]:
    """The methods for hard rows, the best first, by public numbers.

    Where costs bound many variables from ends that are natural ones, because the range is far
    larger or not bounded at all, a staged descent moves on the simplex that they leave: its error
    grows with the logarithm of their number, that of a chain with its root. All else is for the
    chain: docs/results/small.md.
    """
    lp = task.lp
    low, high = lp.bounds[lp.bounds[:, 0] < lp.bounds[:, 1]].T
    cost = lp.sign * lp.c[lp.bounds[:, 0] < lp.bounds[:, 1]]
    cheapest = np.where(cost > 0, low, high)
    natural = cost.all() and (np.abs(cheapest) <= _NATURAL * (high - low)).all()
    if natural and np.isfinite(cheapest).all() and len(cost) >= _MANY:
        return ["staged", "chain", "perturbed"]
    return ["chain", "staged", "perturbed"]


def protecting(relation: NeighbourRelation, feasible: str | float | None) -> list[Method]:
    """The methods that protect a relation and can promise what `feasible` asks for.

    Methods that promise nothing of the rows come first, those that never violate one come last.

    Raises
    ------
    InvalidParameterError, UnsupportedProblemError
        If `feasible` is not None, "always" or a probability, or no method can promise it.
    """
    found = [method for method in METHODS.values() if method.protects(relation)]
    if feasible is None:
        order = ("nearly", "probably", "always")
        return sorted(found, key=lambda method: order.index(method.rows_hold))
    certain = is_one_of(feasible, ("always",))
    if not certain and not is_probability(feasible):
        raise InvalidParameterError(
            f"feasible must be None, 'always' or {PROBABILITY}, such as 0.99; got"
            f" {shown(feasible)}.",
            parameter="feasible",
        )
    enough = ("always",) if certain else ("probably", "always")
    promising = [method for method in found if method.rows_hold in enough]
    if not promising:
        raise UnsupportedProblemError(
            "feasible must be None here: when a whole constraint may change, no private solution"
            " can satisfy every private row with certainty. The parameters s and alpha say how many"
            " may be violated, and by how much.",
            parameter="feasible",
        )
    return promising


def candidates(task: Task, methods: Sequence[Method]) -> list[Method]:
    """The methods that ``"auto"`` considers for a task.

    Raises
    ------
    InvalidParameterError
        If `s` or `alpha` is outside its domain.
    """
    if task.relation.changes_whole_rows and task.lp.penalty is None:
        if task.s is None:
            require_enough_rows(task)
        task.density(), task.accuracy()
    offered = [method for method in methods if method.rows_hold == "nearly"]
    if len(offered) > 1:
        task.accuracy()
    found = offered or list(methods)
    # If none competes, all of them say why.
    return [method for method in found if method.competes(task)] or found


def best_run(task: Task, methods: Sequence[Method]) -> tuple[str, PlannedRun]:
    """The name and the planned run of the method that ``"auto"`` takes."""
    found = candidates(task, methods)
    if len(found) == 1:
        _refuse_unused_width(task, found[0])
        return found[0].name, found[0].plan(found[0].adapted(task))
    by_name = {method.name: method for method in found}
    for name in in_order(task):  # one after the other: a plan may take many linear programs
        if name in by_name:
            planned = None
            with suppress(InvalidParameterError, UnsupportedProblemError, BudgetExceededError):
                planned = by_name[name].plan(by_name[name].adapted(task))
            if planned is not None:
                _refuse_unused_width(task, by_name[name])
                return name, planned
    proposals = Proposals(task, found)
    best = proposals.best(found)
    _refuse_unused_width(task, next(method for method in found if method.name == best))
    return best, proposals.planned[best]


def _refuse_unused_width(task: Task, method: Method) -> None:
    """Refuse a declared bound that the method would pass over."""
    if task.width is not None and method.adapted(task).width is None:
        cause = (
            f"with method={method.name!r}, which 'auto' takes here"
            if task.lp.penalty is None
            else "with soft rows and method='auto': noisy counts bound their norms"
        )
        raise InvalidParameterError(
            f"width has no use {cause}. Leave it out.",
            parameter="width",
        )


def in_short(reasons: Mapping[str, object]) -> list[str]:
    """Why methods do not apply, one sentence for each reason and the methods that it concerns."""
    methods: dict[str, list[str]] = {}
    for method, reason in reasons.items():
        methods.setdefault(str(reason).split(". ", 1)[0].rstrip(".") + ".", []).append(method)
    return [f"{', '.join(names)}: {reason}" for reason, names in methods.items()]
