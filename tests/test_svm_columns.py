"""What an estimator does with columns before it fits: a constant, public ranges, categories."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import privlp
import svm_models as sm
from privlp import InvalidParameterError, InvalidProblemError, NotPrivateWarning
from svm_models.records.columns import Columns
from tests.test_svm_estimators import ESTIMATORS

PRIVATE = [e for e in ESTIMATORS if hasattr(e, "fit_intercept") and hasattr(e, "classes")]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X @ [1.0, -1.0, 0.5] > 0.6, 1, -1)


def given(estimator, **options):
    return clone(estimator).set_params(classes=(-1, 1), random_state=0, **options)


@pytest.mark.usefixtures("short_advice")
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
@pytest.mark.parametrize("estimator", PRIVATE, ids=lambda e: type(e).__name__)
def test_an_intercept_is_the_weight_of_a_constant_column(estimator, form):
    """With the same bits as of a column of the user's own, at the norm of both together."""
    fitted = given(estimator, data_norm=2.0).fit(form(X), Y)
    own = np.column_stack([X, np.ones(len(X))])
    same = given(estimator, data_norm=np.hypot(2.0, 1.0), fit_intercept=False).fit(form(own), Y)
    assert fitted.coef_.tolist() == same.coef_[:, :3].tolist()
    named = same.intercept_[0]  # of one class for everyone
    assert fitted.intercept_[0] == named + same.coef_[0, 3]
    np.testing.assert_allclose(fitted.decision_function(X), same.decision_function(own))
    assert fitted.privacy_ == same.privacy_


@pytest.mark.parametrize(
    "estimator",
    [
        sm.PrivateLPSVC(1.0, 1e-6, fallback=False),
        sm.ObjectivePerturbationSVC(1.0, 1e-2),
        sm.ObjectivePerturbationLogisticRegression(1.0, 1e-2),
        sm.OutputPerturbationSVC(1.0, 1e-1),
    ],
)
def test_standardised_records_of_a_rare_class(estimator):
    """Nobody has to know of constant columns. What the scaler learns is not paid for."""
    rng = np.random.default_rng(100)
    raw = rng.normal(size=(4000, 6)) * rng.uniform(1, 20, 6) + 30
    score = StandardScaler().fit_transform(raw) @ rng.normal(size=6) + rng.normal(size=4000)
    rare = np.where(score > np.quantile(score, 0.95), 1, -1)
    with pytest.warns(NotPrivateWarning, match="StandardScaler of the pipeline may learn from the"):
        found = make_pipeline(StandardScaler(), given(estimator)).fit(raw, rare)
    assert found.score(raw, rare) > 0.94
    frozen = FrozenEstimator(StandardScaler().fit(raw))
    through_the_origin = given(estimator, fit_intercept=False)
    assert make_pipeline(frozen, through_the_origin).fit(raw, rare).score(raw, rare) < 0.6


def test_records_that_data_norm_cuts_down():
    """The warning is made of the released moments; a plan says what is not declared."""
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.uniform(18, 90, 2000), rng.uniform(0, 100, 2000)])
    y = np.where(raw @ [0.8, 1.0] > 90, 1, -1)
    machine = given(sm.PrivateLPSVC(1.0, 1e-6, rounds=5, fallback=False))
    with pytest.warns(
        privlp.MostlyNoiseWarning, match=r"to data_norm: on average to \d+% of their lengt"
    ):
        machine.fit(raw, y)
    for declared in ({"X_bounds": (0, 100)}, {"data_norm": 80.0}, {"fit_intercept": False}):
        assert clone(machine).set_params(**declared).fit(raw, y).coef_.shape == (1, 2)
    said = "Neither X_bounds nor data_norm is declared"
    assert said in sm.plan(machine, 2000, 2).advice
    assert said not in sm.plan(given(machine, X_bounds=(0, 100)), 2000, 2).advice


AGE, HOURS = RNG.uniform(10, 95, 400), RNG.uniform(-5, 110, 400)
SECTOR = RNG.choice(["private", "public", "other"], 400)
INCOME = np.where(AGE / 50 + HOURS / 40 + (SECTOR == "public") > 2.7, "high", "low")
DECLARED = {"age": (18, 90), "sector": ["public", "private"], "hours": (0, 100)}


def table():
    pandas = pytest.importorskip("pandas", reason="tables of pandas")
    return pandas.DataFrame({"age": AGE, "hours": HOURS, "sector": SECTOR})


def by_hand():
    """Entries in the order of X's columns, between -1 and 1; two categories of three."""
    centred = [2 * (np.clip(AGE, 18, 90) - 18) / 72 - 1, np.clip(HOURS, 0, 100) / 50 - 1]
    return np.column_stack([*centred, SECTOR == "public", SECTOR == "private"]).astype(float)


