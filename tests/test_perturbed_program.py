"""Perturbed programs: regions, exact slacks, certificates and rows in coordinates, by properties."""

import dataclasses
import math
import operator
import warnings
from fractions import Fraction
from unittest import mock

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import hostile_regions
from privlp import LinearProgram, UnsupportedProblemError, solve, solve_exact
from privlp.game.perturbed import PerturbedProgram
from privlp.methods.perturbed.draws import _attainable
from privlp.problem.standard_form import StandardForm
from privlp.regions.exact import ExactMinima, ExactPoint, ExactRows
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows, UnboundedRegionError, tightened
from privlp.regions.quadratic import distance_to_minimum, fitted_prices, likely_tight, minimum
from privlp.rows.access import InMemory
from privlp.rows.in_coordinates import RowsInCoordinates, SmoothedRows, shares_of_norm
from privlp.rows.program_rows import MeasuredRows, RowBlock
from tests.effort import examples, pairs
from tests.programs import refused_for_free

seeds = st.integers(0, 2**32 - 1)
HOSTILE_SEEDS = (7, 9)


def public(A, upper, lower=None, **fields):
    """The public rows of a program without private ones."""
    n = len(upper)
    fields = {"bounds": (0, 3), **fields}
    lower = np.full(n, -np.inf) if lower is None else lower
    c = fields.pop("c", np.ones(np.shape(A)[1]))
    return LinearProgram(c, A, upper, row_lower=lower, private=np.zeros(n, bool), **fields)


def random_polytope(rng, d=5, *, equalities=0, implied=False):
    """Around a point of the box, with slack; equalities hold there; an implied one is a pair."""
    point = rng.uniform(0.5, 2.5, d)
    A = rng.normal(size=(4 + equalities, d))
    upper = A @ point + rng.uniform(0.1, 2, len(A))
    lower = np.full(len(A), -np.inf)
    upper[:equalities] = lower[:equalities] = (A @ point)[:equalities]
    if implied:
        pair = rng.normal(size=d)
        A, upper = np.vstack([A, pair, -pair]), np.append(upper, [pair @ point, -pair @ point])
        lower = np.append(lower, [-np.inf, -np.inf])
    return public(A, upper, lower, c=rng.normal(size=d)), point


