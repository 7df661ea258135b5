"""A linear program whose variables are read back as arrays, and checks of the arrays of models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, as_floats, frozen, real, require, require_data, shown
from privlp.linear_program import LinearProgram
from privlp.quiet import unquoted
from privlp.solution import point_of


def table(
    values: Any,
    name: str,
    meaning: str,
    shape: tuple[int | None, int | None] = (None, None),
    signed: bool = False,
) -> FloatArray:
    """A matrix of finite numbers, of at least 0 unless signed; of a shape, where it is fixed."""
    array = _numbers(values.toarray() if sp.issparse(values) else values, name)
    fits = array.ndim == 2 and 0 not in array.shape
    sizes = zip(shape, array.shape, strict=False)
    rows, columns = ("any" if size is None else size for size in shape)
    require_data(
        fits and all(size in (None, got) for size, got in sizes),
        f"{name} has shape {array.shape}, but it needs ({rows}, {columns}): {meaning}.",
        name,
    )
    return _of_sign(array, name, signed)


def column(
    values: Any, name: str, meaning: str, size: int | None = None, signed: bool = False
) -> FloatArray:
    """A vector of finite numbers, of at least 0 unless signed; of a size, where it is fixed."""
    array = _numbers(values, name)
    expected = "any length but 0" if size is None else f"length {size}"
    require_data(
        array.ndim == 1 and array.size and size in (None, array.size),
        f"{name} has shape {array.shape}, but it needs one axis of {expected}: {meaning}.",
        name,
    )
    return _of_sign(array, name, signed)


def _of_sign(array: FloatArray, name: str, signed: bool) -> FloatArray:
    allowed = signed or (array >= 0).all()
    require_data(allowed, f"{name} must not be negative anywhere.", name)
    return array


def each(values: Any, name: str, meaning: str, size: int, positive: bool = False) -> FloatArray:
    """A number for all, or a vector with one for each; ``inf`` is allowed."""
    array = as_floats(values, name)
    require_data(
        array.shape in ((), (size,)) and not np.isnan(array).any(),
        f"{name} must be a number or an array of shape ({size},): {meaning}; got shape"
        f" {array.shape}.",
        name,
    )
    above = not positive or (array > 0).all()
    require_data(above, f"{name} must be positive everywhere.", name)
    return np.broadcast_to(array, (size,)).copy()


def labels(given: Any, name: str, size: int, what: str, read: Sequence[str] | None) -> list[str]:
    """Names as given, else those `read` from tables, else "food 1", "food 2", and so on."""
    if given is None:
        return list(read or (f"{what} {number + 1}" for number in range(size)))
    needed = f"{name} must hold {size} names, one for each {what}"
    text = isinstance(given, str)
    names = unquoted(lambda: [] if text else [str(one) for one in given], f"{needed}.", name)
    require_data(len(names) == size, f"{needed}; got {len(names)}.", name)
    other = read is not None and names != read and sorted(names) == sorted(read)
    same = (
        f"{name} has the names of the tables in another order. Give them theirs, or leave it out."
    )
    require_data(not other, same, name)
    return names


def distinct(names: Sequence[str]) -> list[str]:
    """Names, of which repeated ones get a number: "a to b", "a to b (2)"."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def range_of_each(
    lower: Any, upper: Any, numbers: FloatArray, of: str, suffix: str = ""
) -> tuple[FloatArray, FloatArray]:
    """The declared public range of each private number, as two ends; infinite without one."""
    low, high = (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
    names, size = (f"lower{suffix}", f"upper{suffix}"), len(numbers)
    least, most = (
        each(end, name, "the declared public range", size)
        for end, name in zip((low, high), names, strict=True)
    )
    require_data(
        ((least <= numbers) & (numbers <= most)).all(),
        f"Some {of} lie outside {names[0]} and {names[1]}. Declare a public range that holds for"
        f" all {of} that might be; do not read it off the data.",
        names[0],
    )
    return least, most


def _numbers(values: Any, name: str) -> FloatArray:
    array = as_floats(values, name)
    filled = f"{name} holds NaN or infinite entries. Fill them in, or leave their rows out."
    require_data(np.isfinite(array).all(), filled, name)
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Model(LinearProgram):
    """A linear program that knows what its variables mean.

    The functions of ``privlp.models`` return one. It is solved, planned and compared as every
    other :class:`~privlp.LinearProgram`; :meth:`values` gives the answer in the terms of the model.

    Parameters
    ----------
    parts : sequence of (str, tuple of int), optional
        Name and shape of each group of variables, in the order in which they stand in x. By default
        one group, ``"x"``.
    deciding : float, optional
        Where rows are soft, the share of them whose violations make the optimum: 1 - beta for a
        conditional value at risk. It is public, and :func:`privlp.plan` asks for as many more rows,
        or as much larger an eps. By default all of them.

    Raises
    ------
    InvalidParameterError
        If the parts do not have as many entries as there are variables, or `deciding` is no share
        between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve_exact
    >>> lp = models.transport([[1, 4], [3, 1]], [5, 5], [2, 6], sensitivity=1)
    >>> lp.parts
    (('shipments', (2, 2)),)
    >>> lp.values(solve_exact(lp))["shipments"]
    array([[2., 1.],
           [0., 5.]])
    """

    parts: Any = ()
    deciding: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.shape[1]
        parts = tuple((str(name), tuple(shape)) for name, shape in self.parts) or (("x", (d,)),)
        total = sum(math.prod(shape) for _, shape in parts)
        require(total == d, f"parts have {total} entries for {d} variables.", "parts")
        share = real(self.deciding, "deciding")
        asked = f"deciding must be above 0 and at most 1, got {shown(self.deciding)}."
        require(0 < share <= 1, asked, "deciding")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "deciding", share)

    def values(self, solution: Any) -> dict[str, FloatArray]:
        """The variables of a solution, by the names of the parts and in their shapes.

        Parameters
        ----------
        solution : Solution, ExactSolution or array_like of shape (d,)
            What :func:`privlp.solve` or :func:`privlp.solve_exact` returned, or a point; labels are
            matched to the variables' names.

        Returns
        -------
        dict of str to array
            Post-processing: as safe to show as the solution.

        Raises
        ------
        InvalidParameterError
            If there is no x, or x has other variables.

        Examples
        --------
        >>> from privlp import models
        >>> lp = models.transport([[1, 4], [3, 1]], [5, 5], [2, 6], sensitivity=1)
        >>> lp.values([2, 1, 0, 5])["shipments"].sum(axis=0)  # what each customer gets
        array([2., 6.])
        """
        x = point_of(self, solution)
        ends = np.cumsum([math.prod(shape) for _, shape in self.parts])[:-1]
        return {
            name: frozen(piece.reshape(shape))
            for (name, shape), piece in zip(self.parts, np.split(x, ends), strict=True)
        }
