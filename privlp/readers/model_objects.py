"""The class method of a linear program that reads a model of a Python library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, as_floats, is_real, shown
from privlp.errors import InvalidParameterError, InvalidProblemError, ReadError
from privlp.problem.bands import refuse_private_bounds
from privlp.problem.named_rows import longer, name_kinds, names, names_like, row_mask
from privlp.quiet import WHY, unquoted
from privlp.readers.cvxpy_expressions import names_of
from privlp.readers.modellers import Linopy, MathOpt, Modeller, Pulp, Pyomo, is_a
from privlp.readers.program import ProgramReaders, hides_rows, needs_rows
from privlp.relations import NeighbourRelation


class Cvxpy(Modeller):
    """A ``cvxpy.Problem``, which :mod:`privlp.readers.cvxpy_problem` reads."""

    says = "CVXPY problem"

    def names(self) -> list[str]:
        return [name for variable in self.model.variables() for name in names_of(variable)]

    def write(self, values: Mapping[str, float]) -> None:
        for variable in self.model.variables():
            own = [values.get(name, np.nan) for name in names_of(variable)]
            found = np.reshape(own, variable.shape, order="F")
            variable.save_value(None if np.isnan(own).all() else found)

    def solved(self, objective: float | None, *, optimal: bool) -> None:
        """The value of an affine objective: losses of records are private numbers."""
        affine = self.model.objective.args[0].is_affine()
        self.model._value = objective if affine else None
        self.model._status = "optimal" if optimal else "optimal_inaccurate"


#: What is taken, by the module and the name of its class.
_KINDS = {
    ("linopy", "Model"): Linopy,
    ("pyomo", "BlockData"): Pyomo,
    ("pulp", "LpProblem"): Pulp,
    ("ortools.math_opt", "Model"): MathOpt,
    ("cvxpy", "Problem"): Cvxpy,
}
_TAKEN = (
    "a linopy.Model, a Pyomo ConcreteModel, a pulp.LpProblem, a mathopt.Model of OR-Tools or a"
    " cvxpy.Problem"
)


class ModelReaders(ProgramReaders):
    """The class method of :class:`~privlp.LinearProgram` that reads models of Python libraries."""

    @classmethod
    def from_model(
        cls,
        model: Any,
        *,
        neighbours: NeighbourRelation | None = None,
        private: Any = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
        private_bounds: Any = None,
    ) -> Self:
        """Convert a model of linopy, Pyomo, PuLP or OR-Tools MathOpt, or a CVXPY problem.

        Columns and rows have the names and the order of the model. By default inequalities are
        private and equalities public; under ``change="add-remove"`` every row is private. Names,
        and which rows and columns there are, are public, and so are costs and bounds unless
        `neighbours` say otherwise; the program's ``repr`` says what is.

        Parameters
        ----------
        model : linopy.Model, pyomo ConcreteModel, pulp.LpProblem, mathopt.Model or cvxpy.Problem
            A linear program; one of CVXPY is read by :meth:`from_cvxpy`, as told there. Fixed
            variables of Pyomo are numbers. Variables of PuLP stand as in the objective, and behind
            them, by name, those without a cost.
        private : constraint, name, pattern, or list of these, optional
            The private rows. A constraint is the object of the library, also a whole container such
            as Pyomo's indexed constraints; so is the name of a container. In a pattern ``*`` and
            ``?`` stand for other characters; brackets are part of names. Or a mask or row indices,
            as for :class:`~privlp.LinearProgram`.
        neighbours, groups, box
            As for :meth:`from_mps`.
        penalty : float, array_like or dict, optional
            Makes private rows soft, as for :class:`~privlp.LinearProgram`; keys of a dict are what
            `private` may list, and its values a price or one for each of the rows. Softened
            constraints of linopy have prices already, and are private by default: they become soft
            rows, without slack variables. Where such a variable has an upper bound, or its row is
            public, it stays.
        private_bounds
            Refused: the message shows how a private bound is written as a constraint.

        Raises
        ------
        ReadError
            If the object is no such model, or the model no linear program: integer variables, an
            objective that is not linear, or none.
        InvalidProblemError
            If its numbers are malformed, or `private` or `penalty` name no constraint of it.

        Examples
        --------
        >>> import pulp
        >>> from privlp import LinearProgram, solve_exact
        >>> diet = pulp.LpProblem("diet")
        >>> oats, milk = (pulp.LpVariable(name, lowBound=0) for name in ("oats", "milk"))
        >>> diet += oats + 2 * milk
        >>> diet += oats + milk >= 2, "patient"
        >>> diet += oats <= 1.5, "stock"
        >>> lp = LinearProgram.from_model(diet, private="patient")
        >>> lp.private, lp.row_names, lp.variable_names
        (array([ True, False]), ('patient', 'stock'), ('oats', 'milk'))
        >>> solve_exact(lp).assign(diet)
        >>> oats.varValue, milk.varValue
        (1.5, 0.5)
        """
        refuse_private_bounds(private_bounds)
        found = _modeller(model)
        if isinstance(found, Cvxpy):
            options = {"neighbours": neighbours, "groups": groups, "box": box, "penalty": penalty}
            return cls.from_cvxpy(model, private=private, **options)
        if found is None:
            raise ReadError(
                f"from_model takes {_TAKEN}, got {type(model).__name__}. from_mps reads files."
            )
        quote = found.quote = not hides_rows(neighbours)
        fields, mask, prices = unquoted(
            lambda: _read(found, private, penalty), f"The {found.says} could not be read. {WHY}"
        )
        if not fields["row_names"] and needs_rows(neighbours):
            raise found.refusal("is empty: it has no constraints.")
        lp: Any = cls._read(fields, neighbours, mask, groups, box, prices)
        if private is None and quote and lp.neighbours.changes_whole_rows:
            name_kinds(fields["row_names"], mask, names_like)
        return cast("Self", lp)


def _modeller(model: Any) -> Modeller | None:
    """A model as what it is; None for anything else."""
    return next((kind(model) for of, kind in _KINDS.items() if is_a(model, *of)), None)


def _read(model: Modeller, private: Any, penalty: Any) -> tuple[Any, Any, Any]:
    """Fields of the program of a model, its private rows and the prices of its rows."""
    fields, quote = model.read(), model.quote
    names(fields["row_names"], len(fields["row_names"]), "row", quote=quote)
    rows = _Rows(model, {name: i for i, name in enumerate(fields["row_names"])})
    mask = rows.mask(private)
    if mask is None and quote:
        mask = fields["row_lower"] != fields["b"]
        for own, _ in model.slacks():
            mask[own] = True
    chosen = np.ones(len(fields["b"]), dtype=bool) if mask is None else mask
    prices = _without_slacks(fields, model, chosen)
    fields["A"].eliminate_zeros()
    if isinstance(penalty, Mapping):
        return fields, mask, rows.prices(penalty, chosen, prices)
    if prices is not None and penalty is not None:
        raise InvalidParameterError(
            "The model has softened constraints, with prices of their own. Give those of others as"
            " a dict, penalty={constraint: price}.",
            parameter="penalty",
        )
    return fields, mask, penalty if prices is None else prices


def _without_slacks(
    fields: dict[str, Any], model: Modeller, private: BoolArray
) -> FloatArray | None:
    """Prices of private rows with slack variables, which are taken out; None without any.

    Whether such a variable is in other rows is decided by their terms, not by their numbers.
    """
    softened = list(model.slacks())
    if not softened:
        return None
    A, bounds = sp.csc_array(fields["A"]), fields["bounds"]
    alone = (np.diff(A.indptr) == 1) & (bounds == [0.0, np.inf]).all(axis=1)
    cost = fields["c"] if fields["sense"] == "min" else -fields["c"]
    prices, kept = np.full(len(private), np.inf), np.ones(len(cost), dtype=bool)
    for rows, columns in softened:
        price = cost[columns]
        soft = private[rows] & (alone[columns] & (price > 0) & (price == price[:, :1])).all(axis=1)
        prices[rows[soft]], kept[columns[soft]] = price[soft, 0], False
    if kept.all():
        return None
    if (np.abs(A[:, ~kept].data) != 1).any():
        raise model.refusal(
            "has a slack variable whose coefficient is not 1 or -1, as linopy's soften gives it."
        )
    names = [name for name, one in zip(fields["variable_names"], kept, strict=True) if one]
    fields |= {"A": A[:, kept], "c": fields["c"][kept], "bounds": bounds[kept]}
    fields["variable_names"] = names
    return prices


@dataclass(frozen=True)
class _Rows:
    """The rows that a user names, by constraint objects, names and patterns."""

    model: Modeller
    index: dict[str, int]

    def mask(self, private: Any) -> Any:
        """The private rows, (n,), or None."""
        if private is None:
            return None
        if isinstance(private, Iterator | ValuesView):
            private = list(private)
        several = isinstance(private, list | tuple | set | range | np.ndarray) or hasattr(
            private, "to_list"
        )
        items = list(private) if several else [private]
        if items and all(is_real(each) or isinstance(each, bool | np.bool_) for each in items):
            return row_mask(private, len(self.index), None, quote=self.model.quote)
        mask = np.zeros(len(self.index), dtype=bool)
        for each in items:
            mask[self._of(each, "private")] = True
        return mask

    def prices(
        self, penalty: Mapping[Any, Any], private: BoolArray, prices: FloatArray | None
    ) -> FloatArray:
        """The price of each row, (n,), of those that a dict names; others keep theirs."""
        found = np.full(private.size, np.inf) if prices is None else prices
        for each, price in penalty.items():
            rows = self._of(each, "penalty")
            given = as_floats(price, "penalty", flags=False)
            if given.size not in (1, len(rows)) or not (given > 0).all():
                raise InvalidProblemError(
                    "penalty must be a dict from constraints, names or patterns to prices: a"
                    " positive number, or one for each of the rows.",
                    parameter="penalty",
                )
            if not private[rows].all():
                raise InvalidProblemError(
                    "penalty names public rows; soft rows are private. Name these too in"
                    " private=..., or write a public soft row by a variable of its own, with a"
                    " cost.",
                    parameter="penalty",
                )
            found[rows] = np.ravel(given)
        return found

    def _of(self, given: Any, argument: str) -> Sequence[int]:
        """Rows of a constraint object, of a name, of a container's name, or of a pattern."""
        if not isinstance(given, str):
            rows = self.model.rows_of(given)
            if rows is None or (self.model.quote and not rows):
                raise InvalidProblemError(
                    f"{argument} lists what is no constraint of this {self.model.says}:"
                    f" {shown(given)}. List constraint objects, names and patterns.",
                    parameter=argument,
                )
            return rows
        if given in self.index:
            return [self.index[given]]
        matches = names_like(given)
        rows = [i for name, i in self.index.items() if matches(name)]
        if self.model.quote and not rows:
            first = ", ".join(list(self.index)[:5])
            raise InvalidProblemError(
                f"No constraint has a name that matches {argument}={given!r}. The first rows are:"
                f" {first}.{longer(given, self.index)}",
                parameter=argument,
            )
        return rows


def assign(model: Any, solution: Any, *, optimal: bool) -> None:
    """Write x into the variables that were read, but not into columns kept as recourse."""
    found = _modeller(model)
    if found is None:
        given = type(model).__name__
        raise InvalidParameterError(
            f"problem must be the model that was read: {_TAKEN}, got {given}.", parameter="problem"
        )
    x, kept = solution.x, solution.kept
    if x is None:
        raise InvalidParameterError("The solution holds no x: it did not complete.")
    own, listed = found.names(), list(solution.variable_names or ())
    values = dict(zip(listed, x.tolist(), strict=False))
    slacks = {own[j] for _, columns in found.slacks() for j in np.ravel(columns)}
    read = [name for name in own if name in values or name not in slacks.union(kept)]
    if read != (listed[: len(read)] if isinstance(found, Cvxpy) else listed):
        raise InvalidParameterError(
            f"The variables of the {found.says} are not those of the solution. Pass the model from"
            " which from_model made the program.",
            parameter="problem",
        )
    found.write(values)
    found.solved(None if kept else solution.objective, optimal=optimal)
