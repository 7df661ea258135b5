"""An audit without teeth is worth nothing: every correct mechanism passes, and each deliberately broken twin of it is caught.

Each audit has confidence 0.999 and a fixed seed. So over the choice of seed a correct mechanism is accused, and a test here
fails without cause, at a rate of at most 0.001 per audit; runs are chosen so that a twin is missed at a rate below 0.01.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats

import privlp
from privlp import ConstraintPrivate, LinearProgram, audit
from privlp.privacy import ExponentialMechanism, GaussianMechanism, LaplaceMechanism, Ledger, Randomness, events, record
from privlp.problem import StandardForm
from privlp.solvers.dense_dual import DenseDual
from privlp.solvers.simplex import RowsOnSimplex, Simplex

pytestmark = pytest.mark.statistical


def through(mechanism):
    """The mechanism as the audit runs it."""
    return lambda value, rng: mechanism.release(value, Randomness(rng))


def passes(mechanism, pair, eps, delta=0.0, *, runs=30_000, seed=1):
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert result.passed, str(result)
    return result


def is_caught(mechanism, pair, eps, delta=0.0, *, runs=30_000, seed=1):
    result = audit(mechanism, *pair, eps, delta, runs=runs, rng=seed)
    assert not result.passed, str(result)


def fixed_seed(mechanism, seed):
    """The same noise in every run: on neighbouring inputs the outputs show the difference of the inputs."""
    return lambda value, rng: mechanism.release(value, Randomness(seed))


def uniform_maximum(eps, sensitivity):
    """Noisy maximum with bounded noise as large as the exponential mechanism's: some outcomes become impossible."""
    return lambda scores, rng: int(np.argmax(scores + rng.uniform(0, 4 * sensitivity / eps, scores.shape)))


# ---------------------------------------------------------------------------------------------- exponential mechanism

SELECT_EPS = 2.0


def scores_with_one_candidate(score, others, candidates=50):
    return np.array([score, *[others] * (candidates - 1)])


#: One score rises by the sensitivity, 1, while all the others fall by it.
SCORES = scores_with_one_candidate(0.0, 1.0), scores_with_one_candidate(1.0, 0.0)


def test_exponential_mechanism():
    """Correct: the bound comes within 40 % of the claim, so the pair is a sharp one. False-alarm rate 0.001."""
    result = passes(through(ExponentialMechanism(1.0, SELECT_EPS)), SCORES, SELECT_EPS)
    assert result.eps_lower > 0.6 * SELECT_EPS


@pytest.mark.parametrize(
    ("twin", "runs"),
    [
        pytest.param(through(ExponentialMechanism(1.0, 2 * SELECT_EPS)), 10_000, id="missing factor 1/2"),
        pytest.param(through(ExponentialMechanism(0.8, SELECT_EPS)), 60_000, id="sensitivity 20 % too small"),
        pytest.param(uniform_maximum(SELECT_EPS, 1.0), 10_000, id="uniform noise"),
        pytest.param(fixed_seed(ExponentialMechanism(1.0, SELECT_EPS), 7), 1_000, id="fixed seed"),
    ],
)
def test_exponential_twins(twin, runs):
    """Broken: caught. Miss rate below 0.01."""
    is_caught(twin, SCORES, SELECT_EPS, runs=runs)


#: Two queries on the same data; their worst cases are opposite.
FEW = scores_with_one_candidate(0.0, 1.0, 10), scores_with_one_candidate(1.0, 0.0, 10)
TWO_QUERIES = FEW, FEW[::-1]


def test_two_selections():
    """Two draws of eps = 1 at twice the price. False-alarm rate 0.001."""
    mechanism = ExponentialMechanism(1.0, 1.0)

    def two_draws(queries, rng):
        return tuple(mechanism.release(scores, Randomness(rng)) for scores in queries)

    passes(two_draws, TWO_QUERIES, 2.0, runs=10_000)


