"""Models of linopy, Pyomo, PuLP and MathOpt, as programs and back."""

import re
import warnings

import numpy as np
import pytest
from effort import pairs
from modellers import COSTS, FOODS, MODELS, NEEDS, READ, empty, in_cvxpy

import privlp
from privlp import (
    InvalidParameterError,
    InvalidProblemError,
    LinearProgram,
    MissedRowsWarning,
    ObjectivePrivate,
    PrivLPError,
    ReadError,
    ScalarPrivate,
    solve,
    solve_exact,
)

read = privlp.LinearProgram.from_model
PATIENTS = np.arange(42) < 40
NUMBERS = privlp.ScalarPrivate(0.1, lower=0.5, upper=1.5)
SEVERAL = privlp.ConstraintPrivate(change="add-remove", rows_per_record=2, nominal_n=40)


@pytest.fixture(params=MODELS)
def made(request):
    """What makes a model of a library that is installed."""
    pytest.importorskip(request.param, reason="the library whose models are read")
    return MODELS[request.param]


def test_same_program_same_bits_from_all_five():
    """So "same seed, same bits", which one of them shows by a solve."""
    pytest.importorskip("cvxpy", reason="all five are compared")
    model, private = in_cvxpy()
    first = read(model, private=private, neighbours=NUMBERS)
    x = solve(first, eps=1.0, delta=1e-3, feasible="always", rng=0).x
    for library, make in MODELS.items():
        pytest.importorskip(library, reason="all five are compared")
        model, private = make()
        lp = read(model, private=private, neighbours=NUMBERS)
        for field in ("c", "b", "row_lower", "bounds", "private"):
            assert getattr(lp, field).tobytes() == getattr(first, field).tobytes(), (library, field)
        for part in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(lp.A, part), getattr(first.A, part)), (library, part)
        assert (lp.sense, lp.offset) == ("min", 0.0)
        again = solve(lp, eps=1.0, delta=1e-3, feasible="always", rng=0)
        assert again.x.tobytes() == x.tobytes(), library
        assert [name[2:].strip("[]") for name in again.variable_names] == FOODS
        assert [name.strip("[]")[-1] for name in lp.row_names[:3]] == ["0", "1", "2"]
        assert lp.row_names[-2:] == ("stock", "mix")


def test_private_rows_by_objects_names_and_patterns(made):
    model, private = made()
    objects = [private[0], private[7]] if isinstance(private, list) else private
    name = read(model).row_names[7]
    some = np.isin(np.arange(42), [0, 7]) if isinstance(private, list) else PATIENTS
    listed = objects if isinstance(private, list) else [objects]
    for given, expected in (
        (None, np.arange(42) < 41),
        (objects, some),
        (listed, some),
        (iter(listed), some),
        (dict(enumerate(listed)).values(), some),
        ("patient*", PATIENTS),
        ("patient?3??" if "[" in name else "patient_3?", np.isin(np.arange(42), np.arange(30, 40))),
        (name, np.arange(42) == 7),
        (["mix", name, "st*k"], np.isin(np.arange(42), [7, 40, 41])),
        (["mix", *listed], some | (np.arange(42) == 41)),
        (PATIENTS, PATIENTS),
        ([40, 2], np.isin(np.arange(42), [40, 2])),
        (iter([40, 2]), np.isin(np.arange(42), [40, 2])),
        ([], np.zeros(42, dtype=bool)),
    ):
        assert np.array_equal(read(model, private=given).private, expected), given


def test_the_name_of_a_container_is_that_of_its_rows(made):
    model, _ = made()
    if read(model).row_names[0] == "patient_0":  # names of PuLP have no brackets
        with pytest.raises(InvalidProblemError, match=r"begin so, write 'patient\*'\.$"):
            read(model, private="patient")
        return
    assert np.array_equal(read(model, private="patient").private, PATIENTS)


