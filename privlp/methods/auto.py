"""``method="auto"``: the method that public numbers speak for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast

from privlp.checks import PROBABILITY, is_one_of, is_probability, shown
from privlp.errors import (
    BudgetExceededError,
    InvalidParameterError,
    PrivLPError,
    UnsupportedProblemError,
)
from privlp.methods import METHODS
from privlp.methods.base import Method, PlannedRun, Prediction
from privlp.methods.perturbed import require_enough_rows
from privlp.methods.request import SolveRequest
from privlp.relations.base import NeighbourRelation

#: What methods promise of the rows, from the least to the most.
_PROMISES = ("nearly", "probably", "always")


@dataclass(frozen=True)
class Proposals:
    """Planned runs and predictions of methods for one request, and why others refuse it."""

    request: SolveRequest
    planned: dict[str, PlannedRun] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    reasons: dict[str, PrivLPError] = field(default_factory=dict)

    def add(self, methods: Sequence[Method]) -> Proposals:
        """Plan and predict."""
        for method in methods:
            try:
                run = self.planned[method.name] = _planned(self.request, method)
                if run.predict is not None:
                    self.predictions[method.name] = run.predict()
            except (InvalidParameterError, UnsupportedProblemError, BudgetExceededError) as error:
                self.reasons[method.name] = error
        return self

    def best(self, candidates: Sequence[Method]) -> Method:
        """The planned candidate of least rank and predicted violation; raises the reasons."""

        def order(method: Method) -> tuple[float, float, str]:
            found = self.predictions.get(method.name)
            violation = math.inf if found is None else found.violation
            return _rank(method, self.request), violation, method.name

        planned = [method for method in candidates if method.name in self.planned]
        if not planned:
            raise self._refusal(candidates)
        return min(planned, key=order)

    def _refusal(self, candidates: Sequence[Method]) -> PrivLPError:
        """Why none of the candidates can be planned: first of the one that is tried first."""
        reasons = {method.name: self.reasons[method.name] for method in candidates}
        for reason in reasons.values():
            if isinstance(reason, BudgetExceededError):
                return reason
        cause = reasons.pop(candidates[0].name)
        others = {name: of for name, of in reasons.items() if _first(of) not in str(cause)}
        if not self.request.relation.changes_whole_rows or not others:
            return cause
        return UnsupportedProblemError(
            " ".join(["No method applies.", str(cause), *in_short(others)]),
            parameter=cause.parameter,
        )


def _planned(request: SolveRequest, method: Method) -> PlannedRun:
    return method.plan(request.without(method.auto_leaves_out))


def _rank(method: Method, request: SolveRequest) -> float:
    """The rank of a method that ``"auto"`` may take."""
    return cast("float", method.rank(request))


def protecting(relation: NeighbourRelation, feasible: str | float | None) -> list[Method]:
    """The methods that protect a relation and can promise `feasible`, those for comparison last."""
    found = sorted(
        (method for method in METHODS.values() if method.protects(relation)),
        key=lambda method: (not method.listed, _PROMISES.index(method.rows_hold), method.name),
    )
    if feasible is None:
        return found
    certain = is_one_of(feasible, ("always",))
    if not certain and not is_probability(feasible):
        raise InvalidParameterError(
            f"feasible must be None, 'always' or {PROBABILITY}, such as 0.99; got"
            f" {shown(feasible)}.",
            parameter="feasible",
        )
    promising = [method for method in found if promises(method, certain=certain)]
    if not promising:
        raise UnsupportedProblemError(
            "feasible must be None here: when a whole constraint may change, no private solution"
            " can satisfy every private row with certainty. The parameters s and alpha say how many"
            " may be violated, and by how much.",
            parameter="feasible",
        )
    return promising


def promises(method: Method, *, certain: bool) -> bool:
    """Whether all rows hold with a method, for certain or with a probability."""
    return method.rows_hold in _PROMISES[2 if certain else 1 :]


def candidates(request: SolveRequest, methods: Sequence[Method]) -> list[Method]:
    """The methods that ``"auto"`` may take for a request, in the order in which they are tried."""
    if request.relation.changes_whole_rows and request.lp.penalty is None:
        if request.s is None:
            require_enough_rows(request)
        request.density()
    offered = [method for method in methods if method.rows_hold == "nearly"] or methods
    ranked = [method for method in offered if method.rank(request) is not None]
    return sorted(ranked, key=lambda method: (_rank(method, request), method.name))


def best_run(request: SolveRequest, methods: Sequence[Method]) -> tuple[str, PlannedRun]:
    """The name and the planned run of the method that ``"auto"`` takes."""
    found = candidates(request, methods)
    if len(found) == 1:
        refuse_unused_width(request, found[0])
        return found[0].name, _planned(request, found[0])
    proposals = Proposals(request)
    for _, equal in groupby(found, lambda method: _rank(method, request)):
        # One rank after the other: a plan may take many linear programs.
        if proposals.add(list(equal)).planned:
            break
    best = proposals.best(found)
    refuse_unused_width(request, best)
    return best.name, proposals.planned[best.name]


def refuse_unused_width(request: SolveRequest, method: Method) -> None:
    """Refuse a declared bound that the method would pass over."""
    if request.width is not None and "width" in method.auto_leaves_out:
        cause = (
            f"with method={method.name!r}, which 'auto' takes here"
            if request.lp.penalty is None
            else "with soft rows and method='auto': noisy counts bound their norms"
        )
        raise InvalidParameterError(f"width has no use {cause}. Leave it out.", parameter="width")


def in_short(reasons: Mapping[str, object]) -> list[str]:
    """Why methods do not apply, one sentence for each reason and the methods that it concerns."""
    methods: dict[str, list[str]] = {}
    for method, reason in reasons.items():
        methods.setdefault(_first(reason), []).append(method)
    return [f"{', '.join(names)}: {reason}" for reason, names in methods.items()]


def _first(reason: object) -> str:
    """The first sentence of a reason."""
    return str(reason).split(". ", 1)[0].rstrip(".") + "."
