"""A common menu for many people, each with needs of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from privlp.checks import FloatArray, require_data
from privlp.models.model import Model, column, each, labels, names_along, table
from privlp.relations import ConstraintPrivate


def diet(
    prices: Any,
    content: Any,
    needs: Any,
    *,
    eats: Any = None,
    most: Any = np.inf,
    foods: Any = None,
) -> Model:
    """Choose the cheapest menu for all that covers what each person needs.

    Minimise sum_j prices_j x_j, where x_j is the amount of food j in everybody's menu. Person i has
    one row for each nutrient k::

        sum_j eats_ij content_kj x_j / needs_ik >= 1

    So a violation of 0.05 is a person who gets 5 % too little of a nutrient. Prices, content and
    `most` are public. All about a person is private: needs, and what the person eats.

    Parameters
    ----------
    prices : array_like, shape (d,)
        Of a unit of each food; public.
    content : array_like, shape (k, d)
        Amount of each nutrient in a unit of each food; public.
    needs : array_like, shape (n, k)
        What each person needs of each nutrient; private. A person who needs none has a row that
        always holds.
    eats : array_like, shape (n, d), optional
        Share, 0 to 1, that each person eats of each food: 0 for an allergy. Private. All of
        everything by default.
    most : float or array_like of shape (d,), optional
        Largest amount of each food; public.
    foods : sequence of str, optional
        Names of the foods; those of a DataFrame `content` or a Series `prices` by default.

    Returns
    -------
    Model
        Its part ``"amounts"`` has shape (d,). One record is a person, who owns k rows and may have
        any needs and tastes.

    Notes
    -----
    :func:`privlp.solve` counts `s` in rows: a person whom the menu fails in two nutrients counts
    twice. Noise grows with the number of rows of a person, so leave out nutrients of which every
    menu holds enough.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or numbers have the wrong sign.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve_exact
    >>> content = [[8.0, 1.0], [1.0, 4.0]]  # protein and iron in bread and in beans
    >>> lp = models.diet([1.0, 1.0], content, [[10, 4], [12, 6]], foods=["bread", "beans"])
    >>> lp.shape, lp.variable_names
    ((4, 2), ('bread', 'beans'))
    >>> lp.values(solve_exact(lp))["amounts"].round(3)
    array([1.355, 1.161])
    """
    costs = column(prices, "prices", "the price of each food")
    d = len(costs)
    holds = table(content, "content", "nutrients by foods, one food for each price", (None, d))
    k = len(holds)
    wanted = table(
        needs, "needs", "people by nutrients, one nutrient per row of content", (None, k)
    )
    n = len(wanted)
    shares = _shares(eats, (n, d))
    names_along("people", ("needs", needs, 0), ("eats", eats, 0))
    names_along("nutrients", ("content", content, 0), ("needs", needs, 1))
    read = names_along("foods", ("prices", prices, 0), ("content", content, 1), ("eats", eats, 1))
    upper = each(most, "most", "the largest amount of each food", d, positive=True)
    # Minus the share of a person's need that a unit of each food covers: of that person alone.
    scale = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    rows = -shares[:, None, :] * holds[None, :, :] * scale[:, :, None]
    return Model(
        costs,
        rows.reshape(-1, d),
        np.where(wanted.ravel() > 0, -1.0, 0.0),
        bounds=[(0.0, end) for end in upper],
        neighbours=ConstraintPrivate(rows_per_record=k),
        groups=np.repeat(np.arange(n), k),
        variable_names=labels(foods, "foods", d, "food", read),
        name="diet",
        parts=[("amounts", (d,))],
    )


def _shares(eats: Any, shape: tuple[int, int]) -> FloatArray:
    """What each person eats of each food, (n, d) or (1, d)."""
    if eats is None:
        return np.ones((1, shape[1]))
    shares = table(eats, "eats", "people by foods, as many people as needs has", shape)
    require_data(
        ((shares >= 0) & (shares <= 1)).all(),
        "eats must hold shares between 0 and 1: what each person eats of each food.",
        "eats",
    )
    return shares