def test_two_selections_from_one_draw():
    """Gumbel noise makes a correct selection, but not when it serves two. Caught; miss rate below 0.01."""

    def one_draw(queries, rng):
        noise = rng.gumbel(size=10)
        return tuple(int(np.argmax(scores / 2 + noise)) for scores in queries)

    is_caught(one_draw, TWO_QUERIES, 2.0, runs=10_000)


# ---------------------------------------------------------------------------------------------- Laplace mechanism

LAPLACE = LaplaceMechanism(1.0, 1.0)  # eps = 1


def with_noise(draw):
    """Add noise of another law."""
    return lambda value, rng: np.array([value + draw(rng)])


def one_number(mechanism):
    return lambda value, rng: mechanism.release([value], Randomness(rng))


def test_laplace_mechanism():
    """Correct. False-alarm rate 0.001."""
    assert passes(one_number(LAPLACE), (0.0, 1.0), LAPLACE.pure_eps).eps_lower > 0.85


@pytest.mark.parametrize(
    ("twin", "runs"),
    [
        pytest.param(one_number(LaplaceMechanism(1.0, 0.5)), 5_000, id="factor 2"),
        pytest.param(one_number(LaplaceMechanism(0.8, 0.8)), 20_000, id="sensitivity 20 % too small"),
        pytest.param(one_number(LaplaceMechanism(0.9, 0.9)), 60_000, id="sensitivity 10 % too small"),
        pytest.param(with_noise(lambda rng: rng.uniform(-math.sqrt(6), math.sqrt(6))), 5_000, id="uniform noise"),
        pytest.param(with_noise(lambda rng: rng.normal(0, math.sqrt(2))), 100_000, id="Gaussian noise at delta = 0"),
        pytest.param(lambda value, rng: LAPLACE.release([value], Randomness(3)), 500, id="fixed seed"),
    ],
)
def test_laplace_twins(twin, runs):
    """Broken: caught, also where the noise of the twin has the variance of the right one. Miss rate below 0.01."""
    is_caught(twin, (0.0, 1.0), LAPLACE.pure_eps, runs=runs)


def test_one_laplace_draw_used_twice():
    """Two sums that move in opposite directions, each with noise for an L1 change of 2: fresh draws pass, a shared one is caught.

    False-alarm and miss rate 0.001.
    """
    pair = np.array([0.0, 0.0]), np.array([1.0, -1.0])
    mechanism = LaplaceMechanism(2.0, 2.0)
    passes(through(mechanism), pair, mechanism.pure_eps)
    is_caught(lambda sums, rng: sums + mechanism.release(0.0, Randomness(rng)), pair, mechanism.pure_eps, runs=5_000)


# ---------------------------------------------------------------------------------------------- Gaussian mechanism

GAUSSIAN = GaussianMechanism(1.0, 2.0)
GAUSSIAN_EPS = 1.0
#: The exact delta at that epsilon: the sharpest claim that is true.
GAUSSIAN_DELTA = stats.norm.cdf(0.25 - 2.0) - math.e * stats.norm.cdf(-0.25 - 2.0)


def test_gaussian_mechanism():
    """Correct. False-alarm rate 0.001."""
    assert passes(one_number(GAUSSIAN), (0.0, 1.0), GAUSSIAN_EPS, GAUSSIAN_DELTA, runs=60_000).eps_lower > 0.6


def test_gaussian_mechanism_at_the_price_of_the_ledger():
    """Three draws on one number. False-alarm rate 0.001."""
    ledger = Ledger(10.0, 1e-3)
    ledger.charge(GAUSSIAN, 3, "test", ConstraintPrivate(), Randomness(0))
    pair = np.zeros(3), np.ones(3)
    passes(through(GAUSSIAN), pair, ledger.spent(), 1e-3)