def test_values_are_read_as_after_a_solve_of_the_library(made):
    model, private = made()
    lp = read(model, private=private, neighbours=NUMBERS)
    solution = solve(lp, eps=1.0, delta=1e-3, feasible="always", rng=0)
    exact = solve_exact(lp)
    for found, status in ((solution, "suboptimal"), (exact, "optimal")):
        if made is MODELS["ortools"]:
            with pytest.raises(InvalidParameterError, match=r"dict\(zip\(model.variables\(\), sol"):
                found.assign(model)
            continue
        found.assign(model)
        if made is MODELS["linopy"]:
            assert np.array_equal(model.solution["x"].sel(food=FOODS), found.x)
            assert (model.status, model.termination_condition) == ("ok", status)
            assert model.objective.value == found.objective
        elif made is MODELS["pyomo"]:
            from pyomo.environ import value

            assert [value(variable) for variable in model.x.values()] == found.x.tolist()
            assert value(model.cost) == pytest.approx(found.objective)
        else:
            assert (model.status, model.sol_status) == (1, 1 if status == "optimal" else 2)
            assert {v.name: v.varValue for v in model.variables()} == dict(
                zip(found.variable_names, found.x, strict=True)
            )
            assert model.objective.value() == pytest.approx(found.objective)
    other, _ = made(last="eggs")
    with pytest.raises(InvalidParameterError, match=r"variables of the .* are not those of"):
        exact.assign(other)
    with pytest.raises(InvalidParameterError, match="problem must be the model that was read: a l"):
        exact.assign("model")
    with pytest.raises(InvalidParameterError, match="holds no x"):
        solve_exact(privlp.LinearProgram([1], [[1]], [-1])).assign(model)


def test_columns_that_are_kept_get_no_value(made):
    """An earlier value would look released; the objective needs it."""
    if made is MODELS["ortools"]:
        pytest.skip("its variables hold no values")
    model, _ = made(NEEDS[:0])
    solve_exact(read(model, private="stock", neighbours=privlp.ScalarPrivate(0.1))).assign(model)
    lp = read(model, private="mix", neighbours=privlp.ScalarPrivate(0.1, lower=0, upper=1))
    released = lp.with_recourse("*oats*")
    solution = solve(released, eps=1.0, delta=1e-3, feasible="always", rng=0)
    assert solution.kept == released.kept == lp.variable_names[:1]
    solution.assign(model)
    if made is MODELS["linopy"]:
        values = model.solution["x"].values.tolist()
        assert np.isnan(model.objective.value)
    elif made is MODELS["pyomo"]:
        values = [variable.value for variable in model.x.values()]
    else:
        values = [
            v.varValue for v in sorted(model.variables(), key=lambda v: FOODS.index(v.name[2:]))
        ]
    assert values[0] is None or np.isnan(values[0])
    assert values[1:] == solution.x.tolist()
    with pytest.raises(InvalidParameterError, match="are not those of the solution"):
        solve_exact(lp.with_recourse("*oats*").changed(kept=())).assign(model)


def test_private_bounds_are_shown_as_rows(made):
    message = r"Bounds are public. Write .* x <= limit, named in private=...; in arrays"
    with pytest.raises(InvalidParameterError, match=message):
        read(made()[0], private_bounds={"x*": 3})
    with pytest.raises(InvalidParameterError, match=message):
        privlp.LinearProgram([1], [[1]], [1], private_bounds=[(0, 3)])


def test_rows_without_coefficients_stay(made):
    """Which rows there are is public, so it may not depend on their numbers."""
    needs = NEEDS.copy()
    needs[5] = 0
    lp = read(made(needs)[0])
    assert lp.shape == (42, 4)
    assert lp.A[[5]].nnz == 0
    assert lp.row_lower[5] == 1


