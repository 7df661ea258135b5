"""A linear program whose variables are read back as arrays of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import as_floats, frozen
from privlp.errors import InvalidParameterError
from privlp.problem.linear_program import LinearProgram

FloatArray = npt.NDArray[np.float64]


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

    Raises
    ------
    InvalidParameterError
        If the parts do not have as many entries as there are variables.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.shape[1]
        parts = tuple((str(name), tuple(shape)) for name, shape in self.parts) or (("x", (d,)),)
        total = sum(math.prod(shape) for _, shape in parts)
        if total != d:
            raise InvalidParameterError(
                f"parts have {total} entries for {d} variables.", parameter="parts"
            )
        object.__setattr__(self, "parts", parts)

    def values(self, solution: Any) -> dict[str, FloatArray]:
        """The variables of a solution, by the names of the parts and in their shapes.

        Parameters
        ----------
        solution : Solution, ExactSolution or array_like of shape (d,)
            What :func:`privlp.solve` or :func:`privlp.solve_exact` returned, or a point.

        Returns
        -------
        dict of str to array
            Post-processing: as safe to show as the solution.

        Raises
        ------
        InvalidParameterError
            If there is no x, or x has another number of variables.

        Examples
        --------
        >>> from privlp import models
        >>> lp = models.transport([[1, 4], [3, 1]], [5, 5], [2, 6], sensitivity=1)
        >>> lp.values([2, 1, 0, 5])["shipments"].sum(axis=0)  # what each customer gets
        array([2., 6.])
        """
        x = getattr(solution, "x", solution)
        if x is None:
            raise InvalidParameterError(
                f"The solution has no x: {getattr(solution, 'message', 'it is None')}",
                parameter="solution",
            )
        x = as_floats(x, "solution")
        if x.shape != (self.shape[1],):
            raise InvalidParameterError(
                f"solution has x of shape {x.shape}, but the model has {self.shape[1]} variables.",
                parameter="solution",
            )
        ends = np.cumsum([math.prod(shape) for _, shape in self.parts])[:-1]
        return {
            name: frozen(piece.reshape(shape))
            for (name, shape), piece in zip(self.parts, np.split(x, ends), strict=True)
        }
