"""Simulated data sets of the literature on private classification, uniform in volume or area."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from privlp.checks import real, require, whole
from privlp.errors import InvalidParameterError

RandomState = None | int | np.random.Generator
Sample = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def make_nested_balls(n: int, *, random_state: RandomState = None) -> Sample:
    """A ball of one class inside an annulus of the other, in five dimensions.

    From Sarwate, Chaudhuri and Monteleoni (2009). With probability 0.45 a record is uniform in the
    ball of radius 0.1 and has label 1; with 0.45 it is uniform between the radii 0.2 and 0.5 and
    has label -1; with 0.1 it is uniform between 0.1 and 0.2 and either label is equally probable.
    No hyperplane separates the classes; a sphere comes close.

    Parameters
    ----------
    n : int
        Number of records.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    X : array, shape (n, 5)
    y : array of int, shape (n,)
        Labels, -1 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.datasets import make_nested_balls
    >>> X, y = make_nested_balls(1000, random_state=0)
    >>> X.shape, bool(np.linalg.norm(X, axis=1).max() <= 0.5)
    ((1000, 5), True)
    """
    n, rng = whole(n, "n"), generator(random_state)
    region = rng.choice(3, size=n, p=[0.45, 0.1, 0.45])
    inner, outer = np.array([0.0, 0.1, 0.2])[region], np.array([0.1, 0.2, 0.5])[region]
    # The volume within a radius r is as r^5.
    radius = (inner**5 + rng.random(n) * (outer**5 - inner**5)) ** (1 / 5)
    y = np.where(region == 1, rng.choice([-1, 1], size=n), np.where(region == 0, 1, -1))
    return radius[:, None] * _on_sphere(rng, n, 5), y


def make_separable_sphere(
    n: int, *, n_features: int = 10, margin: float = 0.03, random_state: RandomState = None
) -> Sample:
    """Two classes on the unit sphere with a gap between them (Chaudhuri and Monteleoni 2008).

    Records are uniform on that part of the unit sphere which is at least `margin` from a hyperplane
    through the origin; the label is the side. The hyperplane is random: its unit normal is drawn
    first, uniformly.

    Parameters
    ----------
    n : int
        Number of records.
    n_features : int
        Dimension, at least 2.
    margin : float
        Distance between the hyperplane and the nearest possible record, in [0, 1).
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    X : array, shape (n, n_features)
        Records, of norm 1.
    y : array of int, shape (n,)
        Labels, -1 or 1.

    Examples
    --------
    >>> from privlp import solve_exact
    >>> from svm_models import hard_margin_lp
    >>> from svm_models.datasets import make_separable_sphere
    >>> X, y = make_separable_sphere(200, n_features=4, margin=0.1, random_state=0)
    >>> solve_exact(hard_margin_lp(X, y)).success
    True
    """
    n, d, rng = whole(n, "n"), whole(n_features, "n_features", least=2), generator(random_state)
    margin = real(margin, "margin")
    wrong = f"margin must lie in [0, 1): the sphere has radius 1. Got {margin}."
    require(0.0 <= margin < 1.0, wrong, "margin")
    # The squared distance to the hyperplane of a uniform point of the sphere is Beta(1/2, (d -
    # 1)/2); here, its tail.
    shape = (0.5, (d - 1) / 2)
    mass = special.betaincc(*shape, margin**2)
    wrong = f"margin {margin} leaves nothing of the sphere in {d} dimensions. Take a smaller one."
    require(mass > 0.0, wrong, "margin")
    normal = _on_sphere(rng, 1, d)[0]
    y = rng.choice([-1, 1], size=n)
    squared = np.maximum(special.betainccinv(*shape, mass * (1.0 - rng.random(n))), margin**2)
    along = _on_sphere(rng, n, d)
    along -= np.outer(along @ normal, normal)  # once scaled, uniform within the hyperplane
    along *= (np.sqrt(1.0 - squared) / np.linalg.norm(along, axis=1))[:, None]
    return np.outer(y * np.sqrt(squared), normal) + along, y


def make_unseparable_ball(
    n: int,
    *,
    n_features: int = 10,
    noise: float = 0.2,
    margin: float = 0.1,
    random_state: RandomState = None,
) -> Sample:
    """Two classes on the surface of the unit ball, mixed near the border.

    From Chaudhuri and Monteleoni (2008). Records are uniform on the unit sphere; the label is the
    side of a hyperplane through the origin, and within `margin` of it the other side with
    probability `noise`. The hyperplane is random: its unit normal is drawn first, uniformly.

    Parameters
    ----------
    noise : float
        Probability of the wrong label near the hyperplane, in [0, 1].
    margin : float
        Distance within which labels may be wrong, in [0, 1].
    n, n_features, random_state
        As for :func:`make_separable_sphere`, and so is what is returned.

    Examples
    --------
    >>> from svm_models.datasets import make_unseparable_ball
    >>> X, y = make_unseparable_ball(1000, n_features=3, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 3), [-1, 1])
    """
    n, d, rng = whole(n, "n"), whole(n_features, "n_features", least=2), generator(random_state)
    noise, margin = _fraction(noise, "noise"), _fraction(margin, "margin")
    normal = _on_sphere(rng, 1, d)[0]
    X = _on_sphere(rng, n, d)
    distance = X @ normal
    wrong = (np.abs(distance) <= margin) & (rng.random(n) < noise)
    return X, np.where((distance >= 0.0) != wrong, 1, -1)


def _on_sphere(rng: np.random.Generator, n: int, d: int) -> npt.NDArray[np.float64]:
    """Points uniform on the unit sphere of R^d, one per row."""
    points = rng.standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points


def _fraction(value: Any, name: str) -> float:
    number = real(value, name)
    wrong = f"{name} must lie between 0 and 1, got {number}."
    require(0.0 <= number <= 1.0, wrong, name)
    return number


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator itself, or NumPy's default one with that seed."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    is_whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if is_whole and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise InvalidParameterError(
        "random_state must be None, a non-negative int or a numpy.random.Generator, not"
        f" {type(random_state).__name__}.",
        parameter="random_state",
    )
