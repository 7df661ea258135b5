"""Models of Pyomo, PuLP, OR-Tools MathOpt and linopy as arrays, and values written into them.

A library is imported only if a model of it is given. Which rows and columns there are, and in which
order, does not depend on the numbers in rows, which may be private: rows without any coefficient
are kept, although these libraries leave many of them out of what a solver gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, IntArray
from privlp.errors import InvalidParameterError, ReadError


def is_a(model: Any, module: str, name: str) -> bool:
    """Whether an object is of a class of this name, which the module or a part of it defines."""
    return any(
        base.__name__ == name and f"{base.__module__}.".startswith(f"{module}.")
        for base in type(model).__mro__
    )


class Modeller:
    """A model of some library: its arrays, where a constraint stands, and how it takes values."""

    #: What messages call the model, and how its variables become continuous.
    says: ClassVar[str]
    relax: ClassVar[str]

    def __init__(self, model: Any) -> None:
        self.model = model
        self.quote = True  # Whether messages may name rows.
        #: Places of rows by what identifies a constraint; filled by `read`.
        self.place: dict[Any, int] = {}

    def variables(self) -> list[Any]:
        """The variables in their order."""
        return list(self.model.variables())

    def names(self) -> list[str]:
        """Names of the variables."""
        return list(map(str, self.variables()))

    def read(self) -> dict[str, Any]:
        """Fields of a program; fills `place`."""
        raise NotImplementedError

    def rows_of(self, constraint: Any) -> list[int] | None:
        """Rows of a constraint object, or of a container of some; None if it is of no row."""
        return [self.place[id(constraint)]] if id(constraint) in self.place else None

    def slacks(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Rows of each softened constraint, and the columns of their slack variables, (n, k)."""
        return iter(())

    def write(self, values: Mapping[str, float]) -> None:
        """Write values, by names of variables, into the model; no value where there is none."""
        raise NotImplementedError

    def solved(self, objective: float | None, *, optimal: bool) -> None:
        """Give the model the status and the objective that its own solve would leave there."""

    def refusal(self, what: str) -> ReadError:
        """The error for a model that is no linear program."""
        return ReadError(f"The {self.says} {what}")

    def check(
        self, variables: Sequence[Any], apart: Iterable[str], objective: Any, *, curved: bool
    ) -> None:
        """Refuse a model without variables or objective, or with what no linear program has."""
        if not variables:
            raise self.refusal("is empty: it has no variables.")
        for name in apart:
            raise self.refusal(
                f"has a variable that is not continuous, {name!r}; privlp solves linear programs"
                f" only. To let it take any value within its bounds: {self.relax}."
            )
        if curved:
            raise self.refusal(
                "has an objective that is not linear; privlp solves linear programs only. Write"
                " absolute values and other convex pieces by variables and constraints."
            )
        if not objective:
            raise self.refusal("has no objective. State one: what to minimise or maximise.")


