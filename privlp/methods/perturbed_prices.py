"""Shadow prices of public rows, from what a perturbed program releases.

Proof: ``docs/proofs.md``, "One perturbed convex program", Slopes for shadow prices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import UnsupportedProblemError
from privlp.methods.perturbed_draws import Slopes
from privlp.methods.task import Task
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.regions.quadratic import fitted_prices

FloatArray = npt.NDArray[np.float64]

# Rows with less slack than so many times the error of the point may be tight.
_NEAR, _LEAST_NEAR = 8.0, 1e-7
#: A record's slopes are shorter than what is charged by 2^-23 of it at least, because rows are
#: shortened before they are rounded to a grid. Sums of so many rows are rounded by less.
MOST_ROWS = 10**8


def require_priced_rows(task: Task, public: PublicRows) -> None:
    """Refuse a request for shadow prices where no row has one that could be released.

    Parameters
    ----------
    task : Task
    public : PublicRows

    Raises
    ------
    UnsupportedProblemError
        If there is no public inequality, the number of rows is private, or there are very many.
    """
    if not task.prices:
        return
    if task.relation.hides_rows:
        raise UnsupportedProblemError(
            "prices=True needs records that are replaced: where they come and go, the number of"
            " rows is private, and with it that of prices.",
            parameter="prices",
        )
    if task.largest_n > MOST_ROWS:
        raise UnsupportedProblemError(
            f"prices=True takes up to {MOST_ROWS:,} private rows: beyond, rounding of a sum of"
            " their slopes is not covered.",
            parameter="prices",
        )
    if not (public.lower < public.upper).any():
        raise UnsupportedProblemError(
            "prices=True needs a public inequality row, by private=...: prices of private rows are"
            " numbers of those rows, and none is released.",
            parameter="prices",
        )


def prices_of_public_rows(
    public: PublicRows, region: ReducedPolytope, slopes: Slopes | None, weight: float
) -> FloatArray | None:
    """Shadow prices of the public rows, in the user's units.

    At a minimum what pushes back against costs and violations is a sum of tight rows of the region,
    with non-negative factors: their prices. They are fitted to the noisy slopes by least squares.
    The price of the objective is its weight in the program, and that of a bound on it, if that is
    tight. All of it is post-processing.

    Parameters
    ----------
    public : PublicRows
    region : ReducedPolytope
    slopes : Slopes or None
        Noisy, at a released point; ``None`` if none were drawn.
    weight : float
        What the objective is multiplied by in the program.

    Returns
    -------
    (n',) or None
        One price for each row of ``public.lp``, in the sense of the objective; NaN for equalities
        and other rows that are not in the region's coordinates. ``None`` if no slopes were drawn.
    """
    if slopes is None:
        return None
    pull = weight * region.cost(public.cost) + slopes.total
    slack = region.slack(slopes.z)
    length = np.sqrt(np.asarray(sp.csc_array(region.C).power(2).sum(axis=1)).ravel())
    near = np.flatnonzero(slack <= np.maximum(_NEAR * slopes.error * length, _LEAST_NEAR))
    moved = np.zeros(len(slack))
    moved[near] = fitted_prices(sp.csr_array(region.C)[near], pull)
    of_row, owner = region.owner >= 0, region.owner[region.owner >= 0]
    prices = np.full(len(public.rows) + 1, np.nan)  # at last of a bound on the objective
    prices[owner] = 0.0
    np.add.at(prices, owner, (moved * region.per_side)[of_row])
    total = weight + float(np.nan_to_num(prices[-1]))  # with that of a bound on the objective
    every = np.zeros(public.lp.shape[0])
    every[public.rows] = -public.lp.sign * prices[:-1] / total
    return every + 0.0  # no -0
