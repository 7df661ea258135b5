"""The user's linear program: data, who owns which row, and what neighbours may differ in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from privlp.checks import frozen, is_one_of, real
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem import row_labels, validation
from privlp.problem.dask_rows import is_dask
from privlp.problem.data import ProgramData
from privlp.problem.highs_model import write_model
from privlp.problem.program_in_blocks import check_in_blocks, source_of
from privlp.problem.program_readers import ProgramReaders
from privlp.problem.public_part import PublicPart
from privlp.problem.row_source import RowSource, Sides
from privlp.problem.standard_form import StandardForm
from privlp.relations import ConstraintPrivate, NeighbourRelation
from privlp.relations.combined import relation_of
from privlp.report.program_picture import draw_program
from privlp.rows.door import Rows
from privlp.rows.program_blocks import rows_of
from privlp.rows.program_rows import RowBlock

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram(ProgramReaders, ProgramData):
    """Minimise c·x subject to A x <= b within bounds; some rows belong to private records.

    Parameters
    ----------
    c : array_like, shape (d,)
        Objective; public.
    A : array, sparse array or DataFrame, shape (n, d)
        Constraint matrix. Copied once: a dense one in its own order, a sparse one as CSR. An array
        of floats that nobody can write to, such as a memory map opened with ``mode="r"``, and a
        CSR array of such arrays, is not copied. A DataFrame gives its names.

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
        rows that match any.
    groups : array_like, shape (n,), optional
        Record that owns each row, for records with several rows. Only private rows count.
    bounds : pair or sequence of pairs
        Bounds on x as in :func:`scipy.optimize.linprog`; public.
    penalty : float, array_like of shape (n,) or (n, 2), or dict, optional
        Price per unit of violation of soft rows; public. A number makes every private row soft; in
        an array ``inf`` marks hard rows, and two columns are the prices below `row_lower` and above
        `b`; a dict ``{pattern: price}`` makes the private rows soft whose names match, and the last
        pattern counts.
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
        self._set(neighbours=relation_of(self.neighbours))
        quote = not self.neighbours.hides_rows
        if self.variable_names is None and is_dask(self.A):
            self._set(variable_names=getattr(self.A, "columns", None))
        source = source_of(self.A, self.b, quote=quote)
        if source is None:
            self._check_matrix(quote=quote)
        else:
            self._check_blocks(source, quote=quote)
        self._check_options()
        self.neighbours.check(self)

    def _check_matrix(self, *, quote: bool) -> None:
        """Rows that are a matrix in memory."""
        frame = self.A if hasattr(self.A, "columns") and hasattr(self.A, "index") else None
        columns = None if quote else np.size(self.c)
        self._set(A=validation.matrix(self.A, quote=quote, columns=columns))
        self._check_names(frame, quote=quote)
        self._check_costs(quote=quote)
        self._check_sides(quote=quote)
        self._check_rows(quote=quote)

    def _check_blocks(self, source: RowSource, *, quote: bool) -> None:
        """Rows that are read in blocks: all of them private, and alike."""
        check_in_blocks(self)
        n, d = source.shape
        names = row_labels.names(self.variable_names, d, "variable", quote=quote)
        price = self.penalty[0] if isinstance(self.penalty, np.ndarray) else self.penalty
        prices = row_labels.penalties(price, np.ones(1, dtype=bool), None)
        self._set(
            A=source,
            b=Sides(source),
            row_lower=np.broadcast_to(-np.inf, n),
            private=np.broadcast_to(True, n),
            penalty=None if prices is None else np.broadcast_to(prices[0], n),
            variable_names=names,
        )
        self._check_costs(quote=quote)

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

    def _check_sides(self, *, quote: bool) -> None:
        """Sides of the rows."""
        n = self.A.shape[0]
        if self.row_lower is None:
            b = validation.vector(self.b, n, "b", "one right-hand side per row of A", quote=quote)
            self._set(b=b, row_lower=np.broadcast_to(-np.inf, n))
        else:
            lower, upper = validation.interval_ends(
                self.row_lower, self.b, n, self.row_name, ("row_lower", "b"), quote=quote
            )
            self._set(b=upper, row_lower=lower)

    def _check_costs(self, *, quote: bool) -> None:
        """Costs and bounds of variables."""
        d = self.A.shape[1]
        self._set(c=validation.vector(self.c, d, "c", "one cost per column of A", quote=quote))
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
        """What two neighbours have in common: planning sees only this.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3]).public().n
        2
        """
        # Whether a number underflows depends on private rows; nobody may learn it from a warning.
        with np.errstate(all="ignore"):
            return (
                PublicPart.of_blocks(self)
                if self.in_blocks
                else PublicPart.of(StandardForm.of(self))
            )

    def rows(self) -> Rows[RowBlock]:
        """The private rows. Only a run whose mechanisms were charged reads them.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> float(lp.rows().total(lambda block: block.rhs.sum()))
        -5.0
        """
        with np.errstate(all="ignore"):
            return rows_of(self)

    def in_memory(self) -> Self:
        """The program with all rows in memory, as one matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram
        >>> lp = LinearProgram([1, 2], [-np.eye(2), -np.eye(2)], [[-1, -1], [-2, -2]])
        >>> lp, lp.in_memory().A.shape
        (LinearProgram(min, 4 rows (4 private), 2 variables, dense, in blocks, constraint-private:
        one record (at most 1 row) replaced), (4, 2))
        """
        if not self.in_blocks:
            return self
        A, b = self.A.in_memory()
        return self.changed(A=A, b=b, row_lower=None, private=None)

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
        storage += ", in blocks" if self.in_blocks else ""
        title = f"{self.name!r}, " if self.name else ""
        return (
            f"LinearProgram({title}{self.sense}, {rows}, {d} variables, {storage},"
            f" {self.neighbours.description})"
        )
