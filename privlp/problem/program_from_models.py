"""The ways to a linear program from the arguments of SciPy, and from CVXPY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from privlp.checks import WHY, unquoted
from privlp.errors import InvalidParameterError
from privlp.problem.cvxpy_reader import read_cvxpy
from privlp.problem.program_reader import ProgramReader, hides_rows
from privlp.problem.readers import read_linprog, require_continuous
from privlp.relations import ConstraintPrivate, NeighbourRelation
from privlp.relations.combined import relation_of

if TYPE_CHECKING:
    import cvxpy


class ModelReaders(ProgramReader):
    """The class methods of :class:`~privlp.LinearProgram` that take a model of other software."""

    @classmethod
    def from_linprog(
        cls,
        c: npt.ArrayLike,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = (0, None),
        *,
        integrality: Any = None,
        neighbours: NeighbourRelation | None = None,
        private: Any = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
    ) -> Self:
        """Take the arguments of :func:`scipy.optimize.linprog`, in its order.

        Where only numbers are private (:class:`~privlp.ScalarPrivate` and its like), costs, bounds
        and equalities are public unless told otherwise; the program's ``repr`` says what is.

        The rows of A_ub come first, then those of A_eq. By default inequalities are private and
        equalities public; under ``change="add-remove"`` every row is private. The options are those
        of :meth:`from_mps`. Of `integrality` only zeros are taken, for variables of any value.

        Raises
        ------
        InvalidProblemError
            If what is given is malformed, or `integrality` asks for integers.

        Examples
        --------
        >>> from privlp import LinearProgram, solve_exact
        >>> bounds = [(None, None), (-3, None)]
        >>> lp = LinearProgram.from_linprog([-1, 4], [[-3, 1], [1, 2]], [6, 4], bounds=bounds)
        >>> solve_exact(lp).x
        array([10., -3.])
        """
        require_continuous(integrality)
        quote = not hides_rows(neighbours)
        fields = unquoted(
            lambda: read_linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, quote=quote),
            f"The arguments of linprog could not be read. {WHY}",
        )
        return cls._read(fields, neighbours, private, groups, box, penalty)

    @classmethod
    def from_cvxpy(
        cls,
        problem: cvxpy.Problem,
        *,
        neighbours: NeighbourRelation | None = None,
        private: Sequence[cvxpy.Constraint | cvxpy.Expression] | None = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
    ) -> Self:
        """Convert a CVXPY problem that is a linear program.

        Where only numbers are private (:class:`~privlp.ScalarPrivate` and its like), costs, bounds
        and equalities are public unless told otherwise; the program's ``repr`` says what is.

        Constraints must be affine. The objective may hold sums, means and positive multiples of
        ``abs``, ``maximum``, ``minimum``, ``max``, ``min``, ``pos``, ``neg``, ``norm1``,
        ``norm_inf``, ``sum_largest`` and ``cvar`` of affine expressions.

        Parameters
        ----------
        problem : cvxpy.Problem
            Variables keep their order, each column by column. Variables that terms of the objective
            need come last.
        private : list of constraints and terms, optional
            The private ones, as the objects of which the problem is made. By default inequalities
            are private and equalities public, and a term of the objective is private if it holds a
            vector or matrix of constants; under ``change="add-remove"`` all constraints are
            private.
        groups : array_like, shape (n,), optional
            The record of each row. Rows of constraints come first, then those of the terms, each in
            its order, entries column by column. Where a term gives a record several rows, those
            with upper sides come first. By default the rows of an entry belong to one record, and
            else each row to its own: say so if constraints and terms share records.
        box : float, optional
            Public bound on every abs(x_j). It also bounds the variable that stands for the largest
            of private entries (``max``, ``sum_largest``): no other bound on it is public.
        penalty : float or dict, optional
            Makes rows of constraints soft. A number: price of all private ones; a dict
            ``{constraint: price}``: a number, or one for each row of the constraint.

        Raises
        ------
        MissingDependencyError
            If CVXPY is not installed.
        ReadError
            If the problem is not a linear program, or a private term is not a price of soft rows.

        Notes
        -----
        A private term becomes one soft row for each entry: ``abs`` and ``norm1`` an equality,
        ``pos`` and ``neg`` one side, ``maximum(0.9 * r, -0.1 * r)`` an equality whose sides have
        prices of their own. The weight of the entry is its price, and public. The data stand in the
        rows only. The largest of private entries is one variable with a hard row for each.

        An affine term stays in the costs, and *costs are public*, also where its coefficients were
        computed from data: a warning says so if a private term holds the same data. It joins a
        private term only if it is a multiple of the same expression object:
        ``r = y - X @ w; 0.5 * cp.abs(r) + 0.4 * r``.

        Other terms, such as ``norm1(w)``, become variables with public rows.

        Under ``change="add-remove"`` no weight may depend on the number of records: divide a sum by
        a public number such as `nominal_n`, where ``mean`` and ``cvar`` divide by the true one.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from privlp import LinearProgram, solve_exact
        >>> x = cp.Variable(2, nonneg=True)
        >>> least = x[0] + x[1] >= 2
        >>> problem = cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [least, x[0] <= 1.5])
        >>> lp = LinearProgram.from_cvxpy(problem, private=[least])
        >>> solve_exact(lp).x, lp.private
        (array([1.5, 0.5]), array([ True, False]))

        Regression as people write it; every residual is a soft row:

        >>> import numpy as np
        >>> data = np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 7.0]])
        >>> w = cp.Variable(bounds=[-10, 10])
        >>> lp = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(data[1] - data[0] * w))))
        >>> lp.shape, lp.penalty, solve_exact(lp).x
        ((3, 1), array([1., 1., 1.]), array([1.75]))
        """
        quote = not hides_rows(neighbours)
        fields, records = unquoted(
            lambda: read_cvxpy(problem, private, penalty, box, quote=quote),
            f"The CVXPY problem could not be read. {WHY}",
        )
        if groups is None and records is not None:
            groups = _owners(records, neighbours)
        penalty = fields.pop("penalty")
        return cls._read(fields, neighbours, fields.pop("private"), groups, None, penalty)


def _owners(records: npt.NDArray[np.int64], neighbours: Any) -> npt.NDArray[np.int64] | None:
    """The record of each row, where a term of an objective gave a record several rows.

    A declared number of rows per record stays as it is: it bounds all rows of a record.
    """
    relation = ConstraintPrivate() if neighbours is None else relation_of(neighbours)
    if not isinstance(relation, ConstraintPrivate):
        raise InvalidParameterError(
            "A term of the objective gives each private record two rows, and the neighbour relation"
            " lets numbers of single rows change. Use ConstraintPrivate, or write the term as"
            " constraints.",
            parameter="neighbours",
        )
    return records if relation.rows_per_record == 1 else None