def fitted(X, **options):
    given = {"classes": ("high", "low"), "random_state": 0, **options}
    return sm.PrivateLPSVC(1.0, 1e-6, **given).fit(X, INCOME)


def test_ranges_and_categories_are_a_table_made_by_hand():
    """The norm is that of three columns; coefficients are in the units of the table."""
    found = fitted(table(), X_bounds=DECLARED)
    same = fitted(by_hand(), data_norm=np.sqrt(3))
    np.testing.assert_allclose(found.coef_[0] * [36, 50, 1, 1], same.coef_[0])
    entries = np.column_stack([AGE, HOURS, SECTOR == "public", SECTOR == "private"])
    inside = (AGE > 18) & (AGE < 90) & (HOURS > 0) & (HOURS < 100)
    decisions = found.decision_function(table())
    np.testing.assert_allclose(decisions, same.decision_function(by_hand()))
    np.testing.assert_allclose(
        (entries @ found.coef_[0] + found.intercept_)[inside], decisions[inside]
    )
    assert found.privacy_ == same.privacy_
    assert found.score(table(), INCOME) > 0.8


REGRESSIONS = [
    sm.PrivateQuantileRegressor(20.0, 1e-6, (0.3, 0.6), y_bounds=(0, 50), random_state=0),
    sm.PrivateLPSVR(20.0, 1e-6, y_bounds=(0, 50), random_state=0),
]


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.25, 1.5)])
@pytest.mark.parametrize("estimator", [*PRIVATE, *REGRESSIONS], ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::privlp.MostlyNoiseWarning")
def test_predictions_take_values_beyond_the_ranges_as_a_fit_does(estimator, low, high):
    """What was fitted, and compared with a constant, knows moved values only."""
    regression = estimator in REGRESSIONS
    found = clone(estimator) if regression else given(estimator)
    found.set_params(X_bounds=(low, high)).fit(X, 25 + 8 * X[:, 0] if regression else Y)
    decide = found.predict if regression else found.decision_function
    inside, linear = np.clip(X, low, high), np.atleast_2d(found.coef_).T
    assert decide(X).tolist() == decide(inside).tolist()
    assert decide(sp.csr_array(X)) == pytest.approx(decide(inside))
    if not regression:
        assert decide(inside) == pytest.approx((inside @ linear)[:, 0] + found.intercept_[0])
    # The ranges are those of the fit.
    assert decide(inside).tolist() == (found.set_params(X_bounds=(-9, 9)), decide(X))[1].tolist()


def test_a_regression_takes_long_records_as_its_fit_does():
    machine = sm.PrivateQuantileRegressor(20.0, 1e-6, data_norm=1.5, y_bounds=(0, 50))
    machine.set_params(random_state=0).fit(X, 25 + 8 * X[:, 0])
    length = np.linalg.norm(X, axis=1, keepdims=True)
    assert machine.predict(X) == pytest.approx(machine.predict(X * np.minimum(1, 1.5 / length)))
    assert machine.predict(100 * X[length[:, 0] > 1.5]) == pytest.approx(
        machine.predict(X[length[:, 0] > 1.5])
    )


def test_columns_go_by_names_or_positions_in_any_form():
    polars = pytest.importorskip("polars", reason="tables of polars")
    places = {0: (18, 90), 2: DECLARED["sector"], 1: (0, 100)}
    rows = [list(row) for row in zip(AGE, HOURS, SECTOR.tolist(), strict=True)]
    frame = table()
    found = fitted(frame, X_bounds=DECLARED)
    others = [
        fitted(rows, X_bounds=places),
        fitted(frame, X_bounds=places),
        fitted(polars.from_pandas(frame), X_bounds=DECLARED),
        fitted(frame.astype({"sector": "category"}), X_bounds=DECLARED),
        fitted([frame[:100], frame[100:]], X_bounds=DECLARED),
    ]
    assert all(other.coef_.tolist() == found.coef_.tolist() for other in others)
    numbers = np.column_stack([AGE, HOURS])
    pair = ([18, 0], [90, 100])
    several = [fitted(form(numbers), X_bounds=pair) for form in (np.array, sp.csr_array)]
    assert several[0].coef_.tolist() == several[1].coef_.tolist()
    symmetric = [fitted(form(numbers), X_bounds=(-100, 100)) for form in (np.array, sp.csr_array)]
    assert symmetric[0].coef_.tolist() == symmetric[1].coef_.tolist()


def test_a_regression_takes_the_same_columns():
    y = 2 * AGE + 10 * (SECTOR == "public")
    options = {"y_bounds": (0, 250), "random_state": 0}
    found = sm.PrivateQuantileRegressor(10.0, 1e-6, X_bounds=DECLARED, **options).fit(table(), y)
    entries = np.column_stack([AGE, HOURS, SECTOR == "public", SECTOR == "private"]).astype(float)
    pair = ([18, 0, -1, -1], [90, 100, 1, 1])
    same = sm.PrivateQuantileRegressor(10.0, 1e-6, X_bounds=pair, **options).fit(entries, y)
    assert found.coef_.tolist() == same.coef_.tolist()
    assert found.predict(table()).tolist() == same.predict(entries).tolist()
    planned = [sm.plan(one, 400, p).prediction_noise for one, p in ((found, 3), (same, 4))]
    assert planned[0] == planned[1]


def test_no_record_is_longer_than_its_norm_and_each_is_made_ready_by_itself():
    wild = np.array([[1e300, -5.0], [0.0, 0.0], [50.0, 1e-300], [-1e300, 1e300]])
    for form in (np.array, sp.csr_array):
        for options in ({}, {"fit_intercept": False}, {"data_norm": 0.3}):
            svm = fitted(form(wild[[0, 1] * 200]), X_bounds=([18, -1], [90, 1]), **options)
            ready = svm._prepare(form(wild))
            dense = ready.toarray() if sp.issparse(ready) else ready
            assert np.linalg.norm(dense, axis=1).max() <= svm._prepare.norm
            alone = [svm._prepare(form(wild[[i]])) for i in range(4)]
            alone = [a.toarray() if sp.issparse(a) else a for a in alone]
            assert dense.tolist() == np.vstack(alone).tolist()


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"age": (18, 90)}, "X_bounds leaves out columns of X: 'hours', 'sector'. Declare a range"),
        ({**DECLARED, "pay": (0, 1)}, "X_bounds names what is no column of X: 'pay'"),
        ({**DECLARED, "age": (90, 18)}, r"X_bounds\['age'\]: low must be below high"),
        (
            {**DECLARED, "age": [18, 90]},
            r"X_bounds\['age'\] must be a range, a tuple \(low, high\)",
        ),
        ({**DECLARED, "sector": ["a", "a"]}, r"X_bounds\['sector'\] must be .* different categori"),
        ({**DECLARED, "sector": [None, "a"]}, r"X_bounds\['sector'\] must be .*, texts or numbers"),
        ({**DECLARED, "age": 3}, r"X_bounds\['age'\] must be a pair \(low, high\) of public"),
        ({**DECLARED, "sector": ("public", "private")}, "Categories are a list, such as"),
        ({**DECLARED, "sector": {"public", "private"}}, "Categories are a list, such as"),
        ({**DECLARED, "age": ([1, 2], 3)}, r"X_bounds\['age'\] must be two numbers"),
        ({**DECLARED, "sector": (0, 1)}, "X holds text in column 'sector'"),
        ({**DECLARED, "sector": (0, 1), "hours": ["a", "b"]}, r"X\['sector'\] must hold real numb"),
        ((0, 1), "X holds text in column 'sector'"),
    ],
)
def test_wrong_declarations(bounds, message):
    with pytest.raises((InvalidParameterError, InvalidProblemError), match=message):
        fitted(table(), X_bounds=bounds)


