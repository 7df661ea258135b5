"""Shadow prices that follow from released numbers: known duals, signs, files, refusals."""

import json
from unittest import mock

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate, Solution
from privlp.rows import parts
from tests.effort import each
from tests.programs import method_of, refused_for_free

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
    prices = privlp.solve(lp, INF, 0, method="direct-noise").prices
    assert prices == pytest.approx([2.4, 0.2, 0.0]) == privlp.solve_exact(lp).dual


@pytest.mark.parametrize(("sense", "seed"), each(["min", "max"], range(4)))
def test_signs_of_all_kinds_of_rows(sense, seed):
    """Upper and lower sides, ranges, equalities, public and private: as HiGHS has them."""
    rng = np.random.default_rng(seed)
    n, d = 9, 5
    matrix, inside = rng.normal(size=(n, d)), rng.uniform(0.3, 0.7, d)
    middle = matrix @ inside
    lower, upper = middle - rng.uniform(0, 0.5, n), middle + rng.uniform(0, 0.5, n)
    lower[:3], upper[3:5] = -INF, INF
    lower[8] = upper[8] = middle[8]
    fields = {"bounds": (0, 1), "sense": sense, "private": np.arange(n) % 2 == 1}
    relation = ScalarPrivate(0.1, lower=-9, upper=9)
    costs = rng.normal(size=d)
    lp = LinearProgram(costs, matrix, upper, row_lower=lower, neighbours=relation, **fields)
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


def test_a_second_program_has_no_prices_of_the_first():
    """Slacks measured at a released point: then x solves another program."""
    lp = program(RowPrivate(0.05, lower=0, upper=4), bounds=(0, 40))
    way = method_of("measured-slack")
    found = [privlp.solve(lp, 1.0, 1e-6, method=way, rng=seed) for seed in range(6)]
    second = [solution for solution in found if "slacks" in solution.message]
    assert second
    for solution in second:
        with pytest.raises(privlp.UnsupportedProblemError, match="releases no shadow prices"):
            solution.prices  # noqa: B018


