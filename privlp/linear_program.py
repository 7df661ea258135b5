"""The user's linear program: data, who owns which row, and what neighbours may differ in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError
from privlp.pictures import draw_program
from privlp.problem import bands
from privlp.problem.data import ProgramData
from privlp.problem.program_checks import check_program, set_fields
from privlp.quiet import WHY, unnoticed, unquoted
from privlp.readers.blocks import blocks_of
from privlp.readers.model_files import write_model
from privlp.readers.model_objects import ModelReaders
from privlp.readers.tables import fields_of_table
from privlp.relations import ConstraintPrivate, NeighbourRelation
from privlp.relations.base import PublicPart
from privlp.relations.combined import in_order_of, relation_of
from privlp.rows.access import Rows
from privlp.rows.blocks import private_rows
from privlp.rows.program_rows import RowBlock
from privlp.tables import index_of, is_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram(ModelReaders, ProgramData):
    """Minimise c·x subject to A x <= b within bounds; some rows belong to private records.

    Parameters
    ----------
    c : array_like, shape (d,), or mapping of str to float
        Objective; public. A mapping gives the cost of each variable by its name, in any order; so
        does a Series of pandas whose labels are names of variables.
    A : array, sparse array or table, shape (n, d)
        Constraint matrix. Copied once: a dense one in its own order, a sparse one as CSR. An array
        of floats that nobody can write to, such as a memory map opened with ``mode="r"``, and a
        CSR array of such arrays, is not copied.

        Or a table that narwhals reads, of pandas, polars, PyArrow, DuckDB or Ibis for instance. It
        names the variables, and pandas the rows: what is given for rows with an index of its own is
        matched to them by their labels, and refused if it has others. Of `b`, `groups`,
        `row_lower`, `penalty` and `row_names` each may be the name of a column, which then is no
        variable. A lazy table is computed once, into a temporary file, and read in blocks where no
        more than `b` is asked of it.

        Or a sequence of such blocks of rows, which are read one after the other and not copied, or
        a ``dask.array`` or ``dask.dataframe``. Then all rows are private. See the guide "Rows that
        do not fit into memory".
    b : array_like, shape (n,), or a sequence of them, or of Dask, in the same blocks
        Right-hand sides: upper sides of A x. ``inf`` for a row that has a lower side only, such as
        a ``>=`` row read from a file.
    neighbours : NeighbourRelation or tuple of them
        What two neighbouring programs may differ in; a tuple where one record touches several
        parts.
    private : mask, indices, pattern, or sequence of names and patterns, optional
        The private rows: all by default. A pattern is a glob over row names; several select the
        rows that match any. A mask holds booleans; integers are row indices, each given once. So
        flags 0 and 1 of a type of integers are refused: give ``np.asarray(flags, dtype=bool)``. The
        only indices that could be such flags, 0 and 1 for two rows and 0 for one, name all rows.
    groups : array_like, shape (n,), optional
        Record that owns each row, for records with several rows. Only private rows count. Ids are
        numbers or names, and none is missing. They are public where records are replaced: noise is
        for the record with the most rows. Where records come and go they are private.
    bounds : pair or sequence of pairs
        Bounds on x as in :func:`scipy.optimize.linprog`, or pairs by names of variables; public.
    penalty : float, array_like of shape (n,) or (n, 2), or dict, optional
        Price per unit of violation of soft rows; public. Where records come and go a bound on it
        is public: `largest_penalty` of the relation. A number makes every private row soft; in an
        array ``inf`` marks hard rows, and two columns are the prices below `row_lower` and above
        `b`; a dict ``{pattern: price}`` makes the private rows soft whose names match, and the last
        pattern counts. Rows in blocks may have an array for each block.
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
    kept : tuple of str
        Names of the columns that :meth:`with_recourse` left out.
    private_bounds
        Refused: the message shows how a private bound is written as a row.

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
    >>> lp.public().n, float(lp.rows().total(lambda block: block.rhs.sum()))
    (2, -2.0)
    >>> LinearProgram([1, 2], [-np.eye(2), -np.eye(2)], [[-1, -1], [-2, -2]]).in_memory().A.shape
    (4, 2)
    >>> LinearProgram(c=[1, 2], A=np.eye(3), b=[1, 1, 1])
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidProblemError: c has shape (2,), but A asks for (3,): one cost per ...
    """

    c: Any  # an array of floats, once it is read; so is b
    A: Any
    b: Any
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
    kept: tuple[str, ...] = ()
    private_bounds: None = None

    @unnoticed()
    def __post_init__(self) -> None:
        bands.refuse_private_bounds(self.private_bounds)
        relation, rows = relation_of(self.neighbours), index_of(self.A)
        set_fields(self, neighbours=relation)
        if is_table(self.A):
            read = partial(fields_of_table, self)
            set_fields(self, **unquoted(read, f"A could not be read. {WHY}", "A"))
        check_program(self, blocks_of)
        found = in_order_of(relation, rows, self.row_names, self.variable_names)
        set_fields(self, neighbours=found)
        self.neighbours.check(self)

    @classmethod
    def _of(cls, fields: dict[str, Any], neighbours: NeighbourRelation | None) -> Self:
        relation = ConstraintPrivate() if neighbours is None else neighbours
        return cls(**fields, neighbours=relation)

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
        write_model(self.in_memory(), path)

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
        return draw_program(self.in_memory(), points, highlight, limits, ax)

    def public(self) -> PublicPart:
        """What two neighbours have in common: planning sees only this."""
        # Whether a number underflows depends on private rows; nobody may learn it from a warning.
        with unnoticed():
            return PublicPart.of(self)

    def rows(self) -> Rows[RowBlock]:
        """The private rows. Only a run whose mechanisms were charged reads them."""
        with unnoticed():
            return private_rows(self)

    def in_memory(self) -> Self:
        """The program with all rows in memory, as one matrix."""
        if not self.in_blocks:
            return self
        A, b = self.A.in_memory()
        return self.changed(A=A, b=b, row_lower=None, private=None)

    def with_tolerance(self, tolerance: npt.ArrayLike) -> Self:
        """The program in which private equalities ``A x = b`` hold within a tolerance.

        To satisfy an equality to the last digit would publish its right-hand side.

        Parameters
        ----------
        tolerance : float or array_like of shape (n,)
            How far A x may be from b, in units of the rows; public.

        Returns
        -------
        LinearProgram
            Each private equality is ``b - tolerance <= A x <= b + tolerance``. Where right-hand
            sides are private numbers (:class:`~privlp.ScalarPrivate`) these are two rows: lower
            sides come last, declared ranges move along, and with ``norm="1"`` the sensitivity
            doubles, because one number stands in two rows.

        Raises
        ------
        InvalidParameterError
            If the tolerance is not positive, or there is no private equality.
        UnsupportedProblemError
            If rows are in blocks, or other numbers than right-hand sides are private.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> lp = LinearProgram([1, 2], [[1, 1]], [2], row_lower=[2]).with_tolerance(0.5)
        >>> lp.row_lower, lp.b
        (array([1.5]), array([2.5]))
        """
        return self.changed(**bands.within(self, tolerance))

    def with_recourse(self, columns: str | Sequence[str] | Sequence[int]) -> Self:
        """The program without columns that you keep: they close private equalities afterwards.

        Columns y with bounds [l, u] in ``A x + R y = b`` are what you decide when you know b: a
        generator, a purchase, a stock. They are never released. The rows of the other variables
        say that some y within its bounds exists. With ``feasible="always"`` that holds for certain.

        Parameters
        ----------
        columns : names, patterns or places
            They stand in private equalities and nowhere else, are as many as these, and close them
            whatever b is: each row has one of its own, or all together do, such as stocks, or
            angles of a grid and a control by which generators follow its loads.

        Returns
        -------
        LinearProgram
            The other variables; rows as by :meth:`with_tolerance`. What y costs, linear in x, is in
            the costs of x, but for a constant that depends on b. Where a column stands in several
            rows, they are those of R⁻¹A, and sides and sensitivity those of R⁻¹b, where a column
            has an end and a number moves.

        Raises
        ------
        InvalidParameterError
            If a column stands elsewhere too, or they close the equalities in no way, or in several.
        UnsupportedProblemError
            If the relation is not :class:`~privlp.ScalarPrivate`.

        Examples
        --------
        Demands 5 and 7 are met by a plan x and what is bought, at most 4 of each:

        >>> import numpy as np
        >>> from privlp import LinearProgram, ScalarPrivate, solve
        >>> demand, moves = [5.0, 7.0], ScalarPrivate(0.1, norm="1", lower=4, upper=7)
        >>> lp = LinearProgram([1, 1, 3, 3], np.eye(2, 4) + np.eye(2, 4, 2), demand,
        ...     row_lower=demand, bounds=[(0, 9), (0, 9), (0, 4), (0, 4)], neighbours=moves)
        >>> planned = solve(lp.with_recourse([2, 3]), 4.0, 1e-6, feasible="always", rng=0)
        >>> bought = lp.recourse([2, 3], planned.x)  # not private: you keep it
        >>> bool((bought >= 0).all() and (bought <= 4).all())
        True
        """
        return self.changed(**bands.Recourse.of(self, columns).eliminated(self))

    def recourse(self, columns: str | Sequence[str] | Sequence[int], x: Any) -> FloatArray:
        """The columns of :meth:`with_recourse` that go with x: **not private**, for you to keep.

        Parameters
        ----------
        columns : names, patterns or places
            As for :meth:`with_recourse`.
        x : solution, array_like, mapping or Series
            Values of the other variables, by their names where it has some.

        Returns
        -------
        ndarray
            One value for each column, in the order of the program.

        Examples
        --------
        >>> from privlp import LinearProgram, ScalarPrivate
        >>> lp = LinearProgram([1, 3], [[1, 1]], [5], row_lower=[5], neighbours=ScalarPrivate(0.1))
        >>> lp.recourse([1], [3.5])
        array([1.5])
        """
        return bands.Recourse.of(self, columns).values(self, x)

    def __repr__(self) -> str:
        n, d = self.shape
        whole_rows = self.neighbours.changes_whole_rows
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
        storage += ", in blocks" if self.in_blocks else ""
        known = "" if whole_rows else f"; public: {self.neighbours.public_parts(self)}"
        title = f"{self.name!r}, " if self.name else ""
        return (
            f"LinearProgram({title}{self.sense}, {rows}, {d} variables, {storage},"
            f" {self.neighbours.describe(self)}{known})"
        )


def require_program(lp: Any) -> None:
    """Refuse what is no program, and say what makes one of it."""
    if not isinstance(lp, LinearProgram):
        raise InvalidParameterError(
            f"lp must be a LinearProgram, got {type(lp).__name__}. LinearProgram.from_model makes"
            " one of a model, from_mps of a file, from_linprog of SciPy's arguments.",
            parameter="lp",
        )
