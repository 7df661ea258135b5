"""Searches for roots, and the calibrations that rest on them."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from privlp.privacy import (
    GaussianMechanism,
    GaussianObjectivePerturbation,
    LaplaceMechanism,
    Ledger,
)
from privlp.privacy.prices import composed_epsilon, gaussian_excess
from privlp.privacy.roots import root_between, root_by_secants

SHAPES = [
    lambda x, a, b: math.exp(min(a * x, 700.0)) - abs(b),
    lambda x, a, b: a * (x - b) ** 3,
    lambda x, a, b: math.atan(a * (x - b)) + 0.1 * math.sin(x),
    lambda x, a, b: float(np.sign(x - b)),
    lambda x, a, b: (x - b) * (abs(x - a) + 1e-9),
]


@pytest.mark.parametrize("shape", SHAPES, ids=["exp", "cube", "atan", "step", "kink"])
@pytest.mark.parametrize(("xtol", "rtol"), [(1e-9, 2.0**-50), (2e-12, 1e-14)])
def test_each_step_is_that_of_scipy(shape, xtol, rtol):
    rng, compared = np.random.default_rng(0), 0
    for _ in range(300):
        a, b, low, high = (rng.normal(size=4) * 10.0 ** rng.integers(-3, 4, 4)).tolist()
        low, high = b - abs(low), b + abs(high)
        if math.copysign(1, shape(low, a, b)) == math.copysign(1, shape(high, a, b)):
            continue
        paths = [], []

        def seen(path, a=a, b=b):
            return lambda x: (path.append(x), shape(x, a, b))[1]

        theirs = brentq(seen(paths[0]), low, high, xtol=xtol, rtol=rtol, disp=False)
        assert root_between(seen(paths[1]), low, high, xtol, rtol) == theirs
        assert paths[0] == paths[1]
        compared += 1
    assert compared > 80


def test_secants_find_a_root_from_below_or_none():
    assert 0 <= 2.5 - root_by_secants(lambda x: 2 * (x - 2.5) + 0.3 * math.sin(x - 2.5)) < 3e-12
    assert root_by_secants(lambda x: None if x > 1 else x - 30) is None
    assert root_by_secants(lambda _: -1.0) is None


def term(mu, bend, sides):
    return GaussianObjectivePerturbation(2.0, 2.0 / mu, bend, parts=sides, largest_part=1.0)


FAMILIES = {
    "one draw": lambda t: [(GaussianMechanism(1.0, 1 / t), 1)],
    "many draws": lambda t: [(GaussianMechanism(k, 3 / t), int(k)) for k in (1.0, 7.0, 30.0)],
    "corners": lambda t: [(term(t, 0.01, 2), 1), (GaussianMechanism(1.0, 1 / t), 8)],
    "with others": lambda t: [
        (GaussianMechanism(1.0, 1 / t), 3),
        (LaplaceMechanism(1.0, 1 / t), 1),
    ],
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("eps", [0.05, 1.0, 12.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.4])
def test_a_calibration_spends_all_and_no_more(family, eps, delta):
    intensity = Ledger(eps, delta).calibrate_together(family)

    def spent(t):
        return composed_epsilon([(mechanism.price, n) for mechanism, n in family(t)], delta)

    assert spent(intensity) <= eps < spent(intensity * (1 + 3e-9))


def test_what_is_left_after_earlier_charges():
    costs = [(m.price, n) for m, n in FAMILIES["many draws"](0.3)]
    for eps in (0.1, 2.0):
        excess = gaussian_excess(costs, eps, 1e-6)
        assert (excess > 0) == (composed_epsilon(costs, 1e-6) > eps)
    assert gaussian_excess(costs, 1.0, 0.0) is None
    assert gaussian_excess([(LaplaceMechanism(1.0, 1.0).price, 1)], 1.0, 1e-6) is None