class TestReducedPolytope:
    @settings(max_examples=examples(60), deadline=None)
    @given(seed=seeds, equalities=st.integers(0, 3), implied=st.booleans(), weighted=st.booleans())
    def test_points_and_coordinates(self, seed, equalities, implied, weighted):
        rng = np.random.default_rng(seed)
        lp, point = random_polytope(rng, equalities=equalities, implied=implied)
        weights = rng.uniform(0.3, 3, 5) if weighted else None
        region = ReducedPolytope(PublicRows(lp), weights=weights)
        assert region.size == 5 - equalities - implied
        assert (region.slack(region.inside) > 0).all()
        for _ in range(5):
            z = region.within(region.inside + rng.normal(size=region.size) * 3)
            x = region.point(z)
            assert (lp.A @ x <= lp.b + 1e-8).all()
            assert (x >= -1e-8).all()
            assert (x <= 3 + 1e-8).all()
            np.testing.assert_allclose((lp.A @ x)[:equalities], lp.b[:equalities], atol=1e-8)
            np.testing.assert_allclose(region.coordinates(x), z, atol=1e-9)
            assert np.linalg.norm(z) <= region.radius
            assert lp.c @ x == pytest.approx(lp.c @ region.origin + region.cost(lp.c) @ z, abs=1e-9)
        inside = region.coordinates(point)
        np.testing.assert_allclose(region.point(inside), point, atol=1e-7)

    @settings(max_examples=examples(40), deadline=None)
    @given(seed=seeds)
    def test_units_contain_the_ranges(self, seed):
        lp, _ = random_polytope(np.random.default_rng(seed), d=3)
        region = ReducedPolytope(PublicRows(lp))
        everything = lp.changed(private=np.ones(len(lp.b), bool))
        for j, e in enumerate(np.eye(3)):
            low, high = (solve_exact(everything.changed(c=c)).x[j] for c in (e, -e))
            assert high - low <= region.unit[j] + 1e-7
            assert low >= region.origin[j] - 1e-7

    def test_a_cap_on_the_cost(self):
        lp = public([[1.0, 1.0]], [2.0], c=[1.0, 2.0], bounds=(0, None))
        region = ReducedPolytope(PublicRows(lp), 1.0)
        assert lp.c @ region.point(region.within(region.inside + 9.0)) <= 1 + 1e-12

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (([[1.0, 1.0], [-1.0, -1.0]], [1.0, -2.0]), "contradict each other"),
            # Variables that rows seem to fix, and rows without variables:
            (([[1.0, 0.0], [-1.0, 0.0]], [0.3, -0.6]), "contradict each other"),
            (([[1.0, 0.0]], [-0.5]), "contradict each other"),
            (([[-1.0, -1.0]], [-500.0]), "contradict each other"),
            (([[0.0, 0.0]], [-0.5]), "contradict each other"),
            (([[0.0, 0.0]], [0.5], [0.5]), "contradict each other"),
            (([[1.0, 1.0], [1.0, -1.0]], [2.0, 0.0], [2.0, 0.0]), "leave a single point"),
            (([[1.0, 1.0]], [0.0]), "leave a single point"),
        ],
    )
    def test_refusals(self, rows, message):
        with pytest.raises(UnsupportedProblemError, match=message):
            ReducedPolytope(PublicRows(public(*rows)))

    def test_an_unbounded_region(self):
        lp = public([[1.0, -1.0]], [1.0], bounds=(0, None), variable_names=["oats", "milk"])
        with pytest.raises(UnboundedRegionError, match=r"put no limit on .*'milk'") as caught:
            ReducedPolytope(PublicRows(lp))
        assert "finite bounds, which may be loose: bounds=(0, 1e6)" in str(caught.value)
        assert "a public row that limits them, such as a bound on the cost" in str(caught.value)
        assert "opt" not in str(caught.value)
        limited = public([[1.0, -1.0], [1.0, 1.0]], [1.0, 9.0], bounds=(0, None))
        for helps in (public([[1.0, -1.0]], [1.0], bounds=(0, 7)), limited):
            assert ReducedPolytope(PublicRows(helps)).size == 2


@settings(max_examples=examples(60), deadline=None)
@given(seed=seeds, free=st.booleans())
def test_ranges_contain_those_of_linear_programs(seed, free):
    rng = np.random.default_rng(seed)
    lp, point = random_polytope(rng, d=3, equalities=1)
    bounds = np.array([[-np.inf, np.inf]] * 3) if free else lp.bounds
    low, high = tightened(sp.csr_array(lp.A), lp.row_lower, lp.b, bounds)
    assert (low <= point + 1e-9).all()
    assert (point <= high + 1e-9).all()
    everything = lp.changed(bounds=bounds, private=np.ones(len(lp.b), bool))
    for j in range(3):
        for sign, end in ((1.0, low[j]), (-1.0, high[j])):
            exact = solve_exact(everything.changed(c=sign * np.eye(3)[j]))
            if exact.x is not None:
                assert sign * end <= sign * exact.x[j] + 1e-7


# exact rows


def exact_slack(C, f, z):
    z = [Fraction(entry) for entry in z]
    return [
        Fraction(side) - sum(Fraction(a) * b for a, b in zip(row, z, strict=True))
        for row, side in zip(C.tolist(), f.tolist(), strict=True)
    ]


