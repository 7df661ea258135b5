"""Reading and solving exactly, against HiGHS itself: equal optima, and what privlp adds in time.

The first table needs the folder of test programs; the second makes its own programs of realistic
structure, each more than ten times as large as Netlib's shell (536 rows, 1,775 columns, 3,556
non-zeros).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.measure import (
    ROOT,
    Parts,
    Turns,
    in_fresh_process,
    peak_resident_bytes,
    print_table,
)
from privlp import ExactSolution, LinearProgram, PrivLPError, exact, solve_exact
from privlp.problem import readers

DATA = ROOT.parent / "shared" / "data" / "lp"
OPTIMAL = ("adlittle", "afiro", "avgas", "e226", "israel", "scrs8", "shell", "stair")
OTHERS = ("box1", "klein1", "gas11", "garbage", "nan0")
LARGEST_DIFFERENCE = 1e-9
TARGET = 1.10
TURNS = 5

Ints = npt.NDArray[np.int64]


class Sketch:
    """A linear program under construction.

    Variables and rows are blocks of indices; entries are put where blocks meet.
    """

    def __init__(self) -> None:
        self._variables: list[npt.NDArray[np.float64]] = []
        self._rows: list[npt.NDArray[np.float64]] = []
        self._entries: list[list[npt.NDArray[Any]]] = []

    def variables(self, cost: Any, upper: Any = np.inf) -> Ints:
        """Non-negative variables, one per cost."""
        return self._block(self._variables, cost, upper)

    def rows(self, lower: Any, upper: Any) -> Ints:
        """Rows, one per pair of sides."""
        return self._block(self._rows, lower, upper)

    def put(self, rows: Any, columns: Any, values: Any) -> None:
        """Set entries; the three arguments broadcast."""
        self._entries.append([part.ravel() for part in np.broadcast_arrays(rows, columns, values)])

    def write(self, path: Path) -> tuple[int, int, int]:
        """Write an MPS file; returns the numbers of rows, columns and non-zeros."""
        (lower, upper), (cost, limit) = np.hstack(self._rows), np.hstack(self._variables)
        i, j, values = map(np.concatenate, zip(*self._entries, strict=True))
        matrix = sp.csc_array((values.astype(float), (i, j)), shape=(len(lower), len(cost)))
        matrix.eliminate_zeros()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(len(cost)), limit
        model.row_lower_, model.row_upper_ = lower, upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = (
            matrix.indptr,
            matrix.indices,
            matrix.data,
        )
        model.row_names_ = [f"row{i}" for i in range(len(lower))]
        model.col_names_ = [f"col{j}" for j in range(len(cost))]
        highs = quiet_highs()
        highs.passModel(model)
        highs.writeModel(str(path))
        return (*matrix.shape, matrix.nnz)

    @staticmethod
    def _block(table: list[npt.NDArray[np.float64]], first: Any, second: Any) -> Ints:
        pair = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
        start = sum(block.shape[1] for block in table)
        table.append(np.stack([part.ravel() for part in pair]))
        return start + np.arange(pair[0].size).reshape(pair[0].shape)


def production(products: int = 60, periods: int = 36, factories: int = 4) -> Sketch:
    """Production planning: make, store, ship or be late.

    Machine hours with overtime, and room in the stores.
    """
    rng = np.random.default_rng(1)
    shape = (products, periods, factories)
    machines = 3
    season = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(periods) / 12 + rng.random((products, 1))))
    demand = np.round(
        rng.uniform(20, 100, (products, 1)) * season * rng.uniform(0.8, 1.2, (products, periods)), 1
    )
    hours = np.round(rng.uniform(0.2, 3, (products, 1, factories, machines)), 2)
    hours *= rng.random(hours.shape) < 0.7
    capacity = np.round(0.9 / factories * np.einsum("p,pfm->fm", demand.mean(axis=1), hours[:, 0]))
    sketch = Sketch()
    make = sketch.variables(
        np.round(rng.uniform(5, 20, (products, 1, factories)) * rng.uniform(0.9, 1.1, shape), 2)
    )
    keep = sketch.variables(
        np.round(np.broadcast_to(rng.uniform(0.2, 1, (products, 1, factories)), shape), 2)
    )
    ship = sketch.variables(
        np.round(np.broadcast_to(rng.uniform(0.5, 3, (products, 1, factories)), shape), 2)
    )
    late = sketch.variables(
        np.round(np.broadcast_to(rng.uniform(10, 40, (products, 1)), demand.shape), 2)
    )
    overtime = sketch.variables(np.full((periods, factories, machines), 6.5), 0.3 * capacity)
    balance = sketch.rows(np.zeros(shape), 0)
    meet = sketch.rows(demand, demand)
    machine = sketch.rows(-np.inf, np.broadcast_to(capacity, (periods, factories, machines)))
    store = sketch.rows(
        -np.inf,
        np.full((periods, factories), np.round(0.8 * demand.mean(axis=1).sum() / factories)),
    )
    sketch.put(balance, make, 1)
    sketch.put(balance, keep, -1)
    sketch.put(
        balance[:, 1:], keep[:, :-1], np.round(rng.uniform(0.95, 1, (products, 1, factories)), 3)
    )
    sketch.put(balance, ship, -1)
    sketch.put(meet[:, :, None], ship, 1)
    sketch.put(meet, late, 1)
    sketch.put(meet[:, 1:], late[:, :-1], -1)
    sketch.put(machine, make[..., None], hours)
    sketch.put(machine, overtime, -1)
    sketch.put(store, keep, np.round(rng.uniform(0.5, 2, (products, 1, 1)), 2))
    return sketch


def flow(commodities: int = 20, nodes: int = 500, neighbours: int = 4) -> Sketch:
    """Multi-commodity flow: goods from two sources each to twenty sinks over shared roads.

    What does not arrive is bought.
    """
    rng = np.random.default_rng(0)
    tail, head, length = _nearest(places := rng.random((nodes, 2)), places, neighbours + 1)
    roads = np.unique(
        np.hstack([np.stack([tail, head, length]), np.stack([head, tail, length])]), axis=1
    )
    roads = roads[:, roads[2] > 0]
    tail, head, length = roads[0].astype(int), roads[1].astype(int), roads[2]
    wanted = np.zeros((commodities, nodes))
    for net in wanted:
        ends = rng.choice(nodes, 22, replace=False)
        net[ends[2:]] = rng.integers(1, 10, 20)
        net[ends[:2]] = -net.sum() / 2
    sketch = Sketch()
    carry = sketch.variables(
        np.round(100 * length * rng.uniform(0.8, 1.2, (commodities, len(length))), 2)
    )
    buy, dump = (
        sketch.variables(np.full(wanted.shape, 2000)),
        sketch.variables(np.full(wanted.shape, 2000)),
    )
    node = sketch.rows(wanted, wanted)
    road = sketch.rows(-np.inf, rng.integers(20, 60, len(length)))
    sketch.put(node[:, head], carry, 1)
    sketch.put(node[:, tail], carry, -1)
    sketch.put(node, buy, 1)
    sketch.put(node, dump, -1)
    sketch.put(road, carry, 1)
    return sketch


def distribution(
    customers: int = 3000, products: int = 3, houses: int = 150, plants: int = 40
) -> Sketch:
    """Two-stage transportation: plants to warehouses to customers.

    Room is shared, and unmet demand has a price.
    """
    rng = np.random.default_rng(2)
    plant, house, customer = (rng.random((size, 2)) for size in (plants, houses, customers))
    into, source, first_leg = _nearest(house, plant, 10)
    target, via, second_leg = _nearest(customer, house, 8)
    size = np.round(rng.uniform(0.5, 2, (products, 1)), 2)
    demand = rng.integers(5, 60, (products, customers)).astype(float)
    total = demand.sum(axis=1, keepdims=True)
    sketch = Sketch()
    supply = sketch.variables(
        np.round(3 + 40 * first_leg * rng.uniform(0.9, 1.1, (products, len(into))), 2)
    )
    deliver = sketch.variables(
        np.round(1 + 100 * second_leg * rng.uniform(0.9, 1.1, (products, len(target))), 2)
    )
    unmet = sketch.variables(np.full(demand.shape, 90))
    make = sketch.rows(-np.inf, np.round(np.broadcast_to(1.6 * total / plants, (products, plants))))
    through = sketch.rows(np.zeros((products, houses)), 0)
    meet = sketch.rows(demand, np.inf)
    room = sketch.rows(
        -np.inf, np.round((size * total).sum() / houses * rng.uniform(0.7, 1.8, houses))
    )
    hours = sketch.rows(
        -np.inf, np.round(1.25 * total.sum() / plants * rng.uniform(0.7, 1.4, plants))
    )
    sketch.put(make[:, source], supply, 1)
    sketch.put(through[:, into], supply, 1)
    sketch.put(through[:, via], deliver, -1)
    sketch.put(meet[:, target], deliver, 1)
    sketch.put(meet, unmet, 1)
    sketch.put(room[via], deliver, size)
    sketch.put(
        hours[source], supply, np.round(rng.uniform(0.5, 2, (products, plants)), 2)[:, source]
    )
    return sketch


def _nearest(places: Any, targets: Any, number: int) -> tuple[Ints, Ints, npt.NDArray[np.float64]]:
    """Each place with its nearest targets: indices of both, and distances."""
    distance = np.linalg.norm(places[:, None] - targets[None], axis=2)
    nearest = np.argsort(distance, axis=1)[:, :number]
    return (
        np.repeat(np.arange(len(places)), number),
        nearest.ravel(),
        np.take_along_axis(distance, nearest, axis=1).ravel(),
    )


PROGRAMS: dict[str, Callable[[], Sketch]] = {
    "production planning": production,
    "multi-commodity flow": flow,
    "two-stage distribution": distribution,
}


def quiet_highs() -> highspy.Highs:
    """HiGHS as it comes, without its log."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    return highs


