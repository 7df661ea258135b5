"""Mirror descent: what its releases may change by, and how far it gets.

Audits are in ``test_conformance.py``.
"""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import rel_entr

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.methods import METHODS, Task
from privlp.methods.mirror_best import _changes_needed, _margin
from privlp.regions.simplex import Simplex
from privlp.rows.equal_norm import RowsOfEqualNorm
from tests.effort import examples
from tests.programs import tight_covering

COSTS = np.array([1.0, 2.0, 0.5])
REPLACE = ConstraintPrivate()


def scaled_rows(lp, **options):
    """The region, and the rows of a program as it sees them."""
    simplex = Simplex(lp.public().form, 2.0, least=options.pop("least", None))
    build = partial(RowsOfEqualNorm, simplex=simplex, largest_n=lp.shape[0], **options)
    return simplex, lp.rows().keep(build)


#: Opposite rows, both violated everywhere.
OPPOSITE = [
    (np.array([[1.0, 0.5, 0.0], sign * np.array([8.0, -2.0, 1.0])]), np.array([9.0, -99.0]))
    for sign in (1, -1)
]


def test_rows_have_norm_one_or_less_and_constant_rows_none():
    lp = LinearProgram(COSTS, [[1, 0, 0], [1e9, 1e9, 1], [1, 2, 0.5]], [0, 0, 0])
    _, rows = scaled_rows(lp)
    norms = [np.linalg.norm(rows.total(RowsOfEqualNorm.scores, unit)) for unit in np.eye(3)]
    assert norms[0] == pytest.approx(1.0, rel=1e-5)
    assert max(norms) <= 1
    assert norms[2] == 0  # 2, 2, 2 on the region


def task(A, b, relation, eps, delta, **options):
    lp = LinearProgram(COSTS, A, b, neighbours=relation)
    return Task.of(lp, eps, delta, s=1.0, **{"opt": 2.0, **options})


def test_it_beats_dense_multiplicative_weights_where_many_rows_are_tight():
    """Covering, 4,000 people, 10 services; worst violation but for 50.

    Fixed seeds; the margin is tenfold.
    """
    lp = tight_covering()
    A = -lp.A
    opt = privlp.solve_exact(lp).objective
    left = {
        method: np.mean(
            [
                np.sort(1 - A @ privlp.solve(lp, 1.0, 1e-6, 50, opt=opt, method=method, rng=k).x)[
                    -51
                ]
                for k in range(5)
            ]
        )
        for method in ("dmw", "mirror")
    }
    assert left["mirror"] < 0.5 * left["dmw"]


def test_delta_is_needed():
    lp = LinearProgram(COSTS, -np.ones((5, 3)), -np.ones(5))
    budget = privlp.Budget(2.0, 1e-3)
    with pytest.raises(
        privlp.InvalidParameterError, match=r"delta must be positive .* use method='dmw'"
    ):
        privlp.solve(lp, 1.0, 0.0, 1, opt=2.0, method="mirror", budget=budget)
    assert budget.spent() == 0


def test_rounds_grow_with_the_budget():
    def rounds_at(eps, delta):
        planned = METHODS["mirror"].plan(
            task(-np.ones((500, 3)), -np.ones(500), REPLACE, eps, delta)
        )
        ((_, rounds, _),) = planned.charges
        return rounds

    rounds = [rounds_at(eps, 1e-6) for eps in (0.1, 1.0, 10.0)]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1]
    assert rounds_at(math.inf, 0.0) == 2000


