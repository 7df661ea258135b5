"""What a hint on the optimum changes, right or wrong."""

from __future__ import annotations

from typing import Any

from benchmarks.unknown_tables.cases import maximised
from benchmarks.unknown_tables.cells import Result
from benchmarks.unknown_tables.draws import (
    beyond_error,
    counted,
    mean_and_error,
    mean_and_most,
    share,
    succeeded,
    values,
)
from benchmarks.unknown_tables.runner import Runner

TITLE = "Hints"
EPS = 1.0
TRIED = (
    "map 20,000 x 80",
    "diet 20,000 x 25",
    "transport 20,000 x 48",
    "packing 20,000 x 30 (maximised)",
)
TOLD = ("none", "half", "exact", "twice", "half to twice")
ABOUT = (
    f'`opt` at ε = {EPS:g} with `method="auto"`: half the optimum, the optimum, twice the optimum,'
    " or the range between. Difference: to no hint, at the same programs and noise seeds."
)
_HEADERS = (
    "program",
    "hint",
    "method",
    "cost / OPT",
    "difference",
    "missed: mean; most",
    "success",
)


def parts(run: Runner) -> list[Any]:
    """Paragraphs and tables."""
    found = run.groups(
        {
            (name, hint): list(run.solves(name, eps=EPS, opt=hint))
            for name in run.some(TRIED)
            for hint in TOLD
        },
        "hints",
    )
    rows, worse = [], []
    for (name, hint), draws in found.items():
        none = found[name, "none"]
        rows.append(
            (
                name,
                hint,
                counted(draw.get("method", "refused") for draw in draws),
                mean_and_error(values(draws, "ratio")),
                "" if hint == "none" else mean_and_error(_differences(draws, none)),
                mean_and_most(values(draws, "missed")),
                share(succeeded(draw, maximised=maximised(name)) for draw in draws),
            )
        )
        reasons = [] if hint == "none" else worse_in(draws, none, maximised=maximised(name))
        if reasons:
            worse.append(f"{name}, {hint} ({' and '.join(reasons)})")
    pairs = len(found) - len(found) // len(TOLD)
    verdict = (
        f"Of {pairs} hints, those worse than none by more than two standard errors of the paired"
        f" difference: {'; '.join(worse) if worse else 'none'}."
        if run.programs * run.draws > 1
        else "One draw has no standard error, so hints are not judged."
    )
    return [f"## {TITLE}", ABOUT, (_HEADERS, rows), verdict]


def worse_in(draws: list[Result], none: list[Result], *, maximised: bool) -> list[str]:
    """In what a hint is worse than none, beyond two standard errors: cost, success.

    Rows missed count where there are more than s.
    """
    sign = -1 if maximised else 1
    found = ["cost"] if beyond_error(sign * _differences(draws, none)) else []
    successes = [
        float(succeeded(other, maximised=maximised)) - succeeded(draw, maximised=maximised)
        for draw, other in zip(draws, none, strict=True)
    ]
    return [*found, "success"] if beyond_error(successes) else found


def _differences(draws: list[Result], none: list[Result]) -> Any:
    return values(draws, "ratio") - values(none, "ratio")
