"""The user's linear program: data, who owns which row, and what neighbours may differ in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privlp.checks import frozen, is_one_of, real
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem import row_labels, validation
from privlp.problem.cvxpy_reader import read_cvxpy
from privlp.problem.data import ProgramData
from privlp.problem.highs_model import write_model
from privlp.problem.public_part import PublicPart
from privlp.problem.readers import read_linprog, read_mps
from privlp.problem.standard_form import StandardForm
from privlp.relations import Combined, ConstraintPrivate, NeighbourRelation
from privlp.relations.base import in_words
from privlp.report.program_picture import draw_program
from privlp.rows.program_rows import ProgramRows

if TYPE_CHECKING:
    import cvxpy
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram(ProgramData):
    """Minimise c·x subject to A x <= b within bounds; some rows belong to private records.

    Parameters
    ----------
    c : array_like, shape (d,)
        Objective; public.
    A : array, sparse array or DataFrame, shape (n, d)
        Constraint matrix. Copied once, in column order; a sparse matrix stays sparse. A DataFrame
        gives its names.
    b : array_like, shape (n,)
        Right-hand sides: upper sides of A x. ``inf`` for a row that has a lower side only, such as
        a ``>=`` row read from a file.
    neighbours : NeighbourRelation or tuple of them
        What two neighbouring programs may differ in; a tuple where one record touches several
        parts.
    private : mask, indices, pattern, or sequence of names and patterns, optional
        The private rows: all by default. A pattern is a glob over row names; several select the
        rows that match any.
    groups : array_like, shape (n,), optional
        Record that owns each row, for records with several rows. Only private rows count.
    bounds : pair or sequence of pairs
        Bounds on x as in :func:`scipy.optimize.linprog`; public.
    penalty : float, array_like of shape (n,) or (n, 2), or dict, optional
        Price per unit of violation of soft rows; public. A number makes every private row soft; in
        an array ``inf`` marks hard rows, and two columns are the prices below `row_lower` and above
        `b`; a dict ``{pattern: price}`` makes the private rows soft
        whose names match, and the last pattern counts.
    row_lower : array_like, shape (n,), optional
        Lower sides ``row_lower <= A x``, ``-inf`` where absent; with them `b` may hold ``inf``. A
        row with equal sides is an equality.
    sense : {"min", "max"}
        Direction of optimisation.
    offset : float
        Constant added to the objective.
    variable_names, row_names : sequence of str, optional
        Names used in messages, files and selections.
    name : str
        Name of the program.

    Raises
    ------
    InvalidProblemError
        For anything malformed: shapes, NaN, infinities, contradictory bounds, an empty problem.
        Under ``change="add-remove"`` a program without rows is not empty: its only record may have
        left. Messages then tell no number, index or name of rows.

    Notes
    -----
    The program is immutable. Checks at construction read the private rows, before any privacy is
    claimed: a malformed program is refused. Nothing after that depends on private rows without
    noise, except functions that say that they are not private.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram
    >>> lp = LinearProgram(c=[1, 2], A=-np.eye(2), b=[-1, -1])
    >>> lp
    LinearProgram(min, 2 rows (2 private), 2 variables, dense, constraint-private: one record
    (at most 1 row) replaced)
    >>> lp.shape, lp.is_sparse, lp.sign
    ((2, 2), False, 1.0)
    >>> LinearProgram(c=[1, 2], A=np.eye(3), b=[1, 1, 1])
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidProblemError: c has shape (2,), but A asks for (3,): one cost per ...
    """

    c: npt.NDArray[np.float64]
    A: Any
    b: npt.NDArray[np.float64]
    _: KW_ONLY
    neighbours: Any = field(default_factory=ConstraintPrivate)
    private: Any = None
    groups: Any = None
    bounds: Any = (0, None)
    penalty: Any = None
    row_lower: Any = None
    sense: Literal["min", "max"] = "min"
    offset: float = 0.0
    variable_names: Any = None
    row_names: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        self._set(neighbours=_relation(self.neighbours))
        quote = not self.neighbours.hides_rows
        frame = self.A if hasattr(self.A, "columns") and hasattr(self.A, "index") else None
        columns = None if quote else np.size(self.c)
        self._set(A=validation.matrix(self.A, quote=quote, columns=columns))
        self._check_names(frame, quote=quote)
        self._check_numbers(quote=quote)
        self._check_rows(quote=quote)
        self._check_options()
        self.neighbours.check(self)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_names(self, frame: Any, *, quote: bool) -> None:
        """Names of variables and rows: as given, or those of a DataFrame."""
        n, d = self.A.shape
        variables, rows = self.variable_names, self.row_names
        if frame is not None:
            variables = frame.columns if variables is None else variables
            rows = frame.index if rows is None else rows
        self._set(variable_names=row_labels.names(variables, d, "variable", quote=quote))
        self._set(row_names=row_labels.names(rows, n, "row", quote=quote))

    def _check_numbers(self, *, quote: bool) -> None:
        """Costs, sides of the rows, and bounds."""
        n, d = self.A.shape
        self._set(c=validation.vector(self.c, d, "c", "one cost per column of A", quote=quote))
        if self.row_lower is None:
            b = validation.vector(self.b, n, "b", "one right-hand side per row of A", quote=quote)
            self._set(b=b, row_lower=np.broadcast_to(-np.inf, n))
        else:
            lower, upper = validation.interval_ends(
                self.row_lower, self.b, n, self.row_name, ("row_lower", "b"), quote=quote
            )
            self._set(b=upper, row_lower=lower)
        bounds = validation.variable_bounds(self.bounds, d, quote=quote)
        ends = validation.interval_ends(*bounds, d, self.variable_name)
        self._set(bounds=frozen(np.column_stack(ends)))

    def _check_rows(self, *, quote: bool) -> None:
        """Which rows are private, who owns them, and what their violation costs."""
        n = self.A.shape[0]
        self._set(private=row_labels.row_mask(self.private, n, self.row_names, quote=quote))
        self._set(groups=row_labels.record_ids(self.groups, n, quote=quote))
        prices = row_labels.penalties(self.penalty, self.private, self.row_names, quote=quote)
        self._set(penalty=prices)

    def _check_options(self) -> None:
        """Sense, offset and name."""
        if not is_one_of(self.sense, ("min", "max")):
            raise InvalidParameterError(
                f"sense must be 'min' or 'max', got {self.sense!r}.", parameter="sense"
            )
        self._set(offset=real(self.offset, "offset"))
        if not np.isfinite(self.offset):
            raise InvalidProblemError(
                f"offset must be a finite number, got {self.offset!r}.", parameter="offset"
            )
        if not isinstance(self.name, str):
            raise InvalidParameterError(
                f"name must be a string, got {type(self.name).__name__}.", parameter="name"
            )

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
    ) -> LinearProgram:
        """Read an MPS or LP file through HiGHS (gzipped too, from HiGHS 1.15).

        Parameters
        ----------
        path : path-like
            The file.
        neighbours, private, groups
            As for :class:`LinearProgram`; `private` is usually a glob over row names such as
            ``"patient*"``. By default inequalities are private and equalities public. Under
            ``change="add-remove"`` every row is private by default, because it is private whether a
            row is an equality; where equalities are public, name the private rows.
        box : float, optional
            Public bound on every abs(x_j), intersected with the file's own bounds.
        penalty : float, array_like or dict, optional
            As for :class:`LinearProgram`; ``{"patient*": 2.5}`` makes the rows of patients soft.
        relax : bool
            Whether integer and semi-continuous variables may take any value within their bounds
            (for the latter, 0 and all below their upper bound). Refused by default.

        Raises
        ------
        ReadError
            If HiGHS cannot parse the file, or it holds integer variables (without `relax`) or a
            quadratic objective.
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
        fields = read_mps(path, relax=relax, quote=not _hides_rows(neighbours))
        return cls._read(fields, neighbours, private, groups, box, penalty)

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
        neighbours: NeighbourRelation | None = None,
        private: Any = None,
        groups: Any = None,
        box: float | None = None,
        penalty: Any = None,
    ) -> LinearProgram:
        """Take the arguments of :func:`scipy.optimize.linprog`, in its order.

        The rows of A_ub come first, then those of A_eq. By default inequalities are private and
        equalities public; under ``change="add-remove"`` every row is private. The options are those
        of :meth:`from_mps`.

        Examples
        --------
        >>> from privlp import LinearProgram, solve_exact
        >>> bounds = [(None, None), (-3, None)]
        >>> lp = LinearProgram.from_linprog([-1, 4], [[-3, 1], [1, 2]], [6, 4], bounds=bounds)
        >>> solve_exact(lp).x
        array([10., -3.])
        """
        fields = read_linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, quote=not _hides_rows(neighbours))
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
    ) -> LinearProgram:
        """Convert a CVXPY problem that is a linear program.

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
        quote = not _hides_rows(neighbours)
        fields, records = read_cvxpy(problem, private, penalty, box, quote=quote)
        if groups is None and records is not None:
            groups = _owners(records, neighbours)
        penalty = fields.pop("penalty")
        return cls._read(fields, neighbours, fields.pop("private"), groups, None, penalty)

    @classmethod
    def _read(
        cls,
        fields: dict[str, Any],
        neighbours: NeighbourRelation | None,
        private: Any,
        groups: Any,
        box: float | None,
        penalty: Any,
    ) -> LinearProgram:
        if private is None and not _hides_rows(neighbours):
            private = fields["row_lower"] != fields["b"]
        fields["bounds"] = validation.boxed(fields["bounds"], box)
        return cls(
            **fields,
            neighbours=ConstraintPrivate() if neighbours is None else neighbours,
            private=private,
            groups=groups,
            penalty=penalty,
        )

    def to_mps(self, path: str | os.PathLike[str]) -> None:
        """Write the program, private rows included, as an MPS file through HiGHS.

        Who owns which row is not written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from privlp import LinearProgram
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], sense="max")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lp.to_mps(pathlib.Path(folder, "model.mps"))
        ...     again = LinearProgram.from_mps(pathlib.Path(folder, "model.mps"))
        >>> again.sense, bool((again.A == lp.A).all())
        ('max', True)
        """
        write_model(self, path)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        points: Mapping[str, Any] | None = None,
        highlight: Sequence[int] = (),
        limits: npt.ArrayLike | None = None,
    ) -> Axes:
        """Draw the rows and the feasible region of a program in two variables: **not private**.

        The picture shows the true private rows, and in which direction the objective improves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        points : mapping of str to solution or array_like, optional
            What to mark, by its name in the legend: a solution, a point of shape (2,), or many
            points of shape (k, 2).
        highlight : sequence of int, optional
            Rows to draw heavily.
        limits : array_like, shape (2, 2), optional
            Lower and upper end of what is shown of each variable; by default all corners of the
            region, and all points.

        Raises
        ------
        UnsupportedProblemError
            If there are not exactly two variables.
        InvalidParameterError
            If an entry of `points`, `highlight` or `limits` is not a point, a row or a limit.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from privlp import LinearProgram, solve_exact
        >>> lp = LinearProgram(c=[1, 2], A=[[-1, -1], [-1, -3]], b=[-2, -3])
        >>> ax = lp.plot(points={"exact": solve_exact(lp)})
        >>> ax.get_xlabel()
        'x[0]'
        >>> plt.close(ax.figure)
        """
        return draw_program(self, points, highlight, limits, ax)

    def public(self) -> PublicPart:
        """What two neighbours have in common: planning sees only this.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3]).public().n
        2
        """
        return PublicPart.of(self._standard_form())

    def rows(self) -> ProgramRows:
        """The private rows. Only a run whose mechanisms were charged reads them.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> float(lp.rows().total(lambda block: block.rhs.sum()))
        -5.0
        """
        return ProgramRows(self._standard_form())

    def _standard_form(self) -> StandardForm:
        # Whether a number underflows depends on private rows; nobody may learn it from a warning.
        with np.errstate(all="ignore"):
            return StandardForm.of(self)

    def __repr__(self) -> str:
        n, d = self.shape
        rows = f"{n} rows ({int(self.private.sum())} private)"
        if self.neighbours.hides_rows:
            # The public rows are shown: a pattern may have matched fewer rows than was meant.
            public = int((~self.private).sum())
            rows = (
                f"{public} public rows, number of private rows private"
                if public
                else "number of rows private"
            )
        storage = "sparse" if self.is_sparse else "dense"
        title = f"{self.name!r}, " if self.name else ""
        return (
            f"LinearProgram({title}{self.sense}, {rows}, {d} variables, {storage},"
            f" {self.neighbours.description})"
        )


def _hides_rows(neighbours: Any) -> bool:
    """Whether a relation, given by the user or not, makes the number of rows private."""
    return bool(getattr(neighbours, "hides_rows", False))


def _owners(records: npt.NDArray[np.int64], neighbours: Any) -> npt.NDArray[np.int64] | None:
    """The record of each row, where a term of an objective gave a record several rows.

    A declared number of rows per record stays as it is: it bounds all rows of a record.
    """
    relation = ConstraintPrivate() if neighbours is None else _relation(neighbours)
    if not isinstance(relation, ConstraintPrivate):
        raise InvalidParameterError(
            "A term of the objective gives each private record two rows, and the neighbour relation"
            " lets numbers of single rows change. Use ConstraintPrivate, or write the term as"
            " constraints.",
            parameter="neighbours",
        )
    return records if relation.rows_per_record == 1 else None


def _relation(given: Any) -> NeighbourRelation:
    """The relation that the user gave: a tuple of relations holds all at once."""
    relation = Combined(tuple(given)) if isinstance(given, tuple | list) else given
    if not isinstance(relation, NeighbourRelation):
        raise InvalidParameterError(
            f"neighbours must be a neighbour relation, got {in_words(relation)}.",
            parameter="neighbours",
        )
    return relation
