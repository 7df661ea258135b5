"""Every constraint-private method of `solve` keeps the same promises."""

import functools
import math
import warnings

import numpy as np
import pytest

import privlp
from privlp.game.duals import DenseDual
from privlp.problem.standard_form import StandardForm
from tests import programs
from tests.effort import THOROUGH
from tests.programs import known, methods_for

INF = float("inf")
OPTIONS = {"dmw-published": {"width": 1.0}}
ALPHA = {"dmw": 2.0, "dmw-published": 20.0}  # few rounds


METHODS = sorted(methods_for(privlp.ConstraintPrivate()))


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


covering = functools.partial(programs.covering, least=0.0)


def run(lp, method, *, eps=1.0, delta=1e-6, s=30, opt=6.0, rng=0, **options):
    alpha = None if method.startswith("staged") else ALPHA.get(method, 1.0)
    options = {"alpha": alpha, **OPTIONS.get(method, {}), **options}
    return privlp.solve(lp, eps, delta, s, opt=opt, method=method, rng=rng, **options)


@functools.cache
def plain(method):
    return run(covering(), method)


#: Those whose region is a simplex, of programs with the same rows all private.
ON_A_SIMPLEX = ("covering", "degenerate", "maximise", "lower bounds and offset")
ON_A_SIMPLEX += ("mirrored variable", "private equality", "fixed variable", "sparse")


#: Staged gives up s rows where that is cheaper: test_staged.py.
APPROACHES = [(method, name) for method in ("perturbed", "chain", "dmw") for name in ON_A_SIMPLEX]
if not THOROUGH:  # standard forms are those of all methods, and some programs take dmw long
    APPROACHES = [("perturbed", name) for name in ON_A_SIMPLEX]
    APPROACHES += [("chain", "degenerate"), ("dmw", "covering")]
SLOW = [pytest.param("dmw-published", name, marks=pytest.mark.slow) for name in ON_A_SIMPLEX]


@pytest.mark.parametrize(("method", "name"), APPROACHES + SLOW)
def test_without_noise_every_method_approaches_the_exact_optimum(method, name):
    simplex = name == "maximise" and method not in ("chain", "perturbed")  # bounded by costs
    lp = known(name, **({"bounds": (0, None)} if simplex else {}))
    exact = privlp.solve_exact(lp)
    if method == "dmw-published":  # declare the truth, and ask for a thirtieth of the width
        form = StandardForm.of(lp)
        width = (abs(lp.A).max(), abs(form.rhs).max())
        alpha = (width[0] * (form.cost_of(exact.objective) / form.cost).max() + width[1]) / 30
    else:
        width, alpha = None, 0.1
    solution = run(lp, method, eps=INF, delta=0, s=1, opt=exact.objective, alpha=alpha, width=width)
    comparison = privlp.compare(lp, solution, exact)
    assert solution.objective == pytest.approx(
        exact.objective, rel={"perturbed": 1e-5, "chain": 1e-5}.get(method, 1e-9)
    )
    assert comparison.violation_at(0) < {"dmw": 0.005, "dmw-published": 0.12}.get(method, 0.06)


@pytest.mark.parametrize(
    "method", [m for m in METHODS if m not in ("chain", "perturbed", "staged")]
)
def test_without_noise_smaller_alpha_means_smaller_violation_and_alpha_is_kept(method):
    lp = covering()
    opt = privlp.solve_exact(lp).objective
    several = {"dmw-published": (20.0, 5.0), "dmw": (2.0, 0.8)}
    alphas = several.get(method, (2.0, 0.5, 0.2))
    found = (run(lp, method, eps=INF, s=3, opt=opt, alpha=a) for a in alphas)
    left = [privlp.compare(lp, one).scaled_violations for one in found]
    worst = [np.sort(v)[-4] for v in left]
    assert worst[0] >= worst[-1]
    assert all(w <= a for w, a in zip(worst, alphas, strict=True))