def test_saved_and_loaded(tmp_path):
    numbers = privlp.solve(program(RELATIONS["b"][0]), 1.0, 1e-6, rng=0)
    for solution in (privlp.solve(soft(), 1.0, 1e-6, prices=True, rng=0), numbers):
        solution.save(tmp_path / "file.json")
        json.loads((tmp_path / "file.json").read_text(), parse_constant=pytest.fail)
        np.testing.assert_array_equal(Solution.load(tmp_path / "file.json").prices, solution.prices)
    document = json.loads(solution.to_json())
    for broken in (1.0, [document["released_prices"]], "2.4", [None, "x"]):
        (tmp_path / "broken.json").write_text(json.dumps(document | {"released_prices": broken}))
        with pytest.raises(privlp.ReadError, match="is not a solution saved by privlp"):
            Solution.load(tmp_path / "broken.json")
    del document["released_prices"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    with pytest.raises(privlp.UnsupportedProblemError):
        Solution.load(tmp_path / "old.json").prices  # noqa: B018


def soft():
    """Shortages of needs have a price; the first of two public limits is tight."""
    rng = np.random.default_rng(0)
    n, d = 1500, 6
    limits, sides = np.kron(np.eye(2), np.ones(3)), [0.3, 0.4]
    return LinearProgram(
        rng.uniform(1, 2, d) * n / 100,
        np.vstack([-rng.uniform(0, 1, (n, d)), limits]),
        np.append(-rng.uniform(0.5, 1.5, n), sides),
        penalty=np.append(np.ones(n), [INF, INF]),
        private=np.arange(n + 2) < n,
        bounds=(0, 5),
    )


def mixed():
    """The first needs are small, and must be met."""
    lp, few = soft(), np.arange(1502) < 300
    b, penalty = np.where(few, 0.1 * lp.b, lp.b), np.where(few, INF, lp.penalty)
    return lp.changed(b=b, penalty=penalty)


def hard(n=1500, *, sense="min", seed=0, private=None):
    """Coverings with public rows of all kinds: limits, a floor, a range, an equality."""
    rng = np.random.default_rng(seed)
    d = 6
    public = rng.uniform(0.2, 1.0, (5, d))
    middle = public @ np.full(d, 1.0)
    upper = middle * [0.9, 1.1, INF, 1.05, 1.0]
    lower = middle * [-INF, -INF, 0.95, 0.9, 1.0]
    cost = np.array([1, 1.1, 1.2, 2, 2.2, 2.4])
    return LinearProgram(
        cost if sense == "min" else -cost,
        np.vstack([-rng.uniform(0.2, 1, (n, d)), public]),
        np.append(-np.full(n, 1.6), upper),
        row_lower=np.append(np.full(n, -INF), lower),
        private=np.arange(n + 5) < n,
        bounds=(0, 4),
        sense=sense,
    )


class TestWhereWholeConstraintsArePrivate:
    @pytest.mark.parametrize("program", [soft, hard, mixed])
    def test_without_noise_they_are_those_of_highs(self, program):
        lp = program()
        solution = privlp.solve(lp, INF, 0, None if program is soft else 1, prices=True)
        exact = privlp.solve_exact(lp).dual
        known = ~np.isnan(solution.prices)
        assert solution.prices[known] == pytest.approx(exact[known], rel=1e-4, abs=1e-6)
        assert np.abs(exact[known]).max() > 0.1

    @pytest.mark.parametrize("program", [soft, hard], ids=["soft", "hard"])
    def test_the_same_bits_in_parts_by_threads_and_from_a_map(self, program, tmp_path, monkeypatch):
        lp = program()
        np.save(tmp_path / "A.npy", lp.A)
        mapped = lp.changed(A=np.load(tmp_path / "A.npy", mmap_mode="r"))
        s = None if lp.penalty is not None else 75

        def prices(lp):
            return privlp.solve(lp, 1.0, 1e-6, s, prices=True, rng=0).prices

        expected = prices(lp)
        assert np.nanmax(np.abs(expected)) > 0
        np.testing.assert_array_equal(prices(mapped), expected)
        monkeypatch.setattr(parts, "MOST_ROWS", 64)
        np.testing.assert_array_equal(prices(lp), expected)
        with mock.patch("privlp.rows.parts.THREADS", 2):
            np.testing.assert_array_equal(prices(lp), expected)

    @pytest.mark.parametrize(("sense", "seed"), each(["min", "max"], [0, 3]))
    def test_signs_of_all_kinds_of_rows(self, sense, seed):
        """On programs where giving up one row changes no price."""
        lp = hard(sense=sense, seed=seed)
        found, exact = privlp.solve(lp, INF, 0, 1, prices=True).prices, privlp.solve_exact(lp).dual
        assert found[-5:-1] == pytest.approx(exact[-5:-1], rel=1e-3, abs=1e-6)

    def test_which_rows_have_one(self):
        """Neither private rows nor equalities."""
        prices = privlp.solve(hard(), 1.0, 1e-6, 100, prices=True, rng=0).prices
        np.testing.assert_array_equal(np.isnan(prices), [True] * 1500 + [False] * 4 + [True])

    def test_noise_moves_them_less_the_larger_eps_is(self):
        lp = soft()
        exact = privlp.solve_exact(lp).dual[-2]

        def off(eps):
            solved = [privlp.solve(lp, eps, 1e-6, prices=True, rng=seed) for seed in range(4)]
            found = [solution.prices[-2] for solution in solved]
            assert np.isfinite(found).sum() >= 2  # others gave way to a point of a public line
            return float(np.nanmean(np.abs(np.array(found) / exact - 1)))

        assert off(100.0) < 0.05
        assert off(2.0) < 0.5

    def test_they_are_paid_for(self):
        lp = soft()
        without = privlp.solve(lp, 1.0, 1e-6, rng=0)
        found = privlp.solve(lp, 1.0, 1e-6, prices=True, rng=0)
        purposes = [entry.purpose for entry in found.privacy.entries]
        assert purposes[-1] == "sum the slopes of violations for shadow prices"
        assert purposes[:-1] == [entry.purpose for entry in without.privacy.entries]
        assert found.privacy.eps <= 1.0
        with pytest.raises(privlp.UnsupportedProblemError, match="prices=True"):
            without.prices  # noqa: B018

    def test_auto_takes_a_method_that_releases_them(self):
        plan = privlp.plan(hard(), 1.0, 1e-6, 100, opt=9.0, prices=True)
        assert plan.best == "perturbed"
        assert "releases no shadow prices" in plan.not_applicable["chain"]

    def test_refused_before_anything_is_spent(self):
        rows, sides = np.append(-np.ones((300, 1)), [[1.0]], axis=0), np.append(-np.ones(300), 2.0)
        hidden = {"neighbours": privlp.ConstraintPrivate("add-remove", nominal_n=300)}
        hidden |= {"private": np.arange(301) < 300, "bounds": (0, 3)}
        for lp, request, message in (
            (hard(), {"prices": "yes"}, "prices must be True or False"),
            (hard(), {"method": "dmw", "opt": 9.0}, "'dmw' releases no shadow prices: method='p"),
            (LinearProgram([1], rows[:-1], sides[:-1], bounds=(0, 3)), {}, "needs a public inequa"),
            (LinearProgram([1], rows, sides, **hidden), {}, "the number of rows is private"),
            (program(RELATIONS["b"][0]), {"opt": 54.0, "s": None}, "without opt"),
        ):
            with refused_for_free(message, privlp.PrivLPError) as budget:
                privlp.solve(lp, 1, 1e-6, **{"s": 20, "prices": True, "budget": budget} | request)


def test_private_prices_are_refused():
    needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
    lp = LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(500))
    solution = privlp.solve(lp, eps=2.0, delta=1e-6, s=50, rng=0)
    message = r"method='chain' releases no shadow prices here\. The price of a private row is"
    with pytest.raises(privlp.UnsupportedProblemError, match=message) as caught:
        solution.prices  # noqa: B018
    assert "privlp.allocate" in str(caught.value)
    assert "not private" in str(caught.value)


def test_with_a_given_optimum_there_are_none():
    """Then x minimises the largest violation."""
    options = {"opt": 54.0, "method": "direct-noise", "rng": 0}
    solution = privlp.solve(program(RELATIONS["b"][0]), 1.0, 1e-6, **options)
    with pytest.raises(privlp.UnsupportedProblemError, match="solve without opt"):
        solution.prices  # noqa: B018