class Pyomo(Modeller):
    """A concrete ``pyomo`` model; fixed variables are numbers, as in Pyomo's own solves."""

    says = "Pyomo model"
    relax = "pyo.TransformationFactory('core.relax_integer_vars').apply_to(model)"
    _TAKEN = (
        *("Block", "BuildAction", "BuildCheck", "Constraint", "Expression", "ExternalFunction"),
        *("Objective", "Param", "Port", "RangeSet", "Set", "Suffix", "Var"),
    )

    def variables(self) -> list[Any]:
        from pyomo.environ import Var  # noqa: PLC0415

        every = self.model.component_data_objects(Var, active=True)
        return [variable for variable in every if not variable.fixed]

    def read(self) -> dict[str, Any]:
        from pyomo.environ import Constraint, Objective, maximize  # noqa: PLC0415
        from pyomo.repn import generate_standard_repn  # noqa: PLC0415

        model = self.model
        if not model.is_constructed():
            raise self.refusal("is abstract: pass what its create_instance(...) returns.")
        for each in model.component_objects(active=True):
            if each.ctype.__name__ not in self._TAKEN:
                raise self.refusal(f"has a {each.ctype.__name__}, which no linear program has.")
        variables = self.variables()
        goals = list(model.component_data_objects(Objective, active=True))
        rows = list(model.component_data_objects(Constraint, active=True))
        goal, *terms = (
            generate_standard_repn(part, quadratic=False)
            for part in ([goals[0].expr] if goals else [0]) + [row.body for row in rows]
        )
        apart = (variable.name for variable in variables if not variable.is_continuous())
        self.check(variables, apart, goals, curved=goal.nonlinear_expr is not None)
        if len(goals) > 1:
            raise self.refusal("has several active objectives. Deactivate all but one.")
        for row, repn in zip(rows, terms, strict=True):
            if repn.nonlinear_expr is not None:
                which = f", {row.name!r}" if self.quote else ""
                raise self.refusal(f"has a constraint that is not linear{which}.")
        self.place = {id(row): i for i, row in enumerate(rows)}
        place = {id(variable): j for j, variable in enumerate(variables)}
        used = [id(v) for repn in (goal, *terms) for v in repn.linear_vars]
        if not place.keys() >= set(used):
            raise self.refusal("uses a variable of another model or of an inactive block.")
        j, own = np.array([place[each] for each in used], dtype=int), len(goal.linear_vars)
        sizes = [len(repn.linear_vars) for repn in terms]
        data = np.fromiter(chain.from_iterable(repn.linear_coefs for repn in terms), float)
        shift = np.array([repn.constant for repn in terms], dtype=float)
        return {
            "c": np.bincount(j[:own], goal.linear_coefs or None, len(place)),
            "A": _by_rows(data, j[own:], sizes, len(place)),
            "row_lower": _ends([row.lb for row in rows], -np.inf) - shift,
            "b": _ends([row.ub for row in rows], np.inf) - shift,
            "bounds": _bounds([(v.lb, v.ub) for v in variables]),
            "sense": "max" if goals[0].sense == maximize else "min",
            "offset": goal.constant,
            "variable_names": self.names(),
            "row_names": [row.name for row in rows],
        }

    def rows_of(self, constraint: Any) -> list[int] | None:
        if not is_a(constraint, "pyomo", "IndexedConstraint"):
            return super().rows_of(constraint)
        own = constraint.model() is self.model.model()
        parts = [id(part) for part in constraint.values() if id(part) in self.place]
        return [self.place[part] for part in parts] if own else None

    def write(self, values: Mapping[str, float]) -> None:
        for variable in self.variables():
            variable.set_value(values.get(variable.name), skip_validation=True)


class Pulp(Modeller):
    """A ``pulp.LpProblem``; variables stand as in the objective, then by name."""

    says = "PuLP problem"
    relax = 'for v in problem.variables(): v.cat = "Continuous"'

    def variables(self) -> list[Any]:
        found = dict.fromkeys(self.model.objective or ())
        return list(found | dict.fromkeys(self.model.variables()))

    def read(self) -> dict[str, Any]:
        model = self.model
        if model.sos1 or model.sos2:
            raise self.refusal("has SOS constraints, which no linear program has.")
        variables = self.variables()
        apart = (variable.name for variable in variables if variable.cat != "Continuous")
        self.check(variables, apart, model.objective is not None, curved=False)
        place = {variable: j for j, variable in enumerate(variables)}
        rows = dict(model.constraints.items())
        self.place = {id(row): i for i, row in enumerate(rows.values())}
        j = [place[variable] for variable in chain.from_iterable(rows.values())]
        data = np.fromiter(chain.from_iterable(row.values() for row in rows.values()), float)
        side = 0.0 - np.array([row.constant for row in rows.values()], dtype=float)
        sign = np.array([row.sense for row in rows.values()])
        costs = np.zeros(len(place))
        costs[: len(model.objective)] = list(model.objective.values())
        return {
            "c": costs,
            "A": _by_rows(data, j, list(map(len, rows.values())), len(place)),
            "row_lower": np.where(sign < 0, -np.inf, side),
            "b": np.where(sign > 0, np.inf, side),
            "bounds": _bounds([(v.lowBound, v.upBound) for v in variables]),
            "sense": "max" if model.sense == -1 else "min",
            "offset": model.objective.constant,
            "variable_names": self.names(),
            "row_names": list(rows),
            "name": model.name,
        }

    def write(self, values: Mapping[str, float]) -> None:
        for variable in self.variables():
            variable.varValue = values.get(variable.name)

    def solved(self, objective: float | None, *, optimal: bool) -> None:  # noqa: ARG002
        import pulp  # noqa: PLC0415

        found = pulp.LpSolutionOptimal if optimal else pulp.LpSolutionIntegerFeasible
        self.model.assignStatus(pulp.LpStatusOptimal, found)