def raw(path: Path) -> highspy.Highs:
    """The baseline: HiGHS reads and solves the file."""
    highs = quiet_highs()
    if highs.readModel(str(path)) != highspy.HighsStatus.kError:
        highs.run()
    return highs


def ours(path: Path) -> ExactSolution:
    """Read, build, solve and certify with privlp."""
    return solve_exact(LinearProgram.from_mps(path))


def compare_known(folder: Path) -> None:
    """Objectives of the optimal programs, and what becomes of the others."""
    rows = []
    for name in OPTIMAL:
        expected, found = (
            raw(folder / f"{name}.mps").getObjectiveValue(),
            ours(folder / f"{name}.mps"),
        )
        difference = (
            np.nan if found.objective is None else abs(found.objective - expected) / abs(expected)
        )
        rows.append(
            [
                name,
                expected,
                found.objective,
                f"{difference:.1e}",
                difference <= LARGEST_DIFFERENCE,
                found.status.value,
            ]
        )
    print_table(
        "Optimal programs: objective by HiGHS alone and through privlp; relative difference at"
        f" most {LARGEST_DIFFERENCE:g}?",
        ["program", "HiGHS", "privlp", "difference", "equal", "status"],
        rows,
        floatfmt=".10g",
    )
    rows = []
    for name in OTHERS:
        highs = raw(folder / f"{name}.mps")
        try:
            answer = ours(folder / f"{name}.mps").status.value
        except PrivLPError as error:
            answer = f"{type(error).__name__}: {str(error).replace(str(folder), '...')}"
        rows.append([name, highs.modelStatusToString(highs.getModelStatus()), answer])
    print_table(
        "Programs without an optimum, and files that are no programs.",
        ["program", "HiGHS", "privlp"],
        rows,
    )