def test_what_cannot_be_spread_is_refused():
    places = {0: (18, 90), 1: (0, 100), 2: ["public", "private"]}
    with pytest.raises(InvalidProblemError, match="Categories need X as a table in memory"):
        fitted(sp.csr_array((400, 3)), X_bounds=places)
    with pytest.raises(InvalidParameterError, match="leaves out columns of X: 3"):
        fitted(np.ones((400, 4)), X_bounds=places)
    with pytest.raises(InvalidParameterError, match=r"no column of X \(which has no names: give "):
        fitted(np.ones((400, 3)), X_bounds=DECLARED)
    found = fitted(table(), X_bounds=DECLARED)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        found.predict(table()[["hours", "age", "sector"]])
    with pytest.raises(InvalidParameterError, match="declares 3 columns, but n_features = 7"):
        sm.plan(found, 400, 7)
    with pytest.raises(InvalidParameterError, match="two arrays of 3"):
        fitted(by_hand()[:, :3], X_bounds=([0, 1], [1, 2]))


def test_several_classifiers_read_the_same_table():
    classes = ("high", "low")
    several = sm.PrivateOneVsRestClassifier(
        sm.PrivateLPSVC(X_bounds=DECLARED), 5.0, 1e-6, classes=("private", "public", "other")
    ).set_params(random_state=0)
    assert several.fit(table(), SECTOR).score(table(), SECTOR) > 0.9
    for relation in ({}, {"relation": "add-remove", "nominal_n": 400}):
        candidates = [sm.ObjectivePerturbationSVC(reg=reg, X_bounds=DECLARED) for reg in (10, 0.01)]
        options = {"classes": classes, "random_state": 0, **relation}
        best = sm.PrivateModelSelector(candidates, 20.0, **options).fit(table(), INCOME)
        assert best.predict(table()).tolist() == best.best_estimator_.predict(table()).tolist()
        assert best.decision_function(table()).shape == (400,)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        best.predict(table()[["hours", "age", "sector"]])


