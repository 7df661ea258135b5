"""The exact LP-SVM by its dual, p ranged rows, against the primal with n rows, in one run.

Both go through :func:`privlp.solve_exact`, so both pay for passing the program on and for the
certificate; the time inside HiGHS is stated too. Run with ``python -m benchmarks.lp_svm``; peak
memory is that of a process of its own for each side. An interrupted run goes on with the data set
where it stopped; delete ``benchmarks/.cache/lp_svm.jsonl`` to measure anew.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

import click
import highspy
import matplotlib.pyplot as plt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.measure import Parts, in_fresh_process, peak_resident_bytes
from benchmarks.published import save_picture, store, write_page
from benchmarks.thesis import DataSet, data_set
from privlp import solve_exact
from svm_models import LPSVC, soft_margin_lp

C = 1.0
LARGEST_DIFFERENCE = 1e-8
KNOWN = {"adult": 15995.0468372526}
TARGET = 10.0


def dual(data: DataSet, _limit: float) -> float | None:
    """Objective by the estimator: computed from its weights, and certified."""
    return float(LPSVC(C=C).fit(sp.csr_array(data.X), data.y).objective_)


def primal(data: DataSet, limit: float) -> float | None:
    """Objective of the soft-margin program as it is written; None if the time limit came first."""
    return solve_exact(soft_margin_lp(sp.csr_array(data.X), data.y, C), time_limit=limit).objective


SIDES: dict[str, Callable[[DataSet, float], float | None]] = {"dual": dual, "primal": primal}


@click.command()
@click.option(
    "--limit", default=600.0, show_default=True, help="Seconds after which the primal is given up."
)
@click.option("--peak", nargs=2, type=str, hidden=True)
def main(limit: float, peak: tuple[str, str] | None) -> None:
    """Solve both ways on Adult and KDDCup99, and write the table."""
    with threadpool_limits(1):
        if peak is not None:
            name, side = peak
            data = data_set(name, "unit")
            start, cpu = time.perf_counter(), time.process_time()
            before = peak_resident_bytes()
            with Parts({"HiGHS": (highspy.Highs, "run")}) as parts:
                objective = SIDES[side](data, limit)
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            print(
                float("nan") if objective is None else repr(objective),
                wall,
                cpu,
                sum(parts.seconds["HiGHS"]),
                peak_resident_bytes() - before,
            )
            return
        rows, notes, finished = [], [], store("lp_svm")
        for name in ("adult", "kdd"):
            if {"data": name} not in finished:
                before = os.getloadavg()[0]
                found = {
                    side: in_fresh_process(
                        "benchmarks.lp_svm", "--limit", limit, "--peak", name, side
                    )
                    for side in SIDES
                }
                finished.add({"data": name}, {"found": found, "load": [before, os.getloadavg()[0]]})
            (before, after), found = (
                finished[{"data": name}]["load"],
                finished[{"data": name}]["found"],
            )
            rows += _rows(name, found)
            notes.append(
                f"{name}: load of the machine {before:.1f} before, {after:.1f} after, on"
                f" {os.cpu_count()} cores"
            )
    write_page(
        "lp_svm",
        "The exact LP-SVM: dual against primal",
        [
            (
                "minimise ||w||_1 + C sum_i max(0, 1 - y_i x_i·w), C = 1. Not private: exact"
                " optima. Preprocessing “unit” (numeric columns divided by their largest value,"
                " categories to {0, 1}, rows to Euclidean norm 1), all 45,222 complete records of"
                " Adult and 70,000 random ones of KDDCup99. Dual: `svm_models.LPSVC`. Primal:"
                " `privlp.solve_exact(soft_margin_lp(X, y, 1))`. Both are HiGHS with the same"
                " options and one thread, on the same sparse records, one after the other in one"
                " run, each in a process of its own. Memory: peak beyond that of reading the"
                " records; – where reading them took more."
            ),
            (("data", "side", "objective", "wall s", "CPU s", "inside HiGHS s", "memory MB"), rows),
            *_verdicts(rows),
            "![CPU time of both](lp_svm.png)",
            "; ".join(notes) + ".",
        ],
    )
    _draw(rows)


def _draw(rows: list[list[str]]) -> None:
    figure, axes = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
    colors = ["#0072b2" if side == "dual" else "#d55e00" for _, side, *_ in rows]
    bars = axes.barh(
        [f"{data}, {side}" for data, side, *_ in rows],
        [float(row[4]) for row in rows],
        color=colors,
    )
    axes.bar_label(bars, [f" {row[4]} s" for row in rows])
    axes.set(xscale="log", xlabel="CPU time (s): reading excluded, one thread")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    save_picture("lp_svm", figure)


def _rows(name: str, found: dict[str, list[float]]) -> list[list[str]]:
    title = {"adult": "Adult", "kdd": "KDDCup99"}[name]
    return [
        [
            title,
            side,
            "not within the limit" if math.isnan(objective) else f"{objective:.10f}",
            f"{wall:.2f}",
            f"{cpu:.2f}",
            f"{highs:.2f}",
            f"{memory / 1e6:.0f}" if memory else "–",
        ]
        for side, (objective, wall, cpu, highs, memory) in found.items()
    ]


def _verdicts(rows: list[list[str]]) -> list[str]:
    verdicts = []
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        ratio, at_least = float(theirs[4]) / float(ours[4]), ""
        text = ""
        if theirs[2].startswith("not"):
            at_least = "at least "
        else:
            difference = abs(float(ours[2]) - float(theirs[2])) / abs(float(theirs[2]))
            text = (
                f"relative difference of the objectives {difference:.1e} (target 1e-8:"
                f" {_yes(difference <= LARGEST_DIFFERENCE)}); "
            )
        known = KNOWN.get({"Adult": "adult"}.get(ours[0], ""))
        if known is not None:
            off = abs(float(ours[2]) - known) / known
            text += (
                f"from the value known beforehand, {known!r}, {off:.1e}"
                f" ({_yes(off <= LARGEST_DIFFERENCE)}); "
            )
        wall = float(theirs[3]) / float(ours[3])
        verdicts.append(
            f"**{ours[0]}**: {text}primal / dual: {at_least}{ratio:.1f} in CPU time,"
            f" {at_least}{wall:.1f} by the clock"
            + (f" (target {TARGET:g}: {_yes(ratio >= TARGET)})." if known is not None else ".")
        )
    return verdicts


def _yes(condition: bool) -> str:
    return "yes" if condition else "NO"


if __name__ == "__main__":
    main()
