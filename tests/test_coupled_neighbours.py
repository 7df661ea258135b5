"""Every private method on two neighbours that see the same released numbers: what is released moves by no more than is charged.

The first program is solved; its noisy numbers are played back to the second. So both walk the same
path, and the exact numbers behind each release can be compared. All that is public, the ledger and
the messages included, must be the same.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.audits.tape import Tape, changes, differences
from tests.effort import examples

COSTS = np.array([1.0, 2.0, 0.5])
N = 9


def assert_within_what_is_charged(call, programs, *, quiet=False):
    first = Tape(0, quiet=quiet)
    second = Tape(0, replay=first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (
            call(program, tape) for program, tape in zip(programs, (first, second), strict=True)
        )
    assert differences(first, second) == []
    assert len(first.releases) == sum(entry.draws for entry in one.privacy.entries)
    for release, _, ratio in changes(first, second):
        assert ratio <= 1, release.purpose
    assert one.to_json() == two.to_json()


entries = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1.0, -1.0, 1e8, -1e-8, 9e14, 1e-300]))
sides = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, -1e9, 9e14, -9e14, 1e-12]))
rows = st.tuples(st.lists(entries, min_size=3, max_size=3), sides)

METHODS = {
    "dmw": {},
    "mirror": {},
    "mirror-dense": {},
    "mirror-best": {},
    "ftpl": {},
    "mirror, range": {"method": "mirror", "opt": (0.5, 9.0)},
    "ftpl, cuts": {"method": "ftpl", "eps": 1e12},
}


def program(records, relation, **fields):
    A, b = np.array([row for row, _ in records]), np.array([side for _, side in records])
    return LinearProgram(
        COSTS, A, b, neighbours=relation, bounds=fields.pop("bounds", (0, None)), **fields
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "relation",
    [ConstraintPrivate(), ConstraintPrivate("add-remove", nominal_n=2 * N)],
    ids=["replace", "add"],
)
@settings(
    deadline=None,
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    common=st.lists(rows, min_size=N - 1, max_size=N - 1),
    pair=st.tuples(rows, rows),
    s=st.sampled_from([1.0, 2.5, 4.0]),
    quiet=st.booleans(),
)
def test_neighbours(name, relation, common, pair, s, quiet):
    options = {"method": name, "eps": 1.0, "opt": 2.0, **METHODS[name]}
    if name == "ftpl, cuts":
        options["alpha"] = None
    else:
        options.setdefault("alpha", 3.0)
    records = [[*common, pair[0]], [*common, pair[1]] if relation.change == "replace" else common]
    programs = [program(r, relation) for r in records]
    assert_within_what_is_charged(
        lambda lp, tape: privlp.solve(lp, delta=1e-9, s=s, rng=tape, **options),
        programs,
        quiet=quiet,
    )


def test_a_huge_right_hand_side_takes_no_mass_from_other_rows():
    """A tiny row of huge right-hand side among 300 that are all violated.

    Its log-weight is beyond 1e19.
    """
    rng = np.random.default_rng(0)
    A, b = -rng.uniform(0.2, 1, (300, 3)), np.full(300, -40.0)
    A[:, 0] -= 2
    other, side = A.copy(), b.copy()
    other[0], side[0] = [-1e-9, 0, 0], -1e9
    programs = [LinearProgram(COSTS, *pair) for pair in ((A, b), (other, side))]
    for method in ("mirror-dense", "mirror-best"):
        options = {"opt": 3.0, "method": method}
        assert_within_what_is_charged(
            lambda lp, tape, o=options: privlp.solve(lp, 1.0, 1e-6, 30, rng=tape, **o), programs
        )


def test_soft_rows():
    rng = np.random.default_rng(0)
    A, b, price = rng.normal(size=(20, 3)), np.full(20, -9.0), rng.uniform(0.1, 1, 20)
    price[0] = 1.0
    for row in ([1e6, 0, 0], [0, 0, 0], [-0.5, 3, 1]):
        other = np.vstack([[row], A[1:]])
        programs = [LinearProgram(COSTS, rows, b, penalty=price) for rows in (A, other)]
        options = {"opt": 2.0, "width": 1.0, "method": "mirror"}
        assert_within_what_is_charged(
            lambda lp, tape, o=options: privlp.solve(lp, 1.0, 1e-6, 5, rng=tape, **o), programs
        )


class TestWhatIsCharged:
    """Sensitivities in the ledger, from the numbers of the proofs."""

    lp = LinearProgram(
        COSTS,
        -np.random.default_rng(0).uniform(0.2, 1, (300, 3)),
        -np.ones(300),
        neighbours=ConstraintPrivate(rows_per_record=2),
    )

    def entries(self, method, eps=1.0, alpha=None, **options):
        privacy = privlp.solve(
            self.lp, eps, 1e-6, 30, alpha, method=method, rng=0, **{"opt": 3.0, **options}
        ).privacy
        return {entry.purpose: entry.sensitivity for entry in privacy.entries}

    SUM, MEAN = (
        "release the sum of violated rows each round",
        "release the weighted mean of violated rows each round",
    )

    def test_sums(self):
        assert self.entries("mirror")[self.SUM] == pytest.approx(4.0, rel=1e-6)
        assert self.entries("ftpl", alpha=3.0)[self.SUM] == pytest.approx(4.0, rel=1e-6)

    def test_dense_means(self):
        """W = 2 over M rows, M at most a third of them: 2·2/100 or more."""
        assert self.entries("mirror-dense")[self.MEAN] == pytest.approx(0.04, rel=1e-6)
        best = self.entries("mirror-best")
        assert best[self.MEAN] == pytest.approx(0.04, rel=1e-6)
        assert best[self.SUM] == pytest.approx(4.0, rel=1e-6)
        assert best["choose the better of two points"] == 1.0

    def test_cuts(self):
        assert self.entries("ftpl", eps=1e12)[self.SUM] == pytest.approx(2 * math.sqrt(5), rel=1e-6)

    def test_counts(self):
        assert self.entries("mirror", opt=(1.0, 9.0))["count violated rows"] == 2.0

    def test_add_remove_follows_the_nominal_number(self):
        relation = ConstraintPrivate("add-remove", nominal_n=300)
        for method in ("mirror", "mirror-dense", "mirror-best", "ftpl"):
            found = []
            for n in (200, 300, 700):
                lp = LinearProgram(
                    COSTS, np.resize(self.lp.A, (n, 3)), -np.ones(n), neighbours=relation
                )
                solution = privlp.solve(lp, 1.0, 1e-6, 30, 3.0, opt=3.0, method=method, rng=0)
                found.append((solution.iterations, solution.privacy.entries))
            assert found[0] == found[1] == found[2]
