"""The class methods of a linear program that read it from files, SciPy's arguments or CVXPY."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from privlp.checks import IntArray, require_flag
from privlp.errors import InvalidParameterError, ReadError
from privlp.problem import validation
from privlp.problem.named_rows import globs, name_kinds
from privlp.problem.validation import Sides
from privlp.quiet import WHY, unquoted
from privlp.readers.blocks import ParquetRows
from privlp.readers.cvxpy_problem import read_cvxpy
from privlp.readers.model_files import read_mps
from privlp.readers.tables import read_linprog, require_continuous
from privlp.relations import ConstraintPrivate, NeighbourRelation
from privlp.relations.combined import in_order_of, relation_of
from privlp.tables import by_name, index_of, listed

if TYPE_CHECKING:
    import cvxpy


class ProgramReaders:
    """The class methods of :class:`~privlp.LinearProgram` that read a program."""

    @classmethod
    def _read(
        cls,
        fields: dict[str, Any],
        neighbours: NeighbourRelation | None,
        private: Any,
        groups: Any,
        box: float | None,
        penalty: Any,
    ) -> Self:
        """The program of what was read and of the options that all readers share."""
        if private is None and not hides_rows(neighbours):
            private = fields["row_lower"] != fields["b"]
        fields["bounds"] = validation.boxed(fields["bounds"], box)
        options = {"private": private, "groups": groups, "penalty": penalty}
        return cls._of(fields | options, neighbours)

    @classmethod
    def _of(cls, fields: dict[str, Any], neighbours: NeighbourRelation | None) -> Self:
        """The program of all its fields."""
        raise NotImplementedError

    @classmethod
    def from_mps(
        cls,
        path: str | os.PathLike[str],
        *,
        neighbours: NeighbourRelation | None = None,
        private: Any = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
        relax: bool = False,
        largest_unpacked: int | None = None,
    ) -> Self:
        """Read an MPS or LP file through HiGHS (gzipped too, from HiGHS 1.15).

        Where only numbers are private (:class:`~privlp.ScalarPrivate` and its like), costs, bounds
        and equalities are public unless told otherwise; the program's ``repr`` says what is.

        Parameters
        ----------
        path : path-like
            The file.
        neighbours, private, groups
            As for :class:`~privlp.LinearProgram`; `private` is usually a glob over row names such
            as ``"patient*"``. By default inequalities are private and equalities public. Under
            ``change="add-remove"`` every row is private by default, because it is private whether a
            row is an equality; where equalities are public, name the private rows.
        box : float, optional
            Public bound on every abs(x_j), intersected with the file's own bounds.
        penalty : float, array_like or dict, optional
            As for :class:`~privlp.LinearProgram`; ``{"patient*": 2.5}`` makes the rows of patients
            soft.
        relax : bool
            Whether integer and semi-continuous variables may take any value within their bounds
            (for the latter, 0 and all below their upper bound). Refused by default.
        largest_unpacked : int, optional
            Bytes that a gzipped file may hold. By default it may hold 2^30, and beyond 64 megabytes
            not more than 100 times its own size: a small file must not take all memory.

        Raises
        ------
        ReadError
            If HiGHS cannot parse the file, it is too large when it is unpacked, or it holds integer
            variables (without `relax`) or a quadratic objective.
        InvalidProblemError
            If what it holds is malformed (for instance a NaN).

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from privlp import LinearProgram
        >>> names = ["patient1", "stock"]
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, 0]], [-2, -1], row_names=names)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.mps")
        ...     lp.to_mps(path)
        ...     LinearProgram.from_mps(path, private="patient*").private
        array([ True, False])
        """
        fields = read_mps(
            path, relax=relax, quote=not hides_rows(neighbours), largest_unpacked=largest_unpacked
        )
        lp: Any = cls._read(fields, neighbours, private, groups, box, penalty)
        told = lp.neighbours.changes_whole_rows and not lp.neighbours.hides_rows
        if private is None and told and lp.row_names:
            name_kinds(lp.row_names, lp.private, globs)
        return cast("Self", lp)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        c: npt.ArrayLike | Mapping[str, float],
        rhs: str,
        columns: Sequence[str] | None = None,
        *,
        neighbours: NeighbourRelation | None = None,
        groups: Any = None,
        bounds: Any = (0, None),
        penalty: Any = None,
        sense: Literal["min", "max"] = "min",
        offset: float = 0.0,
        sparse: bool = False,
        memory_limit: float | None = None,
        spill_folder: str | os.PathLike[str] | None = None,
        name: str = "",
    ) -> Self:
        """Rows A x <= b from Parquet files, which are read a part at a time and never as a whole.

        Each line of a file is a private row. Costs are public, and so are limits on variables,
        which are bounds.

        Parameters
        ----------
        path : path-like
            A file, or a folder of ``*.parquet`` files. They must stay as they are.
        c : array_like, shape (d,), or mapping of str to float
            Costs, in the order of `columns` or by name.
        rhs : str
            Column that holds b.
        columns : sequence of str, optional
            Columns that hold A, one for each variable. By default those that `c` names, or all but
            `rhs`. They are found by name, in whatever order a file has them.
        groups : None
            Not taken: state the rows of one record in `neighbours`.
        neighbours, bounds, penalty, sense, offset, name
            As for :class:`~privlp.LinearProgram`.
        sparse : bool
            Make rows sparse as they are read. Worth it if most entries are zero. Results have the
            bits of the same rows as a sparse matrix.
        memory_limit : float, optional
            Bytes that a solve may hold of rows, as they are read and as they are prepared; by
            default 2^29, half a gigabyte. Rows beyond it are *written to a temporary file*, which
            is as private as rows. Only its owner may read it, and it is gone after the solve, also
            after Ctrl-C or a crash. With ``inf`` nothing is written. A few blocks of 32 megabytes
            come on top.
        spill_folder : path-like, optional
            Where this file lies: on a disk with room for twice the rows, or more. By default
            where the system keeps temporary files, which `TMPDIR` names.

        Raises
        ------
        MissingDependencyError
            If PyArrow is not installed.
        InvalidProblemError
            If a column is missing, or holds nulls, NaN or anything but numbers.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import pandas as pd
        >>> from privlp import LinearProgram, solve_exact
        >>> rows = pd.DataFrame({"oats": [-1, -1], "milk": [-1, -3], "need": [-2, -3]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rows.to_parquet(pathlib.Path(folder, "people.parquet"))
        ...     lp = LinearProgram.from_parquet(folder, {"oats": 1, "milk": 2}, rhs="need")
        ...     exact = solve_exact(lp)
        >>> lp.shape, lp.variable_names, exact.x
        ((2, 2), ('oats', 'milk'), array([1.5, 0.5]))
        """
        require_flag(sparse, "sparse")
        if isinstance(c, Mapping):
            columns = tuple(c) if columns is None else columns
        costs = by_name(c, columns, "c") if isinstance(c, Mapping) else c
        quote = not hides_rows(neighbours)
        rows = ParquetRows(path, rhs, columns, sparse=sparse, quote=quote)
        rows.limit_memory(memory_limit, spill_folder)
        rows.check(quote=quote)
        if np.ndim(costs) == 1 and np.size(costs) != len(rows.columns):
            raise InvalidParameterError(
                f"c has {np.size(costs)} costs, but A has {len(rows.columns)} columns:"
                f" {listed([*map(repr, rows.columns)])}. Name those of A by columns=.",
                parameter="c",
            )
        fields = {
            **{"c": costs, "A": rows, "b": Sides(rows), "bounds": bounds, "penalty": penalty},
            **{"sense": sense, "offset": offset, "variable_names": rows.columns, "name": name},
        }
        return cls._of(fields | {"groups": groups}, neighbours)

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
        of :meth:`from_mps`. Tables may stand for matrices, as in :class:`~privlp.LinearProgram`:
        `b_ub` and `b_eq` may name columns of theirs and, without A_eq, `groups` one of A_ub. Of
        `integrality` only zeros are taken, for variables of any value.

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
        of_rows = {"groups": groups, "private": private, "penalty": penalty}
        fields = unquoted(
            lambda: read_linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, of_rows=of_rows, quote=quote),
            f"The arguments of linprog could not be read. {WHY}",
        )
        private, groups, penalty = (fields.pop(key) for key in ("private", "groups", "penalty"))
        if neighbours is not None:
            rows = index_of(*(matrix for matrix in (A_ub, A_eq) if matrix is not None))
            columns = fields["variable_names"]
            neighbours = in_order_of(relation_of(neighbours), rows, None, columns)
        return cls._read(fields, neighbours, private, groups, box, penalty)

    @classmethod
    def from_cvxpy(
        cls,
        problem: cvxpy.Problem,
        *,
        neighbours: NeighbourRelation | None = None,
        private: Any = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
    ) -> Self:
        """Convert a CVXPY problem that is a linear program.

        Where only numbers are private (:class:`~privlp.ScalarPrivate` and its like), costs, bounds
        and equalities are public unless told otherwise; the program's ``repr`` says what is.

        Private constraints must be affine. The objective and public constraints may hold sums,
        means and positive multiples of ``abs``, ``maximum``, ``minimum``, ``max``, ``min``,
        ``pos``, ``neg``, ``norm1``, ``norm_inf``, ``sum_largest`` and ``cvar`` of affine
        expressions. Parameters are numbers, read with the values that they have.

        Parameters
        ----------
        problem : cvxpy.Problem
            Variables keep their order, each column by column; entries are named ``Y[1,0]``, by row
            and column from 0 on. Variables that terms need come last.
        private : constraint, term, label, pattern, or list of these, optional
            The private ones, as the objects of which the problem is made, or by the labels that
            ``constraint.set_label`` gave (newer versions of CVXPY have it). By default inequalities
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
            ``{constraint: price}``, or with labels as keys: a number, or one for each row.

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
        if not len(fields["b"]) and needs_rows(neighbours):
            raise ReadError("The CVXPY problem has no constraints.")
        if groups is None and records is not None:
            groups = _owners(records, neighbours)
        penalty = fields.pop("penalty")
        return cls._read(fields, neighbours, fields.pop("private"), groups, None, penalty)


def hides_rows(neighbours: Any) -> bool:
    """Whether a relation, given by the user or not, makes the number of rows private."""
    return bool(getattr(neighbours, "hides_rows", False))


def needs_rows(neighbours: Any) -> bool:
    """Whether a program must have rows: not if only costs are private, or the number of rows."""
    return not hides_rows(neighbours) and getattr(neighbours, "private_parts", "") != {"c"}


def _owners(records: IntArray, neighbours: Any) -> IntArray | None:
    """The record of each row, unless it is declared how many rows a record has in all."""
    relation = ConstraintPrivate() if neighbours is None else relation_of(neighbours)
    if not isinstance(relation, ConstraintPrivate):
        raise InvalidParameterError(
            "A term of the objective gives each private record two rows, and the neighbour relation"
            " lets numbers of single rows change. Use ConstraintPrivate, or write the term as"
            " constraints.",
            parameter="neighbours",
        )
    return records if relation.rows_per_record == 1 else None