def test_without_noise_perturbed_programs_have_no_use_for_alpha_s_or_opt():
    lp = covering()
    exact = privlp.solve_exact(lp)
    for change in ({}, {"alpha": 2.0}, {"s": 100}, {"opt": None}, {"opt": exact.objective / 2}):
        found = run(lp, "perturbed", eps=INF, delta=0, **{"s": 3, "alpha": None, **change})
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)
        assert privlp.compare(lp, found, exact).violation_at(0) < 1e-6


def test_positive_multiples_of_rows_change_nothing_in_the_tight_method():
    lp = covering()
    factors = np.random.default_rng(1).uniform(1e-6, 1e6, len(lp.b))
    scaled = privlp.LinearProgram(lp.c, lp.A * factors[:, None], lp.b * factors)
    assert np.array_equal(run(lp, "dmw").x, run(scaled, "dmw").x)


def test_default_method_and_default_alpha():
    solution = privlp.solve(covering(3000), 1.0, 1e-6, 10, rng=0)
    assert solution.method == "chain"
    assert solution.iterations > 1
    pure = privlp.solve(covering(), 1.0, 0.0, 30, opt=6.0, rng=0)
    assert pure.method == "dmw"  # Gaussian noise needs delta
    assert (pure.privacy.eps, pure.privacy.delta) == (pytest.approx(1.0, rel=1e-6), 0.0)
    assert plain("dmw").privacy.eps == pytest.approx(1.0, rel=1e-6)  # all of it


TRACES = {
    "chain": {"start", "deep point", "x", "calibrated x"},
    "perturbed": {"start", "x", "calibrated x"},
    "staged": {"sizes"},  # one number for each stage, or between stages
    "dmw": {"selected"},
    "dmw-published": {"selected"},
}


def test_trace_holds_what_was_released_each_round_and_nothing_else(method):
    lp = covering()
    solution = plain(method)
    trace = solution.trace
    assert trace.keys() == TRACES[method]
    if method in ("chain", "perturbed"):
        assert trace["x"].shape == trace["calibrated x"].shape
    if method == "perturbed":
        assert trace["x"].shape == (3, 5)
        assert trace["calibrated x"][-1] == pytest.approx(solution.x, abs=1e-12)
    if method == "staged":
        assert trace["sizes"].ndim == 1
    if method.startswith("dmw"):
        share = np.bincount(trace["selected"], minlength=5) / solution.iterations
        assert solution.x == pytest.approx(share * 6.0 / lp.c)


class TestPublishedConstants:
    """The thesis's case: c = 1, entries in [-1, 1], b = -1."""

    n, opt, s, alpha, eps, delta = 400, 3.0, 300, 10.0, 0.5, 1 / 4000

    def test_of_a_run(self, monkeypatch):
        """Log-weights move by eta per unit of loss, and a loss is a violation over twice the width."""
        steps = []
        spy = lambda rows, s, step, grid: steps.append(step) or DenseDual(rows, s, step, grid)  # noqa: E731
        monkeypatch.setattr("privlp.methods.published.dmw.DenseDual", spy)
        A = np.random.default_rng(0).uniform(-1, 1, (self.n, 4))
        lp = privlp.LinearProgram(np.ones(4), A, -np.ones(self.n))
        request = {"eps": self.eps, "delta": self.delta, "s": self.s, "alpha": self.alpha}
        solution = run(lp, "dmw-published", opt=self.opt, **request)
        (entry,), rounds, rho = solution.privacy.entries, solution.iterations, self.opt + 1
        assert rounds == math.ceil(36 * rho**2 * math.log(self.n) / self.alpha**2)
        assert entry.sensitivity == pytest.approx(3 * self.opt / self.s)
        each = self.eps / math.sqrt(8 * rounds * math.log(1 / self.delta))
        assert entry.parameter == f"eps = {each:.6g}"
        assert steps == [pytest.approx(math.sqrt(math.log(self.n) / rounds) / (2 * rho))]
        assert solution.privacy.eps < self.eps / 2  # tight accounting finds far less

    def test_rows_beyond_the_declared_bound_are_scaled_down_silently(self):
        A = np.random.default_rng(0).uniform(-1, 1, (50, 4))
        clipped, b = A.copy(), -np.ones(50)
        A[7], clipped[7], b[7] = 100.0, 1.0, -0.01
        programs = (privlp.LinearProgram(np.ones(4), *r) for r in ((A, -np.ones(50)), (clipped, b)))
        results = [run(p, "dmw-published", s=10, opt=3.0, alpha=10.0).x for p in programs]
        assert np.array_equal(*results)


