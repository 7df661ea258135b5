"""Plans: what is predicted, from what, and what is said when it is not enough."""

import math

import numpy as np
import pytest

import privlp
from privlp.problem.standard_form import PrivateRows


def covering(n=4000, d=10, seed=0, **fields):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, d)
    A = rng.uniform(0, 1, (n, d)) * (rng.random((n, d)) < 0.5) + 1e-3
    A /= (A @ x)[:, None]
    return privlp.LinearProgram(A.sum(axis=0) / n, -A, -np.ones(n), **fields)


LP = covering()
OPT = privlp.solve_exact(LP).objective


def plan(lp=LP, eps=1.0, delta=1e-6, s=100, **options):
    return privlp.plan(lp, eps, delta, s, **{"opt": OPT, **options})


def test_auto_follows_the_plan():
    for eps in (0.1, 1.0, 10.0):
        assert privlp.solve(LP, eps, 1e-6, 100, opt=OPT, rng=0).method == plan(eps=eps).best


def test_best_comes_first_and_more_budget_is_never_worse():
    plans = [plan(eps=eps) for eps in (0.1, 0.5, 2.0, 8.0)]
    for method in plans[0].predictions:
        violations = [p.predictions[method].violation for p in plans]
        assert violations == sorted(violations, reverse=True)
    assert [p.violation for p in plans[0].predictions.values()] == sorted(p.violation for p in plans[0].predictions.values())


def test_rounds_and_noise_are_those_of_the_solve():
    for method, prediction in plan().predictions.items():
        solution = privlp.solve(LP, 1.0, 1e-6, 100, opt=OPT, method=method, rng=0)
        assert solution.iterations == prediction.rounds
        entry = solution.privacy.entries[-1] if method != "mirror-best" else solution.privacy.entries[1]
        kind, value = entry.parameter.split(" = ")
        noise = float(value) / entry.sensitivity if kind == "sigma" else 2 / float(value)
        if method != "mirror-best":  # whose noise differs between its two descents
            assert prediction.noise == pytest.approx(noise, rel=1e-3)


@pytest.mark.statistical
@pytest.mark.parametrize("eps", [1.0, 4.0])
def test_predictions_are_of_the_right_size(eps):
    """Within a factor of three (dense duals: four, too high) of the mean of ten draws; all rows can be satisfied."""
    predicted = plan(eps=eps).predictions
    norms = np.linalg.norm(LP.A, axis=1)
    for method, prediction in predicted.items():
        if method == "ftpl":
            continue  # mirror descent here, slowly
        draws = [privlp.solve(LP, eps, 1e-6, 100, opt=OPT, method=method, rng=k).x for k in range(10)]
        measured = np.mean([np.sort((LP.A @ x - LP.b) / norms)[-101] for x in draws])
        assert 1 / 3 < prediction.violation / measured < (4 if method == "mirror-dense" else 3), method


def test_private_rows_have_no_part_in_it(monkeypatch):
    other = privlp.LinearProgram(LP.c, -np.random.default_rng(9).normal(size=LP.shape), np.full(len(LP.b), 17.0))
    for name in ("__matmul__", "transposed_times", "column", "extremes"):
        monkeypatch.setattr(PrivateRows, name, lambda *_, **__: pytest.fail("a plan read private rows"))
    assert str(plan()) == str(plan(other))


def test_what_is_said_when_there_are_too_few_rows():
    advice = plan(eps=0.001).advice
    assert advice.startswith("Too few rows for this eps")
    assert "times the rows" in advice
    assert plan(eps=8.0).advice.startswith("Enough rows for this eps")
    wanted = float(advice.split("or eps = ")[1].split(",")[0])
    assert "Too few" not in plan(eps=wanted).advice


def test_methods_that_do_not_apply_say_why():
    pure = plan(delta=0.0)
    assert pure.best == "dmw"
    assert "delta must be positive" in pure.not_applicable["mirror"]
    assert "mirror, mirror-dense, mirror-best, ftpl: does not apply. delta must be positive" in str(pure)


def test_a_range_of_the_optimum():
    ranged = plan(opt=(OPT / 3, OPT * 3))
    assert ranged.best == "mirror"
    assert ranged.predictions["mirror"].objective_loss > 0
    assert ranged.predictions["mirror"].violation > plan().predictions["mirror"].violation


def test_numbers_that_move_a_little():
    lp = privlp.LinearProgram(LP.c, LP.A, LP.b, neighbours=privlp.ScalarPrivate(0.01))
    found = privlp.plan(lp, 1.0, 1e-6, opt=OPT)
    assert set(found.predictions) == {"mw", "direct-noise"}
    assert found.best == privlp.solve(lp, 1.0, 1e-6, opt=OPT, rng=0).method
    assert "in units of A x − b" in str(found)


def test_picture():
    axes = plan().plot()
    assert axes.get_xlabel() == "ε"
    assert len(axes.get_lines()) >= 5
    assert any("auto" in text.get_text() for text in axes.get_legend().get_texts())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lp": "model.mps"}, "lp must be a LinearProgram, got str"),
        ({"eps": 0}, "eps must be positive"),
        ({"eps": math.inf}, "eps must be finite: without noise there is nothing to plan"),
        ({"delta": 1.0}, r"delta must be in \[0, 1\)"),
        ({"s": None}, "s is missing"),
        ({"s": 5000}, "s must be between 1 and the number of private rows, 4000"),
        ({"alpha": -1.0}, "alpha must be positive"),
        ({"opt": (2.0, 1.0)}, "two finite numbers in rising order"),
    ],
)
def test_messages(change, message):
    with pytest.raises(privlp.InvalidParameterError, match=message):
        plan(**change)
