"""Calls in the middle of which something fails: any inner function, or HiGHS."""

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from unittest import mock

import highspy
import numpy as np

from tests.planted.path import Attempt, Path, Refusal
from tests.planted.programs import methods_of, request_of
from tests.planted.successes import ESTIMATORS, fitting, planning, reporting, solving
from tests.planted.watch import watch

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
    "privlp.rows.on_simplex:RowsOnGrid.weighed",
    "privlp.game.duals:DenseRows.add",
    "privlp.game.loop:Game.step",
    "privlp.game.loop:time.monotonic",
    "svm_models.records.scaled:within_norm",
    "svm_models.classifiers.perturbed:signed",
    "svm_models.classifiers.risk:cho_factor",
    "svm_models.classifiers.risk:RegularizedRisk.gradient",
    "svm_models.classifiers.risk:Margins.hessian",
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
FAULTS = (
    KeyboardInterrupt,
    lambda: MemoryError("Unable to allocate 1.00 GiB for an array"),
    lambda: np.linalg.LinAlgError("Singular matrix"),
    lambda: FloatingPointError("overflow encountered"),
    lambda: RuntimeError("injected"),
)


#: Ways in which HiGHS may fail without raising.
STATUSES = [
    getattr(highspy.HighsModelStatus, f"k{name}")
    for name in ("SolveError", "Unknown", "Infeasible", "Unbounded", "IterationLimit", "ModelError")
]


@contextlib.contextmanager
def watched(
    target: str, fault: Callable[[], BaseException] | None = None, at: int = 0
) -> Iterator[Counter[str]]:
    """Count the calls of a target; raise `fault` in the place of call number `at`, from 1."""
    module, _, path = target.partition(":")
    *outer, name = path.split(".")
    owner = functools.reduce(getattr, outer, import_module(module))
    calls: Counter[str] = Counter()
    original = getattr(owner, name)

    def counting(*arguments: Any, **options: Any) -> Any:
        calls[target] += 1
        if fault is not None and calls[target] == at:
            raise fault()
        return original(*arguments, **options)

    replacement: Any = counting
    if isinstance(owner, type) and isinstance(vars(owner).get(name), classmethod):
        replacement = staticmethod(counting)
    elif isinstance(original, np.ufunc):
        replacement = _Ufunc(original, counting)
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


@contextlib.contextmanager
def failing_highs(status: highspy.HighsModelStatus, after: int) -> Iterator[None]:
    """HiGHS ends with a status from run number `after` on, from 0."""
    answer = highspy.Highs.getModelStatus

    def failing(highs: Any) -> Any:
        return status if runs["highspy:Highs.run"] > after else answer(highs)

    with (
        watched("highspy:Highs.run") as runs,
        mock.patch.object(highspy.Highs, "getModelStatus", failing),
    ):
        yield


_DEAR_PROGRAMS = ("departed", "column", "row+scalar")
_PROGRAMS = (
    *("replace", "soft", "mixed", "scalar", "row", "objective", "all parts", "add-remove"),
    *_DEAR_PROGRAMS,
)


def _solved(name: str, method: str) -> Callable[[int], Attempt]:
    return solving("", name, request_of(name, method)).attempt


#: Calls into which faults are injected: of `solve`, `quality`, `plan` and `fit`, the long ones for
#: the long sweep only.
_SUBJECTS: dict[str, tuple[Callable[[int], Attempt], bool]] = {
    **{
        f"{name} {method}": (
            _solved(name, method),
            name != "replace" and (method != "mw" or name in _DEAR_PROGRAMS),
        )
        for name in _PROGRAMS
        for method in methods_of(name)
    },
    "scalar direct-noise ": (_solved("scalar", "direct-noise"), False),
    "all parts never violated": (_solved("all parts", "truncated-laplace"), False),
    "quality": (functools.partial(reporting, "replace"), False),
    "plan": (functools.partial(planning, "scalar"), True),
    **{n: (functools.partial(fitting, n), n.startswith("DMWSVC, ")) for n in ESTIMATORS},
}


def subjects(*, dear: bool) -> list[str]:
    """What is interrupted."""
    return [name for name, (_, is_dear) in _SUBJECTS.items() if dear or not is_dear]


def interrupted(*, dear: bool) -> Iterator[Path]:
    """Calls in which an exception is raised at the first, the last and other calls of inner functions."""
    for name in subjects(dear=dear):
        yield from interrupted_subject(name, dear=dear)


def interrupted_subject(name: str, *, dear: bool) -> Iterator[Path]:
    """The same of one subject, which is called once to count these calls."""
    number, attempt = list(_SUBJECTS).index(name), _SUBJECTS[name][0]
    counts = _counted(attempt)
    targets = [target for target in TARGETS if counts[target]]
    for place, target in enumerate(targets if dear else targets[number % 2 :: 2]):
        last = counts[target]
        places = {1 + (7 * number + 3 * place) % last}
        if dear:
            places = {1, 2, 3, 5, last // 5, last // 3, last // 2, last - 1, last}
        for k in sorted(k for k in places if 0 < k <= last):
            fault = FAULTS[(number + place + k) % len(FAULTS)]
            label = f"{name}: {fault().__class__.__name__} at call {k} of {target}"
            broken = functools.partial(watched, target, fault, k)
            failing = functools.partial(_within, attempt, broken)
            yield Path(label, failing, (BaseException, None), twins=False)


def _counted(attempt: Callable[[int], Attempt]) -> Counter[str]:
    """How often a call reaches each target."""
    made = attempt(0)
    with contextlib.ExitStack() as stack:
        counts = [stack.enter_context(watched(target)) for target in TARGETS]
        seen = watch(made.call)
    assert seen.error is None, seen.error
    return sum(counts, Counter())


def _within(attempt: Callable[[int], Attempt], context: Any, variant: int) -> Attempt:
    made = attempt(variant)

    def call() -> Any:
        with context():
            return made.call()

    return Attempt(call, made.secrets, made.after, made.left)


def without_highs(*, dear: bool) -> Iterator[Path]:
    """Calls in which HiGHS ends otherwise than it should, from some run on."""
    for name, method in (
        *(("scalar", "direct-noise"), ("row", "truncated-laplace"), ("all parts", "direct-noise")),
        *(("replace", "chain"), ("departed", "chain"), ("scalar", "mw"), ("mixed", "chain")),
        ("objective", "truncated-laplace"),
    ):
        for status in STATUSES if dear else STATUSES[:3]:
            for after in (0, 1, 2, 5) if dear else (0, 2)[: 1 if method == "chain" else 2]:
                failing = functools.partial(failing_highs, status, after)
                attempt = functools.partial(_within, _solved(name, method), failing)
                label = f"{name} {method}: HiGHS ends with {status.name} from run {after + 1} on"
                yield Path(label, attempt, (*Refusal, None))
