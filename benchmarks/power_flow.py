"""DC optimal power flow with private loads, of a grid that is public."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp import LinearProgram, ScalarPrivate

_RESERVE = 1.25


@dataclass(frozen=True)
class Grid:
    """Loads of buses in MW; generators (bus, most, cost per MW); lines (from, to, x, limit)."""

    name: str
    loads: np.ndarray
    generators: np.ndarray
    lines: np.ndarray


_LOADS = [0, 21.7, 94.2, 47.8, 7.6, 11.2, 0, 0, 29.5, 9, 3.5, 6.1, 13.5, 14.9]
_GENERATORS = [[0, 332.4, 34.3], [1, 140, 55], [2, 100, 41], [5, 100, 41], [7, 100, 41]]
_ENDS = "0-1 0-4 1-2 1-3 1-4 2-3 3-4 3-6 3-8 4-5 5-10 5-11 5-12 6-7 6-8 8-9 8-13 9-10 11-12 12-13"
_X = ".0592 .223 .198 .1763 .1739 .171 .0421 .2091 .5562 .252 .1989 .2558 .1303 .1762 .11"
_X += " .0845 .2704 .1921 .1999 .348"
#: The IEEE test case of 14 buses (University of Washington, Power Systems Test Case Archive). The
#: cost of a generator is that of its mean MW at full load, by the costs of MATPOWER's case file.
CASE14 = Grid(
    "14 buses",
    np.array(_LOADS, dtype=float),
    np.array(_GENERATORS, dtype=float),
    np.array(
        [
            (*map(float, ends.split("-")), float(x), 0.0)
            for ends, x in zip(_ENDS.split(), _X.split(), strict=True)
        ]
    ),
)


def read_case(path: Path) -> Grid:
    """A grid from a case file of MATPOWER; costs are those of the mean MW at full load.

    Some files hold loads in kW and impedances in ohm, which they convert; so does this.
    """
    text = path.read_text()
    found = re.findall(r"mpc\.(\w+) = \[(.*?)\];", text, flags=re.DOTALL)
    tables: dict[str, Any] = {}
    for name, body in found:
        rows = [line.split("%")[0].rstrip("; \t\r") for line in body.strip().splitlines()]
        tables[name] = [[float(entry) for entry in row.split()] for row in rows if row.strip()]
    bus, place = np.array(tables["bus"]), {int(row[0]): k for k, row in enumerate(tables["bus"])}
    on = [k for k, row in enumerate(tables["gen"]) if row[7] > 0 and row[8] > 0]
    made, costs = [tables["gen"][k] for k in on], [tables["gencost"][k] for k in on]
    generators = [
        (place[int(row[0])], row[8], np.polyval(cost[4 : 4 + int(cost[3])], row[8]) / row[8])
        for row, cost in zip(made, costs, strict=True)
    ]
    lines = [
        (place[int(row[0])], place[int(row[1])], row[3], row[5])
        for row in tables["branch"]
        if row[10] > 0
    ]
    loads, branches = np.maximum(bus[:, 2], 0), np.array(lines)
    if "loads from kW to MW" in text:
        loads = loads / 1e3
        branches[:, 2] *= 100.0 / bus[0, 9] ** 2
    return Grid(f"{len(bus)} buses", loads, np.array(generators), branches)


def _lines(grid: Grid) -> tuple[sp.csr_array, sp.csr_array]:
    """Between which buses lines lead, and their flows by angles of buses, in MW of 100 MVA."""
    start, end, x, _ = grid.lines.T
    count, each = len(x), np.arange(len(x))
    shape = (count, len(grid.loads))
    ends = sp.csr_array((np.ones(count), (each, start.astype(int))), shape=shape)
    ends = ends - sp.csr_array((np.ones(count), (each, end.astype(int))), shape=shape)
    return ends, sp.csr_array(sp.diags_array(100.0 / x) @ ends)


def dc_opf(
    grid: Grid, relation: dict[str, Any], *, angles: bool = True, known: float = 0.2
) -> LinearProgram:
    """Meet all loads at the least cost; a load is `known` publicly to within a share of itself.

    With `angles` each bus is a row, and flows between buses are variables' differences. Without,
    generation must exceed the sum of loads: the lines of a grid without limits carry whatever
    flows, and only generation is decided and released.
    """
    buses, generators = len(grid.loads), len(grid.generators)
    at, most, cost = grid.generators.T
    made = sp.csr_array(
        (np.ones(generators), (at.astype(int), np.arange(generators))), shape=(buses, generators)
    )
    if not angles:
        total = float(grid.loads.sum())
        relation = {"lower": (1 - known) * total, "upper": (1 + known) * total, **relation}
        return LinearProgram(
            cost,
            np.ones((1, generators)),
            [np.inf],
            row_lower=[total],
            bounds=np.column_stack([np.zeros(generators), most]),
            neighbours=ScalarPrivate(**relation),
            name=f"{grid.name}, sum of loads",
        )
    limit, (ends, flows) = grid.lines[:, 3], _lines(grid)
    limited = np.flatnonzero(limit > 0)
    A = sp.vstack(
        [
            sp.hstack([made, -ends.T @ flows]),
            sp.hstack([sp.csr_array((len(limited), generators)), flows[limited]]),
        ]
    )
    private = np.append(grid.loads > 0, np.zeros(len(limited), dtype=bool))
    lower = np.where(grid.loads > 0, (1 - known) * grid.loads, -1.0)
    relation = {"lower": np.append(lower, -limit[limited]), **relation}
    upper = (1 + known) * grid.loads + 1.0 * (grid.loads == 0)
    relation["upper"] = np.append(upper, limit[limited])
    turned = np.tile([-2.0, 2.0], (buses, 1))
    turned[0] = 0.0
    return LinearProgram(
        np.append(cost, np.zeros(buses)),
        sp.csr_array(A),
        np.append(np.full(buses, np.inf), limit[limited]),
        row_lower=np.append(grid.loads, -limit[limited]),
        bounds=np.vstack([np.column_stack([np.zeros(generators), most]), turned]),
        private=private,
        neighbours=ScalarPrivate(**relation),
        name=f"{grid.name}, each bus",
    )


def dc_opf_with_control(
    grid: Grid, relation: dict[str, Any], *, known: float = 0.2
) -> LinearProgram:
    """Each bus balances; all generators follow the loads in public shares, within a reserve.

    A generator makes what is decided beforehand and its share of `control`, at most the reserve
    either way: a quarter more than loads may differ from what is known. A line with a limit has a
    flow of its own: a variable after `control`, and an equality with b = 0 for everybody.
    """
    at, most, cost = grid.generators.T
    buses, generators, reserve = (
        len(grid.loads),
        len(at),
        _RESERVE * known * float(grid.loads.sum()),
    )
    made = sp.csr_array(
        (np.ones(generators), (at.astype(int), np.arange(generators))), shape=(buses, generators)
    )
    ends, flows = _lines(grid)
    limited, free = np.flatnonzero(grid.lines[:, 3] > 0), np.flatnonzero(grid.lines[:, 3] <= 0)
    limit, share = grid.lines[limited, 3], most / most.sum()
    angles = -(ends[free].T @ flows[free])[:, 1:]
    held = share * reserve
    balance = [made, angles, sp.csr_array(made @ share[:, None]), -ends[limited].T]
    ohm = [None, flows[limited][:, 1:], None, -sp.eye_array(len(limited))]
    loads, nothing = grid.loads, np.zeros(len(limited))
    declared = {
        "lower": np.append((1 - known) * loads, nothing),
        "upper": np.append((1 + known) * loads, nothing),
    }
    turned = np.tile([-np.inf, np.inf], (buses - 1, 1))
    bounds = [np.column_stack([held, most - held]), turned, [[-reserve, reserve]]]
    names = [f"generator{k}" for k in range(generators)] + [f"angle{k}" for k in range(1, buses)]
    return LinearProgram(
        np.concatenate([cost, np.zeros(buses - 1), [share @ cost], nothing]),
        sp.csr_array(sp.block_array([balance, ohm]) if len(limited) else sp.hstack(balance[:3])),
        np.append(loads, nothing),
        row_lower=np.append(loads, nothing),
        bounds=np.vstack([*bounds, np.column_stack([-limit, limit])]),
        neighbours=ScalarPrivate(**{**declared, **relation}),
        variable_names=[*names, "control", *(f"line{k}" for k in limited)],
        name=grid.name,
    )