BAD_CALLS = {
    "eps zero": ({"eps": 0.0}, "eps must be positive"),
    "eps negative": ({"eps": -1.0}, "eps must be positive"),
    "eps nan": ({"eps": math.nan}, "eps must be positive"),
    "eps text": ({"eps": "one"}, "eps must be a number, got str"),
    "eps infinite": ({"eps": INF}, "eps = inf"),
    "delta negative": ({"delta": -1e-9}, r"delta must be in \[0, 1\)"),
    "delta one": ({"delta": 1.0}, r"delta must be in \[0, 1\)"),
    "s missing": ({"s": None}, "s is missing"),
    "s zero": ({"s": 0}, "s must be between 1 and the number of private rows, 300; got 0"),
    "s above n": ({"s": 301}, "s must be between 1 and the number of private rows, 300; got 301"),
    "s a share": ({"s": 0.05}, "5 % of 300 rows is s = 15, which may be written s='5%'"),
    "s a text": ({"s": "5"}, "s must be a number of private rows, or a share .* '5%', got '5'"),
    "s no share": ({"s": "101%"}, "s must be a number of private rows, or a share"),
    "s too small a share": (
        {"s": "0.1%"},
        "'0.1%' of 300 private rows is less than one row. Give s=1",
    ),
    "s nan": ({"s": math.nan}, "s must be between 1"),
    "alpha zero": ({"alpha": 0.0}, "alpha must be positive"),
    "alpha infinite": ({"alpha": INF}, "alpha must be positive and finite"),
    "alpha tiny": ({"alpha": 1e-9}, "Give a larger alpha"),
    "alpha absurd": ({"alpha": 1e-99}, "Give a larger alpha"),
    "split": ({"split": [1]}, "split has no use"),
    "opt missing": ({"opt": None}, "opt is missing|put no limit on .* or give opt or a range"),
    "opt nan": ({"opt": math.nan}, "^opt must be a finite number, or a range"),
    "opt of three": ({"opt": (1, 2, 3)}, "^opt must be a finite number, or a range"),
    "opt text": ({"opt": "3"}, "opt must be a number"),
    "opt of the wrong sign": ({"opt": -3.0}, "wrong sign for opt|opt = -3 is below the least"),
    "opt zero": ({"opt": 0.0}, "a single point"),
    "feasible": ({"feasible": "always"}, "feasible must be None here"),
    "time limit": ({"time_limit": 0}, "time_limit must be a positive number"),
    "rng": ({"rng": "seed"}, "rng must be None"),
}


#: Not bad where opt is a hint, or alpha sets no number of rounds.
FINE = ("alpha tiny", "alpha absurd", "opt missing", "opt of the wrong sign", "opt zero")


def test_bad_parameters_are_refused_with_nothing_spent(method):
    for name, (change, message) in BAD_CALLS.items():
        if name in FINE and not method.startswith("dmw"):
            assert run(covering(), method, **change).success
        else:
            is_refused(covering(), method, message, **change)


def is_refused(lp, method, message, **change):
    budget = privlp.Budget(100.0, 1e-3)
    with pytest.raises(privlp.PrivLPError, match=message):
        run(lp, method, budget=budget, **change)
    assert budget.spent() == 0, change
    assert not budget.entries


@pytest.mark.parametrize(
    ("method_name", "change", "message"),
    [
        ("dmw", {"width": 1.0}, "width has no use"),
        ("dmw-published", {"width": None}, "width is missing"),
        ("dmw-published", {"width": -1.0}, "width must be a positive finite number"),
        ("dmw-published", {"width": (1.0, 2.0, 3.0)}, "pair of bounds"),
        ("dmw-published", {"alpha": None}, "alpha is missing"),
        ("dmw-published", {"alpha": 1e6}, "alpha must be below 9 rho"),
        ("dmw-published", {"delta": 0.0}, "delta must be positive"),
        ("simplex", {}, "one of 'chain', .*; got 'simplex'. HiGHS, not private, is solve_exact"),
    ],
)
def test_method_specific_errors(method_name, change, message):
    is_refused(covering(), method_name, message, **change)


