"""Calls in the middle of which something fails: any inner function, or HiGHS."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from tests.planted.injection import FAULTS, STATUSES, TARGETS, failing_highs, watched
from tests.planted.path import Attempt, Path, Refusal
from tests.planted.programs import methods_of, request_of
from tests.planted.successes import ESTIMATORS, fitting, planning, reporting, solving
from tests.planted.watch import watch

_DEAR_PROGRAMS = ("departed", "column", "row+scalar")
#: Calls into which faults are injected: of `solve`, `quality`, `plan` and `fit`, the long ones for
#: the long sweep only.
_SUBJECTS: dict[str, tuple[Callable[[int], Attempt], bool]] = {
    **{
        f"{name} {method}": (
            solving("", name, request_of(name, method)).attempt,
            name != "replace" and (method != "mw" or name in _DEAR_PROGRAMS),
        )
        for name in (
            "replace",
            "soft",
            "mixed",
            "scalar",
            "row",
            "objective",
            "all parts",
            "add-remove",
            *_DEAR_PROGRAMS,
        )
        for method in methods_of(name)
    },
    "scalar direct-noise ": (
        solving("", "scalar", request_of("scalar", "direct-noise")).attempt,
        False,
    ),
    "all parts never violated": (
        solving("", "all parts", request_of("all parts", "truncated-laplace")).attempt,
        False,
    ),
    "quality": (functools.partial(reporting, "replace"), False),
    "plan": (functools.partial(planning, "scalar"), True),
    **{
        name: (functools.partial(fitting, name), name.startswith("DMWSVC, ")) for name in ESTIMATORS
    },
}


def interrupted(*, dear: bool) -> Iterator[Path]:
    """Calls in the middle of which an exception is raised.

    At the first, the last and other calls of inner functions.
    """
    for number, (name, (attempt, subject_is_dear)) in enumerate(_SUBJECTS.items()):
        if subject_is_dear and not dear:
            continue
        counts = _counted(attempt)
        targets = [target for target in TARGETS if counts[target]]
        for place, target in enumerate(targets if dear else targets[number % 2 :: 2]):
            last = counts[target]
            places = {1, 2, 3, 5, last // 5, last // 3, last // 2, last - 1, last}
            for k in (
                sorted(k for k in places if 0 < k <= last)
                if dear
                else [1 + (7 * number + 3 * place) % last]
            ):
                fault = FAULTS[(number + place + k) % len(FAULTS)]
                label = f"{name}: {fault().__class__.__name__} at call {k} of {target}"
                yield Path(
                    label,
                    functools.partial(_broken, attempt, target, fault, k),
                    (BaseException, None),
                    twins=False,
                )


def _counted(attempt: Callable[[int], Attempt]) -> dict[str, int]:
    """How often a call reaches each target."""
    made = attempt(0)
    with contextlib.ExitStack() as stack:
        counts = {target: stack.enter_context(watched(target)) for target in TARGETS}
        seen = watch(made.call)
    assert seen.error is None, seen.error
    return {target: calls.count for target, calls in counts.items()}


def _broken(
    attempt: Callable[[int], Attempt],
    target: str,
    fault: Callable[[], BaseException],
    k: int,
    variant: int,
) -> Attempt:
    made = attempt(variant)

    def call() -> Any:
        with watched(target, fault, k):
            return made.call()

    return Attempt(call, made.secrets, made.after, made.left)


def without_highs(*, dear: bool) -> Iterator[Path]:
    """Calls in which HiGHS ends otherwise than it should, from some run on."""
    pairs = [
        ("scalar", "direct-noise"),
        ("row", "truncated-laplace"),
        ("all parts", "direct-noise"),
        ("replace", "chain"),
        ("departed", "chain"),
    ]
    pairs += [("scalar", "mw"), ("mixed", "chain"), ("objective", "truncated-laplace")]
    for name, method in pairs:
        for status in STATUSES if dear else STATUSES[:3]:
            for after in (0, 1, 2, 5) if dear else (0, 2):
                if (method == "chain" and after) and not dear:
                    continue
                attempt = functools.partial(
                    _failing, solving("", name, request_of(name, method)).attempt, status, after
                )
                yield Path(
                    f"{name} {method}: HiGHS ends with {status.name} from run {after + 1} on",
                    attempt,
                    (*Refusal, None),
                )


def _failing(attempt: Callable[[int], Attempt], status: Any, after: int, variant: int) -> Attempt:
    made = attempt(variant)

    def call() -> Any:
        with failing_highs(status, after):
            return made.call()

    return Attempt(call, made.secrets, made.after, made.left)
