"""The ways to a linear program from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from privlp.checks import require_flag
from privlp.errors import InvalidParameterError
from privlp.problem.parquet_rows import ParquetRows
from privlp.problem.program_reader import ProgramReader, hides_rows
from privlp.problem.readers import read_mps
from privlp.problem.row_source import Sides
from privlp.relations import NeighbourRelation


class FileReaders(ProgramReader):
    """The class methods of :class:`~privlp.LinearProgram` that read a file."""

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
            path,
            relax=relax,
            quote=not hides_rows(neighbours),
            largest_unpacked=largest_unpacked,
        )
        return cls._read(fields, neighbours, private, groups, box, penalty)

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
        penalty: float | None = None,
        sense: Literal["min", "max"] = "min",
        offset: float = 0.0,
        sparse: bool = False,
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
            As for :class:`~privlp.LinearProgram`; the penalty is one number for all rows.
        sparse : bool
            Make rows sparse as they are read. Worth it if most entries are zero. Results have the
            bits of the same rows as a sparse matrix.

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
            c = _by_name(c, columns)
        quote = not hides_rows(neighbours)
        rows = ParquetRows(path, rhs, columns, sparse=sparse, quote=quote)
        rows.check(quote=quote)
        if np.ndim(c) == 1 and np.size(c) != len(rows.columns):
            raise InvalidParameterError(
                f"c has {np.size(c)} costs, but A has {len(rows.columns)} columns:"
                f" {_named(rows.columns)}. Name those of A by columns=.",
                parameter="c",
            )
        fields = {
            **{"c": c, "A": rows, "b": Sides(rows), "bounds": bounds, "penalty": penalty},
            **{"sense": sense, "offset": offset, "variable_names": rows.columns, "name": name},
        }
        return cls._of(fields | {"groups": groups}, neighbours)


def _by_name(c: Mapping[str, float], columns: Sequence[str]) -> list[float]:
    """Costs in the order of the columns."""
    if set(c) != set(columns):
        raise InvalidParameterError(
            "c must name the cost of each of the columns, and no other name.", parameter="c"
        )
    return [c[name] for name in columns]


def _named(columns: Sequence[str], most: int = 8) -> str:
    """The first names of columns."""
    return ", ".join(map(repr, columns[:most])) + (", ..." if len(columns) > most else "")
