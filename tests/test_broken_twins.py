"""Faults of whole-constraint solvers that are their own."""

import functools
import math

import numpy as np
import pytest

import privlp
from privlp import ConstraintPrivate, LinearProgram, audit
from privlp.game.dense import DenseDual
from privlp.privacy import ExponentialMechanism, GaussianMechanism, Ledger, record
from privlp.regions.simplex import Simplex
from privlp.rows.on_simplex import RowsOnSimplex
from tests.conformance_kit import Claim, Pair, audited, claim_of, sampler_of, sharpest
from tests.rounds import weights_of

pytestmark = pytest.mark.statistical


def test_gaussian_noise_for_the_wrong_norm():
    """Sixteen entries change by 1/4 each."""
    right, wrong = (sharpest(GaussianMechanism(sensitivity, 1.0)) for sensitivity in (1.0, 0.25))
    pair = Pair(right, np.zeros(16), np.full(16, 0.25))
    assert audited(sampler_of(pair, right), claim_of(right), 10_000, 1).passed
    assert not audited(sampler_of(pair, wrong), claim_of(wrong), 5_000, 1).passed


SELECT_EPS = 2.0


def refuted(pair, sensitivity, runs=20_000):
    """Whether an audit of a selection from these scores refutes its pure claim."""
    mechanism = ExponentialMechanism(sensitivity, SELECT_EPS)
    sampler = sampler_of(Pair(mechanism, *pair), mechanism)
    return not audited(sampler, Claim(SELECT_EPS), runs, 1).passed


# one round of selection

D = 40
LAST = D - 1


def row(first, others, last):
    """Values at the vertices: one of its own for the first and for the last."""
    return np.array([first, *[others] * (D - 2), last])


def program(rows, cost=1.0, **options):
    return LinearProgram(np.full(D, cost), np.array(rows), np.zeros(len(rows)), **options)


def round_scores(
    lp,
    s,
    *,
    history=(),
    step=2.0,
    scaled=RowsOnSimplex.of_equal_range,
    feed_back=False,
    renormalise=False,
):
    """Scores of the round after some vertices, public by then, were selected.

    With the faults of twins on request.
    """
    rows = lp.rows().keep(functools.partial(scaled, Simplex(lp.public().form, 1.0)))
    dual = DenseDual(rows, s, step)
    for vertex in history:
        dual.learn(vertex)
        if feed_back:
            dual.scores()
            dual.rows.update(feed_back_weights, dual.place, dual._project.bits, s)
    scores = dual.scores()
    return scores / weights_of(dual).sum() if renormalise else scores


def feed_back_weights(block, *place):
    block.raw = np.log(block.weights(*place))


# Row 0 is violated at the last vertex, selected three times, and holds full weight 1/s by then. Its
# neighbour differs in the sign of every other value: the score of vertex 0 falls by the sensitivity
# while all the others rise by it. The other rows are constant.
S = 2.0
HISTORY = [LAST] * 3
ROWS = [row(-1, 1, 1), *[row(1, 1, 1)] * 7]
FLIPPED = [row(1, -1, 1), *ROWS[1:]]
SENSITIVITY = ConstraintPrivate().dense_average_sensitivity(2.0, S, 1)


def scores_of(*programs, s=S, **options):
    return tuple(round_scores(lp, s, **options) for lp in programs)


def audit_scores(pair, twin_pair, sensitivity):
    """The right scores pass, those of the twin are caught, under one and the same mechanism."""
    assert not refuted(pair, sensitivity)
    assert refuted(twin_pair, sensitivity)


def scaled_before_the_change_of_variables(simplex, block):
    scale = 1 / np.abs(block.lp.A).max(axis=1)
    return RowsOnSimplex(block, simplex, scale, scale * block.rhs)


def test_costs_left_out_of_the_scaling():
    """Rates 0.001."""
    programs = [program(rows, 0.1) for rows in (ROWS, FLIPPED)]
    twin = scores_of(*programs, history=HISTORY, scaled=scaled_before_the_change_of_variables)
    audit_scores(scores_of(*programs, history=HISTORY), twin, SENSITIVITY)


