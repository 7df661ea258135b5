"""Plans of private regressions: what they say, what they see, and the warning of a fit."""

import inspect
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
import svm_models as sm
from svm_models.account import SHARE_OF_THE_COUNT, counted
from svm_models.regression.base import PrivateLinearRegressor
from tests.effort import each, examples, runs

BOUNDS = {"X_bounds": (0, 10), "y_bounds": (-20, 60)}
ADDED = {"relation": "add-remove"}
KINDS = {
    "median": lambda eps, **o: sm.PrivateQuantileRegressor(eps, 1e-6, **BOUNDS, **o),
    "0.9": lambda eps, **o: sm.PrivateQuantileRegressor(eps, 1e-6, 0.9, **BOUNDS, **o),
    "three": lambda eps, **o: sm.PrivateQuantileRegressor(
        eps, 1e-6, (0.1, 0.5, 0.9), **BOUNDS, **o
    ),
    "vectors": lambda eps, **o: sm.PrivateLPSVR(eps, 1e-6, epsilon=1.0, **BOUNDS, **o),
    "no constant": lambda eps, **o: sm.PrivateQuantileRegressor(
        eps, 1e-6, 0.8, fit_intercept=False, **BOUNDS, **o
    ),
}


def data(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, p))
    return X, 1 + X @ np.linspace(-1, 2, p) + rng.normal(0, 2, n)