class TestExactRows:
    @settings(max_examples=examples(100), deadline=None)
    @given(seed=seeds, size=st.sampled_from([1e-9, 1.0, 1e6]))
    def test_slacks_are_rounded_once(self, seed, size):
        rng = np.random.default_rng(seed)
        C, z = rng.normal(size=(6, 4)), rng.normal(size=4) * size
        f = C @ z + rng.choice([0.0, 1e-16, -1e-16, 1e-9], 6)
        found = ExactRows(sp.csc_array(C), f, np.zeros(4)).slack(z, np.arange(6))
        assert found.tolist() == [float(value) for value in exact_slack(C, f, z)]

    @settings(max_examples=examples(60), deadline=None)
    @given(seed=seeds, off=st.sampled_from([0.0, 1e-16, 1e-14, 1e-12]), repeated=st.booleans())
    def test_settled_points_break_no_row(self, seed, off, repeated):
        """Corners where many rows meet, and rows that say the same twice."""
        rng = np.random.default_rng(seed)
        C = rng.normal(size=(3, 3))
        corner = rng.uniform(-1, 1, 3)
        if repeated:
            C = np.vstack([C, C[0] + C[1], 3 * C[2], (C[0] + C[2]) / 7])
        f = C @ corner
        inside = corner - np.linalg.solve(C[:3], np.ones(3))
        z = corner + off * rng.normal(size=3)
        settled = ExactRows(sp.csc_array(C), f, inside).settled(z)
        assert min(exact_slack(C, f, settled)) >= 0
        assert np.linalg.norm(settled - z) <= (1e-12 + 10 * off) * 1e3

    def test_what_is_wanted_becomes_tight(self):
        rows = ExactRows(sp.csc_array(-np.eye(2)), np.zeros(2), np.ones(2))
        np.testing.assert_array_equal(rows.settled(np.array([3e-10, 0.5])), [3e-10, 0.5])
        settled = rows.settled(np.array([3e-10, 0.5]), np.array([0]))
        assert 0 <= settled[0] <= 1e-24
        assert settled[1] == 0.5

    def test_far_outside(self):
        rows = ExactRows(sp.csc_array(np.eye(2)), np.ones(2), np.zeros(2))
        assert rows.settled(np.array([5.0, 0.3])).max() <= 1


# quadratics


@settings(max_examples=examples(60), deadline=None)
@given(seed=seeds, steep=st.sampled_from([1.0, 1e3, 1e12]))
def test_quadratic_programs(seed, steep):
    """Against optimality: the step breaks nothing, and prices cancel the gradient."""
    rng = np.random.default_rng(seed)
    p = 4
    root = rng.normal(size=(p, p))
    hessian = root @ root.T + 0.1 * np.eye(p)
    C = sp.csc_array(np.vstack([np.eye(p), -np.eye(p), rng.normal(size=(3, p))]))
    slack = rng.uniform(0, 1, C.shape[0]) * (rng.random(C.shape[0]) > 0.3)
    gradient = steep * rng.normal(size=p)
    step = minimum(hessian, gradient, C, slack)
    left = slack - C @ step
    assert left.min() >= -1e-8
    near = np.flatnonzero(left <= 1e-7)
    slope = gradient + hessian @ step
    rest = slope + C[near].T @ fitted_prices(sp.csr_array(C[near]), slope)
    assert np.linalg.norm(rest) <= 1e-6 * (steep + np.abs(hessian).max())


@settings(max_examples=examples(60), deadline=None)
@given(seed=seeds)
def test_certificates_bound_the_distance(seed):
    """At any point of K, whatever the prices. In integers never outside K, nor with a price < 0."""
    rng = np.random.default_rng(seed)
    p, strength = 3, float(rng.uniform(0.1, 10))
    target = rng.normal(size=p) * 2
    u = np.clip(target, 0, 1)
    w = np.clip(u + rng.choice([0, 1e-9, 1e-3, 1.0]) * rng.normal(size=p), 0, 1)
    C, f = sp.csr_array(np.vstack([np.eye(p), -np.eye(p)])), np.repeat([1.0, 0.0], p)
    gradient, off = strength * (w - target), np.linalg.norm(w - u)
    minima = ExactMinima(sp.csc_array(C), f, np.full(p, 0.5))

    def in_integers(*given):
        found = [[int(Fraction(x) * 2**384) for x in numbers.tolist()] for numbers in given]
        point = ExactPoint(*(np.array(numbers, dtype=object) for numbers in found))
        return minima.distance(point, gradient, strength=strength, smoothness=strength)

    exact = np.maximum(np.append(-(u - target), u - target), 0) * strength
    for prices in (fitted_prices(C, gradient), exact, rng.uniform(0, 3, 2 * p), np.zeros(2 * p)):
        assert distance_to_minimum(gradient, C, f - C @ w, prices, strength) >= off
        assert off <= in_integers(w, prices) < math.inf
    assert in_integers(w + 1.001, exact) == in_integers(w, np.append(exact[:-1], -1e-100))
    assert in_integers(w + 1.001, exact) == math.inf
    at_minimum, face = strength * (u - target), C[np.flatnonzero(f - C @ u <= 0)]
    prices = fitted_prices(face, at_minimum)
    nothing = np.zeros(face.shape[0])
    assert distance_to_minimum(at_minimum, face, nothing, prices, strength) <= 1e-12