def test_rows_of_one_record_ignored():
    """A record with three rows, charged as one row. Rates 0.001."""
    s = 5.0
    groups = [0, 0, 0, *range(1, 8)]
    lp = program([*[ROWS[0]] * 3, *ROWS[1:]], groups=groups)
    neighbour = program([*[FLIPPED[0]] * 3, *ROWS[1:]], groups=groups)
    relation = lp.neighbours
    k = relation.rows_of_one_record(lp)
    assert k == 3
    pair = scores_of(lp, neighbour, history=HISTORY, s=s)
    assert np.ptp(pair[1] - pair[0]) == pytest.approx(
        2 * relation.dense_average_sensitivity(2.0, s, k), rel=1e-4
    )
    assert not refuted(pair, relation.dense_average_sensitivity(2.0, s, k))
    assert refuted(pair, relation.dense_average_sensitivity(2.0, s, 1))


def test_renormalised_missing_mass():
    """Three rows and s = 15: one row may hold 1/15 of the mass, not a third. Rates 0.001."""
    relation, s = ConstraintPrivate("add-remove", nominal_n=20), 15.0
    rows = [row(-1, 1, 1), row(1, 1, 1), row(1, 1, 1)]
    programs = program(rows, neighbours=relation), program(rows[1:], neighbours=relation)
    sensitivity = relation.dense_average_sensitivity(2.0, s, 1)
    twin = scores_of(*programs, s=s, renormalise=True)
    audit_scores(scores_of(*programs, s=s), twin, sensitivity)


def test_projected_weights_fed_back():
    """Rows 1 to 3 run ahead, and row 0 with them or not."""
    s = 4.0
    leader, other = np.array([-1.0] + [1.0] * (D - 1)), np.array([1.0] + [-1.0] * (D - 1))
    leader[-1], other[-1] = 1.0, -1.0  # the first vertex selected
    leader[-2], other[-2] = -1.0, 0.6  # the second one
    crowd = [other] * 12
    programs = program([leader, *[leader] * 3, *crowd]), program([other, *[leader] * 3, *crowd])
    options = {"s": s, "history": [LAST, LAST - 1], "step": 5.0}
    sensitivity = ConstraintPrivate().dense_average_sensitivity(2.0, s, 1)
    twin = scores_of(*programs, **options, feed_back=True)
    audit_scores(scores_of(*programs, **options), twin, sensitivity)


# solve(), from end to end


def alpha_for(rounds):
    """The accuracy at which solve() plays this many rounds on the programs below.

    T = ceil(8 ln(n/s) (radius/alpha)^2).
    """
    return math.sqrt(0.5 * 8 * math.log(6 / 5) / (rounds - 0.5))


#: One row decides; its weight grows, and the others are constant. At s = 5 of 6 it starts close to
#: full weight.
END_TO_END = tuple(
    LinearProgram(np.ones(4), np.array([[-sign, sign, sign, sign], *[[1.0] * 4] * 5]), -np.ones(6))
    for sign in (1.0, -1.0)
)


@pytest.fixture
def solved(monkeypatch):
    """solve() as a mechanism: whether vertex 0 was selected, round by round.

    What depends on public numbers alone is computed once: calibrated noise and version numbers.
    """
    calibrate, known = Ledger.calibrate, {}

    def calibrate_once(self, make, count):
        key = (self.eps, self.delta, count, make(1.0))
        if key not in known:
            known[key] = calibrate(self, make, count)
        return known[key]

    monkeypatch.setattr(Ledger, "calibrate", calibrate_once)
    monkeypatch.setattr(record, "version", functools.cache(record.version))

    def make(rounds, eps, delta):
        def mechanism(lp, rng):
            solution = privlp.solve(
                lp, eps, delta, s=5, alpha=alpha_for(rounds), opt=1.0, method="dmw", rng=rng
            )
            assert solution.iterations == rounds
            assert solution.privacy.eps <= eps
            return tuple((solution.trace["selected"] == 0).tolist())

        return mechanism

    return make


@pytest.mark.slow  # its draws are compared on neighbours in tests/test_audit_solve.py
def test_solve(solved):
    """Correct: all rounds together keep the claim. False-alarm rate 0.001."""
    found = audit(solved(5, 2.0, 0.01), *END_TO_END, 2.0, 0.01, runs=300, rng=1)
    assert found.passed, str(found)


def test_solve_that_stops_when_the_data_say_so(solved):
    """The number of rounds follows a private row: caught. Miss rate below 0.001."""
    mechanism = solved(3, 2.0, 0.0)

    def impatient(lp, rng):
        satisfied = lp.A[0, 0] < 0
        return mechanism(lp, rng)[: 2 if satisfied else 3]

    assert not audit(impatient, *END_TO_END, 2.0, 0.0, runs=300, rng=1).passed
