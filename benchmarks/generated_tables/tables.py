"""The page's words and tables."""

from __future__ import annotations

from typing import Any

from benchmarks.families.generated import FIRST_SEED
from benchmarks.generated_tables.cells import (
    AUTO,
    LONG,
    NOISELESS,
    PLAYERS,
    UNKNOWN,
    epsilons,
)
from benchmarks.generated_tables.found import (
    MEASURABLE,
    Found,
    mean_and_error,
)

Part = str | tuple[Any, Any]
_NONE = "–"


def about(seeds: int, minutes: float, delta: float) -> list[Part]:
    """What is measured."""
    short = "**A short run, to try the page.** " if seeds < 5 else ""
    return [
        (
            f"{short}Programs whose sizes and parameters a seed decides, but for the first three"
            " families (`benchmarks/families/generated.py`): 1,000 to 1,000,000 private rows, 5 to"
            " 1,000 variables, with a cap on filled entries so that HiGHS takes seconds. Rules were"
            f" fixed on seeds below 100; here are {seeds} programs of each family, with seeds from"
            f" {FIRST_SEED}."
            f" s = n/40, δ = {delta:g}, one record with its row is replaced. Numbers"
            " are the positive part of the (s+1)-th largest violation of a private row, as a share"
            " of the program's median |b_i| (of the median largest coefficient where that is 0),"
            " mean ± standard error over programs. Objective: over the optimum; packing and games"
            " maximise, so there less is worse."
        ),
        (
            f'*{AUTO}*: `method="auto"` with the exact optimum (LP-SVM: with a drawn 1-norm;'
            " no rule satisfies all rows, and x = 0 leaves a violation of 1 at an objective of 0)."
            f" *{UNKNOWN}*: without `opt`."
        ),
        f"{minutes:.0f} CPU minutes of solves.",
    ]


def parts(
    found: Found, families: list[str], asked: tuple[float, ...], of_plan: float
) -> list[Part]:
    """A table for each family, and descent without noise."""
    found_parts: list[Part] = []
    for family in families:
        found_parts += [
            f"## {family[0].upper()}{family[1:]}",
            _of_family(found, family, epsilons(family, asked)),
        ]
    return [
        *found_parts,
        *_noise_free(found, families, of_plan),
    ]


def _of_family(found: Found, family: str, shown: tuple[float, ...]) -> tuple[Any, Any]:
    rows: list[tuple[str, ...]] = []
    for player in PLAYERS:
        there = [eps for eps in shown if found.applies(family, player, eps)]
        if not there:
            continue

        def line(name: str, text: Any, player: str = player, there: Any = there) -> None:
            cells = (text(player, eps) if eps in there else _NONE for eps in shown)
            rows.append((name, *cells))

        line(player, lambda p, eps: mean_and_error(found.violation(family, p, eps)))
        line(
            f"{player}: objective",
            lambda p, eps: mean_and_error(found.of(family, p, eps, "cost"), 3),
        )
        line(f"{player}: method", lambda p, eps: found.methods(family, p, eps))
        line(
            f"{player}: seconds",
            lambda p, eps: f"{found.of(family, p, eps, 'seconds').mean():.1f}",
        )
    return ("", *(f"ε = {eps:g}" for eps in shown)), rows


def _noise_free(found: Found, families: list[str], eps: float) -> list[Part]:
    rows = []
    for family in families:
        if not all(found.applies(family, player, eps) for player in (NOISELESS, LONG)):
            continue
        least = [found.violation(family, player, eps) for player in (NOISELESS, LONG)]
        count = len(least[0])
        auto = found.violation(family, AUTO, eps)[:count]
        rounds = [found.of(family, player, eps, "rounds").mean() for player in (NOISELESS, LONG)]
        rows.append(
            (
                family,
                f"{auto.mean():.4f}",
                *(f"{violation.mean():.4f}" for violation in least),
                *(_over(auto.mean(), violation.mean()) for violation in least),
                f"{rounds[0]:,.0f}",
                f"{rounds[1]:,.0f}",
            )
        )
    if not rows:
        return []
    text = (
        f"*{AUTO}* at ε = {eps:g} beside `staged` planned for that ε with its noise left"
        f" out, and beside the same descent planned without noise, with more rounds; mean positive"
        f" part over the first programs. A ratio is given where the noise-free violation is at"
        f" least {MEASURABLE:g}. What remains without noise is softness and start, not privacy."
    )
    headers = (
        "family",
        AUTO,
        NOISELESS,
        LONG,
        "ratio to the former",
        "ratio to the latter",
        "rounds of the former",
        "of the latter",
    )
    return ["## Without noise", text, (headers, rows)]


def _over(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other >= MEASURABLE else _NONE
