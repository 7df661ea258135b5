"""Calibrations, and the search that they rest on."""

import math

import pytest

from privlp.privacy import (
    GaussianMechanism,
    GaussianObjectivePerturbation,
    LaplaceMechanism,
    Ledger,
)
from privlp.privacy.accountant import _by_secants
from privlp.privacy.prices import composed_epsilon, gaussian_excess


def test_secants_find_a_root_from_below_or_none():
    assert 0 <= 2.5 - _by_secants(lambda x: 2 * (x - 2.5) + 0.3 * math.sin(x - 2.5)) < 3e-12
    assert _by_secants(lambda x: None if x > 1 else x - 30) is None
    assert _by_secants(lambda _: -1.0) is None


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
