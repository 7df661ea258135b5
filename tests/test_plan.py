"""Plans: what is predicted, from what, what is said when it is not enough, and the bound."""

import functools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram, examples
from privlp.methods.advice import least_missed
from privlp.status import Verdict
from tests.effort import runs
from tests.programs import tight_covering

LP = tight_covering()
OPT = privlp.solve_exact(LP).objective


@functools.cache
def plan(lp=LP, eps=1.0, delta=1e-6, s=100, **options):
    return privlp.plan(lp, eps, delta, s, **{"opt": OPT, **options})


def test_best_comes_first_and_more_budget_is_never_worse():
    plans = [plan(eps=eps) for eps in (0.1, 0.5, 2.0, 8.0)]
    for method in plans[0].predictions:
        violations = [p.predictions[method].violation for p in plans]
        assert violations == sorted(violations, reverse=True)
    for found in plans:
        first, *others = found.predictions
        assert first == found.best == "chain"
        assert others == sorted(others, key=lambda method: found.predictions[method].violation)


def test_an_s_beyond_a_twentieth_of_the_rows_makes_a_chain_no_easier():
    """Its descents have the same noise; it is not advised either."""
    n = int(LP.private.sum())
    found = [plan(eps=0.2, s=s) for s in (n // 40, n // 20, n // 10)]
    hard = [of.predictions["chain"].difficulty for of in found]
    assert hard[0] == pytest.approx(2 * hard[1])
    assert hard[1] == pytest.approx(hard[2])
    assert "About s =" not in found[2].advice


def test_rounds_and_noise_are_those_of_the_solve():
    for method, prediction in plan().predictions.items():
        solution = privlp.solve(LP, 1.0, 1e-6, 100, opt=OPT, method=method, rng=0)
        assert solution.iterations == prediction.rounds
        # The last secret term or sum of a search precedes its counts, and those at the answer.
        last = {"chain": 1, "perturbed": -4, "staged": -3}.get(method, -1)
        entry = solution.privacy.entries[last]
        assert method != "perturbed" or entry.purpose == "perturb the convex program"
        kind, value = entry.parameter.split(",")[0].split(" = ")
        value = float(value.split()[0])  # "sigma = 3.2 on average, ..."
        noise = value / entry.sensitivity if kind == "sigma" else 2 / value
        assert prediction.noise == pytest.approx(noise, rel=1e-3)


@pytest.mark.statistical
def test_predictions_are_of_the_right_size():
    """Within a factor of three of the mean of four draws. All rows can be satisfied."""
    predicted = plan().predictions
    norms = np.linalg.norm(LP.A, axis=1)
    for method, prediction in predicted.items():
        if method in ("chain", "perturbed", "staged"):
            continue  # rows missed are counted, see below
        draws = [
            privlp.solve(LP, 1.0, 1e-6, 100, opt=OPT, method=method, rng=k).x for k in range(4)
        ]
        measured = np.mean([np.sort((LP.A @ x - LP.b) / norms)[-101] for x in draws])
        assert 1 / 3 < prediction.violation / measured < 3, method


@pytest.mark.parametrize("method", ["staged", "perturbed", "chain"])
def test_enough_rows_are_enough(method):
    """At most s rows missed, cost near OPT, in 3 of 3 draws."""
    predicted = plan(eps=4.0, opt=None)
    assert (predicted.best, predicted.verdict) == ("chain", Verdict.ENOUGH_ROWS)
    assert predicted.predictions[method].difficulty < 1
    for k in range(3):
        x = privlp.solve(LP, 4.0, 1e-6, 100, method=method, rng=k).x
        assert np.sum(LP.A @ x - LP.b > 1e-6) <= 100
        assert LP.c @ x <= (1.05 if method == "chain" else 1.15) * OPT


def test_what_is_said_when_there_are_too_few_rows():
    poor = plan(eps=0.001)
    assert poor.verdict is Verdict.TOO_FEW_ROWS
    assert poor.advice.startswith("Too few rows for this eps: ")
    assert "rows with an s that grows like them" in poor.advice
    assert plan(eps=8.0).verdict is Verdict.ENOUGH_ROWS
    assert plan(eps=8.0).advice.startswith("Enough rows for this eps: ")
    rough = plan(eps=1.0)
    assert rough.verdict is Verdict.ROUGH
    wanted = float(rough.advice.split("eps = ")[1].split(",")[0])
    assert 0.8 < plan(eps=wanted).predictions[poor.best].difficulty < 1.05


def test_verdicts_that_worry():
    for verdict in Verdict:
        assert verdict.worrying == any(word in verdict for word in ("Rough", "Too", "No limit"))
    assert privlp.plan(examples.advertising(), 1.0, 1e-3).verdict is Verdict.NEARLY_HOLD
    diet = privlp.plan(examples.diet(), 1.0, 1e-3)
    assert diet.verdict is Verdict.ROWS_HOLD
    assert diet.advice.startswith("Only costs are private: the rows hold.")


def test_methods_that_do_not_apply_say_why():
    pure = plan(delta=0.0)
    assert pure.best == "dmw"
    assert "delta must be positive" in pure.not_applicable["staged"]
    assert "chain, perturbed, staged: delta must be" in " ".join(str(pure).split())


def test_it_reads_well_on_a_terminal_of_100_columns():
    for options in ({}, {"delta": 0.0}, {"opt": (OPT / 3, OPT * 3)}):
        assert max(map(len, str(plan(**options)).splitlines())) < 100


@pytest.mark.parametrize("opt", [OPT, None, (OPT / 3, OPT * 3)], ids=["value", "none", "range"])
def test_auto_goes_by_the_program_whatever_the_hint(opt):
    found = plan(eps=0.3, opt=opt)
    assert found.best == "chain"
    assert found.yardstick == found.predictions[found.best].yardstick
    assert privlp.solve(LP, 0.3, 1e-6, 100, opt=opt, rng=0).method == found.best


def test_auto_goes_by_the_region():
    """Costs alone bound many variables, from natural ends; or they do not, or variables are few."""
    A, b = -np.ones((400, 15)), -np.ones(400)
    stock = {"A": np.vstack([A, np.arange(15) < 9]), "b": np.append(b, 5.0)}
    stock["private"] = np.arange(401) < 400
    programs = {
        "staged": [
            privlp.LinearProgram(np.ones(15), A, b, bounds=bounds) for bounds in ((0, None), (0, 9))
        ],
        "chain": [
            privlp.LinearProgram(np.ones(15), **stock),
            privlp.LinearProgram(np.ones(15), A, b, bounds=(-5, 5)),
            privlp.LinearProgram(np.ones(14), A[:, :14], b),
            privlp.LinearProgram([0.0, *[1.0] * 14], A, b, bounds=(-9, 9)),
            privlp.LinearProgram([0.0, *[1.0] * 14], **stock, bounds=(0, 9)),
        ],
    }
    for best, of_one in programs.items():
        for lp in of_one:
            assert plan(lp, opt=None, eps=20.0).best == best
            assert privlp.solve(lp, 20.0, 1e-6, 100, rng=0).method == best


@pytest.mark.parametrize("method", ["chain", pytest.param("staged", marks=pytest.mark.slow)])
def test_a_hint_changes_little_right_or_wrong(method):
    """Counts decide: mean costs of several draws at hints off by a factor of 5, and of a range."""

    def costs(**options):
        found = [
            privlp.solve(LP, 1.0, 1e-6, 100, method=method, rng=k, **options)
            for k in range(runs(6, 3))
        ]
        assert all(np.sum(LP.A @ draw.x - LP.b > 0.01) <= 100 for draw in found)
        return np.mean([draw.objective for draw in found])

    usual = costs()
    for hint in (OPT / 5, 5 * OPT, (OPT / 2, 2 * OPT)):
        assert costs(opt=hint) <= 1.05 * usual, hint


def test_advice_says_that_a_wrong_optimum_shows_nowhere():
    found = plan(eps=4.0, delta=0.0, opt=OPT / 2)
    assert found.best == "dmw"
    said = "opt is used as it is, and nothing checks it: too low a value costs violations, too high"
    assert f"{said} a one cost." in found.advice
    rows = np.random.default_rng(0).uniform(0.2, 1.0, (2000, 5))
    packing = privlp.LinearProgram([1.0] * 5, rows, np.ones(2000), sense="max")
    said = "too high a value costs violations, too low a one objective."
    assert said in plan(packing, delta=0.0, eps=4.0, opt=1.5).advice


def test_yardsticks_of_all_methods_are_of_one_size():
    """The hint bounds what a row varies by, not the larger region of the search."""
    sizes = {round(p.yardstick, 9) for p in plan().predictions.values()}
    assert len(sizes) == 1
    loose, tight = (plan(tight_covering(bounds=(0, end)), opt=None) for end in (100, 10))
    ends = [found.predictions["perturbed"].yardstick for found in (loose, tight)]
    assert ends[0] == pytest.approx(10 * ends[1])
    assert loose.advice == tight.advice


def test_a_violation_is_unknown_where_nothing_is_known_of_the_variables():
    unknown = plan(opt=None)
    for method in ("chain", "staged", "perturbed"):
        assert math.isinf(unknown.predictions[method].violation)
    assert (unknown.yardstick, unknown.verdict) == (None, Verdict.ROUGH)
    assert re.search(r"chain \(auto\) +unknown ", str(unknown))
    axes = unknown.plot()
    assert axes.get_ylabel() == "noise on all variables\n(over what s rows allow)"
    drawn = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    middle = drawn["chain (auto)"][len(drawn["chain (auto)"]) // 2]
    assert middle == pytest.approx(unknown.predictions["chain"].difficulty)
    assert list(drawn["what s rows allow"]) == [1.0, 1.0]


def test_a_range_of_the_optimum():
    ranged = plan(opt=(OPT / 3, OPT * 3), s=200)
    assert (ranged.best, ranged.verdict) == ("chain", Verdict.ENOUGH_ROWS)
    assert "Up to s = 200 rows are given up where that improves the objective" in ranged.advice
    assert "given up" not in plan(delta=0.0, eps=8.0).advice


def test_numbers_that_move_a_little():
    lp = privlp.LinearProgram(LP.c, LP.A, LP.b, neighbours=privlp.ScalarPrivate(0.01))
    found = privlp.plan(lp, 1.0, 1e-6, opt=OPT)
    assert set(found.predictions) == {"mw", "direct-noise"}
    assert found.best == privlp.solve(lp, 1.0, 1e-6, opt=OPT, rng=0).method
    assert "in units of A x − b" in str(found)


def test_private_coefficients_need_no_optimum():
    """How large x may be is read off the bounds."""
    example = examples.advertising(private="both")
    found = privlp.plan(example, 1.0, 1e-3)
    assert found.best == privlp.solve(example, 1.0, 1e-3, rng=0).method == "direct-noise"
    assert 0 < found.predictions["direct-noise"].violation < 1


def always(eps=1.0, delta=1e-3, **changes):
    relation = privlp.ScalarPrivate(1.0, norm="1", **{"lower": 10, "upper": 40, **changes})
    lp = privlp.LinearProgram([3, 5], [[1, 2], [3, 1]], [20, 30], sense="max", neighbours=relation)
    solution = privlp.solve(lp, eps, delta, feasible="always", rng=0)
    return privlp.plan(lp, eps, delta, feasible="always"), solution


def test_noise_on_rows_that_are_never_violated_is_that_of_the_solve():
    planned, solution = always()
    assert planned.best == solution.method == "tightened"
    (noise,) = planned.predictions[planned.best].on_numbers
    (entry,) = solution.privacy.entries
    assert entry.parameter.endswith(f"width = {noise.typical:.6g}")
    assert (noise.part, noise.declared) == ("b", 30.0)
    assert 20 - noise.most <= solution.trace["tightened b"][0] <= 20
    assert "hardly" not in planned.advice + solution.message
    assert planned.verdict is Verdict.NEVER_VIOLATED
    assert "this share of the declared range: 0.23 (right-hand sides b)" in planned.advice


def test_noise_as_wide_as_the_range_is_told_before_and_after():
    """Half of all draws, or more, are the tight end of the range."""
    planned, solution = always(eps=0.1)
    assert planned.predictions[planned.best].on_numbers[0].is_mostly_noise
    assert planned.verdict is Verdict.TOO_MUCH_NOISE
    part = "the declared range of the right-hand sides b"
    assert planned.advice.startswith(f"Too much noise for {part}")
    assert solution.message.startswith(f"Noise is wider than {part}: x hardly depends on them")
    assert 10.0 in solution.trace["tightened b"]


def test_pictures():
    axes = plan().plot()
    assert axes.get_xlabel() == "ε"
    assert len(axes.get_lines()) >= 5
    assert any("auto" in text.get_text() for text in axes.get_legend().get_texts())
    axes = always()[0].plot()
    assert axes.get_ylabel().startswith("typical noise")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "tightened (auto),\nright-hand sides b" in labels
    none = "nothing to draw: neither violations nor noise as a share of a finite"
    with pytest.raises(privlp.UnsupportedProblemError, match=none):
        always(upper=None)[0].plot()
    with pytest.raises(privlp.UnsupportedProblemError, match="relation a finite lower"):
        always(lower=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lp": "model.mps"}, "lp must be a LinearProgram, got str"),
        ({"eps": math.inf}, "eps must be finite: without noise there is nothing to plan"),
        ({"s": 5000}, "s must be between 1 and the number of private rows, 4000"),
        ({"feasible": "never"}, "feasible must be None, 'always' or a prob.*; got 'never'"),
        ({"feasible": "always"}, "feasible must be None here"),
    ],
)
def test_messages(change, message):
    with pytest.raises(privlp.PrivLPError, match=message):
        plan(**change)


@pytest.mark.parametrize("opt", ["abc", (0.0, 1.0), 1e9], ids=str)
def test_an_optimum_that_solve_refuses_is_refused(opt):
    relation = privlp.RowPrivate(0.1, lower=-2, upper=0)
    lp = privlp.LinearProgram(
        [1, 2, 1], -np.ones((9, 3)), -np.ones(9), neighbours=relation, bounds=(0, 9)
    )
    for call in privlp.plan, privlp.solve:
        with pytest.raises(privlp.PrivLPError, match="opt"):
            call(lp, 1.0, 1e-6, opt=opt)


def test_every_method_is_planned_on_request():
    """By default those for comparison are left out, and at most four are printed."""
    assert "dmw-published" not in str(plan())
    found = plan(every=True)
    assert "width is missing" in found.not_applicable["dmw-published"]
    assert found.best == plan().best
    assert set(found.predictions) == set(plan().predictions)


# what no private method can do, and methods that this must not exclude


@pytest.mark.parametrize(("eps", "rows"), [(1.0, 43.8), (0.5, 89.1), (0.1, 445.4)])
def test_figures_for_eighty_variables(eps, rows):
    assert least_missed(80, 10**6, eps, 0.0) == pytest.approx(rows, rel=0.005)


@given(d=st.integers(1, 200), eps=st.floats(0.01, 5.0), n=st.integers(1, 10**6))
def test_grows_like_d_over_eps_and_never_beyond_all_rows(d, eps, n):
    found = least_missed(d, n, eps, 0.0)
    assert 0 <= found <= min(0.5570 * d / eps, n / 2)
    assert least_missed(d, n, eps, 1e-3) <= found
    assert least_missed(d, n, eps, 0.0, excess=1.0) == 0
    assert least_missed(d, n, eps, 0.0, excess=0.1) <= found
    # To replace a record is to remove one and to add one.
    assert least_missed(d, n, eps, 0.0, hides_rows=True) == pytest.approx(
        least_missed(d, n, 2 * eps, 0.0)
    )
    assert least_missed(d, 3 * n, eps, 0.0, rows_of_one_record=3) == pytest.approx(3 * found)


@pytest.mark.parametrize("eps", [0.3, 1.0])
def test_a_private_method_misses_twice_as_many_rows_as_the_bound(eps):
    """The method of "What no private method can do", as `docs/proofs.md` describes it.

    With all of eps for what changes one number only, it reaches the bound; so nothing sharper
    follows from these programs. False alarms: beyond four deviations of a mean, of 24 means.
    """
    rng, d, draws = np.random.default_rng(5), 80, 4000
    least, found = least_missed(d, 10**6, eps, 0.0), []
    for m in {max(1, round(t / eps)) for t in (1.0, 2.5, 5.0)}:
        for of_eps in (1.0, 0.5):  # known to be one number; whatever a record may be
            ratio = np.exp(m * of_eps * eps)
            c = 1 / (1 + np.sqrt(ratio))
            v = rng.random((draws, d))
            near = rng.random(v.shape) < c * ratio / (c * ratio + 1 - c)
            x = (v + np.where(near, c * rng.random(v.shape), rng.uniform(c, 1, v.shape))) % 1
            missed, dearer = m * (x < v).sum(axis=1), (x - v).sum(axis=1)
            noise = 4 * missed.std() / np.sqrt(draws)
            assert missed.mean() == pytest.approx(d * m * c, abs=noise)
            assert dearer.mean() == pytest.approx(0, abs=4 * dearer.std() / np.sqrt(draws))
            found.append(missed.mean() * of_eps)
            assert least >= missed.mean() - noise or of_eps < 1
    assert max(found) == pytest.approx(least, rel=0.05)


@pytest.mark.parametrize("eps", [1e-300, 1e-20, 1e-16, 1e-9])
def test_delta_counts_however_small_eps_is(eps):
    assert least_missed(5, 1000, eps, 0.1) == pytest.approx(5 * (1 / 2 - 2 * 0.1))


@pytest.mark.parametrize("eps", [1e-100, 1e-9, 39.0, 41.0, 1e100])
def test_any_eps_that_a_plan_takes(eps):
    assert 0 <= least_missed(3, 4, eps, 0.5) <= least_missed(3, 4, eps, 0.0) <= 2
    lp = LinearProgram([1.0], -np.ones((4, 1)), -np.ones(4))
    assert "as private misses" in " ".join(str(privlp.plan(lp, min(eps, 1e6), 1e-6, 2)).split())


def test_plans_say_how_many_times_the_bound_s_is():
    lp = LinearProgram(np.ones(80), -np.ones((20_000, 80)), -np.ones(20_000))
    text = " ".join(str(privlp.plan(lp, 1.0, 1e-6, 500)).split())
    assert "misses 43.8 rows on average, or more, of some program of this size" in text
    assert "s is 11 times that." in text


def test_one_large_record_makes_no_larger_bound():
    def said(**parts):
        lp = LinearProgram(np.ones(5), -np.ones((1000, 5)), -np.ones(1000), **parts)
        return (
            str(privlp.plan(lp, 1.0, 1e-6, 20))
            .partition("At the cost of the optimum")[2]
            .partition(";")[0]
        )

    alone = said()
    assert said(groups=np.append(np.zeros(300), np.arange(700) + 1)) == alone
    assert said(neighbours=privlp.ConstraintPrivate(rows_per_record=3)) != alone


def test_plans_for_private_numbers_say_nothing_of_it():
    lp = LinearProgram([1.0], [[-1.0]], [-1.0], neighbours=privlp.ScalarPrivate(0.1), bounds=(0, 9))
    assert "as private" not in str(privlp.plan(lp, 1.0, 1e-6))
