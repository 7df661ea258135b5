"""Every parameter of every estimator at every wrong or extreme value."""

import decimal
import math
import re
import time
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svm_models
from privlp import Budget, InvalidParameterError, InvalidProblemError, PrivLPError
from privlp.errors import BudgetExceededError
from privlp.privacy import Randomness
from privlp.privacy.mechanisms import GaussianMechanism
from svm_models import (
    DMWSVC,
    HuberSVC,
    LPQuantileRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationSVC,
    OutputPerturbationClassifier,
    OutputPerturbationSVC,
    PrivateClassifier,
    PrivateLPSVC,
    PrivateLPSVR,
    PrivateModelSelector,
    PrivateOneVsRestClassifier,
    PrivateQuantileRegressor,
    RandomFourierFeatures,
)
from svm_models.records.grid import RecordGrid, Whitening
from svm_models.regression.losses import Pinball
from svm_models.regression.records import MeasuredPairs, Units, WhitenedPairs, second_moments
from tests.effort import THOROUGH, runs
from tests.programs import refused_for_free

pytestmark = pytest.mark.usefixtures("short_advice")

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (60, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
KNOWN = {"classes": (-1, 1)}
BOUNDS = {"X_bounds": (-1, 1), "y_bounds": (-1, 1)}
ADDED = {"relation": "add-remove", "nominal_n": 60}
#: Estimators with parameters that do, by name and a word on how they are set.
BASES = {
    "OutputPerturbationSVC": KNOWN,
    "OutputPerturbationSVC, counted": {**KNOWN, "relation": "add-remove"},
    "OutputPerturbationLogisticRegression": KNOWN,
    "OutputPerturbationClassifier": {**KNOWN, "delta": 1e-6},
    "ObjectivePerturbationSVC": KNOWN,
    "ObjectivePerturbationSVC, added": {**KNOWN, **ADDED},
    "ObjectivePerturbationLogisticRegression": {**KNOWN, "delta": 1e-6, "whiten": True},
    "ObjectivePerturbationClassifier": {**KNOWN, "delta": 1e-6},
    "DMWSVC": {**KNOWN, "radius": 3.0, "alpha": 4.0},
    "DMWSVC, published": {**KNOWN, "radius": 3.0, "alpha": 4.0, "method": "dmw-published"},
    "PrivateLPSVC": KNOWN,
    "PrivateLPSVC, added": {**KNOWN, **ADDED},
    "PrivateQuantileRegressor": BOUNDS,
    "PrivateQuantileRegressor, added": {**BOUNDS, **ADDED},
    "PrivateLPSVR": BOUNDS,
    "PrivateModelSelector": {**KNOWN, "estimators": [ObjectivePerturbationSVC(reg=0.1)]},
    "PrivateOneVsRestClassifier": KNOWN,
    "LPSVC": {},
    "QPSVC": {},
    "HuberSVC": {},
    "RegularizedLogisticRegression": {},
    "LPSVR": {},
    "LPQuantileRegressor": {},
    "RandomFourierFeatures": {"n_components": 5},
    "DualPerturbationSVC": {"eps": 10.0},
}
NO_NUMBERS = ["False", "1", b"1", math.nan, np.float64("nan"), -math.inf, decimal.Decimal("0.5")]
NO_NUMBERS += [[], ("a", "b"), ("0", "1"), (math.nan, 1), np.ones((2, 2)), {}, object(), 1j, int]
NO_NUMBERS += [np.datetime64("2020-01-01"), np.ma.masked]
EXTREME = [True, False, None, math.inf, 5e-324, 1e-320, 1e-300, 1e-100, 1e-30, 0, -1, 1e15, 1e100]
EXTREME += [1e221, 1.7e308, 10**9, 10**400, np.bool_(True), Fraction(1, 2), (0.5, 0.5)]
EXTREME += [(-1e300, 1e300), (0, 5e-324), (1e-300, 0.5), {1: 1e-320}, {1: 1e300}]
#: Parameters that are numbers, if they are given.
NUMBERS = {
    *("eps", "delta", "reg", "h", "data_norm", "nominal_n", "threshold_share", "radius", "rounds"),
    *("s", "alpha", "phi", "C", "radius_share", "quantile", "epsilon", "gamma", "n_components"),
}


def parameters():
    for base in BASES:
        kind = getattr(svm_models, base.partition(",")[0])
        yield from ((base, name) for name in signature(kind).parameters)


def fitted(base, **given):
    kind = getattr(svm_models, base.partition(",")[0])
    numbers = kind.__name__.endswith(("Regressor", "SVR"))
    return kind(**given).fit(X, X[:, 0] if numbers else Y)


@pytest.mark.parametrize(
    ("base", "name", "part"), [(*case, part) for part, case in enumerate(parameters())]
)
@pytest.mark.filterwarnings("ignore")
def test_a_parameter_is_sane_or_refused_before_anything_is_charged(base, name, part, monkeypatch):
    """A sixth of the values for each, so that a parameter that estimators share meets them all."""
    for module in ("privlp.game.loop", "svm_models.classifiers.dmw"):  # so many take no time
        monkeypatch.setattr(f"{module}.MOST_ROUNDS", runs(10_000, 3_000))
    kind = getattr(svm_models, base.partition(",")[0])
    known = signature(kind).parameters
    values = [*NO_NUMBERS, *EXTREME]
    for value in values if THOROUGH else values[part % 6 :: 6]:
        budget = Budget(1e100, 0.999)
        given = {**BASES[base], name: value}
        if "budget" in known and name != "budget":
            given["budget"] = budget
        if "random_state" in known and name != "random_state":
            given["random_state"] = 0
        start = time.process_time()
        found = attempted(lambda given=given: fitted(base, **given))
        if isinstance(found, PrivLPError):
            assert not budget.entries, (value, found)
            named = isinstance(found, BudgetExceededError) or found.parameter in [*known, "y"]
            assert named, (value, found, found.parameter)
        else:
            weights = getattr(found, "coef_", getattr(found, "frequencies_", 0.0))
            assert np.isfinite(weights).all(), value
            assert not any(value is other for other in NO_NUMBERS if name in NUMBERS), value
        assert time.process_time() - start < 20, value


def attempted(call):
    try:
        return call()
    except PrivLPError as error:
        return error


ADD = {"relation": "add-remove"}
BUY = {"radius": None}
PUBLISHED = {"method": "dmw-published"}
OBJECTIVE = ObjectivePerturbationSVC(reg=0.1)
OF = ObjectivePerturbationSVC
WEIGHTS = "class_weight must be a dict of label to weight"
LEVELS = "quantile must be a number between 0 and 1, or a rising sequence of such numbers"
PAIR = r"must be a pair \(low, high\) of"


def either_way(*rows):
    """Where the number of records is public, and where it is not."""
    return [(given | more, message) for given, message in rows for more in ({}, ADD)]


OF_WEIGHTS = either_way(
    ({"class_weight": "balanced"}, "'balanced' would count the labels, which are private"),
    ({"class_weight": {1: 0.0}}, "class_weight must be a positive finite number, got 0.0"),
    ({"class_weight": {1: math.inf}}, "class_weight must be a positive finite number, got inf"),
    ({"class_weight": {2: 1.0}}, f"{WEIGHTS}, with labels of classes"),
    ({"class_weight": [1.0, 2.0]}, WEIGHTS),
)
OF_LOSS = [
    ({"loss": wrong}, r"loss must be a svm_models\.MarginLoss, got \w+")
    for wrong in ("hinge", np.abs, svm_models.MarginLoss)
]
#: What is refused before anything is charged, and in which words; beside what ``BASES`` declares.
REFUSED = {
    PrivateLPSVC: [
        ({"delta": 5e-324}, "delta must be 0, or at least 1e-300; got 5e-324"),
        ({"eps": 1e-15}, "eps must be at least 1e-12, got 1e-15"),
        ({"eps": 1e-9, "threshold_share": 0.1}, "eps must be at least 1e-06, got 1e"),
        ({"data_norm": 1e-180}, "got 1e-180. Measure the records in other units"),
        ({"threshold_share": 1e-320}, "threshold_share must be at least 0.001, g"),
        ({"rounds": 10**9}, "rounds must be at most 1,000,000"),
        ({"rounds": np.timedelta64(1, "s")}, "rounds must be a positive integer"),
        ({"radius": 1e300}, "radius times data_norm must be between 1e-09 and"),
        ({"relation": "remove"}, "relation must be 'replace' or 'add-remove', got 're"),
        ({"nominal_n": 50}, "nominal_n has no use with relation='replace'"),
        ({"delta": 0.0, **ADD}, "delta must be positive"),
        ({"rounds": 0, **ADD}, "rounds must be a positive integer"),
        ({"fallback": 2, **ADD}, "fallback must be True or False"),
        *OF_WEIGHTS,
    ],
    OutputPerturbationSVC: [
        ({"reg": 1e221}, r"reg must be between 1e-300 and 1e\+100"),
        ({"h": 1e-320}, "h must be between 1e-09 and 0.5"),
        ({"class_weight": {1: 1e300}}, "class_weight must be between"),
        ({"random_state": "a"}, "random_state must be None"),
        ({"classes": (0, None)}, "classes must be labels, all of them"),
        ({"classes": (1, 2, 3)}, "classes must name two different labels"),
        ({"reg": 1e-11, "fit_intercept": False}, "reg = 1e-11 is too small .* at least 1e-10"),
    ],
    ObjectivePerturbationSVC: [
        ({"nominal_n": 0, **ADD}, "nominal_n must be a positi"),
        ({"reg": -1.0, **ADD}, "reg must be a positive"),
        (
            {"eps": math.inf, "reg": 1e-11, "fit_intercept": False},
            "reg = 1e-11 is too small for the minimiser to be certified; give at least 1e-10",
        ),
        *OF_WEIGHTS,
        *(
            ({"threshold_share": wrong}, "threshold_share must be between 0 and 1, got")
            for wrong in (0.0, 1.0, -0.1, math.nan)
        ),
        ({"threshold_share": 0.99, **ADD}, "must be between 0 and 0.98, got 0.99"),
        *either_way(
            ({"delta": 0.0, "whiten": True}, "whiten=True releases second moments with Gaussian"),
            ({"whiten": "yes"}, "whiten must be True or False, got 'yes'"),
            ({"whiten": True, "reg": 0.0}, "reg must be a positive finite number"),
        ),
    ],
    PrivateClassifier: [
        ({"positive_rate": wrong}, "positive_rate must be")
        for wrong in (0.05, {}, {-1: 0.9, 1: 0.1}, {2: 0.1}, {1: 0.0}, {1: 1.0})
    ],
    OutputPerturbationClassifier: OF_LOSS,
    ObjectivePerturbationClassifier: OF_LOSS,
    DMWSVC: [
        ({"score": "margin"}, "score must be 'distance' or 'count', got 'margin'"),
        ({"method": "staged"}, "method must be 'dmw' or 'dmw-published', got 'staged'"),
        ({"form": "elastic"}, "form must be 'hard' or 'soft', got 'elastic'"),
        ({"radius": -1.0}, "radius must be a positive finite number"),
        ({"radius_share": 1.0, **BUY}, "radius_share must be between 0 and 1"),
        ({"s": 0.0}, "s must be a positive"),
        ({"s": 2_000}, "at least 1/60 here, or a number of records from 1 to 60"),
        ({"s": 1e-5}, "s must be a share of the records below 1"),
        ({"C": math.inf}, "C must be a positive finite number"),
        ({"phi": "much"}, "phi must be a"),
        ({"phi": math.nan}, "phi must be finite"),
        ({"alpha": None, **PUBLISHED}, "alpha is missing"),
        ({"data_norm": 0.0}, "data_norm must be a positive finite number"),
        ({"alpha": 1e-4, **BUY}, "alpha = 0.0001 asks for"),
        ({"alpha": 1e-3, **PUBLISHED, **BUY}, "alpha = 0.001 asks for"),
        ({"alpha": 9.0, **PUBLISHED, **BUY, "delta": 0.0}, "delta must be positive"),
        ({"form": "soft", **ADD}, "form='soft' has a variable for each record"),
    ],
    HuberSVC: [({"reg": 1e-320}, r"reg must be between 1e-300 and 1e\+100")],
    RandomFourierFeatures: [
        ({"gamma": 0.0}, "gamma must be a positive finite number"),
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": 2.5}, "n_components must be a positive integer, got 2.5"),
        ({"random_state": "x"}, "random_state must be None"),
    ],
    PrivateOneVsRestClassifier: [
        *(
            ({"estimator": PrivateLPSVC(**{name: value})}, f"PrivateLPSVC sets {name}{more}")
            for name, value, more in (
                ("eps", 0.5, ". Leave it out and give eps to"),
                *(("delta", 1e-9, ""), ("classes", (0, 1), ""), ("budget", Budget(1.0, 0.0), "")),
                *(("random_state", 3, ""), ("relation", "add-remove", "")),
                ("class_weight", {1: 2.0}, ", which has no meaning"),
            )
        ),
        *(
            ({"estimator": wrong}, message)
            for wrong, message in (
                (PrivateClassifier(positive_rate={1: 0.1}), "sets positive_rate, which has no"),
                (HuberSVC(), "HuberSVC may learn from records without paying"),
                (make_pipeline(StandardScaler(), OBJECTIVE), "Pipeline may learn .* a FunctionTr"),
            )
        ),
        ({"estimator": PrivateLPSVC(), "delta": 0.0}, "delta must be positive: PrivateLPSVC adds"),
        ({"relation": "swap"}, "relation must be 'replace' or 'add-remove'"),
        ({"nominal_n": 9}, "nominal_n has no use with relation='replace'"),
        ({"classes": 5}, "classes must name different labels"),
        ({"classes": ("a",)}, "classes must name different labels, two at least"),
        ({"classes": ("a", "a", "b")}, "classes must name different labels"),
        ({"classes": (0, 1, 2)}, "y holds labels other than those of classes"),
    ],
    PrivateModelSelector: [
        ({"estimators": []}, "estimators is empty"),
        *(
            ({"estimators": some}, "estimators must be a list of private classifiers, such as")
            for some in (5, [5], OBJECTIVE, [ObjectivePerturbationSVC])
        ),
        *(
            ({"estimators": [*good, wrong], "delta": 0.0}, f"Candidate {len(good)} {message}")
            for good, wrong, message in (
                ([], HuberSVC(), r"\(HuberSVC\) may learn from records without pa"),
                ([], make_pipeline(StandardScaler(), OBJECTIVE), r"\(Pipeline\) may learn from"),
                ([OBJECTIVE], GridSearchCV(OBJECTIVE, {"reg": [1]}), r"\(GridSearchCV\) may"),
                ([OBJECTIVE], OF(eps=2.0), "asks for eps = 2, delta = 0, more than the"),
                ([], OF(eps=0.5, delta=1e-6), "asks for eps = 0.5, delta = 1e-06"),
                ([], OF(eps=0.5, budget=Budget(1.0, 0.0)), "has a budget of its own"),
                ([], OF(**ADD), "has relation='add-remove', the selector 'replace'"),
            )
        ),
        (
            {"estimators": [OBJECTIVE], **ADD, "nominal_n": 15},
            "nominal_n=15 is too small for 2 parts; give at least 16, or fewer candidates",
        ),
    ],
    LPQuantileRegressor: [
        ({"quantile": 5e-324}, "at least 1e-06 from 0 and from 1; got 5e-324"),
        ({"fit_intercept": None}, "fit_intercept must be True or False"),
    ],
    PrivateQuantileRegressor: [
        ({"quantile": 1e-300}, "at least 1e-06 from 0 and"),
        *(
            ({"quantile": wrong}, LEVELS)
            for wrong in (1.0, (0.5, 0.5), (0.9, 0.1), (0.1, 1.0), (), "a")
        ),
        ({"y_bounds": None}, "y_bounds is missing"),
        ({"y_bounds": (3, 3)}, "y_bounds: low must be below high"),
        ({"y_bounds": ([0, 1], [2, 3])}, "y_bounds must be two numbers"),
        ({"y_bounds": 4}, f"y_bounds {PAIR}"),
        ({"y_bounds": (0, math.inf)}, "y_bounds must be finite"),
        ({"X_bounds": None}, "Declare the range of each feature by X_bounds"),
        ({"data_norm": 1.0}, "one of the two"),
        ({"X_bounds": ([0, 1], [2, 3])}, "two arrays of 3: one entry for each feature"),
        ({"X_bounds": None, "data_norm": 1e20}, "data_norm must be between"),
        ({"delta": 0.0}, "delta must be positive: PrivateQuantileRegressor adds Gaussian noise"),
    ],
    PrivateLPSVR: [
        ({"fit_intercept": "False"}, "must be True or False, got 'Fals"),
        ({"y_bounds": ("0", "1"), "X_bounds": None, "data_norm": 1.0}, PAIR),
        ({"epsilon": 1e300}, r"epsilon must be at most 1e\+14 in size"),
        *(({"epsilon": wrong}, "epsilon must be at l") for wrong in (-1, math.inf)),
        ({"relation": np.ones(2)}, "relation must be 'replace' or 'add"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "changes", "message"), [(kind, *row) for kind, rows in REFUSED.items() for row in rows]
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_refused_before_anything_is_charged(kind, changes, message):
    known = signature(kind).parameters
    with refused_for_free(message, (InvalidParameterError, InvalidProblemError)) as budget:
        given = {"eps": 1.0, "delta": 1e-6, "random_state": 0, "budget": budget}
        given = {name: value for name, value in given.items() if name in known}
        fitted(kind.__name__, **given | BASES.get(kind.__name__, KNOWN) | changes)


# A record that is no number counts for nothing by itself.


@pytest.mark.filterwarnings("ignore:invalid value")  # which fits suppress
def test_a_record_of_no_numbers_moves_no_sum():
    rows = np.array([[0.6, 0.0], [np.nan, 0.0], [np.nan, np.nan], [0.0, 0.5]])
    grid, found = RecordGrid.of(4), []
    units = Units.declared(2, (-1, 1), None, (-1, 1), constant=False)
    for some in (rows, rows[[0, 3]]):
        pairs = units.pairs(some, np.zeros(len(some)), grid)
        found.append(second_moments(pairs, Whitening.of(units.lift(grid), grid)))
    np.testing.assert_array_equal(*found)


def test_a_slope_of_no_number_is_zero_in_its_own_record():
    """A width of zero at a residual of zero is 0/0."""
    units = Units.declared(1, (-1, 1), None, (-1, 1), constant=False)
    grid = RecordGrid.of(2)
    pairs = units.pairs(np.array([[0.5], [0.0]]), np.array([1.0, 0.0]), grid)
    whiten = Whitening.of(np.eye(1), grid)
    whitened = WhitenedPairs(MeasuredPairs(pairs, whiten), 1.0)
    with np.errstate(all="ignore"):
        found = whitened.gradient(np.zeros((1, 1)), Pinball((0.5,)), np.zeros(1))
    assert 0.24 < whiten.of_sum(found[0])[0] <= 0.25


def test_no_sum_that_is_no_number_is_released():
    mechanism = GaussianMechanism(1.0, 1.0)
    with pytest.raises(InvalidProblemError, match="is not a number"):
        mechanism.release(np.array([1.0, np.nan]), Randomness(0))
    assert np.isfinite(mechanism.release(np.array([np.inf, -np.inf]), Randomness(0))).all()


# Labels and records that are no numbers.


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        (X, [None, *Y[1:]], "y must hold one label for each row of X, all of them numbers or all"),
        (X, np.ma.masked_array(Y, mask=Y > 0), "y has masked entries"),
        (np.ma.masked_array(X, mask=X > 0.4), Y, "X has masked entries"),
        (X, Y.astype("datetime64[D]"), "dates and other objects are no labels"),
        (X.astype("datetime64[D]"), Y, "X holds dates in columns 0, 1, 2. Give numbers, such as"),
        (X.astype(str), Y, "X holds text in columns 0, 1, 2. Convert texts of digits to numbers,"),
        (X, Y.astype(str), "classes and labels must be of one kind, all numbers or all texts"),
        (np.where(X > 0.4, np.nan, X), Y, "Fill in each of them by a public number, or from the"),
        (np.array([["0.123456a", 1.0]] * 60, object), Y, "X holds text in column 0. Convert texts"),
        (X + 0.123456j, Y, "Complex data not supported. Give real"),
        (np.full(60, 0.123456), Y, "Expected 2D array, got 1D"),
        (np.full(60, 0.123456), Y, "your data by X.reshape(-1, 1)"),
    ],
)
@pytest.mark.parametrize(
    "kind", [HuberSVC, OutputPerturbationSVC, PrivateLPSVC, PrivateOneVsRestClassifier]
)
def test_what_is_no_number_is_refused(kind, records, labels, message):
    budget = Budget(9.0, 0.1)
    given = KNOWN if kind is HuberSVC else {"budget": budget, **KNOWN}
    with pytest.raises(InvalidProblemError, match=re.escape(message)) as caught:
        kind(**given).fit(records, labels)
    assert "123456" not in str(caught.value)
    assert not budget.entries
    assert caught.value.__context__ is None
    assert not re.search("sklearn|scikit|Imputer|HistGradient", str(caught.value))


def test_columns_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose", "hours"]).assign(
        ill=["51,300 HIV+"] * 60, since=pandas.Timestamp("2020-01-01")
    )
    with pytest.raises(InvalidProblemError, match="X holds text in column 'ill'") as caught:
        PrivateLPSVC(**KNOWN).fit(frame, Y)
    assert "51" not in str(caught.value)
    with pytest.raises(InvalidProblemError, match="X holds dates in column 'since'"):
        PrivateLPSVC(**KNOWN).fit(frame.drop(columns="ill"), Y)


def test_numbers_in_words_are_no_numbers_of_a_regression():
    labels = np.array(["51,300 HIV+", *map(str, X[1:, 0])])
    with pytest.raises(InvalidProblemError, match="y must hold real numbers, one for") as caught:
        PrivateQuantileRegressor(**BOUNDS).fit(X, labels)
    assert "51" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_too_little_memory_is_said_without_the_number_of_records(monkeypatch):
    def refuse(*given, **options):
        raise MemoryError("Unable to allocate 1.49 GiB for an array with shape (123456, 2)")

    monkeypatch.setattr("svm_models.records.validation.validate_data", refuse)
    with pytest.raises(MemoryError, match=r"^There is too little memory for X\.$") as caught:
        ObjectivePerturbationSVC(classes=[0, 1], data_norm=1.0).fit(np.eye(2), [0, 1])
    assert caught.value.__context__ is None
