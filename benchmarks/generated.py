"""`auto` on families of programs whose sizes and parameters a seed decides.

Beside it: `auto` that knows nothing, and staged descent without noise.
Run with ``python -m benchmarks.generated``; an interrupted run goes on where it stopped. About 25
minutes of one core. With ``--families`` or ``--eps`` the tables are printed and no page is written.
"""

from __future__ import annotations

import hashlib
from typing import Any

import click

from benchmarks import stale
from benchmarks.cache import Cache
from benchmarks.families.generated import FIRST_SEED, GENERATED
from benchmarks.generated_tables import tables
from benchmarks.generated_tables.cells import (
    DELTA,
    EPSILONS,
    LONG,
    NOISELESS,
    PLAYERS,
    Cell,
    epsilons,
    measure,
)
from benchmarks.generated_tables.found import Found
from benchmarks.measure import print_table
from benchmarks.published import METHOD_STYLES, over_eps, picture, write_page

#: The eps at which the descent runs without noise: stages are planned for it.
_OF_PLAN = 1.0
#: Layout and verdicts may change without measuring anew.
_NOT_MEASURED = (
    "benchmarks/generated.py",
    "benchmarks/generated_tables/tables.py",
    "benchmarks/generated_tables/found.py",
)


@click.command()
@click.option("--seeds", default=5, show_default=True, help="Programs of each family.")
@click.option("--first-seed", default=FIRST_SEED, show_default=True, help="Below 100 to try.")
@click.option("--families", default="", help="Parts of names, separated by commas; all if empty.")
@click.option("--eps", default="", help="Among 0.5, 1, 2, 4, separated by commas; all if empty.")
@click.option(
    "--noise-free-seeds", default=2, show_default=True, help="Programs to descend without noise."
)
@click.option("--processes", default=2, show_default=True, help="In parallel.")
def main(
    seeds: int,
    first_seed: int,
    families: str,
    eps: str,
    noise_free_seeds: int,
    processes: int,
) -> None:
    """Measure; write the page with its picture, or print tables of a part of it."""
    chosen, asked = _chosen(families), _asked(eps)
    cells = _cells(chosen, asked, range(first_seed, first_seed + seeds), noise_free_seeds)
    cache = Cache("generated", _state())
    results = cache.measure_all(
        cells, measure, processes=processes, description="generated programs"
    )
    found = Found(cells, results)
    parts = tables.parts(found, chosen, asked, _OF_PLAN)
    minutes = sum(result["seconds"] for result in results if result) / 60
    if families or eps or first_seed != FIRST_SEED:
        for part in parts:
            _print(part)
        print(f"{minutes:.1f} CPU minutes of solves.")
        return
    _draw(found)
    about = tables.about(seeds, minutes, DELTA)
    write_page(
        "generated",
        "Generated families",
        [*about, "![Violation over ε](generated.png)", *parts],
    )


def _chosen(families: str) -> list[str]:
    wanted = [part.strip().lower() for part in families.split(",") if part.strip()]
    found = [n for n in GENERATED if not wanted or any(part in n.lower() for part in wanted)]
    if not found:
        raise click.BadParameter(
            f"no family has such a name; there are: {'; '.join(GENERATED)}.",
            param_hint="--families",
        )
    return found


def _asked(eps: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in eps.split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"not numbers: {eps!r}.", param_hint="--eps") from None
    if not set(values) <= set(EPSILONS):
        raise click.BadParameter("must be among 0.5, 1, 2, 4.", param_hint="--eps")
    return values or EPSILONS


def _cells(
    families: list[str], asked: tuple[float, ...], seeds: range, noise_free: int
) -> list[Cell]:
    """All measurements, those of one program side by side."""
    found: list[Cell] = []
    for family in families:
        for seed in seeds:
            program = {"family": family, "seed": seed}
            found += [
                {**program, "player": player, "eps": eps}
                for eps in epsilons(family, asked)
                for player in PLAYERS
            ]
            if seed - seeds.start < noise_free and _OF_PLAN in epsilons(family, asked):
                found += [
                    {**program, "player": player, "eps": _OF_PLAN} for player in (NOISELESS, LONG)
                ]
    return found


def _state() -> str:
    """Fingerprint of the code that decides the measurements; docstrings do not count."""
    kept = {
        path: digest
        for path, digest in stale.state_of("generated").items()
        if path not in _NOT_MEASURED
    }
    return hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:12]


def _draw(found: Found) -> None:
    shown = [family for family in GENERATED if len(epsilons(family)) > 1]
    with picture("generated", len(shown)) as axes:
        for axis, family in zip(axes, shown, strict=True):
            for player, style in zip(PLAYERS, ("auto", "dmw"), strict=True):
                if not found.applies(family, player, EPSILONS[0]):
                    continue
                means = [found.violation(family, player, eps).mean() for eps in EPSILONS]
                axis.plot(EPSILONS, means, label=player, **METHOD_STYLES[style])
            over_eps(axis, EPSILONS)
            axis.set_yscale("symlog", linthresh=1e-3)
            axis.set_ylim(bottom=0)
            axis.set(title=family)
        for axis in axes[::3]:
            axis.set_ylabel("(s+1)-th largest violation\n(share of a typical side)")


def _print(part: Any) -> None:
    if isinstance(part, str):
        print(f"\n{part}")
    else:
        print_table("", *part, disable_numparse=True)


if __name__ == "__main__":
    main()