@pytest.mark.parametrize(
    ("twin", "runs"),
    [
        pytest.param(one_number(GaussianMechanism(1.0, 1.0)), 10_000, id="factor 2"),
        pytest.param(one_number(GaussianMechanism(0.8, 1.6)), 150_000, id="sensitivity 20 % too small"),
        pytest.param(with_noise(lambda rng: rng.uniform(-math.sqrt(12), math.sqrt(12))), 10_000, id="uniform noise"),
        pytest.param(lambda value, rng: GAUSSIAN.release([value], Randomness(3)), 500, id="fixed seed"),
    ],
)
def test_gaussian_twins(twin, runs):
    """Broken: caught. Miss rate below 0.01."""
    is_caught(twin, (0.0, 1.0), GAUSSIAN_EPS, GAUSSIAN_DELTA, runs=runs)


def test_gaussian_noise_for_the_wrong_norm():
    """Sixteen entries change by 1/4 each: L2 sensitivity 1 passes, the largest single change is caught. Rates 0.001."""
    pair = np.zeros(16), np.full(16, 0.25)
    passes(through(GAUSSIAN), pair, GAUSSIAN_EPS, GAUSSIAN_DELTA)
    is_caught(through(GaussianMechanism(0.25, 0.5)), pair, GAUSSIAN_EPS, GAUSSIAN_DELTA, runs=5_000)


def test_one_gaussian_draw_used_twice():
    """Two sums that move in opposite directions. Rates 0.001."""
    pair = np.zeros(2), np.array([1.0, -1.0]) / math.sqrt(2)
    passes(through(GAUSSIAN), pair, GAUSSIAN_EPS, GAUSSIAN_DELTA)
    is_caught(lambda sums, rng: sums + GAUSSIAN.release(0.0, Randomness(rng)), pair, GAUSSIAN_EPS, GAUSSIAN_DELTA, runs=5_000)


# ---------------------------------------------------------------------------------------------- one round of selection

D = 40
LAST = D - 1


def row(first, others, last):
    """Values at the vertices: one of its own for the first and for the last."""
    return np.array([first, *[others] * (D - 2), last])


def program(rows, cost=1.0, **options):
    return LinearProgram(np.full(D, cost), np.array(rows), np.zeros(len(rows)), **options)


def round_scores(lp, s, *, history=(), step=2.0, rows_of=RowsOnSimplex.of_equal_range, feed_back=False, renormalise=False):
    """Scores of the round after some vertices, public by then, were selected; with the faults of twins on request."""
    rows = rows_of(Simplex(StandardForm.of(lp), 1.0))
    dual = DenseDual(rows.count, s)
    for vertex in history:
        rows.add_violations(vertex, step, dual.log_weights)
        if feed_back:
            dual.log_weights = np.log(dual.weights())
    z = dual.weights()
    return rows.scores(z / z.sum() if renormalise else z)


# Row 0 is violated at the last vertex, selected three times, and holds full weight 1/s by then. Its neighbour differs in the sign
# of every other value: the score of vertex 0 falls by the sensitivity while all the others rise by it. The other rows are constant.
S = 2.0
HISTORY = [LAST] * 3
ROWS = [row(-1, 1, 1), *[row(1, 1, 1)] * 7]
FLIPPED = [row(1, -1, 1), *ROWS[1:]]
SENSITIVITY = ConstraintPrivate().dense_average_sensitivity(2.0, S, 1)


def scores_of(*programs, s=S, **options):
    return tuple(round_scores(lp, s, **options) for lp in programs)


def test_one_round():
    """Correct, on a pair of programs that attains the sensitivity. False-alarm rate 0.001."""
    pair = scores_of(program(ROWS), program(FLIPPED), history=HISTORY)
    assert np.ptp(pair[1] - pair[0]) == pytest.approx(2 * SENSITIVITY)
    result = passes(through(ExponentialMechanism(SENSITIVITY, SELECT_EPS)), pair, SELECT_EPS)
    assert result.eps_lower > 0.55 * SELECT_EPS