# rows in coordinates


def block_of(lp):
    return RowBlock(StandardForm.of(lp))


ENTRIES = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1e8, -1e-8, 9e14, 1e-300, 1e-160, 1.0]))


@st.composite
def programs(draw, *, equality):
    """Private rows with any entries; the last row is a public equality, if asked for."""
    n, d = 7, 4
    A = np.array(draw(st.lists(st.lists(ENTRIES, min_size=d, max_size=d), min_size=n, max_size=n)))
    b = np.array(draw(st.lists(st.floats(-3, 3), min_size=n, max_size=n)))
    lower = np.where(draw(st.lists(st.booleans(), min_size=n, max_size=n)), b - 1, -np.inf)
    if equality:
        spanned = draw(st.booleans())  # a private row that the equality makes constant
        A[-1], b[-1] = [1.0, 0.3, 0.7, 1.1], 2.0
        lower[-1] = 2.0
        if spanned:
            A[0] = 0.1 * A[-1]
    matrix = sp.csc_array(A) if draw(st.booleans()) else A
    private = np.arange(n) < n - equality
    return LinearProgram(np.ones(d), matrix, b, row_lower=lower, bounds=(0, 3), private=private)


def without_row(lp, i):
    keep = np.delete(np.arange(lp.shape[0]), i)
    parts = {name: getattr(lp, name)[keep] for name in ("A", "b", "row_lower", "private")}
    return lp.changed(**parts)


def numbers(lp, region, x, **options):
    """Everything that is computed for each row, and the user's row behind it."""
    block = block_of(lp)
    rows = RowsInCoordinates(block, region, **options)
    rows.go_to(region.inside)
    G = rows.G.toarray() if sp.issparse(rows.G) else rows.G
    beyond = block.form.row_sign * block.form.activity(x)[block.form.row]
    beyond -= block.form.sides(slice(None))
    return np.column_stack([G, rows.r, rows.v, MeasuredRows(block).sizes(x), beyond]), block.form