def test_prices_by_constraint_name_and_pattern(made):
    model, private = made()
    several = (
        {private[0]: 2.0, private[1]: 3} if isinstance(private, list) else {private: range(2, 42)}
    )
    lp = read(model, penalty={**several, "stock": 7.0})
    assert lp.penalty[:2].tolist() == [2, 3]
    assert lp.penalty[-2:].tolist() == [7, np.inf]
    assert read(model, penalty=2.5).penalty[[0, 41]].tolist() == [2.5, np.inf]
    for penalty, message in (
        ({"mix": 1.0}, "penalty names public rows; soft rows are private. Name these too"),
        ({"pat*": [1, 2]}, "a positive number, or one for each of the rows"),
        ({"pat*": -1}, "a positive number, or one for each of the rows"),
        ({"nobody": 1}, "No constraint has a name that matches penalty='nobody'"),
    ):
        with pytest.raises(InvalidProblemError, match=message):
            read(model, penalty=penalty)


def test_malformed_numbers_are_refused(made):
    needs = NEEDS.copy()
    needs[2, 1] = np.nan
    if made is MODELS["linopy"]:
        model, _ = made()
        model.constraints["patient"].rhs.values[2] = np.nan
        with pytest.raises(InvalidProblemError, match=r"bounds of row 'patient\[2\]' contain NaN"):
            read(model)
        return
    with pytest.raises(InvalidProblemError, match="A contains NaN"):
        read(made(needs)[0])


#: What is passed, and what the message says; of a model, and of another one like it.
BAD = {
    "no row's name": (lambda own, _: {"private": [*own, "no*"]}, "matches private='no\\*'"),
    "a name beside rows": (lambda own, _: {"private": [*own, "x"]}, "that matches private='x'"),
    "another model's row": (lambda _, of: {"private": of}, "private lists .* constraint"),
    "a row beside numbers": (lambda own, _: {"private": [*own, 3.5]}, "private (lists|must be)"),
    "a mask of two rows": (lambda _, of: {"private": [True, False]}, "private (is a mask|must be)"),
    "no owners": (lambda own, _: {"private": own, "groups": [1]}, r"groups has shape \(1,\)"),
    "a column": (lambda own, _: {"groups": "home"}, "groups='home' would name a column of a table"),
    "a price in words": (lambda own, _: {"penalty": "low"}, "penalty must be a positive number"),
    "another's price": (lambda _, of: {"penalty": {of[0]: 1}}, "penalty (lists|names) what is no"),
    "no box": (lambda own, _: {"box": -1.0}, "box must be a positive finite number, got -1.0"),
    "no relation": (lambda own, _: {"neighbours": "one"}, "neighbours must be a neighbour re"),
}


@pytest.mark.parametrize(("library", "fault"), pairs(READ, BAD))
def test_bad_input_is_named_before_anything_is_read(library, fault):
    pytest.importorskip(library, reason="the library whose models are read")
    (model, own), (_, other) = READ[library](NEEDS[:2]), READ[library](NEEDS[:2])
    own, other = (each if isinstance(each, list) else [each] for each in (own, other))
    options, message = BAD[fault]
    with warnings.catch_warnings(action="ignore", category=privlp.MissedRowsWarning):
        with pytest.raises((InvalidProblemError, InvalidParameterError, ReadError), match=message):
            read(model, **options(own, other))
        with pytest.raises(InvalidParameterError, match=r"LinearProgram, got .*from_model makes o"):
            solve(model, eps=1.0, delta=1e-6, s=1)


RELAX = {
    "linopy": "relax",
    "pyomo": "relax_integer",
    "pulp": "Continuous",
    "ortools": "= False",
    "cvxpy": "Variable",
}
NO_PROGRAM = {
    "integer": "continuous|integer, boolean",
    "square": "objective that is not linear; privlp solves|The CVXPY problem is not",
    "costs": "has no objective. State one",
}


