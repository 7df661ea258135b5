"""What reading a program from a modelling language or a table costs, beside an exact solve.

Run with ``python -m benchmarks.readers``, some minutes. Times are those of the process; each
library has a process of its own, in which the solve and the reading follow one another.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import narwhals.stable.v2 as narwhals
import numpy as np

from benchmarks.measure import in_fresh_process, resident_bytes, timed
from benchmarks.published import write_page
from benchmarks.tables import Table
from privlp import ConstraintPrivate, LinearProgram, solve_exact

SIZE, SEED = (20_000, 50), 0
FOODS = [f"food{j}" for j in range(SIZE[1])]


def needs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """What a unit of each of 50 foods gives each person, and costs."""
    rng = np.random.default_rng(SEED)
    return rng.uniform(0.2, 1.0, (n, SIZE[1])), rng.uniform(1, 3, SIZE[1])


def in_linopy(A: np.ndarray, c: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    import linopy  # noqa: PLC0415
    import xarray as xr  # noqa: PLC0415

    rows = xr.DataArray(A, dims=["i", "food"], coords={"i": range(len(A)), "food": FOODS})
    model = linopy.Model()
    x = model.add_variables(lower=0, coords=[rows.indexes["food"]], name="x")
    model.add_constraints((rows * x).sum("food") >= 1, name="patient")
    model.add_objective((xr.DataArray(c, dims="food", coords={"food": FOODS}) * x).sum())
    return model, partial(model.solve, "highs", io_api="direct", output_flag=False)


def in_pyomo(A: np.ndarray, c: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    import pyomo.environ as pyo  # noqa: PLC0415
    from pyomo.core.expr import LinearExpression  # noqa: PLC0415

    model = pyo.ConcreteModel()
    model.x = pyo.Var(FOODS, within=pyo.NonNegativeReals)
    x, every = list(model.x.values()), A.tolist()
    model.patient = pyo.Constraint(
        range(len(A)),
        rule=lambda _, i: (1, LinearExpression(linear_coefs=every[i], linear_vars=x), None),
    )
    model.cost = pyo.Objective(expr=LinearExpression(linear_coefs=c.tolist(), linear_vars=x))
    return model, lambda: pyo.SolverFactory("appsi_highs").solve(model)


def in_pulp(A: np.ndarray, c: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    import pulp  # noqa: PLC0415

    model = pulp.LpProblem("diet")
    x = [pulp.LpVariable(food, lowBound=0) for food in FOODS]
    model += pulp.LpAffineExpression(list(zip(x, c.tolist(), strict=True)))
    for i, row in enumerate(A.tolist()):
        terms = pulp.LpAffineExpression(list(zip(x, row, strict=True)))
        model += pulp.LpConstraint(terms, 1, f"patient_{i}", 1)
    return model, lambda: model.solve(pulp.HiGHS(msg=False))


def in_mathopt(A: np.ndarray, c: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    from ortools.math_opt.python import mathopt  # noqa: PLC0415

    model = mathopt.Model(name="diet")
    x = [model.add_variable(lb=0, name=food) for food in FOODS]
    for i, row in enumerate(A.tolist()):
        of_row = model.add_linear_constraint(lb=1, name=f"patient_{i}")
        for variable, value in zip(x, row, strict=True):
            of_row.set_coefficient(variable, value)
    for variable, cost in zip(x, c.tolist(), strict=True):
        model.objective.set_linear_coefficient(variable, cost)
    return model, lambda: mathopt.solve(model, mathopt.SolverType.HIGHS)


def in_cvxpy(A: np.ndarray, c: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    import cvxpy as cp  # noqa: PLC0415

    x = cp.Variable(len(c), nonneg=True)
    problem = cp.Problem(cp.Minimize(c @ x), [A @ x >= 1])
    return problem, lambda: problem.solve(solver=cp.HIGHS)


def table(kind: str, A: np.ndarray) -> Any:
    """The rows and their sides as a table."""
    import polars as pl  # noqa: PLC0415

    frame = pl.DataFrame(-A, schema=FOODS).with_columns(side=pl.lit(-1.0))
    if kind == "pandas":
        return frame.to_pandas()
    if kind == "DuckDB":
        import duckdb  # noqa: PLC0415

        return duckdb.from_arrow(frame.to_arrow())
    if kind == "Ibis":
        import ibis  # noqa: PLC0415

        return ibis.memtable(frame.to_arrow())
    return {"polars": frame, "polars, lazy": frame.lazy(), "PyArrow": frame.to_arrow()}[kind]


MODELLERS = {
    "linopy": in_linopy,
    "Pyomo": in_pyomo,
    "PuLP": in_pulp,
    "OR-Tools MathOpt": in_mathopt,
    "CVXPY": in_cvxpy,
}
TABLES = ("pandas", "polars", "polars, lazy", "PyArrow", "DuckDB", "Ibis")
#: Lazy tables, and rows of one whose owners are asked for: these rows are held in memory.
LAZY, OWNED = ("polars, lazy", "DuckDB", "Ibis"), 1_000_000


def measured(action: Callable[[], Any]) -> tuple[float, int, Any]:
    """CPU seconds, bytes by which the peak of memory grows beyond what is in use, the result."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5")  # the peak is what is in use now
    except OSError:
        pass  # some systems do not let it: then a peak may be an earlier one
    before = resident_bytes()
    found, taken = timed(action)
    return taken, max(0, resident_bytes("VmHWM") - before), found