class TestRowsInCoordinates:
    @settings(max_examples=examples(100), deadline=None)
    @given(data=st.data(), equality=st.booleans(), unit=st.sampled_from([None, 1e-3, 5.0]))
    def test_norms_are_at_most_one_exactly_and_both_sides_one_vector(self, data, equality, unit):
        """To the last bit, up to its sign: a record of a range counts as one row."""
        lp = data.draw(programs(equality=equality))
        region, block = ReducedPolytope(PublicRows(lp)), block_of(lp)
        G = RowsInCoordinates(block, region, unit=unit).G
        G = G.toarray() if sp.issparse(G) else G
        for row in G.tolist():
            assert sum(Fraction(entry) ** 2 for entry in row) <= 1
        sides = dict(zip(zip(block.form.row, block.form.row_sign, strict=True), G, strict=True))
        for row in {row for row, _ in sides if (row, 1) in sides and (row, -1) in sides}:
            np.testing.assert_array_equal(sides[row, 1], -sides[row, -1])

    @settings(max_examples=examples(100), deadline=None)
    @given(data=st.data(), equality=st.booleans(), unit=st.sampled_from([None, 1.0]))
    def test_no_number_of_a_row_depends_on_another_row(self, data, equality, unit):
        lp = data.draw(programs(equality=equality))
        region = ReducedPolytope(PublicRows(lp))
        x = region.point(region.inside) + 0.1
        whole, form = numbers(lp, region, x, unit=unit)
        for i in range(lp.shape[0] - equality):
            fewer, rest = numbers(without_row(lp, i), region, x, unit=unit)
            kept = form.row != i
            np.testing.assert_array_equal(fewer, whole[kept])
            np.testing.assert_array_equal(rest.row_sign, form.row_sign[kept])

    @settings(max_examples=examples(60), deadline=None)
    @given(data=st.data())
    def test_shares_of_norms(self, data):
        lp = data.draw(programs(equality=False))
        region, block = ReducedPolytope(PublicRows(lp)), block_of(lp)
        total = shares_of_norm(block, region, 50)
        assert (total >= 0).all()
        assert sum(map(Fraction, total)) <= len(block.form.row)

    def test_dense_rows_of_many_columns(self):
        """BLAS rounds the last rows of a matrix differently."""
        rng = np.random.default_rng(0)
        lp = LinearProgram(np.ones(300), rng.normal(size=(41, 300)), np.ones(41), bounds=(0, 1))
        region = ReducedPolytope(PublicRows(lp))
        x = rng.uniform(size=300)
        whole, form = numbers(lp, region, x)
        for i in (0, 7, 40):
            fewer, _ = numbers(without_row(lp, i), region, x)
            np.testing.assert_array_equal(fewer, whole[form.row != i])


def test_missed_rows():
    """By hand: a billionth of |b|; where b is 0, of the terms; or alpha times the norm."""
    A = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, -1.0], [1.0, -1.0], [0.0, 0.0]])
    b = np.array([1.0, 1.2, 0.0, 0.3, 0.0])
    lp = LinearProgram([1, 1], A, b, bounds=(0, 9))
    measured = MeasuredRows(block_of(lp))
    assert measured.missed(np.array([1.0 + 9e-10, 1.0])) == 0
    assert measured.missed(np.array([1.0 + 2e-9, 1.0])) == 1
    assert measured.missed(np.array([1.1, 1.0])) == 2
    assert MeasuredRows(block_of(lp), alpha=0.2).missed(np.array([1.25, 1.0])) == 1


# programs


def perturbed(rng, lp, softness, strength):
    region = ReducedPolytope(PublicRows(lp))
    rows = InMemory(block_of(lp)).keep(lambda block: RowsInCoordinates(block, region))
    program = PerturbedProgram(
        rows=rows,
        region=region,
        linear=rng.normal(size=region.size) * 3,
        centre=region.within(region.inside + rng.normal(size=region.size)),
        strength=strength,
        softness=softness,
        shift=softness / 2,
        smoothness=strength + 40 / softness,
    )
    return program, rows.total(lambda own: own.G), rows.total(lambda own: own.r)