def warned(estimator, X, y):
    """The texts of a fit's warnings, all of the category and of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    assert all(warning.category is privlp.MostlyNoiseWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


# what it says


@pytest.mark.parametrize(
    ("eps", "n", "words"),
    [
        (
            1.0,
            5000,
            "Enough rows for this eps: noise moves a typical prediction by about 0.02 standard"
            " deviations of the residuals, and raises the loss by 0.3 % of the exact fit's at most."
            " Features of which most values fill a small part of their declared range can lose"
            " more: declare a tighter range, to which values are clipped, or take logarithms.",
        ),
        (
            1.0,
            600,
            "Rough: how much it loses cannot be foretold, because that depends on the sizes and"
            " tails of residuals, which are private. The loss should be no more than about that of"
            " one prediction for everyone, which is released where a noisy comparison does not"
            " speak for the fit. About 1,900 records, or eps = 3.5, would be enough.",
        ),
        (
            0.1,
            200,
            "Too few rows for this eps: noise hides all that features tell, so one prediction for"
            " everyone is released, and even that may lie anywhere between y_bounds. About 16,000"
            " records, or eps = 13, would be enough.",
        ),
    ],
)
def test_advice_in_words(eps, n, words):
    found = sm.plan(KINDS["median"](eps), n, 5)
    assert found.advice == words
    assert words.startswith(f"{found.verdict}: ")


def ignoring(epsilon, eps=1.0, **options):
    return sm.PrivateLPSVR(eps, 1e-6, epsilon=epsilon, **{**BOUNDS, **options})


SUPPOSED = " This supposes residuals with a standard deviation of about twice epsilon or more"
NOT_SEEN = f"{SUPPOSED}, which is private and was not looked at: smaller ones lose far more."


@pytest.mark.parametrize("n", [5000, 600, 40])
def test_support_vectors_say_what_is_supposed_of_residuals(n):
    advice = sm.plan(ignoring(1.0), n, 5).advice
    assert NOT_SEEN in advice
    assert SUPPOSED not in sm.plan(ignoring(0.0), n, 5).advice
    assert SUPPOSED not in sm.plan(KINDS["median"](1.0), n, 5).advice


@pytest.mark.parametrize("epsilon", [20.1, 39.9])
def test_errors_that_residuals_can_hardly_exceed_are_never_enough(epsilon):
    """More than a quarter of the range of y, 80: however many records there are."""
    assert sm.plan(ignoring(20.0), 5000, 5).verdict is privlp.Verdict.ENOUGH_ROWS
    for n in (5000, 10**9):
        found = sm.plan(ignoring(epsilon), n, 5)
        assert found.verdict is privlp.Verdict.ROUGH
        assert found.advice.endswith(
            f"{SUPPOSED}, for which epsilon is too large beside y_bounds: take a smaller epsilon."
        )
        assert "would be enough" not in found.advice


@pytest.mark.parametrize(
    ("epsilon", "options"),
    [(40.0, {}), (1e9, {}), (1e14, {"y_bounds": (0, 1e-90)}), (60.0, {"fit_intercept": False})],
)
def test_a_loss_that_one_prediction_brings_to_nothing_has_a_warning(epsilon, options):
    """By what is declared alone: the records say nothing, and are as good as any."""
    found = sm.plan(ignoring(epsilon, **options), 10**6, 2)
    assert found.verdict is privlp.Verdict.TOO_FEW_ROWS
    assert found.prediction_noise == found.excess_loss == math.inf
    assert found.advice == (
        "Too few rows for this eps: no number would be enough. epsilon is so large beside y_bounds"
        " that the same prediction for everyone costs nothing, whatever the records, so the"
        " coefficients mean nothing. Take a smaller epsilon."
    )
    assert warned(ignoring(epsilon, random_state=0, **options), *data(3000, 2)) == [found.advice]


def mean_beyond(epsilon, fit, X, y):
    return np.maximum(np.abs(y - fit.predict(X)) - epsilon, 0).mean()


def test_small_residuals_lose_far_more_than_supposed_and_large_ones_less():
    """Mean of three seeds; residuals of half of epsilon lose at least three times the forecast."""
    X, _ = data(5000, 3)
    rng = np.random.default_rng(1)
    lost = {}
    for sd in (1.0, 4.0, 8.0):
        y = 1 + X @ [-1.0, 0.5, 2.0] + rng.normal(0, sd, 5000)
        best = mean_beyond(2.0, sm.LPSVR(C=1e3, epsilon=2.0).fit(X, y), X, y)
        fits = [ignoring(2.0, random_state=seed).fit(X, y) for seed in range(3)]
        lost[sd] = np.mean([mean_beyond(2.0, fit, X, y) for fit in fits]) / best - 1
    foreseen = sm.plan(ignoring(2.0), 5000, 3).excess_loss
    assert lost[1.0] > 3 * foreseen
    assert lost[4.0] < foreseen
    assert lost[8.0] < foreseen


def test_one_way_out_is_named_without_a_comma():
    words = sm.plan(KINDS["median"](1.0), 40, 5).advice
    assert words.endswith("is released. About 1,900 records would be enough.")


def test_print_shows_the_parts_and_the_advice():
    lines = str(sm.plan(KINDS["median"](1.0, **ADDED), 5000, 5)).splitlines()
    assert lines[0].split("  ")[0] == "part"
    assert lines[2].startswith("count the records  ")
    assert sum("sum the slopes of the records' losses, stage" in line for line in lines) == 3
    assert lines[lines.index("") + 1].startswith("Enough rows for this eps: ")
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize(
    ("kind", "options"), each(KINDS, [{}, ADDED, {**ADDED, "nominal_n": 400}]), ids=str
)
def test_parts_are_what_a_fit_is_charged(kind, options):
    X, y = data(400, 2)
    fit = KINDS[kind](1.0, random_state=0, **options)
    found = sm.plan(fit, 400, 2)
    entries = fit.fit(X, y).privacy_.entries
    assert [(p.purpose.split(", stage")[0], p.draws) for p in found.parts] == [
        (entry.purpose, entry.draws) for entry in entries
    ]
    assert math.fsum(part.share for part in found.parts) == pytest.approx(1.0)
    if options == ADDED:  # the fit goes by a noisy count
        return
    for part, entry in zip(found.parts, entries, strict=True):
        sigma = float(entry.parameter.removeprefix("sigma = "))
        assert part.noise == pytest.approx(sigma / entry.sensitivity / 400, rel=1e-5)
    squares = np.array([p.draws / p.noise**2 for p in found.parts])
    assert [p.share for p in found.parts] == pytest.approx(squares / squares.sum())


@pytest.mark.parametrize(("kind", "relation"), each(KINDS, ["replace", "add-remove"]))
def test_the_advised_number_and_eps_are_just_enough(kind, relation):
    estimator = KINDS[kind](0.3, relation=relation)
    advice = sm.plan(estimator, 300, 4).advice
    n = int(advice.split("About ")[1].split(" records")[0].replace(",", ""))
    assert sm.plan(estimator, n, 4).verdict is privlp.Verdict.ENOUGH_ROWS
    assert sm.plan(estimator, int(0.9 * n) - 1, 4).verdict is not privlp.Verdict.ENOUGH_ROWS
    eps = float(advice.split("eps = ")[1].split(",")[0])
    assert sm.plan(estimator.set_params(eps=eps), 300, 4).verdict is privlp.Verdict.ENOUGH_ROWS
    less = sm.plan(estimator.set_params(eps=0.9 * eps), 300, 4)
    assert less.verdict is not privlp.Verdict.ENOUGH_ROWS


# what it sees


@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 10**6),
    st.floats(1.0, 50.0),
    st.floats(0.01, 10.0),
    st.floats(1.0, 5.0),
    st.integers(1, 20),
    st.sampled_from([{}, ADDED]),
)
@settings(max_examples=examples(60), deadline=None)
def test_noise_falls_with_records_and_eps(kind, n, more, eps, larger, p, options):
    def forecast(n, eps):
        estimator = KINDS[kind](eps, **options)
        return estimator._forecast(n, p, eps)

    one = forecast(n, eps)
    for better in (forecast(math.ceil(n * more), eps), forecast(n, eps * larger)):
        for name in ("moved", "excess", "counts", "moments"):
            assert getattr(better, name) <= getattr(one, name) * (1 + 1e-5)
        order = [privlp.Verdict.TOO_FEW_ROWS, privlp.Verdict.ROUGH, privlp.Verdict.ENOUGH_ROWS]
        close = abs(better.excess / one.excess - 1) < 1e-5
        assert order.index(better.verdict) >= order.index(one.verdict) or close


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10**6), st.floats(-1e6, 1e6))
@settings(max_examples=runs(25, 2), deadline=None)
def test_no_record_moves_a_warning(kind, seed, level):
    """Neither the warning nor the plan sees more of the records than their public number."""
    for eps in (0.05, 50.0):
        texts = [
            warned(KINDS[kind](eps, random_state=0), X, y)
            for X, y in (data(40, 2, seed), (np.full((40, 2), level), np.full(40, -level)))
        ]
        found = sm.plan(KINDS[kind](eps), 40, 2)
        expected = [found.advice] if found.verdict is privlp.Verdict.TOO_FEW_ROWS else []
        assert texts == [expected, expected]


def test_a_private_number_moves_no_warning_where_a_nominal_one_is_declared():
    declared = {**ADDED, "nominal_n": 100}
    texts = [warned(KINDS["median"](0.1, **declared), *data(n, 2)) for n in (3, 100, 900)]
    assert texts == [[sm.plan(KINDS["median"](0.1, **declared), None, 2).advice]] * 3


def counting(released, eps):
    """Neighbours by a count that was released."""
    ledger = SimpleNamespace(eps=SHARE_OF_THE_COUNT * eps)
    return counted(0, SimpleNamespace(ledger=ledger, charge=lambda *_: lambda _: released))


@pytest.mark.parametrize("released", [40.0, 20_000.0])
def test_a_bought_count_decides_the_warning_and_nothing_else_does(released, monkeypatch):
    """The same released count, whatever the number of records."""
    found = counting(released, 1.0)
    monkeypatch.setattr("svm_models.account.counted", lambda *_: found)
    fits = [KINDS["median"](1.0, random_state=0, **ADDED) for _ in range(2)]
    texts = [warned(fit, *data(n, 2)) for fit, n in zip(fits, (20, 5000), strict=True)]
    expected = sm.plan(KINDS["median"](1.0, **ADDED), int(released), 2)
    worrying = expected.verdict is privlp.Verdict.TOO_FEW_ROWS
    assert worrying == (released == 40)
    assert texts == [[expected.advice] if worrying else []] * 2


@given(st.floats(-1e5, 1e9), st.floats(1e-3, 50.0))
@settings(deadline=None)
def test_the_public_number_is_the_released_count(noisy, eps):
    """Though mechanisms take at least some 7 scales of its noise for it."""
    found = KINDS["median"](eps, **ADDED)._public_number(counting(noisy, eps))
    assert abs(found - max(1, round(noisy))) <= 12


def test_a_plan_charges_nothing_and_leaves_the_estimator_alone():
    budget = privlp.Budget(1.0, 1e-6)
    estimator = KINDS["median"](1.0, budget=budget, random_state=np.random.default_rng(0))
    before, state = dict(vars(estimator)), estimator.random_state.bit_generator.state
    sm.plan(estimator, 5000, 5)
    sm.plan(estimator, 50, 5)
    assert vars(estimator) == before
    assert estimator.random_state.bit_generator.state == state
    assert budget.spent() == 0


# the warning


def test_a_fit_that_is_no_better_than_a_constant_is_not_released():
    """1,000 people, features that tell nothing: coefficients of 0, or hardly a loss. Ten seeds."""
    X, _ = data(1000, 5)
    y = np.random.default_rng(3).standard_t(2, 1000)
    constant = np.abs(y - np.median(y)).mean()
    said = []
    for seed in range(10):
        fit = KINDS["median"](0.7, random_state=seed)
        said.append(warned(fit, X, y))
        assert bool(said[-1]) is not fit.coef_.any()
        assert np.abs(y - fit.predict(X)).mean() < 1.1 * constant
    assert any(said)
    assert all(words.startswith("A noisy comparison of losses") for (words,) in filter(None, said))


def two_classes(n, p=5, positive=0.43, told=1.0, seed=0):
    """Records of norm 1, of which a share is positive; features may tell nothing of it."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, (n, p - 1)), np.ones(n)])
    score = told * X[:, 0] + rng.normal(0, 0.3, n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(score > np.quantile(score, 1 - positive), 1, 0)


@pytest.mark.parametrize(
    ("n", "eps", "said"),
    [
        (
            100_000,
            4.0,
            "Enough rows for this eps: noise takes at most about 0.21 in 100 records more for the"
            " wrong class, if records are about as long as data_norm. Among shorter ones, which"
            " are private, it does more.",
        ),
        (
            750,
            1.0,
            "Rough: how many mistakes noise adds cannot be foretold, because that depends on how"
            " far apart the classes are, which is private. The mistakes should be no more than"
            " about those of one class for everyone, which is named where a noisy comparison does"
            " not speak for the fit. About",
        ),
        (
            750,
            0.1,
            "Too few rows for this eps: noise hides the fit, so one class will most likely be"
            " named for everyone. About",
        ),
    ],
)
def test_a_classifier_has_a_plan(n, eps, said):
    found = sm.plan(sm.PrivateLPSVC(eps, 1e-6), n, 5)
    assert found.advice.startswith(said)
    assert math.isinf(found.excess_loss) is (found.verdict is not privlp.Verdict.ENOUGH_ROWS)
    alone = sm.plan(sm.PrivateLPSVC(eps, 1e-6, fallback=False), n, 5).advice
    assert "one class" not in alone


def test_the_larger_class_in_place_of_noise():
    """750 people of two classes, .57 and .43: at eps = 0.1 the larger one, and a warning."""
    X, y = two_classes(750)
    right = 0
    for seed in range(10):
        svm = sm.PrivateLPSVC(0.1, 1e-6, classes=(0, 1), random_state=seed)
        (words,) = warned(svm, X, y)
        assert words.startswith("Too few rows for this eps")
        right += svm.score(X, y) > 0.56
    assert right >= 9  # 29 of 30 elsewhere


def test_features_that_tell_nothing_give_way_to_the_larger_class():
    """The plan is rough, so the fit says what it released. Without noise nothing gives way."""
    X, y = two_classes(750, told=0.0, positive=0.3)
    named = silent = 0
    for seed in range(10):
        options = {"classes": (0, 1), "fit_intercept": False, "random_state": seed}
        svm = sm.PrivateLPSVC(0.4, 1e-6, **options)
        said = warned(svm, X, y)
        assert svm.score(X, y) > 0.68
        if svm.intercept_[0]:
            assert said[0].startswith("A noisy comparison of mistakes does not speak for the fit")
            assert not svm.predict(X).any()
            assert not svm.predict(-X).any()
            named += 1
        elif said:
            assert said[0].startswith("A noisy comparison of mistakes does not show that the fit")
        silent += not said
    assert named
    assert silent <= 1  # one in forty, as noise has it
    exact = sm.PrivateLPSVC(math.inf, 1e-6, **options).fit(X, y)
    assert exact.intercept_[0] == 0


def test_a_fit_that_is_not_shown_to_err_less_than_a_constant_says_so():
    """Values that fill a small part of their range: noise moves the intercept beyond them all."""
    rng = np.random.default_rng(0)
    X = rng.normal(50, 1, (3000, 3))
    y = (X @ [1, -1, 0.5] + rng.normal(size=3000) * 0.3 > 25).astype(int)
    few, many = [], []
    for seed in range(12):
        options = {"X_bounds": (0, 100), "classes": (0, 1), "random_state": seed}
        svm = sm.PrivateLPSVC(0.3, 1e-6, **options)
        said = warned(svm, X, y)
        (few if svm.score(X, y) > 0.7 else many).append(bool(said))
        alone = sm.PrivateLPSVC(0.3, 1e-6, **options, fallback=False)
        assert warned(alone, X, y) == []  # nothing was compared
    assert not any(few)
    assert sum(many) >= 0.75 * len(many) >= 6


def test_a_warning_turned_into_an_error_comes_before_anything_is_charged():
    X, y = data(200, 5)
    budget = privlp.Budget(1.0, 1e-6)
    with warnings.catch_warnings(action="error", category=privlp.MostlyNoiseWarning):
        with pytest.raises(privlp.MostlyNoiseWarning, match="Too few rows for this eps"):
            KINDS["median"](0.1, budget=budget).fit(X, y)
        assert budget.spent() == 0
        fit = KINDS["median"](0.1, random_state=0, **ADDED)
        with pytest.raises(privlp.MostlyNoiseWarning, match="Too few rows for this eps"):
            fit.fit(X, y)
    assert [entry.purpose for entry in fit.privacy_.entries] == ["count the records"]


@pytest.mark.parametrize("kind", KINDS)
def test_enough_rows_and_rough_plans_give_no_warning(kind):
    X, y = data(3000, 2)
    for eps in (1.0, math.inf):
        assert warned(KINDS[kind](eps, random_state=0), X, y) == []


def test_a_fit_loses_about_what_its_plan_says():
    """At most that for nine seeds of ten, and a tenth at their mean: normal residuals."""
    for n, eps, q in ((2000, 1.0, 0.5), (4000, 0.5, 0.5), (4000, 0.7, 0.9)):
        X, y = data(n, 3)
        estimator = sm.PrivateQuantileRegressor(eps, 1e-6, q, **BOUNDS)
        foreseen = sm.plan(estimator, n, 3).excess_loss
        best = sm.LPQuantileRegressor(q).fit(X, y).objective_
        lost = []
        for seed in range(10):
            r = y - estimator.set_params(random_state=seed).fit(X, y).predict(X)
            lost.append(np.mean(np.maximum(q * r, (q - 1) * r)) / best - 1)
        assert np.mean(np.array(lost) <= foreseen) >= 0.9
        assert np.mean(lost) > foreseen / 20


# bad input


@pytest.mark.parametrize(
    ("change", "n", "p", "message"),
    [
        ({}, 0, 5, "n_samples must be a positive integer, got 0."),
        ({}, True, 5, "n_samples must be a positive integer, got True."),
        ({}, 10, -1, "n_features must be a positive integer, got -1."),
        ({}, None, 5, "n_samples is missing: give the number of records, or a public number near"),
        (ADDED, None, 5, "n_samples is missing"),
        ({**ADDED, "nominal_n": 9}, 10, 5, "n_samples = 10 is not nominal_n = 9, by which fit"),
        ({"nominal_n": 9}, 9, 5, "nominal_n has no use with relation='replace'"),
        ({"eps": math.inf}, 9, 5, "eps must be finite: without noise there is nothing to plan."),
        ({"eps": -1.0}, 9, 5, "eps must be positive"),
        ({"eps": "1"}, 9, 5, "eps must be a number, got str."),
        ({"eps": "1", "delta": 0.0}, 9, 5, "eps must be a number, got str."),
        ({}, 10**400, 5, "n_samples must be at most 1,000,000,000,000,000."),
        ({}, 9, 10**400, "n_features must be at most 1,000,000."),
        ({**ADDED, "nominal_n": 10**400}, None, 5, "nominal_n must be at most"),
        ({"delta": 0.0}, 9, 5, "delta must be positive: PrivateQuantileRegressor adds Gaussian"),
        ({"y_bounds": None}, 9, 5, "y_bounds is missing: declare"),
        ({"fit_intercept": "yes"}, 9, 5, "fit_intercept must be True or False"),
        ({"X_bounds": ([0, 0], [1, 1])}, 9, 5, "X_bounds must be two numbers, or two arrays of 5"),
    ],
)
def test_bad_input_is_refused_with_words(change, n, p, message):
    with pytest.raises(privlp.InvalidParameterError, match=message.replace("[", r"\[")):
        sm.plan(KINDS["median"](1.0).set_params(**change), n, p)


OF_EPS = [cls for cls in (getattr(sm, of) for of in sm.__all__) if hasattr(cls, "get_params")]
OF_EPS = [cls for cls in OF_EPS if "eps" in inspect.signature(cls).parameters]
OTHERS = PrivateLinearRegressor | sm.PrivateLPSVC
CLASSIFIERS = [cls for cls in OF_EPS if not issubclass(cls, OTHERS)]


@pytest.mark.parametrize(
    "refused",
    [*(object.__new__(cls) for cls in CLASSIFIERS), sm.LPQuantileRegressor()],
    ids=lambda refused: type(refused).__name__,
)
def test_what_has_no_plan_is_refused_by_name(refused):
    message = rf"There are plans for .* and PrivateLPSVC, not for {type(refused).__name__}\. Try it on made-up records of the same number instead\."
    with pytest.raises(privlp.UnsupportedProblemError, match=message):
        sm.plan(refused, 100, 5)


@pytest.mark.parametrize("refused", [None, "x", sm.PrivateLPSVR], ids=str)
def test_what_is_no_estimator_is_refused(refused):
    with pytest.raises(privlp.InvalidParameterError) as error:
        sm.plan(refused, 100, 5)
    assert error.value.parameter == "estimator"
    of_class = "got the class PrivateLPSVR: write PrivateLPSVR(eps, delta, ...)."
    of_other = f"or a PrivateLPSVC with its parameters, got {type(refused).__name__}."
    assert str(error.value).endswith(of_class if refused is sm.PrivateLPSVR else of_other)
