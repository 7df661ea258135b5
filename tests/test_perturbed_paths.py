"""The last search of perturbed programs, on the path through the point of the last stage."""

import warnings

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, MissedRowsWarning
from privlp.methods.perturbed.paths import _largest_rise


def missed(lp, solution):
    return int((lp.A @ solution.x - lp.b > 1e-9).sum())


@pytest.mark.parametrize(
    ("counts", "rise"),
    [
        ({0.0: 9.0, 1.0: 5.0, 2.0: 1.0}, 0.0),
        ({2.0: 4.0, 0.0: 9.0, 1.0: 1.0}, 3.0),
        ({0.5: 7.0}, 0.0),
    ],
)
def test_the_largest_rise_along_a_path(counts, rise):
    assert _largest_rise(counts) == rise


@pytest.mark.parametrize("seed", range(4))
def test_a_path_that_leads_out_of_the_rows_is_not_followed(seed):
    """Rows of mixed signs in a box: away from the cheapest point nearly half of them are missed."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(3_000, 6))
    b = A @ rng.uniform(-1, 1, 6) + rng.exponential(1, 3_000)
    lp = LinearProgram(rng.normal(size=6), A, b, bounds=(-5, 5))
    solution = privlp.solve(lp, 2.0, 1e-6, s=150, method="perturbed", rng=seed)
    assert missed(lp, solution) <= 1.2 * 150


@pytest.mark.parametrize("seed", range(4))
def test_the_search_goes_on_as_long_as_counts_fall(seed):
    """Where no point with few missed rows is known at last, the path is long enough."""
    lp, s = privlp.examples.doctor_visits(), 400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissedRowsWarning)
        solution = privlp.solve(lp, 0.25, 1e-6, s=s, method="perturbed", rng=seed)
    assert missed(lp, solution) <= 1.2 * s
    assert np.sort(lp.A @ solution.x - lp.b)[-(s + 1)] <= 0.5