def by_cvxpy(program, G, r):
    z = cp.Variable(program.region.size)
    v = cp.pos(G @ z - r + program.shift)
    smoothed = cp.sum(cp.huber(v, program.softness)) / (2 * program.softness)
    quadratic = program.strength / 2 * cp.sum_squares(z - program.centre)
    problem = cp.Problem(
        cp.Minimize(smoothed + program.linear @ z + quadratic),
        [program.region.C @ z <= program.region.f],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return z.value


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=seeds, turned=st.sampled_from([0.0, 1e-15, 1e-9, 1e-3]), steep=st.sampled_from([1, 1e9])
)
def test_quadratic_programs_in_integers(seed, turned, steep):
    """In fractions: rows that are copies of each other but for a turn, and conditions of a minimum."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 6))
    C = np.repeat(rng.normal(size=(2 * p, p)), 3, axis=0)
    C = np.vstack([C + turned * rng.normal(size=C.shape), np.eye(p), -np.eye(p)])
    f = np.append(np.full(6 * p, 1e-3), np.ones(2 * p))
    root = rng.normal(size=(p, p))
    hessian, gradient = root @ root.T + 0.1 * np.eye(p), steep * rng.normal(size=p)
    minima, z = ExactMinima(sp.csc_array(C), f, np.zeros(p)), rng.normal(size=p)
    found = minima.of(hessian, gradient, z, guess=rng.choice(len(C), 3, replace=False).tolist())
    point, prices = (
        [Fraction(int(number), 2**384) for number in numbers]
        for numbers in (found.point, found.prices)
    )
    slack = exact_slack(C, f, point)
    assert min(slack) >= 0
    assert min(prices) >= 0
    assert sum(a * b for a, b in zip(prices, slack, strict=True)) < 1e-40
    pushes = [sum(map(operator.mul, prices, map(Fraction, column))) for column in C.T.tolist()]
    slope, pushed = np.array(point, dtype=float) - z, np.array(pushes, dtype=float)
    assert np.abs(gradient + hessian @ slope + pushed).max() <= 1e-9 * steep


@pytest.mark.parametrize("seed", range(3))
def test_clarabel_tells_rows_apart_that_are_nearly_parallel(seed):
    """The rows with a price, found in integers, are among those that it takes for tight."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 0.8, 8)
    A, lower, upper = hostile_regions.narrow_and_parallel(rng, 8, x)
    C = sp.csc_array(np.vstack([A, -A, np.eye(8), -np.eye(8)]))
    f = np.concatenate([upper, -lower, np.ones(8), np.zeros(8)])
    gradient, slack = rng.normal(size=8), f - C @ x
    found = ExactMinima(C, f, x).of(np.eye(8), gradient, x)
    tight = likely_tight(np.eye(8), gradient, C, slack)
    assert set(np.flatnonzero(found.prices > 0)) <= set(tight)


@pytest.mark.parametrize("newton_steps", [60, 0])
@pytest.mark.parametrize("seed", range(2))
def test_minima(seed, newton_steps):
    """By Newton's method, and by its steps in integers alone."""
    rng = np.random.default_rng(seed)
    A = np.vstack([rng.normal(size=(40, 4)), np.ones(4)])
    b = np.append(A[:-1] @ np.full(4, 0.6) + rng.normal(size=40), 2.4)
    lower = np.where(np.arange(41) == 40, 2.4 if seed % 2 else -np.inf, -np.inf)
    lp = LinearProgram(np.ones(4), A, b, row_lower=lower, bounds=(0, 1), private=np.arange(41) < 40)
    program, G, r = perturbed(rng, lp, softness=0.2, strength=5.0)
    found = program.minimise(1e-6, newton_steps=newton_steps)
    assert np.linalg.norm(found - by_cvxpy(program, G, r)) <= 2e-5
    assert min(exact_slack(program.region.C.toarray(), program.region.f, found)) >= -1e-15


@pytest.fixture
def without_libraries(monkeypatch):
    """Clarabel fails, and so does what fits prices; the certificates in integers."""

    def fails(*_, **__):
        raise RuntimeError("no solver")

    made = []
    distance = ExactMinima.distance

    def noted(*given, **options):
        made.append(distance(*given, **options))
        return made[-1]

    monkeypatch.setattr("privlp.regions.quadratic._minimum", fails)
    monkeypatch.setattr("scipy.optimize.nnls", fails)
    monkeypatch.setattr(ExactMinima, "distance", noted)
    return made


def steep_program(seed, n=1000, p=6):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p)) / np.sqrt(p)
    b = A @ np.full(p, 0.6) + 0.3 * rng.normal(size=n)
    lp = LinearProgram(np.ones(p), A, b, bounds=(0, 1), private=np.ones(n, bool))
    program, G, r = perturbed(rng, lp, softness=0.2, strength=5.0)
    linear = 20 * program.linear
    return dataclasses.replace(program, linear=linear, smoothness=5.0 + n / 0.2), G, r