def test_wrong_types_are_named():
    for call in (privlp.solve, privlp.plan, privlp.audit_solve):
        with pytest.raises(privlp.InvalidParameterError, match="lp must be a LinearProgram, got s"):
            call("model.mps", 1.0, 1e-6, 30)
    with pytest.raises(privlp.InvalidParameterError, match=r"budget must be a privlp\.Budget, got"):
        privlp.solve(covering(), 1.0, 1e-6, 30, budget=1.0)


TWO = -np.ones((300, 2)), -np.ones(300)
#: The last two rows, on the cost alone, so that staged takes them, contradict each other.
CONTRADICTORY = np.vstack([TWO[0], [[1, 2], [-1, -2]]]), np.append(TWO[1], [1, -3])
UNSAID = "no private rows.*Readers take equalities for public unless told otherwise.*by private="
#: Programs, or fields of `covering`, and what is said of them.
BAD_PROGRAMS = {
    "public row": ({"private": np.arange(300) > 0}, "some rows are public"),
    "upper bound": ({"bounds": (0, 3)}, "variable 0 has two finite bounds"),
    "free variable": ({"bounds": [(None,) * 2] + [(0, None)] * 4}, "variable 0 is fr"),
    "cost of both signs": (([1, -1], *TWO), "variable 1 .* wrong sign"),
    "zero cost": (([1, 0], *TWO), "variable 1 .* cost that is zero"),
    "soft rows": ({"penalty": 2.0}, "leave out penalty|declared public bound on the E"),
    "no private rows": ({"private": []}, UNSAID),
    "costs of wild size": (([1, 1e-200], *TWO), "rescale the costs"),
    "contradictory public rows": (([1, 2], *CONTRADICTORY), "some rows are public"),
}


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_programs_outside_the_method_are_refused_with_the_reason(method, name):
    given, message = BAD_PROGRAMS[name]
    contradictory = {"private": range(300)} if name == "contradictory public rows" else {}
    of_fields = isinstance(given, dict)
    lp = covering(**given) if of_fields else privlp.LinearProgram(*given, **contradictory)
    dmw, staged = method.startswith("dmw"), method == "staged"
    if not dmw and (name == "upper bound" or (name == "public row" and not staged)):
        assert run(lp, method).success
        return
    if not dmw and name == "contradictory public rows":
        message = "^The public rows and bounds contradict each other"
    elif not dmw and not staged and name != "no private rows":
        message = "put no limit on variable|leave out penalty|s has no use with .* soft row|rescale the costs"
    if staged:
        own = {"public row": "takes public rows only if they bound the objective"}
        message = {**own, "zero cost": "needs costs that are not 0|cost that"}.get(name, message)
    is_refused(lp, method, message)


@pytest.mark.parametrize(
    ("wrong", "category", "message"),
    [
        ({"delta": 0.3}, privlp.NotPrivateWarning, "delta = 0.3 is at least 1/n = 0.00333"),
        ({"s": 300}, privlp.MissedRowsWarning, "^s = 300 counts all private rows: x may miss each"),
        ({"s": "100%"}, privlp.MissedRowsWarning, "^s = 300 counts all private rows: x may miss"),
    ],
)
@pytest.mark.parametrize("call", [privlp.plan, privlp.solve])
def test_what_promises_next_to_nothing_is_said_by_plan_and_before_a_charge(
    call, wrong, category, message
):
    asked = {"eps": 1.0, "delta": 1e-6, "s": 30, "opt": 6.0} | wrong
    budget = privlp.Budget(1.0, 0.3)
    given = {"budget": budget, "method": "dmw", "rng": 0} if call is privlp.solve else {}
    wrong = pytest.raises(category, match=message)
    with warnings.catch_warnings(action="error", category=category), wrong:
        call(covering(), **asked, **given)
    assert budget.spent() == 0


