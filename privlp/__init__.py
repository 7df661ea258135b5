"""privlp: solve linear programs under differential privacy.

State a linear program and what its neighbours may differ in, then solve it privately:

>>> import privlp
>>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1], [-1, -3]], b=[-2, -3])
>>> privlp.solve_exact(lp).objective  # HiGHS, not private
2.5
>>> no_noise = float("inf")  # not private
>>> solution = privlp.solve(lp, eps=no_noise, delta=0, s=1, alpha=0.05, opt=2.5)
>>> privlp.compare(lp, solution).violation_at(0) < 0.05
True
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # As in ``typing``, which takes longer to import than all else here.
if TYPE_CHECKING:
    from privlp import examples as examples
    from privlp import models as models
    from privlp.allocation.allocate import allocate as allocate
    from privlp.allocation.demand import PersonPrivate as PersonPrivate
    from privlp.allocation.people import Allocation as Allocation
    from privlp.allocation.planning import AllocationPlan as AllocationPlan
    from privlp.allocation.result import AllocationResult as AllocationResult
    from privlp.audits import AuditedRelease as AuditedRelease
    from privlp.audits import AuditResult as AuditResult
    from privlp.audits import SolveAudit as SolveAudit
    from privlp.audits import audit as audit
    from privlp.audits import audit_solve as audit_solve
    from privlp.compare import Comparison as Comparison
    from privlp.compare import compare as compare
    from privlp.errors import BudgetExceededError as BudgetExceededError
    from privlp.errors import BudgetFileError as BudgetFileError
    from privlp.errors import InvalidParameterError as InvalidParameterError
    from privlp.errors import InvalidProblemError as InvalidProblemError
    from privlp.errors import MissedRowsWarning as MissedRowsWarning
    from privlp.errors import MissingDependencyError as MissingDependencyError
    from privlp.errors import MostlyNoiseWarning as MostlyNoiseWarning
    from privlp.errors import NotPrivateWarning as NotPrivateWarning
    from privlp.errors import PrivLPError as PrivLPError
    from privlp.errors import PublicPointWarning as PublicPointWarning
    from privlp.errors import ReadError as ReadError
    from privlp.errors import RelationMismatchError as RelationMismatchError
    from privlp.errors import UnsupportedProblemError as UnsupportedProblemError
    from privlp.exact import ExactSolution as ExactSolution
    from privlp.exact import solve_exact as solve_exact
    from privlp.explore.page import explore as explore
    from privlp.linear_program import LinearProgram as LinearProgram
    from privlp.plan import Plan as Plan
    from privlp.plan import plan as plan
    from privlp.privacy import Budget as Budget
    from privlp.quality import Quality as Quality
    from privlp.quality import quality as quality
    from privlp.relations import ColumnPrivate as ColumnPrivate
    from privlp.relations import ConstraintPrivate as ConstraintPrivate
    from privlp.relations import ObjectivePrivate as ObjectivePrivate
    from privlp.relations import RowPrivate as RowPrivate
    from privlp.relations import ScalarPrivate as ScalarPrivate
    from privlp.solution import Solution as Solution
    from privlp.solve import solve as solve
    from privlp.status import Status as Status
    from privlp.status import Verdict as Verdict

__version__ = "1.0.0rc1"

_HOME_OF = {
    name: f"privlp.{home}"
    for home, names in {
        "allocation.allocate": "allocate",
        "allocation.demand": "PersonPrivate",
        "allocation.people": "Allocation",
        "allocation.planning": "AllocationPlan",
        "allocation.result": "AllocationResult",
        "audits": "AuditedRelease AuditResult SolveAudit audit audit_solve",
        "errors": (
            "BudgetExceededError BudgetFileError InvalidParameterError InvalidProblemError"
            " MissingDependencyError MissedRowsWarning MostlyNoiseWarning NotPrivateWarning"
            " PublicPointWarning PrivLPError ReadError RelationMismatchError"
            " UnsupportedProblemError"
        ),
        "exact": "ExactSolution solve_exact",
        "explore.page": "explore",
        "plan": "Plan plan",
        "privacy": "Budget",
        "linear_program": "LinearProgram",
        "relations": "ColumnPrivate ConstraintPrivate ObjectivePrivate RowPrivate ScalarPrivate",
        "compare": "Comparison compare",
        "quality": "Quality quality",
        "solution": "Solution",
        "solve": "solve",
        "status": "Status Verdict",
    }.items()
    for name in names.split()
}
_SUBMODULES = ("audits", "errors", "examples", "models", "privacy", "problem", "relations")

__all__ = ["examples", "models", *_HOME_OF]  # noqa: PLE0604


class _Package(ModuleType):
    """A package in which a public function hides the submodule of its name, such as ``solve``."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: ``import privlp`` is quick."""
    if name in _SUBMODULES:
        return import_module(f"privlp.{name}")
    if name not in _HOME_OF:
        said = f"module 'privlp' has no attribute {name!r}"
        raise AttributeError(said, name=name, obj=sys.modules[__name__])  # which suggests others
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