class MathOpt(Modeller):
    """A ``mathopt.Model`` of OR-Tools, by way of its protocol buffer."""

    says = "MathOpt model"
    relax = "variable.integer = False"
    _TAKEN = ("name", "variables", "objective", "linear_constraints", "linear_constraint_matrix")

    def read(self) -> dict[str, Any]:
        proto = self.model.export_model()
        columns, rows, goal = proto.variables, proto.linear_constraints, proto.objective
        for field, _ in proto.ListFields():
            if field.name not in self._TAKEN:
                raise self.refusal(f"has {field.name}, which no linear program has.")
        names = self.names()
        apart = (name for name, kind in zip(names, columns.integers, strict=True) if kind)
        squares, costs = len(goal.quadratic_coefficients.row_ids), goal.linear_coefficients
        self.check(names, apart, len(costs.ids), curved=squares > 0)
        ids, matrix = np.array(rows.ids, dtype=int), proto.linear_constraint_matrix
        own = np.array(columns.ids)
        self.place = {each: i for i, each in enumerate(self.model.linear_constraints())}
        i, j, cost = (
            np.searchsorted(known, np.array(given, dtype=int))
            for known, given in ((ids, matrix.row_ids), (own, matrix.column_ids), (own, costs.ids))
        )
        row_names = zip(rows.names or [""] * len(ids), rows.ids, strict=True)
        return {
            "c": np.bincount(cost, costs.values, len(names)),
            "A": sp.coo_array(
                (np.array(matrix.coefficients, dtype=float), (i, j)), (len(ids), len(names))
            ),
            "row_lower": np.array(rows.lower_bounds, dtype=float),
            "b": np.array(rows.upper_bounds, dtype=float),
            "bounds": np.column_stack([columns.lower_bounds, columns.upper_bounds]),
            "sense": "max" if goal.maximize else "min",
            "offset": goal.offset,
            "variable_names": names,
            "row_names": [name or f"linear_constraint_{key}" for name, key in row_names],
            "name": proto.name,
        }

    def rows_of(self, constraint: Any) -> list[int] | None:
        try:
            return [self.place[constraint]]
        except (KeyError, TypeError):
            return None

    def write(self, values: Mapping[str, float]) -> None:  # noqa: ARG002
        raise InvalidParameterError(
            "The variables of MathOpt hold no values. What its result.variable_values() would be is"
            " dict(zip(model.variables(), solution.x)).",
            parameter="problem",
        )


def _by_rows(data: Any, columns: Any, sizes: Sequence[int], d: int) -> sp.csr_array:
    """Rows of which the entries are listed one after the other."""
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=int)])
    return sp.csr_array((data, np.array(columns, dtype=int), starts), shape=(len(sizes), d))


def _ends(values: Iterable[float | None], absent: float) -> FloatArray:
    return np.array([absent if value is None else value for value in values], dtype=float)


def _bounds(pairs: Sequence[tuple[float | None, float | None]]) -> FloatArray:
    lower, upper = zip(*pairs, strict=True)
    return np.column_stack([_ends(lower, -np.inf), _ends(upper, np.inf)])