class TestTheBetterOfTwo:
    values = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=9)

    @staticmethod
    def brute_force(own, other, s):
        def at(values, i):
            return math.inf if i < 1 else sorted(values)[-i] if i <= len(values) else -math.inf

        return next(r for r in range(-s - 1, s + 2) if at(own, s + 1 + r) <= at(other, s + 1 - r))

    @settings(deadline=None, max_examples=examples(300))
    @given(values, values, st.integers(1, 10))
    def test_number_of_changes(self, own, other, s):
        own, other = own[: len(other)], other[: len(own)]
        sorted_down = [np.sort(values)[::-1] for values in (own, other)]
        assert _changes_needed(*sorted_down, s) == self.brute_force(own, other, s)

    @settings(deadline=None, max_examples=examples(300))
    @given(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=9),
        st.tuples(*[st.integers(-4, 4)] * 2),
        st.integers(1, 6),
    )
    def test_it_moves_by_one_at_most(self, records, new, s):
        """A record is a row, seen from both points: replaced, and left out."""

        def margin(pairs):
            return _margin(*self.falling(pairs), s)

        before = margin(records)
        assert abs(margin([*records[1:], new]) - before) <= 1
        assert abs(margin(records[1:]) - before) <= 1

    @staticmethod
    def falling(records):
        """Violations of all rows at either point, the largest first."""
        return [
            np.sort(np.array(column, dtype=float))[::-1] for column in zip(*records, strict=True)
        ]

    @pytest.mark.parametrize("s", [0, 1, 2])
    def test_it_moves_by_one_at_most_whatever_the_rows(self, s):
        """All programs of up to three rows with violations of -1, 0 and 1 at both points, and all their neighbours."""
        assert self.steps(lambda one, two: _margin(one, two, s)) == {-1, -0.5, 0, 0.5, 1}

    def test_numbers_of_rows_to_change_would_move_by_two(self):
        """Without negative numbers, which count how many changed rows the better one survives.

        No row from 1 to -1.
        """

        def difference(one, two):
            return max(0, _changes_needed(two, one, 1)) - max(0, _changes_needed(one, two, 1))

        assert max(self.steps(difference)) == 2

    def steps(self, margin):
        """By how much a margin moves between neighbours of up to three rows.

        One row replaced, or added.
        """
        rows = list(itertools.product((-1, 0, 1), repeat=2))
        margins = {
            records: margin(*self.falling(records))
            for n in (1, 2, 3)
            for records in itertools.combinations_with_replacement(rows, n)
        }
        found = set()
        for records, before in margins.items():
            for i, row in itertools.product(range(len(records)), rows):
                found.add(margins[tuple(sorted((*records[:i], row, *records[i + 1 :])))] - before)
                if len(records) < 3:
                    found.add(margins[tuple(sorted((*records, row)))] - before)
        return found

    @settings(deadline=None, max_examples=examples(200))
    @given(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=9),
        st.integers(0, 6),
    )
    def test_its_sign_is_that_of_the_better_one(self, records, s):
        """Candidates that change places change the sign.

        The one with the smaller (s+1)-th violation has the larger score.
        """
        one, two = self.falling(records)
        margin = _margin(one, two, s)
        assert _margin(two, one, s) == -margin
        if s < len(records) and one[s] != two[s]:
            assert np.sign(margin) == np.sign(two[s] - one[s])

    def test_equal_candidates_have_equal_scores(self):
        values = np.array([3.0, 2.0, 1.0])
        assert _margin(values, values, 1) == 0

    def test_margin_counts_rows(self):
        """Of nine rows, one point violates two and the other six; s = 3.

        Without ties two changed rows turn the order.
        """
        good, bad = (np.array([1.0] * violated + [-1.0] * (9 - violated)) for violated in (2, 6))
        assert _changes_needed(bad, good, 3) == 2
        assert (
            _margin(good + 0.1 * np.arange(9)[::-1], bad + 0.1 * np.arange(9)[::-1] + 0.05, 3)
            == 1.5
        )

    def test_ledger(self):
        lp = LinearProgram(COSTS, *OPPOSITE[0], neighbours=ConstraintPrivate(rows_per_record=3))
        solution = privlp.solve(lp, 1.0, 1e-6, 1, opt=2.0, method="mirror-best", rng=0)
        choice, *descents = solution.privacy.entries
        assert (choice.mechanism, choice.sensitivity, choice.draws) == (
            "exponential mechanism",
            1.5,
            1,
        )
        assert sum(entry.draws for entry in descents) == solution.iterations
        assert solution.privacy.eps == pytest.approx(1.0, rel=1e-6)