def test_the_minimum_of_many_rows_is_certified_by_steps_that_see_a_share_of_them(monkeypatch):
    program, *_ = steep_program(3, n=40_000)
    found, shares, hessian = [], [], SmoothedRows.hessian

    def noted(self, softness, shift, share=1.0):
        shares.append(share)
        return hessian(self, softness, shift, share)

    monkeypatch.setattr(SmoothedRows, "hessian", noted)
    monkeypatch.setattr(PerturbedProgram, "_exactly", None)
    for fewest in (2**9, 10**9):
        monkeypatch.setattr("privlp.game.perturbed._FEWEST_BENT", fewest)
        found.append(program.minimise(1e-6))
        assert program._certified(found[-1], 1e-6)[1] <= 1e-6
    assert min(shares) < 0.05
    assert shares[-1] == 1.0
    assert np.linalg.norm(found[0] - found[1]) <= 2e-6


def test_the_search_begins_with_a_share_of_the_rows_and_ends_where_all_of_them_say(monkeypatch):
    program, *_ = steep_program(0, n=40_000)
    gradient, read = SmoothedRows.gradient, []

    def noted(self, *bend):
        read.append(len(self.r))
        return gradient(self, *bend)

    monkeypatch.setattr(SmoothedRows, "gradient", noted)
    monkeypatch.setattr(PerturbedProgram, "_exactly", None)
    found, passes = [], []
    for share in (1.0, 0.1):
        read.clear()
        found.append(dataclasses.replace(program, share=share).minimise(1e-6))
        passes.append(read.count(40_000))
    assert np.linalg.norm(found[0] - found[1]) <= 2e-6
    assert 0 < passes[1] <= passes[0] / 2
    assert 3_900 < read[0] < 4_100