@pytest.mark.parametrize(("library", "fault"), pairs(READ, NO_PROGRAM))
def test_what_is_no_linear_program_is_refused(library, fault):
    pytest.importorskip(library, reason="the library whose models are read")
    if (library, fault) in {("pulp", "square"), ("cvxpy", "costs")}:
        pytest.skip("the library itself refuses it, or has an objective always")
    message = NO_PROGRAM[fault]
    if fault == "integer":
        message = f"({message}).* its bounds: .*{RELAX[library]}"
    with pytest.raises(ReadError, match=message):
        read(READ[library](NEEDS[:2], **{fault: None if fault == "costs" else True})[0])


@pytest.mark.parametrize("library", READ)
def test_an_empty_model_is_refused(library):
    """Without variables, and without rows."""
    pytest.importorskip(library, reason="the library whose models are read")
    with pytest.raises(ReadError, match=r"(is empty: it )?has no variables"):
        read(empty(library))
    with pytest.raises(ReadError, match=r"(is empty: it )?has no constraints"):
        read(empty(library, variables=1))


@pytest.mark.parametrize("other", [None, "model.mps", object(), np.eye(2)])
def test_what_is_no_model_is_refused(other):
    message = "from_model takes a linopy.Model, .* a cvxpy.Problem, got .*. from_mps reads files"
    with pytest.raises(ReadError, match=message):
        read(other)


def test_several_constraints_of_linopy_at_once_but_no_variables():
    pytest.importorskip("linopy", reason="its containers")
    model, _ = MODELS["linopy"]()
    chosen = read(model, private=model.constraints[["patient", "mix"]]).private
    assert np.array_equal(chosen, PATIENTS | (np.arange(42) == 41))
    assert np.array_equal(read(model, private=range(40)).private, PATIENTS)
    for wrong in (model.variables["x"], model.variables):
        with pytest.raises(InvalidProblemError, match="private lists what is no constraint of"):
            read(model, private=wrong)


def test_add_remove_tells_no_number_of_rows(made):
    """Every row is private by default; a pattern may select none, if its only row has left."""
    model, _ = made()
    assert read(model, neighbours=SEVERAL).private.all()
    lp = read(model, neighbours=SEVERAL, private=["patient*", "nobody"])
    assert np.array_equal(lp.private, PATIENTS)
    assert "42" not in repr(lp)
    needs = NEEDS[:0]
    assert read(made(needs)[0], neighbours=SEVERAL, private="patient*").shape == (2, 4)


def test_rows_that_nobody_named_private_are_named(made):
    """Else a limit of a stock would be given up without a word."""
    with pytest.warns(privlp.MissedRowsWarning, match=r"taken for private: .*'stock") as heard:
        assert read(made()[0]).private.sum() > 40
    assert [one.filename for one in heard if one.category is privlp.MissedRowsWarning] == [__file__]
    with warnings.catch_warnings(action="error", category=privlp.MissedRowsWarning):
        read(made()[0], private="patient*")


A_LIST = "[...], a list of names"
KINDS = {
    "a container": (["limit[a]", "limit[b]", "limit2"], "'limit'", A_LIST),
    "numbers": (["need0", "need1", "stock"], "'need*'", "'need*'"),
    "a name that begins alike": (["need0", "need1", "need_total"], A_LIST, A_LIST),
    "numbered containers": (["lo1[a]", "lo2[a]", "up1[a]", "up2[b]"], "'lo*'", "'lo*'"),
}


@pytest.mark.parametrize(("names", "of_model", "of_file"), KINDS.values(), ids=KINDS)
def test_the_advised_pattern_selects_one_kind(tmp_path, names, of_model, of_file):
    """In a model and, under the same names, in a file."""
    pulp = pytest.importorskip("pulp", reason="its models are read")
    model = pulp.LpProblem("kinds")
    x = pulp.LpVariable("x", 0, 9)
    model += x
    for i, name in enumerate(names):
        model.constraints[name] = x >= 1 + i
    advice = r"for private: .* private=%s; all others"
    with pytest.warns(MissedRowsWarning, match=advice % re.escape(of_model)) as heard:
        read(model).to_mps(tmp_path / "model.mps")
    with pytest.warns(MissedRowsWarning, match=advice % re.escape(of_file)) as again:
        LinearProgram.from_mps(tmp_path / "model.mps")
    assert [one.filename for one in (*heard, *again)] == [__file__] * 2


