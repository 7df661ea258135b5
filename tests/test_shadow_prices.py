"""Shadow prices that follow from released numbers: known duals, signs, files, refusals."""

import json

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate, Solution

INF = float("inf")
A, B, C = [[1.0, 2.0], [3.0, 1.0], [1.0, 0.0]], [20.0, 30.0, 9.0], [3.0, 5.0]


def program(relation, **options):
    """Two rows are tight, with prices 2.4 and 0.2; the third is not."""
    return LinearProgram(C, A, B, sense="max", neighbours=relation, **options)


RELATIONS = {
    "b": (ScalarPrivate(0.1, lower=1, upper=40), {}),
    "A": (RowPrivate(0.1, lower=0, upper=4), {"bounds": (0, 40)}),
    "c": (ObjectivePrivate(0.1, lower=0, upper=9), {}),
}


@pytest.mark.parametrize("part", RELATIONS)
def test_known_prices_without_noise(part):
    relation, options = RELATIONS[part]
    lp = program(relation, **options)
    solution = privlp.solve(lp, INF, 0, method="direct-noise")
    exact = privlp.solve_exact(lp)
    assert solution.prices == pytest.approx([2.4, 0.2, 0.0])
    assert solution.prices == pytest.approx(exact.dual)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sense", ["min", "max"])
def test_signs_of_all_kinds_of_rows(sense, seed):
    """Upper and lower sides, ranges, equalities, public and private: as HiGHS has them."""
    rng = np.random.default_rng(seed)
    n, d = 9, 5
    matrix, inside = rng.normal(size=(n, d)), rng.uniform(0.3, 0.7, d)
    middle = matrix @ inside
    lower, upper = middle - rng.uniform(0, 0.5, n), middle + rng.uniform(0, 0.5, n)
    lower[:3], upper[3:5] = -INF, INF
    lower[8] = upper[8] = middle[8]
    private = np.arange(n) % 2 == 1
    lp = LinearProgram(
        rng.normal(size=d),
        matrix,
        upper,
        row_lower=lower,
        private=private,
        bounds=(0, 1),
        sense=sense,
        neighbours=ScalarPrivate(0.1, lower=-9, upper=9),
    )
    exact = privlp.solve_exact(lp)
    for options in ({"method": "direct-noise"}, {"feasible": 0.9}):
        found = privlp.solve(lp, INF, 0, **options)
        assert found.prices == pytest.approx(exact.dual, abs=1e-6)


def test_prices_are_those_of_the_released_program():
    lp = program(ScalarPrivate(0.5, lower=1, upper=40))
    solution = privlp.solve(lp, 1.0, 1e-6, method="direct-noise", rng=0)
    noisy = LinearProgram(C, A, solution.trace["noisy b"], sense="max")
    assert solution.prices == pytest.approx(privlp.solve_exact(noisy).dual)
    never = privlp.solve(lp, 1.0, 1e-6, feasible="always", rng=0)
    tightened = LinearProgram(C, A, never.trace["tightened b"], sense="max")
    assert never.prices == pytest.approx(privlp.solve_exact(tightened).dual, abs=1e-6)


def test_saved_and_loaded(tmp_path):
    solution = privlp.solve(program(RELATIONS["b"][0]), 1.0, 1e-6, rng=0)
    solution.save(tmp_path / "file.json")
    assert (Solution.load(tmp_path / "file.json").prices == solution.prices).all()
    document = json.loads(solution.to_json())
    del document["released_prices"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    with pytest.raises(privlp.UnsupportedProblemError):
        Solution.load(tmp_path / "old.json").prices  # noqa: B018


def test_private_prices_are_refused():
    needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
    lp = LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(500))
    solution = privlp.solve(lp, eps=2.0, delta=1e-6, s=50, rng=0)
    with pytest.raises(
        privlp.UnsupportedProblemError,
        match=r"method='perturbed' releases no shadow prices here\. The price of a private row is",
    ) as caught:
        solution.prices  # noqa: B018
    assert "privlp.allocate" in str(caught.value)
    assert "not private" in str(caught.value)


def test_with_a_given_optimum_there_are_none():
    """Then x minimises the largest violation."""
    solution = privlp.solve(
        program(RELATIONS["b"][0]), 1.0, 1e-6, opt=54.0, method="direct-noise", rng=0
    )
    with pytest.raises(privlp.UnsupportedProblemError, match="solve without opt"):
        solution.prices  # noqa: B018