@pytest.mark.parametrize(
    ("twin", "runs"),
    [
        pytest.param(through(ExponentialMechanism(SENSITIVITY, 2 * SELECT_EPS)), 10_000, id="missing factor 1/2"),
        pytest.param(through(ExponentialMechanism(0.8 * SENSITIVITY, SELECT_EPS)), 60_000, id="sensitivity 20 % too small"),
        pytest.param(through(ExponentialMechanism(SENSITIVITY / 2, SELECT_EPS)), 10_000, id="values assumed not negative"),
        pytest.param(uniform_maximum(SELECT_EPS, SENSITIVITY), 10_000, id="uniform noise"),
        pytest.param(fixed_seed(ExponentialMechanism(SENSITIVITY, SELECT_EPS), 7), 1_000, id="fixed seed"),
    ],
)
def test_twins_of_the_draw(twin, runs):
    """Broken noise on the right scores: caught. Miss rate below 0.01."""
    is_caught(twin, scores_of(program(ROWS), program(FLIPPED), history=HISTORY), SELECT_EPS, runs=runs)


def audit_scores(pair, twin_pair, sensitivity, runs=10_000):
    """The right scores pass, those of the twin are caught, under one and the same mechanism."""
    mechanism = through(ExponentialMechanism(sensitivity, SELECT_EPS))
    passes(mechanism, pair, SELECT_EPS, runs=runs)
    is_caught(mechanism, twin_pair, SELECT_EPS, runs=runs)


def unscaled(simplex):
    return RowsOnSimplex(simplex, np.ones(len(simplex.form.rhs)), simplex.form.rhs)


def scaled_before_the_change_of_variables(simplex):
    scale = 1 / np.abs(simplex.form.lp.A).max(axis=1)
    return RowsOnSimplex(simplex, scale, scale * simplex.form.rhs)


@pytest.mark.parametrize(
    ("twin", "factor", "cost"),
    [
        pytest.param(unscaled, 10.0, 1.0, id="unscaled rows"),
        pytest.param(scaled_before_the_change_of_variables, 1.0, 0.1, id="costs left out of the scaling"),
    ],
)
def test_rows_of_unequal_range(twin, factor, cost):
    """Rates 0.001."""
    programs = [program(factor * np.array(rows), cost) for rows in (ROWS, FLIPPED)]
    audit_scores(scores_of(*programs, history=HISTORY), scores_of(*programs, history=HISTORY, rows_of=twin), SENSITIVITY)


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
    assert np.ptp(pair[1] - pair[0]) == pytest.approx(2 * relation.dense_average_sensitivity(2.0, s, k))
    passes(through(ExponentialMechanism(relation.dense_average_sensitivity(2.0, s, k), SELECT_EPS)), pair, SELECT_EPS, runs=10_000)
    is_caught(
        through(ExponentialMechanism(relation.dense_average_sensitivity(2.0, s, 1), SELECT_EPS)), pair, SELECT_EPS, runs=10_000
    )


def test_renormalised_missing_mass():
    """Three rows and s = 15: one row may hold 1/15 of the mass, not a third. Rates 0.001."""
    relation, s = ConstraintPrivate("add-remove", nominal_n=20), 15.0
    rows = [row(-1, 1, 1), row(1, 1, 1), row(1, 1, 1)]
    programs = program(rows, neighbours=relation), program(rows[1:], neighbours=relation)
    sensitivity = relation.dense_average_sensitivity(2.0, s, 1)
    audit_scores(scores_of(*programs, s=s), scores_of(*programs, s=s, renormalise=True), sensitivity)


def test_projected_weights_fed_back():
    """Rows 1 to 3 run ahead, and row 0 with them or not. Without row 0 the caps leave mass to the others; fed back, that mass
    carries the others ahead of the leaders one round later. Rates 0.001.
    """
    s = 4.0
    leader, other = np.array([-1.0] + [1.0] * (D - 1)), np.array([1.0] + [-1.0] * (D - 1))
    leader[-1], other[-1] = 1.0, -1.0  # the first vertex selected
    leader[-2], other[-2] = -1.0, 0.6  # the second one
    crowd = [other] * 12
    programs = program([leader, *[leader] * 3, *crowd]), program([other, *[leader] * 3, *crowd])
    options = {"s": s, "history": [LAST, LAST - 1], "step": 5.0}
    sensitivity = ConstraintPrivate().dense_average_sensitivity(2.0, s, 1)
    audit_scores(scores_of(*programs, **options), scores_of(*programs, **options, feed_back=True), sensitivity)


