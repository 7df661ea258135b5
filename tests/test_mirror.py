"""Mirror descent: what its release may change by, what an audit sees, and how far it gets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, LinearProgram, audit
from privlp.privacy import GaussianMechanism, Ledger, Randomness
from privlp.problem import StandardForm
from privlp.solvers import Task
from privlp.solvers.elastic_dual import ElasticDual
from privlp.solvers.equal_norm import RowsOfEqualNorm
from privlp.solvers.mirror import mirror
from privlp.solvers.simplex import Simplex

COSTS = np.array([1.0, 2.0, 0.5])
REPLACE = ConstraintPrivate()
ADD = ConstraintPrivate("add-remove", nominal_n=5)


def released(A, b, relation, point=None, softness=1e-3):
    """The sum that a round releases without noise."""
    simplex = Simplex(StandardForm.of(LinearProgram(COSTS, A, b, neighbours=relation)), 2.0)
    rows = RowsOfEqualNorm(simplex)
    share = np.full(3, 1 / 3) if point is None else point
    return rows.scores(ElasticDual(rows, share * simplex.vertices, softness).weights())


numbers = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1.0, -1.0, 1e8, -1e-8]))


def rows_of(count):
    return st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=count, max_size=count).map(np.array)


@settings(deadline=None, max_examples=200)
@given(rows_of(6), rows_of(2), st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.sampled_from([1e-6, 0.1, 10.0]))
def test_sensitivity(common, others, weights, softness):
    """Replacing one row moves the sum by at most 2, adding one by at most 1."""
    point = np.array(weights) / np.sum(weights)
    programs = [np.vstack([common, others[k]]) for k in range(2)]
    one, two = (released(rows[:, :3], rows[:, 3], REPLACE, point, softness) for rows in programs)
    assert np.linalg.norm(one - two) <= REPLACE.sum_sensitivity(1.0, 1) + 1e-6
    fewer = released(common[:, :3], common[:, 3], ADD, point, softness)
    more = released(programs[0][:, :3], programs[0][:, 3], ADD, point, softness)
    assert np.linalg.norm(more - fewer) <= ADD.sum_sensitivity(1.0, 1) + 1e-6


#: Opposite rows, both violated everywhere.
OPPOSITE = [(np.array([[1.0, 0.5, 0.0], sign * np.array([8.0, -2.0, 1.0])]), np.array([9.0, -99.0])) for sign in (1, -1)]


def test_sensitivity_is_attained():
    one, two = (released(A, b, REPLACE) for A, b in OPPOSITE)
    assert np.linalg.norm(one - two) >= 0.9 * REPLACE.sum_sensitivity(1.0, 1)


def test_rows_have_norm_one_or_less_and_constant_rows_none():
    simplex = Simplex(StandardForm.of(LinearProgram(COSTS, [[1, 0, 0], [1e9, 1e9, 1], [1, 2, 0.5]], [0, 0, 0])), 2.0)
    rows = RowsOfEqualNorm(simplex)
    norms = [np.linalg.norm(rows.scores(unit)) for unit in np.eye(3)]
    assert norms[0] == pytest.approx(1.0)
    assert norms[1] <= 1 + 1e-9
    assert norms[2] == 0  # 2, 2, 2 on the region


def task(A, b, relation, eps, delta, **options):
    lp = LinearProgram(COSTS, A, b, neighbours=relation)
    defaults = {"s": 1.0, "alpha": None, "opt": 2.0, "width": None}
    form = StandardForm.of(lp)
    return Task(form=form, ledger=Ledger(eps, delta), randomness=Randomness(0), **{**defaults, **options})


@pytest.mark.parametrize("records", [1, 3])
def test_what_is_charged(records):
    relation = ConstraintPrivate(rows_per_record=records)
    asked = task(*OPPOSITE[0], relation, 1.0, 1e-6)
    game = mirror(asked)
    (entry,) = asked.ledger.entries
    assert entry.sensitivity == pytest.approx(2 * records, rel=1e-6)
    assert entry.draws == game.rounds
    assert asked.ledger.spent() == pytest.approx(1.0, rel=1e-6)


def one_round(sensitivity):
    """A round at half a unit of noise per unit of sensitivity, as the audit runs it: the release on the separating line."""
    direction = np.subtract(*(released(A, b, REPLACE) for A, b in OPPOSITE))
    sums = {id(pair): released(*pair, REPLACE) for pair in OPPOSITE}
    mechanism = GaussianMechanism(sensitivity, 1.5 * sensitivity)
    return lambda pair, rng: float(direction @ mechanism.release(sums[id(pair)], Randomness(rng)))


def claim(delta):
    ledger = Ledger(100.0, delta)
    ledger.charge(GaussianMechanism(2.0, 3.0), 1, "a round", REPLACE, Randomness(0))
    return ledger.spent()


@pytest.mark.statistical
def test_audit_of_a_round():
    """Correct: false-alarm rate 0.001; the bound is more than half of the claim."""
    result = audit(one_round(2.0), *OPPOSITE, claim(1e-3), 1e-3, runs=40_000, rng=1)
    assert result.passed, str(result)
    assert result.eps_lower > 0.5 * result.eps


@pytest.mark.statistical
@pytest.mark.parametrize("sensitivity", [pytest.param(1.0, id="of one row added"), pytest.param(0.5, id="a quarter")])
def test_audit_of_broken_rounds(sensitivity):
    """Noise for a smaller sensitivity: caught. Miss rate below 0.01."""
    result = audit(one_round(sensitivity), *OPPOSITE, claim(1e-3), 1e-3, runs=40_000, rng=1)
    assert not result.passed, str(result)


def test_it_beats_dense_multiplicative_weights_where_many_rows_are_tight():
    """Covering, 4,000 people, 10 services; worst violation but for 50. Fixed seeds; the margin is tenfold."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, 10)
    A = rng.uniform(0, 1, (4000, 10)) * (rng.random((4000, 10)) < 0.5) + 1e-3
    A /= (A @ x)[:, None]
    lp = LinearProgram(A.sum(axis=0), -A, -np.ones(4000))
    opt = privlp.solve_exact(lp).objective
    left = {
        method: np.mean([np.sort(1 - A @ privlp.solve(lp, 1.0, 1e-6, 50, opt=opt, method=method, rng=k).x)[-51] for k in range(5)])
        for method in ("dmw", "mirror")
    }
    assert left["mirror"] < 0.5 * left["dmw"]


def test_delta_is_needed():
    lp = LinearProgram(COSTS, -np.ones((5, 3)), -np.ones(5))
    budget = privlp.Budget(2.0, 1e-3)
    with pytest.raises(privlp.InvalidParameterError, match=r"delta must be positive with method='mirror'.* use method='dmw'"):
        privlp.solve(lp, 1.0, 0.0, 1, opt=2.0, method="mirror", budget=budget)
    assert budget.spent() == 0


def test_rounds_grow_with_the_budget():
    rounds = [mirror(task(-np.ones((500, 3)), -np.ones(500), REPLACE, eps, 1e-6)).rounds for eps in (0.1, 1.0, 10.0)]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1]
    assert mirror(task(-np.ones((500, 3)), -np.ones(500), REPLACE, math.inf, 0.0)).rounds == 500