def test_linopy_softened_constraints_are_soft_rows():
    pytest.importorskip("linopy", reason="its models are read")
    model, private = MODELS["linopy"]()
    private.soften(penalty=2.0)
    model.constraints["mix"].soften(penalty=0.25)
    lp = read(model)
    plain = read(MODELS["linopy"]()[0])
    assert lp.private.tolist() == [True] * 42  # a softened equality is data: how far off it is
    assert lp.penalty.tolist() == [2.0] * 40 + [np.inf, 0.25]
    assert lp.variable_names == plain.variable_names
    assert np.array_equal(lp.A.toarray(), plain.A.toarray())
    exact = solve_exact(lp)
    exact.assign(model)
    assert np.array_equal(model.solution["x"], exact.x)
    assert np.isnan(model.solution["patient_slack_pos"]).all()  # numbers of private rows
    model.solve("highs", io_api="direct", output_flag=False)
    assert model.objective.value == pytest.approx(exact.objective)
    model, private = MODELS["linopy"](costs=[-cost for cost in COSTS], sense="max")
    private.soften(penalty=2.0)
    assert solve_exact(read(model)).objective == pytest.approx(-solve_exact(_hard_mix()).objective)


def _hard_mix():
    """The softened program whose equality is hard."""
    return read(MODELS["linopy"]()[0], penalty={"patient": 2.0})


def test_linopy_slacks_that_no_price_says_stay_variables():
    """Of a public row, with a cap, or in other rows too."""
    pytest.importorskip("linopy", reason="its models are read")
    model, private = MODELS["linopy"]()
    slack = private.soften(penalty=2.0).positive
    lp = read(model, private="stock")
    assert lp.penalty is None
    assert lp.shape == (42, 44)
    model.add_constraints(slack.sel(i=3) <= 0.5, name="cap")
    lp = read(model, private="patient")
    assert lp.variable_names == (*(f"x[{food}]" for food in FOODS), "patient_slack_pos[3]")
    assert np.flatnonzero(np.isinf(lp.penalty)).tolist() == [3, 40, 41, 42]
    solve_exact(lp).assign(model)
    assert np.isnan(model.solution["patient_slack_pos"]).sum() == 39
    # A number of another private row, 0 or not, tells nothing of which variables there are.
    names = {}
    for number in (0.0, 0.5):
        model, private = MODELS["linopy"]()
        slack = private.soften(penalty=2.0).positive
        model.add_constraints(number * slack.sel(i=3) + model["x"].sum() >= 0, name="other")
        names[number] = read(model, private=["patient", "other"]).variable_names
    assert names[0.0] == names[0.5]
    with pytest.raises(InvalidParameterError, match="softened constraints, with prices of their o"):
        read(model, private="patient", penalty=1.0)
    assert read(model, penalty={"stock": 3.0}).penalty[40] == 3
    model, private = MODELS["linopy"]()
    private.soften(penalty=2.0, max_violation=0.5)
    assert read(model).penalty is None