class Linopy(Modeller):
    """A ``linopy.Model``, in the units of its user; solvers may get it scaled."""

    says = "linopy model"
    relax = "declare it without integer, binary and semi_continuous, or call its relax()"

    def names(self) -> list[str]:
        every = self.model.variables.items()
        return [name for of, each in every for name in _linopy_names(of, each.labels)]

    def read(self) -> dict[str, Any]:
        model, names, place = self.model, self.names(), self._columns()
        if len(getattr(model.variables, "sos", ())) or any(
            getattr(each, "is_indicator", False) for _, each in model.constraints.items()
        ):
            raise self.refusal("has SOS or indicator constraints; privlp solves linear programs.")
        kinds = ("integer", "binary", "semi_continuous")
        apart = (n for n, v in model.variables.items() if any(map(v.attrs.get, kinds)))
        columns = place[np.ravel(model.objective.vars.values)]
        self.check(names, apart, (columns >= 0).any(), curved=model.objective.is_quadratic)
        weights = np.ravel(model.objective.coeffs.values)[columns >= 0]
        empty, none = np.zeros(0), np.zeros(0, dtype=int)
        blocks, row_names, n = [[empty, none, none, empty, empty.astype("U1")]], list[str](), 0
        for name, each in model.constraints.items():
            blocks.append(self._rows(each, place, n))
            own = _linopy_names(name, each.labels)
            row_names += own
            labels = np.ravel(each.labels.values)
            self.place |= zip(labels[labels >= 0].tolist(), range(n, n + len(own)), strict=True)
            n += len(own)
        data, i, j, side, sign = map(np.concatenate, zip(*blocks, strict=True))
        ends = [
            np.broadcast_to(end.values, each.labels.shape)[each.labels.values >= 0]
            for _, each in model.variables.items()
            for end in (each.lower, each.upper)
        ]
        return {
            "c": np.bincount(columns[columns >= 0], weights, len(names)),
            "A": sp.coo_array((data, (i, j)), shape=(n, len(names))),
            "row_lower": np.where(sign == "<", -np.inf, side),
            "b": np.where(sign == ">", np.inf, side),
            "bounds": np.column_stack([np.concatenate(ends[k::2]) for k in (0, 1)]),
            "sense": model.objective.sense,
            "offset": float(np.sum(getattr(model.objective.expression, "const", 0.0))),
            "variable_names": names,
            "row_names": row_names,
        }

    def _columns(self) -> IntArray:
        """The column of each label of a variable; the last stands for none, label -1."""
        labels = [np.ravel(each.labels.values) for _, each in self.model.variables.items()]
        every = np.concatenate([*labels, np.zeros(0, int)])
        place = np.full(every.max(initial=-1) + 2, -1)
        place[every[every >= 0]] = np.arange((every >= 0).sum())
        return place

    @staticmethod
    def _rows(constraint: Any, place: IntArray, first: int) -> list[Any]:
        """Entries, their rows and columns; sides and signs of the rows of a constraint."""
        labels = constraint.labels
        kept = np.ravel(labels.values) >= 0
        term = [dim for dim in constraint.vars.dims if dim not in labels.dims]
        variables, entries = (
            part.transpose(*labels.dims, *term).values.reshape(kept.size, -1)[kept]
            for part in (constraint.vars, constraint.coeffs)
        )
        side, sign = (
            np.ravel(part.transpose(*labels.dims).values)[kept]
            for part in (constraint.rhs, constraint.sign)
        )
        i, k = np.nonzero(variables >= 0)
        return [entries[i, k], i + first, place[variables[i, k]], side, sign.astype("U1")]

    def rows_of(self, constraint: Any) -> list[int] | None:
        if getattr(constraint, "model", None) is not self.model or not hasattr(constraint, "rhs"):
            return None  # variables have labels too
        several = constraint.items() if hasattr(constraint, "items") else [("", constraint)]
        labels = [label for _, each in several for label in np.ravel(each.labels).tolist()]
        return [self.place[label] for label in labels if label in self.place]

    def slacks(self) -> Iterator[tuple[IntArray, IntArray]]:
        place = self._columns()
        for _, each in self.model.constraints.items():
            labels = np.ravel(each.labels.values)
            own = [one for one in getattr(each, "slack", None) or () if one is not None]
            if own:
                columns = np.column_stack([place[np.ravel(one.labels.values)] for one in own])
                yield np.array(self.rows_of(each)), columns[labels >= 0]

    def write(self, values: Mapping[str, float]) -> None:
        import xarray  # noqa: PLC0415

        found = np.append([values.get(name, np.nan) for name in self.names()], np.nan)
        place = self._columns()
        for _, variable in self.model.variables.items():
            own = variable.labels
            variable.solution = xarray.DataArray(found[place[own.values]], own.coords, own.dims)

    def solved(self, objective: float | None, *, optimal: bool) -> None:
        self.model.objective.set_value(np.nan if objective is None else objective)
        self.model.status = "ok"  # without it the model shows no values
        self.model.termination_condition = "optimal" if optimal else "suboptimal"


def _linopy_names(name: str, labels: Any) -> list[str]:
    """Names as linopy prints them, such as ``x[oats]``, of what is not masked."""
    if not labels.dims:
        return [name] if labels >= 0 else []

    def of_key(key: Any) -> str:
        return f"({', '.join(map(str, key))})" if isinstance(key, tuple) else str(key)

    indexes = [labels.indexes.get(dim, range(labels.sizes[dim])) for dim in labels.dims]
    keys = product(*(map(of_key, index) for index in indexes))
    kept = np.ravel(labels.values) >= 0
    return [f"{name}[{', '.join(key)}]" for key, one in zip(keys, kept, strict=True) if one]
