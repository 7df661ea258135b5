"""Support vector machines as linear programs, and other private ones to compare with.

The matrices need nothing but privlp; the estimators follow scikit-learn's conventions and need it
(``pip install 'privlp[svm]'``).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from privlp.errors import MissingDependencyError

# isort: off
if TYPE_CHECKING:
    from svm_models.classifiers.dmw import DMWSVC as DMWSVC
    from svm_models.classifiers.exact import (
        LPSVC as LPSVC,
        QPSVC as QPSVC,
        DualPerturbationSVC as DualPerturbationSVC,
        HuberSVC as HuberSVC,
        RegularizedLogisticRegression as RegularizedLogisticRegression,
    )
    from svm_models.classifiers.linear_programs import hard_margin_lp as hard_margin_lp
    from svm_models.classifiers.linear_programs import soft_margin_lp as soft_margin_lp
    from svm_models.classifiers.risk import MarginLoss as MarginLoss
    from svm_models.classifiers.lp_svc import PrivateLPSVC as PrivateLPSVC
    from svm_models.classifiers.meta import (
        PrivateOneVsRestClassifier as PrivateOneVsRestClassifier,
    )
    from svm_models.classifiers.perturbed import (
        ObjectivePerturbationClassifier as ObjectivePerturbationClassifier,
        ObjectivePerturbationLogisticRegression as ObjectivePerturbationLogisticRegression,
        ObjectivePerturbationSVC as ObjectivePerturbationSVC,
        OutputPerturbationClassifier as OutputPerturbationClassifier,
        OutputPerturbationLogisticRegression as OutputPerturbationLogisticRegression,
        OutputPerturbationSVC as OutputPerturbationSVC,
    )
    from svm_models.classifiers.private_classifier import PrivateClassifier as PrivateClassifier
    from svm_models.datasets import fetch_adult as fetch_adult, fetch_kddcup99 as fetch_kddcup99
    from svm_models.datasets import make_nested_balls as make_nested_balls
    from svm_models.datasets import make_separable_sphere as make_separable_sphere
    from svm_models.datasets import make_unseparable_ball as make_unseparable_ball
    from svm_models.around_fits import RandomFourierFeatures as RandomFourierFeatures
    from svm_models.plan import FitPlan as FitPlan, plan as plan
    from svm_models.regression.estimators import (
        LPSVR as LPSVR,
        LPQuantileRegressor as LPQuantileRegressor,
        PrivateLPSVR as PrivateLPSVR,
        PrivateQuantileRegressor as PrivateQuantileRegressor,
    )
    from svm_models.around_fits import RepeatedFitsWarning as RepeatedFitsWarning
    from svm_models.selection import PrivateModelSelector as PrivateModelSelector
# isort: on

_HOMES = {
    "datasets": (
        "fetch_adult fetch_kddcup99 make_nested_balls make_separable_sphere make_unseparable_ball"
    ),
    "classifiers.dmw": "DMWSVC",
    "classifiers.exact": "LPSVC QPSVC HuberSVC RegularizedLogisticRegression DualPerturbationSVC",
    "classifiers.linear_programs": "hard_margin_lp soft_margin_lp",
    "classifiers.risk": "MarginLoss",
    "classifiers.lp_svc": "PrivateLPSVC",
    "classifiers.meta": "PrivateOneVsRestClassifier",
    "classifiers.perturbed": (
        "ObjectivePerturbationClassifier ObjectivePerturbationLogisticRegression "
        "ObjectivePerturbationSVC OutputPerturbationClassifier "
        "OutputPerturbationLogisticRegression OutputPerturbationSVC"
    ),
    "classifiers.private_classifier": "PrivateClassifier",
    "around_fits": "RandomFourierFeatures RepeatedFitsWarning",
    "plan": "FitPlan plan",
    "regression.estimators": "LPSVR LPQuantileRegressor PrivateLPSVR PrivateQuantileRegressor",
    "selection": "PrivateModelSelector",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [*_HOME_OF]  # noqa: PLE0604


class _Package(ModuleType):
    """A package in which the function ``plan`` hides the submodule of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the matrices do not need scikit-learn."""
    if name not in _HOME_OF:
        said = f"module 'svm_models' has no attribute {name!r}"
        raise AttributeError(said, name=name, obj=sys.modules[__name__])  # which suggests others
    try:
        return getattr(import_module(f"svm_models.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("sklearn", "pandas"):
            raise MissingDependencyError(
                f"{name} needs scikit-learn: install it by pip install 'privlp[svm]'."
            ) from error
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
