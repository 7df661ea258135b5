"""What every method of `solve` promises, under every relation that it protects."""

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp import LinearProgram, ObjectivePrivate
from privlp.privacy import ChargedDraws
from tests.effort import runs
from tests.every_method import NEED_DELTA, covering, every, has, run, tightens
from tests.programs import ALL


@pytest.mark.parametrize(
    ("eps", "delta"), [(0.1, 1e-3), (1.0, 0.0), (8.0, 1e-9)], ids=["0.1", "1", "8"]
)
@every()
def test_ledger_stays_within_the_budget(name, method, eps, delta):
    lp = covering(name)
    if delta == 0 and method.startswith(NEED_DELTA):
        with pytest.raises(privlp.InvalidParameterError, match="delta must be positive"):
            run(lp, method, eps=eps, delta=delta)
        return
    privacy = run(lp, method, eps=eps, delta=delta, time_limit=60).privacy
    assert (0 if method == "dmw-published" else 0.99 * eps) < privacy.eps <= eps
    assert privacy.delta == delta
    assert privacy.private
    if delta == 0:
        assert "Gaussian" not in repr(privacy.entries)
    assert lp.neighbours.describe(lp) in str(privacy.statement())


@every()
def test_one_budget_pays_for_several_solves_and_then_for_no_more(name, method, monkeypatch):
    budget = privlp.Budget(1.5, 3e-6)
    solved = [run(covering(name), method, eps=0.7, budget=budget).privacy for _ in range(2)]
    spent = budget.spent()
    assert 0 < spent <= 1.4 + 1e-9
    assert budget.entries == solved[0].entries + solved[1].entries
    monkeypatch.setattr(ChargedDraws, "__call__", lambda *_: pytest.fail("drew too early"))
    if method != "dmw-published":  # which costs a part of what it may
        message = "(?s)would bring the total to eps = .*Nothing was drawn and nothing was charged"
        with pytest.raises(privlp.BudgetExceededError, match=message):
            run(covering(name), method, eps=1.4, budget=budget)
        assert budget.spent() == spent


@every(lambda relation, method: method != "dmw-published")
def test_all_that_is_left_of_a_budget(name, method):
    budget = privlp.Budget(2.0, 1e-6)
    run(covering(name), method, eps=None, delta=None, budget=budget)
    assert budget.spent() == pytest.approx(2.0, rel=0.01)
    assert budget.spent() <= 2.0


@every()
def test_same_seed_same_result(name, method):
    lp = covering(name)
    first, second = (run(lp, method, rng=5) for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert (first.objective, first.privacy) == (second.objective, second.privacy)
    assert first.privacy.seeded
    assert "not for release" in first.privacy.randomness
    generator, untouched = np.random.default_rng(3), np.random.default_rng(3)
    run(lp, method, rng=generator)
    assert generator.bit_generator.state != untouched.bit_generator.state


@every(lambda relation, method: not tightens(method))
def test_other_draws_give_other_results(name, method):
    """What is tightened may be clipped to the ends of its ranges; all else shows its noise."""
    lp = covering(name)
    alpha = {"mw": 0.5, "dmw": 1.0, "dmw-published": 8.0}.get(method)
    results = [run(lp, method, rng=rng, alpha=alpha) for rng in (5, 6, None, None)]
    traces = {repr([values.tolist() for values in result.trace.values()]) for result in results}
    assert len(traces) == len(results)
    assert [result.privacy.seeded for result in results] == [True, True, False, False]


@every()
def test_results_are_complete_and_survive_a_file(name, method, tmp_path):
    lp = covering(name, variable_names=list("wxyz"), offset=3.0)
    solution = run(lp, method)
    assert solution.success
    assert solution.status is privlp.Status.COMPLETED
    assert solution.method == ALL[method].name
    assert solution.x.shape == (4,)
    assert (solution.x >= 0).all()
    assert "within eps = 1, delta = 1e-06." in solution.message
    solution.save(tmp_path / "solution.json")
    loaded = privlp.Solution.load(tmp_path / "solution.json")
    assert np.array_equal(loaded.x, solution.x)
    assert loaded.variable_names == solution.variable_names == tuple("wxyz")
    assert loaded.trace.keys() == solution.trace.keys()
    assert all(np.array_equal(loaded.trace[key], solution.trace[key]) for key in solution.trace)
    assert loaded.to_json() == solution.to_json()
    for field in ("objective", "status", "privacy", "missed"):
        assert getattr(loaded, field) == getattr(solution, field)
    assert solution.missed is None or str(solution.missed) in str(solution)

    # The objective is that of public costs, or of the released ones.
    private = has(lp.neighbours, ObjectivePrivate)
    expected = float(solution.trace["noisy c"] @ solution.x) + 3.0 if private else None
    assert solution.objective == pytest.approx(expected or lp.objective(solution.x), rel=1e-9)
    assert not private or solution.objective != lp.objective(solution.x)


@every()
def test_a_time_limit_releases_nothing_and_keeps_the_charge(name, method):
    solution = run(covering(name), method, time_limit=1e-9)
    assert solution.status is privlp.Status.TIME_LIMIT
    assert solution.message.endswith("what was charged stays charged. Allow more time.")
    assert not solution.success
    assert (solution.x, solution.objective, solution.trace) == (None, None, {})
    assert 0 < solution.privacy.eps <= 1.0


@every()
def test_noise_that_drowns_everything_still_ends_well(name, method):
    """Whatever the noise, results are a solution or say in their status what happened."""
    for seed in range(runs(3, 1)):
        for fields in ({}, {"bounds": (0, 50)} if name != "whole rows" and method != "mw" else {}):
            solution = run(covering(name, **fields), method, eps=1e-3, rng=seed)
            assert solution.success == (solution.x is not None)
            assert solution.success == (solution.status is privlp.Status.COMPLETED)
            assert solution.privacy.eps <= 1e-3
            if solution.success:
                assert np.isfinite(solution.x).all()


@every(lambda relation, method: method != "mw")
def test_dense_and_sparse_give_the_same(name, method):
    lp = covering(name)
    sparse = LinearProgram(
        lp.c, sp.csr_array(lp.A), lp.b, neighbours=lp.neighbours, bounds=lp.bounds
    )
    assert run(lp, method).x == pytest.approx(run(sparse, method).x, rel=1e-6, abs=1e-9)