@pytest.mark.parametrize(
    ("relation", "method", "records"),
    [
        (privlp.ConstraintPrivate(), "dmw", 300),
        (privlp.ScalarPrivate(0.05), "direct-noise", 300),
        (privlp.ColumnPrivate(0.01), "direct-noise", 5),
    ],
)
def test_delta_of_one_over_n_warns(relation, method, records):
    """Numbers may be those of NumPy."""
    options = (
        {} if method == "direct-noise" else {"s": np.int64(30), "opt": np.float64(6), "alpha": 2.0}
    )
    message = f"delta = 0.3 is at least 1/n = {1 / records:.3g}"
    lp, eps, delta = covering(neighbours=relation), np.float64(1), np.float32(0.3)
    with pytest.warns(privlp.NotPrivateWarning, match=message):
        privlp.solve(lp, eps, delta, method=method, rng=0, **options)


@pytest.mark.parametrize("method", ["auto", "dmw"])
def test_without_delta_the_refusal_names_what_delta_rules_out(method):
    with pytest.raises(privlp.InvalidParameterError, match=r"^delta = 0 rules out .* Give a"):
        privlp.solve(covering(), 1.0, 0.0, 30, method=method)


def test_rounds_and_noise_do_not_follow_the_true_number_of_rows(method):
    """Where it is private, everything follows the nominal n."""
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=300)
    solutions = [run(covering(n, neighbours=relation), method) for n in (280, 301, 500)]
    assert len({s.iterations for s in solutions}) == 1
    assert len({s.privacy.entries for s in solutions}) == 1
    assert len({s.message for s in solutions}) == 1
    with pytest.raises(privlp.InvalidParameterError, match="1 and the number of private rows, 300"):
        run(covering(400, neighbours=relation), method, s=350)


def sensitivities(solution):
    """Of all that follows the rows; a cover hides the distance between two points."""
    return np.array([e.sensitivity for e in solution.privacy.entries if "cover" not in e.purpose])


def test_sensitivity_grows_with_the_rows_of_a_record(method):
    one = sensitivities(plain(method))
    relation = privlp.ConstraintPrivate(rows_per_record=3)
    three = sensitivities(run(covering(neighbours=relation), method))
    by_groups = sensitivities(run(covering(groups=np.arange(300) // 3), method))
    assert (by_groups == three).all()
    if method == "chain":  # which has fewer stages where noise is larger
        one, three = np.unique(one), np.unique(three)
    assert three == pytest.approx(3 * one, rel=1e-6)


def test_a_range_counts_twice(method):
    """But in secret terms and slopes, where its sides are one vector, and where rows are missed."""
    two = run(covering(row_lower=np.r_[-5.0, np.full(299, -np.inf)]), method)
    entries = [e for e in two.privacy.entries if "cover" not in e.purpose]
    noise = "Gaussian objective perturbation"
    words = "slopes", "missed", "count violated rows", "the answer misses"
    once = [e.mechanism == noise or any(word in e.purpose for word in words) for e in entries]
    one = sensitivities(plain(method))
    assert sensitivities(two) == pytest.approx(
        np.where(once, 1, 2) * one, rel=0.005
    )  # one more row


def test_progress_bar_goes_to_standard_error_and_only_when_asked(method, capfd):
    run(covering(), method)
    assert capfd.readouterr().err == ""
    run(covering(), method, progress=True)
    assert "round" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("gone", "taken_over"),
    [("staged-at-opt", "staged"), ("mirror", "auto"), ("mirror-best", "auto"), ("ftpl", "chain")],
)
def test_a_name_that_is_gone_says_what_took_over(gone, taken_over):
    message = f"There is no method='{gone}' any more: take method='{taken_over}'."
    with pytest.raises(privlp.InvalidParameterError, match=message) as caught:
        privlp.solve(covering(), 1.0, 1e-6, 30, opt=6.0, method=gone)
    assert caught.value.parameter == "method"