class TestUnknownOptimum:
    """opt=(low, high)."""

    def test_without_noise_it_finds_the_optimum(self):
        lp = tight_covering(400)
        exact = privlp.solve_exact(lp)
        solution = privlp.solve(
            lp,
            math.inf,
            0.0,
            4,
            opt=(exact.objective / 4, 4 * exact.objective),
            method="mirror",
            rng=0,
        )
        assert solution.objective == pytest.approx(exact.objective, rel=0.02)
        assert privlp.compare(lp, solution, exact).violation_at(4) < 0.03

    def test_with_noise_it_comes_near(self):
        lp = tight_covering()
        exact = privlp.solve_exact(lp)
        for factor in (1.2, 4.0):
            solution = privlp.solve(
                lp,
                8.0,
                1e-6,
                400,
                opt=(exact.objective / factor, factor * exact.objective),
                method="mirror",
                rng=0,
            )
            assert solution.objective == pytest.approx(exact.objective, rel=0.1)
            assert privlp.compare(lp, solution, exact).violation_at(400) < 0.1

    @pytest.mark.parametrize(("factor", "stages"), [(1.2, 1), (4.0, 3)])
    def test_all_stages_are_paid_before_the_first(self, factor, stages):
        budget = privlp.Budget(1.0, 1e-6)
        solution = privlp.solve(
            tight_covering(400),
            1.0,
            1e-6,
            40,
            opt=(1 / factor, factor),
            method="mirror",
            budget=budget,
            rng=0,
        )
        purposes = [entry.purpose for entry in budget.entries]
        assert (
            purposes
            == ["count violated rows"] * (stages > 1)
            + ["release the sum of violated rows each round"] * stages
        )
        assert solution.privacy.eps == pytest.approx(1.0, rel=1e-6)
        assert (
            len(solution.trace["regions up to"])
            == len(solution.trace["prices of a unit of violation"])
            == stages
        )

    @given(
        hnp.arrays(float, 4, elements=st.floats(1e-12, 1)),
        hnp.arrays(float, 4, elements=st.floats(1e-12, 1)),
        st.floats(0.01, 1),
    )
    def test_a_share_beyond_the_range_moves_to_the_nearest_in_relative_entropy(
        self, weights, others, least
    ):
        lp = LinearProgram(COSTS, np.ones((2, 3)), np.ones(2))
        simplex = Simplex(lp.public().form, 2.0, least=least)
        share, other = weights / weights.sum(), others / others.sum()
        nearest, allowed = simplex.nearest(share), simplex.nearest(other)
        for point in (nearest, allowed):
            assert point.sum() == pytest.approx(1)
            assert point @ simplex.costs >= 2.0 * least * (1 - 1e-12)
        distance = [float(rel_entr(point, share).sum()) for point in (nearest, allowed)]
        assert distance[0] <= distance[1] + 1e-12

    @pytest.mark.parametrize("method", ["mirror", "ftpl"])
    @pytest.mark.parametrize("sense", ["min", "max"])
    @pytest.mark.parametrize("ends", [(0.97, 1.03), (0.5, 0.6), (1.8, 2.0), (0.02, 1.2)], ids=str)
    def test_no_point_outside_the_range_is_released(self, sense, ends, method):
        """Where noise is wide, or the range holds no optimum, too.

        And programs that HiGHS finds unbounded without a range.
        """
        lp = tight_covering(200, 4)
        exact = privlp.solve_exact(lp).objective
        if sense == "max":  # packing: the same rows, turned
            lp = LinearProgram(lp.c, -lp.A, -lp.b, sense="max")
        low, high = (end * exact for end in ends)
        solution = privlp.solve(lp, 0.1, 1e-6, 20, opt=(low, high), method=method, rng=0)
        values = [lp.objective(x) for x in solution.trace["x after rounds"]]
        assert (
            low * (1 - 1e-6)
            <= min(*values, solution.objective)
            <= max(*values, solution.objective)
            <= high * (1 + 1e-6)
        )

    @pytest.mark.parametrize("method", ["mirror", "ftpl"])
    def test_a_narrow_range_is_as_good_as_a_value(self, method):
        """The s rows that may be given up do not lead away from the range."""
        needs = np.random.default_rng(1).uniform(0.2, 1.0, size=(1000, 4))
        lp = LinearProgram([1, 2, 1, 3], -needs, -np.ones(1000))
        opt = privlp.solve_exact(lp).objective
        for hint in (opt, (0.97 * opt, 1.03 * opt)):
            solution = privlp.solve(lp, 2.0, 1e-6, 100, opt=hint, method=method, rng=0)
            assert solution.objective == pytest.approx(opt, rel=0.031)
            assert privlp.compare(lp, solution).n_violated() < 50

    def test_maximisation(self):
        lp = LinearProgram([3, 5], [[1, 0], [0, 2], [3, 2]] * 30, [4, 12, 18] * 30, sense="max")
        solution = privlp.solve(lp, math.inf, 0.0, 1, opt=(10, 100), method="mirror", rng=0)
        assert solution.objective == pytest.approx(36, rel=0.03)

    def test_lower_bounds_and_offset(self):
        lp = LinearProgram(
            [1, 2], [[-1, -1], [-1, -3]] * 30, [-4, -7] * 30, bounds=(1, None), offset=5.0
        )
        exact = privlp.solve_exact(lp).objective
        solution = privlp.solve(lp, math.inf, 0.0, 1, opt=(8.1, 20), rng=0)
        assert solution.objective == pytest.approx(exact, rel=0.03)

    @pytest.mark.parametrize(
        ("opt", "message"),
        [
            ((2.0, 1.0), "two finite numbers in rising order"),
            ((1.0, math.inf), "two finite numbers in rising order"),
            ((-1.0, 1.0), "must not reach beyond the objective at the bounds"),
            (("a", "b"), "opt must be a number, got str"),
            (
                (1.0, 2.0, 3.0),
                r"opt must be a finite number, or a range .low, high., got tuple",
            ),
        ],
    )
    def test_messages(self, opt, message):
        budget = privlp.Budget(1.0, 1e-6)
        with pytest.raises(privlp.InvalidParameterError, match=message):
            privlp.solve(
                tight_covering(400), 1.0, 1e-6, 40, opt=opt, method="mirror", budget=budget
            )
        assert budget.spent() == 0