def test_linopy_dimensions_masks_and_scales():
    linopy, xr = pytest.importorskip("linopy"), pytest.importorskip("xarray")
    model = linopy.Model()
    i, j = range(3), ["a", "b"]
    axes = {"coords": {"i": i, "j": j}, "dims": ["i", "j"], "name": "x"}
    upper = xr.DataArray([4.0, 5.0], coords={"j": j})
    mask = xr.DataArray(np.arange(6).reshape(3, 2) != 2, coords={"i": i, "j": j})
    x = model.add_variables(**axes, lower=-1, upper=upper, mask=mask)
    y = model.add_variables(name="y")
    limits = xr.DataArray(np.arange(3.0), coords={"i": i})
    model.add_constraints(x.sum("j") + y <= limits, name="row")
    model.add_constraints(y == 2, name="one")
    model.add_objective(x.sum() + y + y)
    lp = read(model, private=model.constraints["row"])
    names = ("x[0, a]", "x[0, b]", "x[1, b]", "x[2, a]", "x[2, b]", "y")
    assert lp.variable_names == names
    assert lp.row_names == ("row[0]", "row[1]", "row[2]", "one")
    rows = [[1, 1, 0, 0, 0, 1], [0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1]]
    assert lp.A.toarray().tolist() == rows
    assert lp.b.tolist() == [0, 1, 2, 2]
    assert lp.c.tolist() == [1, 1, 1, 1, 1, 2]
    assert lp.bounds.tolist() == [[-1, 4], [-1, 5], [-1, 5], [-1, 4], [-1, 5], [-np.inf, np.inf]]
    exact = solve_exact(lp)
    exact.assign(model)
    assert np.isnan(x.solution.values[1, 0])
    assert float(x.solution.sel(i=2, j="b")) == exact.x[4]
    part = read(model, private=model.constraints["row"].sel(i=[0, 2]))
    assert part.private.tolist() == [True, False, True, False]
    y.scaling = 8.0
    assert np.array_equal(read(model).A.toarray(), lp.A.toarray())


def test_pyomo_ranges_offsets_fixed_variables_and_blocks():
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(None, 4)), pyo.Var(initialize=2.0)
    model.y.fix()
    model.people = pyo.Block()
    model.people.z = pyo.Var(["a b"], within=pyo.NonPositiveReals)
    model.people.row = pyo.Constraint(expr=(-1, model.x + 3 * model.y + model.people.z["a b"], 2))
    model.people.off = pyo.Constraint(expr=model.x >= 1)
    model.people.off.deactivate()
    model.price = pyo.Param(initialize=5.0, mutable=True)
    model.goal = pyo.Objective(expr=model.price * model.x + 7, sense=pyo.maximize)
    lp = read(model, private=model.people.row)
    assert lp.variable_names == ("x", "people.z[a b]")
    assert (lp.row_names, lp.sense, lp.offset) == (("people.row",), "max", 7.0)
    assert (lp.row_lower.tolist(), lp.b.tolist(), lp.c.tolist()) == ([-7], [-4], [5, 0])
    assert lp.bounds.tolist() == [[-np.inf, 4], [-np.inf, 0]]
    exact = solve_exact(lp)
    exact.assign(model)
    assert (pyo.value(model.x), pyo.value(model.goal)) == (exact.x[0], exact.objective)
    with pytest.raises(InvalidProblemError, match="no constraint of this Pyomo model"):
        read(model, private=model.people.off)
    for name, part, message in (
        ("sos", pyo.SOSConstraint(var=model.people.z, sos=1), "has a SOSConstraint, which no"),
        ("other", pyo.Objective(expr=model.x), "several active objectives. Deactivate"),
        (
            "curve",
            pyo.Constraint(expr=model.x**2 <= 1),
            "has a constraint that is not linear, 'curve'",
        ),
        ("far", pyo.Constraint(expr=pyo.ConcreteModel(rule=_with_x).x <= 1), "of another model"),
    ):
        model.add_component(name, part)
        with pytest.raises(ReadError, match=message):
            read(model)
        model.del_component(name)
    with pytest.raises(ReadError, match="The Pyomo model is abstract"):
        read(pyo.AbstractModel())


def _with_x(model):
    model.x = pytest.importorskip("pyomo.environ").Var()