def test_names_and_number_of_columns_are_those_of_the_table():
    """As for tables of numbers, of scikit-learn: not those of entries of categories."""
    plain = {"eps": 5.0, "delta": 1e-6, "random_state": 0}
    given = sm.PrivateLPSVC(X_bounds=DECLARED)
    several = sm.PrivateOneVsRestClassifier(given, classes=("high", "low"), **plain)
    median = sm.PrivateQuantileRegressor(5.0, 1e-6, X_bounds=DECLARED, y_bounds=(0, 1))
    blocks = [table()[:100], table()[100:]]
    for found in (
        fitted(table(), X_bounds=DECLARED),
        fitted(blocks, X_bounds=DECLARED),
        several.fit(table(), INCOME),
        median.fit(table(), HOURS / 100),
    ):
        assert found.feature_names_in_.tolist() == ["age", "hours", "sector"]
        assert found.n_features_in_ == 3
        with pytest.raises(ValueError, match=r"unseen at fit time:\n- Age\n.*now missing:\n- age"):
            found.predict(table().rename(columns={"age": "Age"}))
        with pytest.raises(ValueError, match="yet now missing:\n- hours"):
            found.predict(table()[["age", "sector"]])
        with pytest.raises(ValueError, match=r"Categories need X as a table|had for fit"):
            found.predict(table().iloc[0])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            found.predict(table().to_numpy())
    numbered = table().set_axis([0, 1, 2], axis=1)
    found = fitted(numbered, X_bounds=dict(enumerate(DECLARED[c] for c in table())))
    assert not hasattr(found, "feature_names_in_")
    with pytest.raises(InvalidProblemError, match="X must have the columns that it had for fit"):
        found.predict(numbered[[1, 0, 2]])


def test_a_column_of_labels_that_there_is_not():
    for bounds in (DECLARED, {"age": (18, 90), "hours": (0, 100)}):
        frame = table()[[*bounds]].assign(income=INCOME)
        with pytest.raises(InvalidProblemError, match=r"y='pay' names no column of X. Its columns"):
            sm.PrivateLPSVC(X_bounds=bounds, classes=("high", "low")).fit(frame, "pay")


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_labels_and_categories_of_one_table(kind):
    """The name of a column of labels, beside declared columns; as for arrays, to the last bit."""
    pl = pytest.importorskip("polars", reason="tables of polars need polars")
    rng = np.random.default_rng(0)
    columns = {"age": rng.uniform(0, 100, 300), "sector": rng.choice(["a", "b"], 300)}
    ill = np.where(columns["age"] > 50, "yes", "no")
    frame = (pd.DataFrame if kind == "pandas" else pl.DataFrame)({**columns, "ill": ill})
    frame = frame.lazy() if kind == "lazy" else frame
    given = {"X_bounds": {"age": (0, 100), "sector": ["a", "b"]}, "classes": ("no", "yes")}
    make = partial(sm.PrivateLPSVC, **given, random_state=0)
    by_name, apart = make().fit(frame, "ill"), make().fit(pd.DataFrame(columns), ill)
    np.testing.assert_array_equal(by_name.coef_, apart.coef_)
    np.testing.assert_array_equal(by_name.intercept_, apart.intercept_)
    assert by_name.score(frame, "ill") == apart.score(pd.DataFrame(columns), ill)
    several = sm.PrivateOneVsRestClassifier(
        make(classes=None, random_state=None), classes=("no", "yes"), random_state=0
    )
    assert 0 <= several.fit(frame, "ill").score(frame, "ill") <= 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_missing_category_leaves_those_of_others_alone(kind):
    """A column of integers with a null must not become one of floats, which rounds all of them."""
    library = pytest.importorskip(kind, reason="a table of this library")
    declared = Columns(["id", "v"], ([2**53 + 1, 5, 7], (0.0, 2.0)))

    def first(ids):
        ids = pd.array(ids, dtype="Int64") if kind == "pandas" else ids
        make = library.table if kind == "pyarrow" else library.DataFrame
        X = make({"id": ids, "v": [1.0] * 3})
        return declared.numbers(X, BaseEstimator(), reset=True)[:, 0].tolist()

    assert first([2**53 + 1] * 3) == [1, 1, 1]
    assert first([2**53 + 1, 2**53 + 1, None]) == [1, 1, 0]


def test_integers_that_doubles_round_are_no_categories():
    with pytest.raises(InvalidParameterError, match=r"of 2\^53 at most"):
        Columns.of({0: [2**53 + 1, 5, 7], 1: (0, 2)}, np.zeros((2, 2)))