class TestSoftRows:
    """penalty=C: the price of violated rows is part of the objective."""

    @staticmethod
    def program(n=2000, penalty=0.01, **fields):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n, 5))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.where(X @ [1, -1, 0.5, 0, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
        M = y[:, None] * X
        return LinearProgram(
            np.ones(10), np.hstack([-M, M]), -np.ones(n), penalty=penalty, **fields
        )

    def solve(self, lp, eps=math.inf, delta=1e-6, **options):
        return privlp.solve(
            lp,
            eps,
            delta,
            100,
            **{"opt": 12.0, "width": 2**0.5, "rng": 0, "method": "mirror", **options},
        )

    def test_without_noise_it_approaches_the_exact_optimum(self):
        lp = self.program()
        exact = privlp.solve_exact(lp)
        assert privlp.compare(lp, self.solve(lp), exact).objective == pytest.approx(
            exact.objective, rel=0.02
        )

    def test_with_noise(self):
        lp = self.program()
        solution = self.solve(lp, 4.0)
        assert solution.method == "mirror"
        assert privlp.compare(lp, solution).objective < 1.3 * privlp.solve_exact(lp).objective

    def test_a_row_counts_by_its_price_and_no_more_than_its_declared_norm(self):
        """Sensitivity 2 in units of the largest price times the declared norm.

        Rows beyond it are scaled down.
        """
        prices = np.r_[np.full(5, 1.0), np.full(5, 0.25)]
        A = np.random.default_rng(0).normal(size=(10, 3)) * np.r_[[100.0] * 5, [1e-3] * 5][:, None]
        lp = LinearProgram(COSTS, A, -np.full(10, 1e9), penalty=prices)  # all violated
        _, rows = scaled_rows(lp, least=0.0, unit=1.0, largest_price=1.0)
        scores = [rows.total(RowsOfEqualNorm.scores, unit) for unit in np.eye(10)]
        norms = np.linalg.norm(scores, axis=1)
        assert norms[:5] == pytest.approx(1.0, rel=1e-5)
        assert (norms <= 1).all()
        assert (norms[5:] < 0.01).all()

    @pytest.mark.parametrize(
        ("fields", "options", "message"),
        [
            (
                {},
                {"width": None},
                "declared public bound on the Euclidean norm of each private row",
            ),
            ({}, {"width": -1.0}, "width must be a positive finite number"),
            ({}, {"opt": None}, "opt is missing"),
            (
                {"penalty": np.r_[np.inf, np.full(1999, 1.0)]},
                {},
                "a finite penalty for every private row",
            ),
            (
                {"neighbours": ConstraintPrivate("add-remove", nominal_n=2000)},
                {},
                "soft rows where records are replaced",
            ),
        ],
    )
    def test_messages(self, fields, options, message):
        budget = privlp.Budget(1.0, 1e-6)
        with pytest.raises(privlp.PrivLPError, match=message):
            self.solve(self.program(**fields), 1.0, budget=budget, **options)
        assert budget.spent() == 0
