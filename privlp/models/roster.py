"""A roster for many clients, each with hours of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from privlp.models.model import Model, column, each, labels, names_along, table
from privlp.relations import ConstraintPrivate


def staffing(
    wages: Any,
    shifts: Any,
    wanted: Any,
    hours: Any,
    *,
    at_least: Any = None,
    most: Any = np.inf,
    shift_names: Any = None,
) -> Model:
    """Choose the cheapest roster that has enough staff on duty when each client wants it.

    Minimise sum_s wages_s x_s, where x_s is the number of workers on shift s. Client i names the
    hours h when it may call, and how many hours of work must be on duty in them::

        sum_s x_s sum_h shifts_sh wanted_ih / hours_i >= 1

    So a violation of 0.05 is a client who finds 5 % too few staff. Wages, shifts, `at_least` and
    `most` are public. All about a client is private.

    Parameters
    ----------
    wages : array_like, shape (k,)
        Of one worker on each shift; public.
    shifts : array_like, shape (k, T)
        Share of each hour that each shift works: 0 or 1 for whole hours; public.
    wanted : array_like, shape (n, T)
        Share of each hour in which each client may call; private.
    hours : array_like, shape (n,)
        Hours of work that each client needs on duty in the wanted hours; private. A client who
        needs none has a row that always holds.
    at_least : float or array_like of shape (T,), optional
        Workers on duty in each hour, whoever calls; public, and always kept.
    most : float or array_like of shape (k,), optional
        Largest number of workers on each shift; public.
    shift_names : sequence of str, optional
        Names of the shifts; those of a DataFrame `shifts` or a Series `wages` by default.

    Returns
    -------
    Model
        Its part ``"workers"`` has shape (k,), in fractions of workers. One record is a client, who
        owns one row.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or numbers have the wrong sign.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve_exact
    >>> shifts = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> wanted = [[1, 1, 0, 0], [0, 0, 1, 1]]  # one client in the morning, one in the evening
    >>> lp = models.staffing([1.0, 1.2, 1.5], shifts, wanted, [4.0, 2.0])
    >>> lp.values(solve_exact(lp))["workers"]
    array([1., 2., 0.])
    """
    costs = column(wages, "wages", "the wage of each shift")
    k = len(costs)
    works = table(shifts, "shifts", "shifts by hours, one shift for each wage", (k, None))
    hour_count = works.shape[1]
    times = table(wanted, "wanted", "clients by hours, the hours of shifts", (None, hour_count))
    n = len(times)
    need = column(hours, "hours", "one number per client of wanted", n)
    scale = np.divide(1.0, need, out=np.zeros(n), where=need > 0)
    cover = np.einsum("nh,kh->nk", times, works) * -scale[:, None]  # a row from its client alone
    names_along("hours", ("shifts", shifts, 1), ("wanted", wanted, 1))
    names_along("clients", ("wanted", wanted, 0), ("hours", hours, 0))
    read = names_along("shifts", ("wages", wages, 0), ("shifts", shifts, 0))
    upper = each(most, "most", "the largest number on each shift", k, positive=True)
    sides = np.where(need > 0, -1.0, 0.0)
    public = np.zeros(0)
    if at_least is not None:
        public = each(at_least, "at_least", "workers on duty in each hour", hour_count)
    return Model(
        costs,
        np.vstack([cover, -works.T[: len(public)]]),
        np.concatenate([sides, -public]),
        private=np.arange(n + len(public)) < n,
        bounds=[(0.0, end) for end in upper],
        neighbours=ConstraintPrivate(),
        variable_names=labels(shift_names, "shift_names", k, "shift", read),
        name="staffing",
        parts=[("workers", (k,))],
    )