def test_a_share_of_the_rows_follows_from_their_places_and_has_about_the_curvature_of_all():
    """Blocks do not matter."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(20_000, 4)), rng.normal(size=20_000)
    region = ReducedPolytope(PublicRows(LinearProgram(np.ones(4), A, b, bounds=(0, 1))))

    def of(rows, share):
        lp = LinearProgram(np.ones(4), A[rows], b[rows], bounds=(0, 1))
        kept = RowsInCoordinates(RowBlock(StandardForm.of(lp), first=rows.start or 0), region)
        kept.go_to(np.full(region.size, 0.3))
        return kept.share(0.3), kept.hessian(0.5, 0.1, share)

    every, *cut = slice(None), slice(7_777), slice(7_777, None)
    (some, part), *parts = (of(rows, 0.2) for rows in (every, *cut))
    for name in ("r", "G"):
        together = np.concatenate([getattr(own, name) for own, _ in parts])
        np.testing.assert_array_equal(getattr(some, name), together)
    assert abs(len(some.r) - 6_000) < 200
    np.testing.assert_array_equal(part, sum(own for _, own in parts))
    _, whole = of(every, 1.0)
    assert 0 < np.linalg.norm(part / 0.2 - whole, 2) < 0.2 * np.linalg.norm(whole, 2)


def test_without_clarabel_and_fitted_prices_the_point_is_certified(without_libraries):
    program, G, r = steep_program(0)
    steepest = 1000 + float(np.linalg.norm(program.linear))
    tolerance = _attainable(steepest, program.strength, program.region.size) / 2
    assert tolerance < 1e-5
    found = program.minimise(tolerance)
    assert 0 < len(without_libraries) < 30
    assert without_libraries[-1] <= tolerance
    assert np.linalg.norm(found - by_cvxpy(program, G, r)) <= 2e-5


@pytest.mark.parametrize("refuses", [5, 60])
def test_only_a_certificate_ends_the_search(without_libraries, monkeypatch, refuses):
    """It goes on as long as nothing is certified, and the point stays where it belongs."""
    program, G, r = steep_program(0)
    distance = ExactMinima.distance

    def refused(*given, **options):
        found = distance(*given, **options)
        return math.inf if len(without_libraries) <= refuses else found

    monkeypatch.setattr(ExactMinima, "distance", refused)
    found = program.minimise(1e-6)
    assert len(without_libraries) == refuses + 1
    assert np.linalg.norm(found - by_cvxpy(program, G, r)) <= 2e-5


@pytest.mark.parametrize(
    ("kind", "hard", "seed"), pairs(hostile_regions.KINDS, [True, False], HOSTILE_SEEDS)
)
def test_every_minimum_on_a_hostile_region_is_certified(kind, hard, seed):
    """Narrow, nearly parallel, degenerate, badly scaled: doubles alone do not certify some of these."""
    lp, eps = hostile_regions.program(kind, seed, hard=hard)
    s = max(1, lp.private.sum() // 10) if hard else None
    with hostile_regions.Watched() as watched, warnings.catch_warnings(action="ignore"):
        solve(lp, eps, 1e-6, s, method="perturbed", rng=seed)
    assert watched.minima == 3
    assert watched.uncertified == 0
    assert watched.exact > 0 or kind != "narrow and nearly parallel"


def test_doubles_give_up_soon_where_they_stand_still():
    """At a degenerate corner they are as near as they can be, and certify nothing."""
    lp, eps = hostile_regions.program("degenerate", 1019, hard=True)
    real = PerturbedProgram._certified
    spy = mock.patch.object(PerturbedProgram, "_certified", autospec=True, side_effect=real)
    quiet = warnings.catch_warnings(action="ignore")
    with spy as certified, hostile_regions.Watched() as watched, quiet:
        solve(lp, eps, 1e-6, lp.private.sum() // 10, method="perturbed", rng=1019)
    assert watched.exact > 0
    assert certified.call_count <= 8 * watched.minima


def test_a_region_too_thin_is_refused_as_such_before_anything_is_charged():
    """Its rows do not contradict each other: they leave less room than HiGHS sees."""
    lp, eps = hostile_regions.program("narrow and nearly parallel", 10, hard=True)
    with refused_for_free(r"hardly any room.*give them more", UnsupportedProblemError) as budget:
        solve(lp, eps, 1e-6, 5, method="perturbed", budget=budget)


def test_small_variables_are_not_taken_for_fixed():
    """In a unit in which their bounds are small, a program is what it is in any other."""
    lp = LinearProgram(np.ones(2) * 1e12, [[1e12, 1e12]], [1.5], bounds=(0, 1e-12))
    region = ReducedPolytope(PublicRows(lp))
    assert region.size == 2
    assert region.unit == pytest.approx([1e-12, 1e-12])


def test_a_corner_at_a_price_of_a_million():
    """Costs far above the rows: the corner is found exactly, however steep they are."""
    lp = LinearProgram(np.ones(3), -np.ones((4, 3)), -np.ones(4), bounds=(0, 3))
    program, _, _ = perturbed(np.random.default_rng(0), lp, softness=0.1, strength=1.0)
    for steep in (1e6, 1e12):
        steeper = dataclasses.replace(program, linear=np.full(3, steep))
        tolerance = _attainable(2 * steep, 1.0, 3)
        assert np.abs(steeper.minimise(tolerance / 2)).max() <= 1e-12


def test_a_region_without_room_ends_no_run():
    """Floating point leaves some regions no room, when draws are paid for: another one serves."""
    narrow = np.vstack([np.ones(5), -np.ones(5)])
    narrow[1] += 1e-6 * np.array([1.68, 0.79, 0.36, -0.76, 1.85])
    for seed in range(4):
        needs = abs(np.random.default_rng(seed).normal(size=(50, 5)))
        lp = LinearProgram(
            [0.1, 0.1, 1e-4, 1e-2, 1e-3],
            np.vstack([narrow, -needs]),
            np.r_[10.0, -2.5, -np.ones(50)],
            private=np.r_[False, False, np.ones(50, bool)],
            bounds=(0, 1e6),
        )
        found = solve(lp, 8.0, 1e-6, s=5, method="perturbed", rng=seed)
        assert np.isfinite(found.x).all()
