"""Nearest points of public regions, and how few linear programs a plan takes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp import LinearProgram, UnsupportedProblemError
from privlp.methods.perturbed import method as perturbed
from privlp.problem.highs import Optima, optimum
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows, growing
from privlp.regions.quadratic import minimum


def region(d: int, *, rows: int = 0, equalities: int = 0) -> ReducedPolytope:
    """A box cut by rows and equalities through its middle."""
    rng = np.random.default_rng(d)
    A = rng.normal(size=(rows + equalities, d))
    upper = np.repeat([0.1, 0.0], [rows, equalities])
    lower = np.repeat([-np.inf, 0.0], [rows, equalities])
    private = np.arange(rows + equalities + 1) == rows + equalities
    A, upper, lower = np.vstack([A, np.ones(d)]), np.append(upper, 1.0), np.append(lower, -np.inf)
    lp = LinearProgram(np.ones(d), A, upper, row_lower=lower, private=private, bounds=(-1, 1))
    return ReducedPolytope(PublicRows(lp.public().form.lp))


@pytest.mark.parametrize(
    ("d", "rows", "equalities"),
    [(1, 0, 0), (4, 0, 0), (4, 1, 0), (70, 1, 0), (4, 3, 0), (70, 5, 0), (70, 4, 6), (6, 0, 2)],
)
def test_nearest_points_are_those_of_the_quadratic_program(d, rows, equalities):
    K, rng = region(d, rows=rows, equalities=equalities), np.random.default_rng(0)
    assert (K.nearest(K.inside) == K.inside).all()
    for size in (0.01, 0.3, 3.0, 100.0):
        z = K.inside + size * rng.normal(size=K.size)
        base = K.within(z)
        step = minimum(np.eye(K.size), base - z, K.C, np.maximum(K.slack(base), 0.0))
        expected, found = K.within(base + step), K.nearest(z)
        assert K.slack(found).min() >= -1e-12
        assert np.linalg.norm(found - z) <= np.linalg.norm(expected - z) * (1 + 2e-6) + 1e-12
        assert found == pytest.approx(expected, abs=1e-4 * max(1.0, size))


def test_a_turned_region_measures_in_its_own_coordinates():
    K = region(4)
    z = np.array([2.0, 0.5, 0.5, 0.5])
    scale = np.eye(4) + 0.5 * np.ones((4, 4)) / 4
    turned = K.turned(scale)
    at = np.linalg.solve(scale, z)
    other = np.linalg.solve(scale, K.nearest(z))
    assert np.linalg.norm(turned.nearest(at) - at) <= np.linalg.norm(other - at)


def test_optima_from_the_last_basis_are_those_from_scratch():
    rng = np.random.default_rng(1)
    A, bounds = rng.uniform(0.1, 1.0, (8, 12)), np.tile([0.0, np.inf], (12, 1))
    lower, upper = np.full(8, -np.inf), rng.uniform(1, 2, 8)
    optima = Optima(A, lower, upper, bounds)
    for _ in range(6):
        cost = rng.normal(size=12)
        status, x = optima(cost)
        expected_status, expected = optimum(cost, A, lower, upper, bounds)
        assert status == expected_status
        assert cost @ x == pytest.approx(cost @ expected)


def test_ends_without_a_limit_are_found_at_once():
    A = sp.csr_array(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]))
    bounds = np.array([[0.0, np.inf]] * 4)
    sides = np.full(2, -np.inf), np.ones(2)
    found = growing(A, *sides, bounds, np.isinf(bounds.T))
    assert found.tolist() == [[False] * 4, [False, False, True, True]]


def test_a_region_is_made_once_for_all_methods_of_a_plan(monkeypatch):
    counted = mock.Mock(wraps=ReducedPolytope)
    monkeypatch.setattr(perturbed, "ReducedPolytope", counted)
    rng = np.random.default_rng(0)
    lp = LinearProgram(np.ones(3), -rng.uniform(0.2, 1, (400, 3)), -np.ones(400), bounds=(0, 9))
    assert {"chain", "perturbed"} <= set(privlp.plan(lp, 1.0, 1e-6, s=20).predictions)
    assert counted.call_count == 1


def test_a_refusal_is_made_once_too():
    public = LinearProgram([1, 2], [[-1, -1]], [-2]).public()
    refuse = mock.Mock(side_effect=UnsupportedProblemError("no"))
    for _ in range(2):
        with pytest.raises(UnsupportedProblemError, match="no"):
            public.once("this", refuse)
    assert refuse.call_count == 1