def time_generated(folder: Path) -> None:
    """Total time and peak memory on large programs."""
    totals, splits = [], []
    for number, (name, sketch) in enumerate(PROGRAMS.items()):
        path = folder / f"program{number}.mps"
        size = sketch().write(path)
        expected, found = raw(path), ours(path)
        difference = abs(found.objective - expected.getObjectiveValue()) / abs(
            expected.getObjectiveValue()
        )
        memory = np.divide(
            *(in_fresh_process("benchmarks.exact", "--peak", who, path) for who in ("ours", "raw"))
        )
        places = {
            "parse": (readers, "read_model"),
            "read": (LinearProgram, "from_mps"),
            "pass on": (exact, "to_highs"),
            "HiGHS": (highspy.Highs, "run"),
            "certify": (exact, "_certified"),
        }
        parts = Parts(places)
        turns = Turns(
            lambda: _timed(parts, path),  # noqa: B023 (called in this round only)
            lambda: raw(path),  # noqa: B023
            turns=TURNS,
        )
        totals.append(
            [
                name,
                *size,
                np.median(turns.baseline),
                turns.of_medians,
                turns.of_minima,
                difference,
                *memory,
            ]
        )
        splits.append([name, *_shares(parts, turns)])
    print_table(
        f"Read + build + solve + certify through privlp / read + solve by HiGHS alone: {TURNS}"
        f" turns each. Target: ratio of\nmedians <= {TARGET:.2f}. memory: ratio of what a fresh"
        " process needs at its peak beyond its imports.",
        [
            "program",
            "rows",
            "columns",
            "non-zeros",
            "HiGHS s",
            "medians",
            "minima",
            "difference",
            "memory",
        ],
        totals,
        floatfmt=("", "", "", "", ".2f", ".3f", ".3f", ".0e", ".2f"),
        intfmt=",",
    )
    print_table(
        "Where our time goes, in % of the time of HiGHS alone (medians).",
        ["program", "parse", "build", "pass on", "HiGHS", "certify", "rest"],
        splits,
        floatfmt=".1f",
    )


def _timed(parts: Parts, path: Path) -> None:
    with parts:
        ours(path)


def _shares(parts: Parts, turns: Turns) -> list[float]:
    unit = np.median(turns.baseline) / 100
    parse, read, pass_on, run, certify = (
        float(np.median(times)) / unit for times in parts.seconds.values()
    )
    rest = float(np.median(turns.ours)) / unit - read - pass_on - run - certify
    return [parse, read - parse, pass_on, run, certify, rest]


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    peak = parser.parse_args().peak
    with threadpool_limits(1):
        if peak is not None:
            who, path = peak
            before = peak_resident_bytes()
            _kept = {"ours": ours, "raw": raw}[who](Path(path))
            print(peak_resident_bytes() - before)
            return
        if DATA.is_dir():
            compare_known(DATA)
        else:
            print("Skipped the test programs: their folder is not here.")
        with tempfile.TemporaryDirectory() as folder:
            time_generated(Path(folder))


if __name__ == "__main__":
    main()
