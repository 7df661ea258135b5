"""HiGHS as a linear oracle over a public region: it sees public and released numbers only."""

from __future__ import annotations

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.highs_model import model_of, quiet_highs, row_sizes

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_DEFAULT_TOLERANCE = 1e-7
# In a leader variables are scaled to the unit range. There points may differ by little.
_TOLERANCE_OF_LEADER = 1e-9
# Values of HiGHS's option simplex_strategy: the dual simplex goes on after rows were added, the
# primal after costs were changed.
_DUAL, _PRIMAL = 1, 4


class Oracle:
    """HiGHS's simplex on rows and bounds, each time started from the last basis.

    Only costs and added rows change.

    Parameters
    ----------
    A, lower, upper
        Rows lower <= A x <= upper.
    bounds : (d, 2)
    tolerance : float
        Feasibility tolerance of HiGHS.
    """

    def __init__(
        self,
        A: sp.csr_array,
        lower: FloatArray,
        upper: FloatArray,
        bounds: FloatArray,
        tolerance: float = _DEFAULT_TOLERANCE,
    ) -> None:
        self.highs = quiet_highs(presolve="off", solver="simplex")
        self._set_tolerance(tolerance)
        self._strategy = 0
        self._columns = np.arange(A.shape[1], dtype=np.int32)
        self.highs.passModel(model_of(np.zeros(A.shape[1]), A, lower, upper, bounds))

    def minimise(self, cost: FloatArray, strategy: int = _PRIMAL) -> FloatArray | None:
        """A vertex of least cost; None if HiGHS finds none.

        After a failure HiGHS keeps to its default tolerances.
        """
        if strategy != self._strategy:
            self.highs.setOptionValue("simplex_strategy", strategy)
            self._strategy = strategy
        self.highs.changeColsCost(len(cost), self._columns, np.ascontiguousarray(cost))
        for tolerance in dict.fromkeys((self._tolerance, _DEFAULT_TOLERANCE)):
            if tolerance != self._tolerance:
                self.highs.clearSolver()
                self._set_tolerance(tolerance)
            self.highs.run()
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                return np.asarray(self.highs.getSolution().col_value)
        self.highs.clearSolver()
        return None

    def _set_tolerance(self, tolerance: float) -> None:
        self._tolerance = tolerance
        for kind in ("primal", "dual"):
            self.highs.setOptionValue(f"{kind}_feasibility_tolerance", tolerance)

    def add(self, coefficients: FloatArray, upper: float) -> None:
        """Add a row coefficients·x <= upper."""
        self.highs.addRow(-highspy.kHighsInf, upper, len(coefficients), self._columns, coefficients)

    def drop_slack_rows(self, first: int, end: int) -> None:
        """Drop those of the rows from `first` to `end` that the last vertex does not touch."""
        basis = self.highs.getBasis().row_status[first:end]
        slack = [
            first + i for i, status in enumerate(basis) if status == highspy.HighsBasisStatus.kBasic
        ]
        self.highs.deleteRows(len(slack), np.array(slack, dtype=np.int32))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.highs.getNumRow())


class Leader:
    """The best points of a region for given costs, or for released cuts.

    Costs are vectors of d' numbers, for the live variables in units of their ranges; points are the
    user's x.

    Parameters
    ----------
    rows : tuple
        Rows A, lower, upper of the region.
    bounds : (d, 2)
        Bounds on x.
    low, unit, live
        Coordinates of the region, as in :class:`~privlp.regions.polytope.PublicPolytope`.
    """

    def __init__(
        self,
        rows: tuple[sp.csr_array, FloatArray, FloatArray],
        bounds: FloatArray,
        *,
        low: FloatArray,
        unit: FloatArray,
        live: IntArray,
    ) -> None:
        self._bounds, self._low, self._unit, self._live = bounds, low, unit, live
        A, lower, upper = rows
        held = A @ low
        scaled = sp.csr_array(A @ sp.diags_array(unit))
        size = row_sizes(scaled)
        size[size == 0] = 1.0
        # A last column says by how much all cuts may be exceeded at once.
        self._excess = len(low)
        scaled = sp.csr_array(
            sp.hstack([sp.diags_array(1 / size) @ scaled, sp.csr_array((len(size), 1))])
        )
        # The region lies between 0 and 1.
        within = np.clip((bounds - low[:, None]) / unit[:, None], -1.0, 2.0)
        within = np.vstack([within, [0.0, 0.0]])
        self._oracle = Oracle(
            scaled, (lower - held) / size, (upper - held) / size, within, _TOLERANCE_OF_LEADER
        )
        self._first_cut = self._oracle.rows

    def mean_of_best(self, costs: FloatArray) -> FloatArray | None:
        """The mean of a vertex that is best for each row of `costs`, (m, d').

        ``None`` if HiGHS finds none of them.
        """
        padded = np.zeros((len(costs), self._excess + 1))
        padded[:, self._live] = costs
        found = [x for x in map(self._oracle.minimise, padded) if x is not None]
        return self._point(np.mean(found, axis=0)) if found else None

    def _all(self, live: FloatArray, excess: float) -> FloatArray:
        """Values of all columns, from those of the live variables and of the last column."""
        values = np.zeros(self._excess + 1)
        values[self._live], values[-1] = live, excess
        return values

    def _point(self, scaled: FloatArray | None) -> FloatArray | None:
        """The user's x of scaled values."""
        if scaled is None:
            return None
        x: FloatArray = np.clip(self._low + self._unit * scaled[:-1], *self._bounds.T)
        return x

    def cut(self, slope: FloatArray, at: FloatArray, value: float) -> None:
        """Add the cut value + slope·(x - at) <= 0, in units of its slope."""
        if self._oracle.rows == self._first_cut:
            self._oracle.highs.changeColBounds(self._excess, -highspy.kHighsInf, highspy.kHighsInf)
        size = float(np.linalg.norm(slope))
        row = self._all(slope / size, -1.0)
        self._oracle.add(row, float(row[:-1] @ ((at - self._low) / self._unit) - value / size))

    def deepest(self) -> FloatArray | None:
        """The point of the region at which the largest of the cuts is least.

        Cuts are in units of their slopes. ``None`` if HiGHS fails.
        """
        return self._point(self._oracle.minimise(self._all(np.zeros(len(self._live)), 1.0), _DUAL))

    def forget_slack_cuts(self, but_the_last: int) -> None:
        """Drop cuts that the last deepest point does not touch, but for the newest ones."""
        self._oracle.drop_slack_rows(self._first_cut, self._oracle.rows - but_the_last)