# ---------------------------------------------------------------------------------------------- solve(), from end to end


def alpha_for(rounds):
    """The accuracy at which solve() plays this many rounds on the programs below: T = ceil(8 ln(n/s) (radius/alpha)^2)."""
    return math.sqrt(0.5 * 8 * math.log(6 / 5) / (rounds - 0.5))


#: One row decides; its weight grows, and the others are constant. At s = 5 of 6 it starts close to full weight.
END_TO_END = tuple(
    LinearProgram(np.ones(4), np.array([[-sign, sign, sign, sign], *[[1.0] * 4] * 5]), -np.ones(6)) for sign in (1.0, -1.0)
)


@pytest.fixture
def solved(monkeypatch):
    """solve() as a mechanism: whether vertex 0 was selected, round by round.

    What depends on public numbers alone is computed once: compositions, calibrated noise and version numbers.
    """
    compose, calibrate, known = events.composed_epsilon, Ledger.calibrate, {}
    once = functools.cache(compose)

    def calibrate_once(self, make, count):
        key = (self.eps, self.delta, count, make(1.0))
        if key not in known:
            known[key] = calibrate(self, make, count)
        return known[key]

    monkeypatch.setattr(events, "composed_epsilon", lambda costs, delta: once(tuple(costs), delta))
    monkeypatch.setattr(Ledger, "calibrate", calibrate_once)
    monkeypatch.setattr(record, "version", functools.cache(record.version))

    def make(rounds, eps, delta):
        def mechanism(lp, rng):
            solution = privlp.solve(lp, eps, delta, s=5, alpha=alpha_for(rounds), opt=1.0, method="dmw", rng=rng)
            assert solution.iterations == rounds
            assert solution.privacy.eps <= eps
            return tuple((solution.trace["selected"] == 0).tolist())

        return mechanism

    return make


@pytest.mark.parametrize(("rounds", "eps", "delta"), [(2, 3.0, 0.0), (3, 2.0, 0.0), (5, 2.0, 0.01)])
def test_solve(solved, rounds, eps, delta):
    """Correct: all rounds together keep the claim. False-alarm rate 0.001."""
    passes(solved(rounds, eps, delta), END_TO_END, eps, delta, runs=8_000)


@pytest.mark.parametrize(("rounds", "eps", "delta"), [(3, 3.0, 0.0), (5, 2.0, 0.0), (5, 2.0, 0.01)])
def test_solve_that_forgets_the_count(solved, monkeypatch, rounds, eps, delta):
    """Charged once, drawn in every round: caught. Miss rate below 0.01."""
    calibrate, charge = Ledger.calibrate, Ledger.charge

    def charge_one(self, mechanism, count, *details, **words):
        draws = charge(self, mechanism, 1, *details, **words)
        draws.remaining = count
        return draws

    monkeypatch.setattr(Ledger, "calibrate", lambda self, make, count: calibrate(self, make, 1))
    monkeypatch.setattr(Ledger, "charge", charge_one)
    is_caught(solved(rounds, eps, delta), END_TO_END, eps, delta, runs=10_000)


def test_solve_that_stops_when_the_data_say_so(solved):
    """The number of rounds follows a private row: caught. Miss rate below 0.001."""
    mechanism = solved(3, 2.0, 0.0)

    def impatient(lp, rng):
        satisfied = lp.A[0, 0] < 0
        return mechanism(lp, rng)[: 2 if satisfied else 3]

    is_caught(impatient, END_TO_END, 2.0, runs=500)