def owned(name: str, n: int) -> list[float]:
    """Bytes that a query takes alone, and then the program of its rows and their owners."""
    import polars as pl  # noqa: PLC0415

    def query(path: Path) -> Any:
        if name == "DuckDB":
            import duckdb  # noqa: PLC0415

            return duckdb.read_parquet(str(path))
        if name == "Ibis":
            import ibis  # noqa: PLC0415

            return ibis.read_parquet(path)
        return pl.scan_parquet(path)

    with tempfile.TemporaryDirectory() as folder:
        for size in (50, n):
            path, (A, c) = Path(folder, f"{size}.parquet"), needs(size)
            rows = pl.DataFrame(-A, schema=FOODS).with_columns(home=pl.int_range(size) // 2)
            rows.with_columns(side=pl.lit(-1.0)).write_parquet(path)
            del A, rows
            costs, pairs = dict(zip(FOODS, c, strict=True)), ConstraintPrivate(rows_per_record=2)
            options = {"groups": "home", "neighbours": pairs}
            frame = narwhals.from_native(query(path))
            _, alone, _ = measured(partial(frame.sink_parquet, Path(folder, "written.parquet")))
            taken, peak, lp = measured(
                partial(LinearProgram, costs, query(path), "side", **options)
            )
    assert lp.shape == (n, SIZE[1])
    return [alone, peak, taken]


def one(name: str, n: int) -> list[float]:
    """Seconds and bytes of the library's own solve, or of an exact one, and of reading."""
    for size in (50, n):  # the first imports what is needed, and is not counted
        A, c = needs(size)
        if name in MODELLERS:
            model, own = MODELLERS[name](A, c)
            read: Callable[[], Any] = partial(LinearProgram.from_model, model, private=None)
        else:
            costs = dict(zip(FOODS, c, strict=True))
            read = partial(LinearProgram, costs, table(name, A), "side")
            own = partial(solve_exact, LinearProgram(c, -A, -np.ones(size)))
        taken, peak, lp = measured(read)
        solved, of_solve, _ = measured(own)
    assert lp.shape == (n, SIZE[1])
    return [solved, of_solve, taken, peak]


@click.command()
@click.option("--rows", default=SIZE[0], show_default=True)
def main(rows: int) -> None:
    """Measure, and write the page."""
    tables: list[Table] = []
    data = rows * SIZE[1] * 8
    for names, solver in (
        (MODELLERS, "its own solve by HiGHS"),
        (TABLES, "`solve_exact` of the same rows"),
    ):
        lines = []
        for name in names:
            solved, of_solve, taken, peak = in_fresh_process(one, name, rows)
            lines.append(
                (
                    name,
                    *(f"{solved:.2f} s", f"{taken:.2f} s", f"{taken / solved:.2f}"),
                    *(f"{of_solve / data:.1f}", f"{peak / data:.1f}"),
                )
            )
        headers = ("", solver, "reading", "ratio", "memory of the solve", "memory of reading")
        tables.append((headers, lines))
    large = 8 * SIZE[1] * OWNED
    lines = []
    for name in LAZY:
        alone, peak, taken = in_fresh_process(owned, name, OWNED)
        lines.append((name, f"{taken:.1f} s", f"{peak / large:.2f}", f"{alone / large:.2f}"))
    tables.append((("", "reading", "memory", "memory of the query alone"), lines))
    write_page("readers", *tables)


if __name__ == "__main__":
    main()
