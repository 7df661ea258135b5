"""Numbers of absurd sizes."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram, PrivLPError
from privlp.methods.published.dmw import rows_within_bounds
from privlp.regions.simplex import Simplex
from privlp.rows.on_simplex import RowsOnSimplex
from privlp.status import Verdict
from tests.effort import examples

ORDINARY = -np.random.default_rng(0).uniform(0.2, 1.0, (6, 3))
#: Private rows whose products, quotients and sums overflow, vanish or cancel.
ROWS = {
    "ordinary": ORDINARY,
    "zero": np.zeros((6, 3)),
    "huge": np.full((6, 3), -9e14),
    "huge of both signs": np.tile([9e14, -9e14, 0.0], (6, 1)),
    "tiny": np.full((6, 3), -1e-300),
    "denormal": np.full((6, 3), 5e-324),
    "of all sizes": -(10.0 ** np.linspace(-300, 14, 18)).reshape(6, 3),
}
SIDES = {
    "ordinary": -np.ones(6),
    "zero": np.zeros(6),
    "huge": np.full(6, 9e19),
    "tiny": np.full(6, 1e-300),
    "low": np.full(6, -9e19),
}


def warnings_of(method, A, b, request):
    """Which warnings a solve gives, and how it ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            lp = LinearProgram([1, 2, 0.5], A, b)
            privlp.solve(lp, 1.0, 1e-6, 3, method=method, rng=0, **request)
            ended = "solved"
        except PrivLPError as error:
            ended = str(error)
    return [str(warning.message) for warning in caught], ended


WIDTHS = st.sampled_from([5e-324, 1e-300, 1e-100, 1e-10, 1.0, 1e10, 1e100, 1e300])


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(
    st.sampled_from(["dmw-published", "dmw-published", "dmw"]),
    st.sampled_from(list(ROWS)),
    st.sampled_from(list(SIDES)),
    st.tuples(WIDTHS, WIDTHS),
    st.sampled_from([9.0, 1e60, 1e-60]),
    st.sampled_from([0.5, 1.0, 8.0]),
)
def test_no_private_row_makes_a_solve_warn_or_refuse(method, rows, sides, widths, opt, share):
    """Neighbours hear the same."""
    request = {"opt": opt, "alpha": None}
    if method == "dmw-published":
        rho = widths[0] * opt * 2 + widths[1]
        request |= {"width": widths, "alpha": share * rho if 0 < share * rho < math.inf else 1.0}
    said = [
        warnings_of(method, A, b, request)
        for A, b in ((ROWS[rows], SIDES[sides]), (ROWS["zero"], SIDES["zero"]))
    ]
    assert said[0] == said[1]
    assert all(text.startswith(Verdict.TOO_FEW_ROWS) for text in said[0][0])


def test_rows_far_beyond_a_tiny_width_are_scaled_to_zero_in_silence():
    """The scale of a row is where the number overflowed."""
    lp = LinearProgram([1, 2, 0.5], ROWS["huge"], SIDES["low"])
    simplex = Simplex(lp.public().form, 9.0)
    with warnings.catch_warnings(action="error"):
        rows = lp.rows().keep(partial(rows_within_bounds, simplex, 1e-300, 1e-300))
        scores = rows.total(RowsOnSimplex.scores, np.full(6, 1 / 6))
    assert scores.tolist() == [0, 0, 0]


@pytest.mark.parametrize("width", [5e-324, 1e-101, 1e101, (1.0, 1e-300), (1e300, 1.0)])
def test_widths_beyond_reason_are_refused_whatever_the_rows(width):
    budget = privlp.Budget(2.0, 1e-3)
    request = {"alpha": 60.0, "opt": 9.0, "width": width, "method": "dmw-published"}
    message = r"width must lie between 1e-100 and 1e\+100 with method='dmw-pub"
    for rows in ROWS.values():
        lp = LinearProgram([1, 2, 0.5], rows, -np.ones(6))
        with pytest.raises(privlp.InvalidParameterError, match=message):
            privlp.solve(lp, 1.0, 1e-6, 3, budget=budget, **request)
    assert budget.spent() == 0
