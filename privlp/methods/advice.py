"""Advice on a request, from predictions: whether the number of rows and eps are enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from privlp.errors import PrivLPError
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.prediction import NoiseOnNumbers, Prediction
from privlp.methods.task import Task
from privlp.regions.mirror_map import Region
from privlp.regions.optimum import is_range, range_of
from privlp.regions.polytope import PublicPolytope
from privlp.regions.simplex import Simplex
from privlp.verdict import Verdict

# Predicted violations, as shares of the amount by which a row typically varies over the region: one
# above the first is useless, one below the second is useful.
_USELESS, _USEFUL = 0.5, 0.1


def region_of(task: Task) -> Region | None:
    """The public region of a program whose whole rows change.

    From vertex to vertex a row of norm 1 with entries of like size varies by the yardstick.
    """
    if not task.relation.changes_whole_rows:
        return None
    ranged = is_range(task.opt)
    try:
        return Simplex(task.form, max(task.opt, key=abs) if ranged else task.opt)
    except PrivLPError:
        try:
            return PublicPolytope(task.form, range_of(task.opt) if ranged else task.opt)
        except PrivLPError:
            return None


def advise(
    task: Task, prediction: Prediction | None, region: Region | None, yardstick: float | None
) -> tuple[Verdict, str]:
    """Whether rows and eps are enough, and in words what would be."""
    if prediction is not None and prediction.on_numbers:
        verdict, advice = _advice_on_noise(task, prediction.on_numbers)
        return verdict, f"{advice} {prediction.note}".rstrip()
    if prediction is not None and prediction.violation == 0:
        return Verdict.ROWS_HOLD, (
            f"{Verdict.ROWS_HOLD}: the rows hold. What noise on costs loses of the objective is not"
            " predicted."
        )
    if prediction is None or yardstick is None:
        return Verdict.UNKNOWN, (
            "Whether these violations are small is for you to say: what rows vary by over the"
            " region is not known publicly."
        )
    share = prediction.violation / yardstick
    times = (share / _USEFUL) ** (1 / prediction.power)
    n, eps = times * task.n, times * task.ledger.eps
    more = (
        f"About {times:.2g} times the rows ({n:.2g}), or eps = {eps:.2g}, would bring it to a"
        " tenth."
    )
    compared = (
        f"the predicted violation is {share:.2g} of what a row typically varies by over the region"
    )
    if isinstance(region, PublicPolytope):
        compared += " within the public bounds (the looser these are, the smaller this share)"
    on_search = _advice_on_search(task)
    if share > _USELESS:
        return Verdict.TOO_FEW_ROWS, (
            f"{Verdict.TOO_FEW_ROWS}: {compared}, so the result would tell next to nothing."
            f" {more}{on_search}"
        )
    if share > _USEFUL:
        return Verdict.ROUGH, f"{Verdict.ROUGH}: {compared}. {more}{on_search}"
    return Verdict.ENOUGH_ROWS, (
        f"{Verdict.ENOUGH_ROWS}: {compared}, if all rows can be satisfied; else that is what"
        f" noise adds to the least possible.{on_search}"
    )


def _advice_on_search(task: Task) -> str:
    """What a search for the optimum does, if there is one."""
    advice = ""
    if task.lp.penalty is None and (task.opt is None or is_range(task.opt)):
        advice = (
            f" Up to s = {task.density():g} rows are given up where that improves the objective,"
            " within its public range."
        )
    if _is_wide(task.opt):
        advice += (
            " This range is wide: the search for the optimum may end far from it, at either side."
            " Give a narrower one."
        )
    elif task.opt is None and task.lp.c.any():
        advice += (
            " Without opt that is the range of all objectives within the public rows and bounds:"
            " the search for the optimum may end far from it, at either side. Give a value, or a"
            " range."
        )
    return advice


def _is_wide(opt: Any) -> bool:
    """Whether the ends of a range are farther apart than half of the nearer one."""
    if not is_range(opt):
        return False
    low, high = range_of(opt)
    return high - low > min(abs(low), abs(high)) / 2


def _advice_on_noise(task: Task, noises: Sequence[NoiseOnNumbers]) -> tuple[Verdict, str]:
    """Whether the noise on private numbers is smaller than their declared ranges."""
    drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
    if drowned:
        return Verdict.TOO_MUCH_NOISE, (
            f"{Verdict.TOO_MUCH_NOISE} of the {drowned}: most releases would be an end"
            " of it, and x hardly depend on the data. A larger eps or delta, or a smaller"
            " sensitivity, would help."
        )
    shares = ", ".join(
        f"{noise.share:.2g} ({NAMES[noise.part]})"
        for noise in noises
        if math.isfinite(noise.declared)
    )
    compared = (
        f" Typically it takes up this share of the declared range: {shares}." if shares else ""
    )
    verdict = Verdict.PROBABLY_HOLD if isinstance(task.feasible, Real) else Verdict.NEVER_VIOLATED
    return verdict, (
        f"{verdict}.{compared} What that costs in objective depends on the private numbers."
    )
