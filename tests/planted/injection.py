"""Faults in the middle of a computation.

An exception at the k-th call of an inner function, and HiGHS that fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from unittest import mock

import highspy
import numpy as np

#: Inner functions: of the package, of HiGHS, of NumPy and SciPy, as the package looks them up.
TARGETS = (
    "privlp.privacy.randomness:ChargedDraws.__call__",
    "privlp.privacy.ledger:Ledger.charge_together",
    "privlp.privacy.ledger:Ledger.record",
    "privlp.problem.standard_form:StandardForm.of",
    "privlp.rows.program_rows:RowBlock.__matmul__",
    "privlp.rows.program_rows:row_by_row",
    "highspy:Highs.run",
    "highspy:Highs.passModel",
    "highspy:Highs.getSolution",
    "privlp.game.descent:ElasticRows.scores",
    "privlp.game.dense:DenseRows.add",
    "privlp.game.loop:Game.step",
    "privlp.game.loop:time.monotonic",
    "svm_models.classifiers.base:within_norm",
    "svm_models.classifiers.perturbed:signed",
    "svm_models.classifiers.minimise:cho_factor",
    "svm_models.classifiers.minimise:RegularizedRisk.gradient",
    "svm_models.classifiers.minimise:Margins.hessian",
    "numpy:exp",
    "numpy:sqrt",
    "numpy:maximum",
    "numpy:zeros",
    "numpy:concatenate",
    "numpy:asarray",
    "numpy:bincount",
    "numpy.linalg:norm",
    "numpy.linalg:eigh",
)
#: What may happen to a computation from outside.
FAULTS: tuple[Callable[[], BaseException], ...] = (
    KeyboardInterrupt,
    lambda: MemoryError("Unable to allocate 1.00 GiB for an array"),
    lambda: np.linalg.LinAlgError("Singular matrix"),
    lambda: FloatingPointError("overflow encountered"),
    lambda: RuntimeError("injected"),
)


@dataclass
class Calls:
    """How often a target was called while it was watched."""

    count: int = 0


@contextlib.contextmanager
def watched(
    target: str, fault: Callable[[], BaseException] | None = None, at: int = 0
) -> Iterator[Calls]:
    """Count the calls of a target; raise `fault` in the place of call number `at`, from 1."""
    module, _, path = target.partition(":")
    owner: Any = import_module(module)
    *outer, name = path.split(".")
    for step in outer:
        owner = getattr(owner, step)
    calls = Calls()
    original = getattr(owner, name)
    bound = isinstance(owner, type) and isinstance(vars(owner).get(name), classmethod)

    def counting(*arguments: Any, **options: Any) -> Any:
        calls.count += 1
        if fault is not None and calls.count == at:
            raise fault()
        return original(*arguments, **options)

    replacement = (
        staticmethod(counting)
        if bound
        else _Ufunc(original, counting)
        if isinstance(original, np.ufunc)
        else counting
    )
    with mock.patch.object(owner, name, replacement):
        yield calls


class _Ufunc:
    """A universal function that is called through another one."""

    def __init__(self, original: np.ufunc, call: Callable[..., Any]) -> None:
        self._original, self._call = original, call

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._call(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


#: Ways in which HiGHS may fail without raising.
STATUSES = (
    highspy.HighsModelStatus.kSolveError,
    highspy.HighsModelStatus.kUnknown,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kIterationLimit,
    highspy.HighsModelStatus.kModelError,
)


@contextlib.contextmanager
def failing_highs(status: highspy.HighsModelStatus, after: int) -> Iterator[None]:
    """HiGHS ends with a status from run number `after` on, from 0."""
    runs = Calls()
    run, answer = highspy.Highs.run, highspy.Highs.getModelStatus

    def counting(highs: Any) -> Any:
        runs.count += 1
        return run(highs)

    with (
        mock.patch.object(highspy.Highs, "run", counting),
        mock.patch.object(
            highspy.Highs,
            "getModelStatus",
            lambda highs: status if runs.count > after else answer(highs),
        ),
    ):
        yield
