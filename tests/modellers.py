"""The same small programs in five modelling languages, for tests of readers.

Each function returns a model and its private constraints: rows needs x >= 1, and, public, a limit
and an equality.
"""

from __future__ import annotations

import numpy as np

FOODS = ["oats", "milk", "rice", "fish"]
COSTS = [1.0, 2.0, 1.0, 3.0]
NEEDS = np.random.default_rng(0).uniform(0.2, 1.0, (40, 4))
NEEDS[3, 1] = 0.0


def in_linopy(needs=NEEDS, costs=COSTS, *, integer=False, square=False, sense="min", last="fish"):
    import linopy
    import xarray as xr

    foods = [*FOODS[:3], last]
    rows = xr.DataArray(needs, dims=["i", "food"], coords={"i": range(len(needs)), "food": foods})
    model = linopy.Model()
    x = model.add_variables(lower=0, coords=[rows.indexes["food"]], name="x")
    if integer:
        model.add_variables(binary=True, name="open")
    private = None
    if len(needs):
        private = model.add_constraints((rows * x).sum("food") >= 1, name="patient")
    oats, milk, _, fish = (x.sel(food=food, drop=True) for food in foods)
    model.add_constraints(fish <= 3, name="stock")
    model.add_constraints(oats - milk == 0.5, name="mix")
    if costs:
        of = xr.DataArray(costs, dims="food", coords={"food": foods})
        model.add_objective((of * x).sum() if not square else (x * x).sum(), sense=sense)
    return model, private


def in_pyomo(needs=NEEDS, costs=COSTS, *, integer=False, square=False, sense="min", last="fish"):
    import pyomo.environ as pyo

    foods = [*FOODS[:3], last]
    model = pyo.ConcreteModel()
    model.x = pyo.Var(foods, within=pyo.NonNegativeReals)
    if integer:
        model.open = pyo.Var(within=pyo.Binary)
    x = list(model.x.values())
    model.patient = pyo.Constraint(
        range(len(needs)),
        rule=lambda _, i: (1, pyo.quicksum(a * v for a, v in zip(needs[i], x, strict=True)), None),
    )
    model.stock = pyo.Constraint(expr=x[3] <= 3)
    model.mix = pyo.Constraint(expr=x[0] - x[1] == 0.5)
    if costs:
        terms = pyo.quicksum(c * v for c, v in zip(costs, x, strict=True)) + (
            x[0] ** 2 if square else 0
        )
        model.cost = pyo.Objective(
            expr=terms, sense=pyo.maximize if sense == "max" else pyo.minimize
        )
    return model, model.patient


def in_pulp(needs=NEEDS, costs=COSTS, *, integer=False, square=False, sense="min", last="fish"):
    import pulp

    assert not square, "PuLP refuses it itself"
    foods = [*FOODS[:3], last]
    model = pulp.LpProblem("diet", pulp.LpMaximize if sense == "max" else pulp.LpMinimize)
    x = [
        pulp.LpVariable(f"x_{food}", lowBound=0, cat="Integer" if integer else "Continuous")
        for food in foods
    ]
    if costs:
        model += pulp.lpSum(c * v for c, v in zip(costs, x, strict=True))
    private = []
    for i, row in enumerate(needs):
        private.append(pulp.LpAffineExpression(list(zip(x, row.tolist(), strict=True))) >= 1)
        model += private[-1], f"patient_{i}"
    model += x[3] <= 3, "stock"
    model += x[0] - x[1] == 0.5, "mix"
    return model, private


def in_mathopt(needs=NEEDS, costs=COSTS, *, integer=False, square=False, sense="min", last="fish"):
    from ortools.math_opt.python import mathopt

    foods = [*FOODS[:3], last]
    model = mathopt.Model(name="diet")
    x = [model.add_variable(lb=0, name=f"x[{food}]", is_integer=integer) for food in foods]
    private = []
    for i, row in enumerate(needs):
        terms = mathopt.fast_sum([a * v for a, v in zip(row.tolist(), x, strict=True)])
        private.append(model.add_linear_constraint(terms >= 1, name=f"patient[{i}]"))
    model.add_linear_constraint(x[3] <= 3, name="stock")
    model.add_linear_constraint(x[0] - x[1] == 0.5, name="mix")
    if costs:
        cost = mathopt.fast_sum([c * v for c, v in zip(costs, x, strict=True)]) + (
            x[0] * x[0] if square else 0
        )
        model.set_objective(cost, is_maximize=sense == "max")
    return model, private


def in_cvxpy(needs=NEEDS, costs=COSTS, *, integer=False, square=False):
    import cvxpy as cp

    x = cp.Variable(4, nonneg=True, name="x", integer=integer)
    private = [needs @ x >= 1]
    rest = [x[3] <= 3, x[0] - x[1] == 0.5]
    cost = np.array(costs) @ x + (cp.square(x[0]) if square else 0)
    return cp.Problem(cp.Minimize(cost), private + rest), private


#: By the name of the distribution that must be installed.
MODELS = {"linopy": in_linopy, "pyomo": in_pyomo, "pulp": in_pulp, "ortools": in_mathopt}
READ = MODELS | {"cvxpy": in_cvxpy}


def empty(library, variables=0):
    """A model without rows, with so many variables, of which it minimises the sum."""
    if library == "linopy":
        import linopy

        model = linopy.Model()
        if variables:
            model.add_objective(1 * model.add_variables(lower=0, name="x"))
    elif library == "pyomo":
        import pyomo.environ as pyo

        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(variables))
        model.cost = pyo.Objective(expr=pyo.quicksum(model.x.values()))
    elif library == "pulp":
        import pulp

        model = pulp.LpProblem("empty")
        model += pulp.lpSum(pulp.LpVariable(f"x{j}") for j in range(variables))
    elif library == "ortools":
        from ortools.math_opt.python import mathopt

        model = mathopt.Model()
        model.minimize(mathopt.fast_sum([model.add_variable(lb=0) for _ in range(variables)]))
    else:
        import cvxpy as cp

        model = cp.Problem(cp.Minimize(cp.sum(cp.Variable(variables)) if variables else 0))
    return model