def test_bounds_alone_are_enough_where_costs_are_private():
    pulp = pytest.importorskip("pulp", reason="its models are read")
    model = pulp.LpProblem("bounds")
    x, y = pulp.LpVariable("x", 0, 9), pulp.LpVariable("y", -1, 2)
    model += x - 2 * y
    lp = read(model, neighbours=ObjectivePrivate(0.1))
    assert solve_exact(lp).x.tolist() == solve(lp, np.inf, 0).x.tolist() == [0, 2]
    for feasible in (None, "always"):
        assert (np.abs(solve(lp, 1.0, 1e-6, feasible=feasible, rng=0).x - [4.5, 0.5]) <= 4.5).all()
    for neighbours in (None, ScalarPrivate(0.1)):
        with pytest.raises(PrivLPError, match="PuLP problem is empty: it has no constraints"):
            read(model, neighbours=neighbours)


def test_pulp_may_minimise_nothing():
    pulp = pytest.importorskip("pulp", reason="its models are read")
    model = pulp.LpProblem("feasible")
    x = pulp.LpVariable("x", 0, 9)
    model += 0
    model += x >= 3, "need"
    lp = read(model)
    assert (lp.c.tolist(), lp.offset) == ([0.0], 0.0)
    solve_exact(lp).assign(model)
    assert x.varValue >= 3


def test_pulp_order_does_not_depend_on_rows():
    """Variables stand as in the objective, and without a cost by name."""
    pulp = pytest.importorskip("pulp", reason="its models are read")
    orders = []
    for first in ("b", "a"):
        model = pulp.LpProblem("order", pulp.LpMaximize)
        x = {name: pulp.LpVariable(name, upBound=1) for name in "zyab"}
        model += x["z"] + 2 * x["y"] + 4
        model += x[first] + x["y"] <= 3
        model += x["a"] + x["b"] + x["z"] >= -2
        lp = read(model)
        orders.append(lp.variable_names)
        assert (lp.sense, lp.offset, lp.c.tolist()) == ("max", 4.0, [1, 2, 0, 0])
    assert orders == [("z", "y", "a", "b")] * 2
    assert lp.bounds.tolist() == [[-np.inf, 1]] * 4
    model.sos1 = {"s": x}
    with pytest.raises(ReadError, match="SOS constraints"):
        read(model)


def test_mathopt_names_that_are_equal_are_told():
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    model = mathopt.Model()
    x = model.add_variable(lb=0, name="x")
    model.minimize(x)
    for need in (1, 2):
        model.add_linear_constraint(x >= need, name="p")
    for private in (None, "p"):
        with pytest.raises(InvalidProblemError, match="must be distinct; 'p' stands there more"):
            read(model, private=private)
        with pytest.raises(InvalidProblemError, match=r"row names must be distinct\. If"):
            read(model, private=private, neighbours=SEVERAL)


def test_mathopt_ranges_names_and_deleted_parts():
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    model = mathopt.Model()
    gone, x, y = model.add_variable(), model.add_variable(ub=3), model.add_variable(name="y")
    rows = [model.add_linear_constraint(lb=-1, ub=2, expr=x + 2 * y + 1) for _ in range(3)]
    model.delete_variable(gone)
    model.delete_linear_constraint(rows[0])
    model.maximize(x + 5)
    lp = read(model, private=[rows[2]])
    assert lp.variable_names == ("variable_1", "y")
    assert lp.row_names == ("linear_constraint_1", "linear_constraint_2")
    assert (lp.row_lower.tolist(), lp.b.tolist()) == ([-2, -2], [1, 1])
    assert (lp.c.tolist(), lp.offset, lp.sense) == ([1, 0], 5.0, "max")
    assert lp.private.tolist() == [False, True]
    assert dict(zip(model.variables(), solve_exact(lp).x, strict=True)).keys() == {x, y}
    model.add_quadratic_constraint(x * x <= 1)
    with pytest.raises(ReadError, match="has quadratic_constraints, which no linear program has"):
        read(model)
