"""Several rows of one person: what is kept, what it costs, and who says whose rows they are."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import svm_models as sm
from privlp import InvalidParameterError, InvalidProblemError, UnsupportedProblemError
from privlp.audits.tape import Tape, differences, largest_changes
from svm_models import selection
from svm_models.account import MOST_ROWS, Neighbours
from svm_models.classifiers import perturbation
from svm_models.classifiers.risk import RegularizedRisk, huber, logistic
from svm_models.records import columns
from tests.effort import pairs

pytestmark = [
    pytest.mark.filterwarnings("ignore::privlp.MostlyNoiseWarning"),
    pytest.mark.usefixtures("fits_of_few"),
]

ROWS = 3
OF_Y = {"y_bounds": (-1, 1), "data_norm": 1.0}
ESTIMATORS = {
    "output": sm.OutputPerturbationSVC(reg=0.1),
    "output, threshold": sm.OutputPerturbationSVC(reg=0.1, threshold_share=0.2),
    "objective": sm.ObjectivePerturbationSVC(reg=0.1),
    "objective, whitened": sm.ObjectivePerturbationLogisticRegression(delta=1e-3, whiten=True),
    "LP": sm.PrivateLPSVC(delta=1e-3, rounds=4),
    "DMW": sm.DMWSVC(delta=1e-3, radius=2.0, alpha=2.0),
    "DMW, radius bought": sm.DMWSVC(delta=1e-3, alpha=9.0, reg=0.3),
    "quantiles": sm.PrivateQuantileRegressor(delta=1e-3, quantile=(0.2, 0.5, 0.9), **OF_Y),
    "SVR": sm.PrivateLPSVR(delta=1e-3, **OF_Y),
    "one against the rest": sm.PrivateOneVsRestClassifier(
        make_pipeline(FunctionTransformer(), sm.OutputPerturbationSVC(reg=0.1)), classes=(-1, 0, 1)
    ),
    "selector": sm.PrivateModelSelector(
        [sm.OutputPerturbationSVC(reg=0.1), sm.OutputPerturbationSVC(reg=0.3)]
    ),
}
RNG = np.random.default_rng(0)
OTHERS = RNG.uniform(-0.5, 0.5, (60, 2))
SIGNS = np.where(OTHERS[:, 0] > 0, 1, -1)
#: Others have up to five rows each; the last person has four.
WHOSE = np.append(np.arange(60) // 5, [99] * 4)


def given(estimator, **options):
    options |= {"rows_per_record": ROWS, "random_state": 0, **options}
    if getattr(estimator, "classes", 0) is None:
        options.setdefault("classes", (-1, 1))
    return clone(estimator).set_params(**options)


def with_person(size, label):
    """Records, labels and owners, where all rows of the last person are alike."""
    X = np.vstack([OTHERS, np.full((4, 2), size)])
    return X, np.append(SIGNS, [label] * 4), WHOSE


def fitted(estimator, tape, records):
    return given(estimator, random_state=tape).fit(*records)


def changes(name, relation):
    """The largest changes of what is released, in units of what is charged, as one person moves."""
    estimator = clone(ESTIMATORS[name])
    one, two = with_person(0.7, 1), with_person(-0.7, 1)
    if relation == "add-remove":
        estimator.set_params(relation=relation, nominal_n=40)
        two = tuple(part[:-4] for part in one)
    first = Tape(0, quiet=True)
    fitted(estimator, first, one)
    second = Tape(0, replay=first)
    fitted(estimator, second, two)
    assert first.releases
    assert differences(first, second) == []
    return largest_changes(first, second)


#: Those that draw nothing in an objective, which the price of curvature below is for.
DIRECT = ["output, threshold", "LP", "DMW", "quantiles", "SVR", "one against the rest"]


@pytest.mark.parametrize(("name", "relation"), pairs(DIRECT, ["replace", "add-remove"]))
def test_one_person_moves_sums_by_no_more_than_is_charged(name, relation):
    assert max(changes(name, relation).values()) <= 1 + 1e-9


@pytest.mark.parametrize("name", ["LP", "quantiles"])
@pytest.mark.parametrize("twin", ["one row is charged", "all rows are kept"])
def test_broken_twins_are_seen(name, twin, monkeypatch):
    if twin == "one row is charged":
        monkeypatch.setattr(Neighbours, "owned", lambda self, rows: self)
    else:  # 4 rows, of which 3 are charged
        monkeypatch.setattr(columns, "kept_rows", lambda owner, most, coins: np.arange(len(owner)))
    assert max(changes(name, "replace").values()) > 1.01


@pytest.mark.parametrize(
    "name", ["output", "objective", "objective, whitened", "DMW, radius bought"]
)
def test_a_person_is_charged_as_many_rows(name):
    X, y, _ = with_person(0.7, 1)
    fits = (given(ESTIMATORS[name], rows_per_record=r).fit(X[::5], y[::5]) for r in (ROWS, 1))
    pairs = zip(*(fit.privacy_.entries for fit in fits), strict=True)
    pairs = [(three, one) for three, one in pairs if not one.purpose.startswith("cover")]
    ratios = [three.sensitivity / one.sensitivity for three, one in pairs]
    assert ratios == pytest.approx([ROWS] * len(ratios), rel=1e-6)


def test_rows_of_one_person_go_to_one_part_of_a_selector(monkeypatch):
    parts = []
    noted = lambda self, _, part, randomness, *of: parts.append((*of[0], *of[1])) or 0  # noqa: E731
    monkeypatch.setattr(selection.PrivateModelSelector, "_mistakes", noted)
    owner = RNG.permutation(np.repeat(np.arange(60), 3))
    given(ESTIMATORS["selector"]).fit(owner[:, None].astype(float), owner % 2 * 2 - 1, owner)
    one, two, held_out = ({*np.ravel(some)} for some in (parts[0][0], parts[1][0], parts[0][2]))
    assert len(one) == len(two) == len(held_out) == 20
    assert len(one | two | held_out) == 60
    assert len(parts[0][0]) == len(parts[0][2]) == 60


@pytest.mark.parametrize("loss", [huber(), logistic()], ids=["Huber", "logistic"])
@pytest.mark.parametrize(
    ("reg", "rows"), [*((reg, 1) for reg in (1e-3, 0.03, 1.0)), (0.03, ROWS), (1.0, ROWS)]
)
def test_curvature_of_a_person(loss, reg, rows):
    """What objective perturbation is charged for covers all slopes; no randomness."""
    risk = RegularizedRisk.in_memory(np.ones((4, 1)), loss, reg, 1.0)
    person = risk.between(Neighbours.adding(4).owned(rows))
    for eps in (0.1, 1.0, 5.0):
        mechanism = perturbation._perturbing(person, eps, pure=True)
        z = np.linspace(-40, 40, 200_001)
        slope, curvature = np.abs(loss.slope(z)), loss.curvature(z)
        lost = rows * slope / mechanism.scale + np.log1p(rows * curvature / (4 * reg))
        assert lost.max() <= mechanism.pure_eps
        if rows == 1 and loss.logistic_curvature:
            assert lost.max() >= mechanism.pure_eps * (1 - 1e-6)
        if rows > 1 and reg < 1 and eps < 1:  # a twin that pays for the curvature of one row
            twin = replace(mechanism, curvature_cost=mechanism.curvature_cost / rows)
            assert lost.max() > twin.pure_eps


def test_rows_that_are_kept():
    owner = RNG.integers(0, 50, 600)
    counts = np.zeros(600)
    for seed in range(200):
        kept = columns.kept_rows(owner, ROWS, np.random.default_rng(seed))
        assert (np.diff(kept) > 0).all()
        np.testing.assert_array_equal(
            np.bincount(owner[kept], minlength=50), np.minimum(np.bincount(owner), ROWS)
        )
        counts[kept] += 1
    share = np.minimum(ROWS / np.bincount(owner), 1)[owner]
    assert (abs(counts / 200 - share) < 5 * np.sqrt(share / 200)).all()


def test_one_row_of_each_person_is_as_one_row_each():
    """Without noise too: nothing but the rows that are kept counts."""
    X, y = RNG.normal(size=(90, 2)), RNG.choice([-1, 1], 90)
    for eps in (1.0, math.inf):
        machine = sm.PrivateLPSVC(eps, 1e-3, data_norm=3.0, classes=(-1, 1), random_state=0)
        alone = clone(machine).fit(X, y)
        grouped = clone(machine).set_params(rows_per_record=1).fit(X, y, groups=np.arange(90))
        if eps == math.inf:
            np.testing.assert_array_equal(alone.coef_, grouped.coef_)
        said = [[e.sensitivity for e in one.privacy_.entries] for one in (alone, grouped)]
        assert said[0] == said[1]


@pytest.mark.parametrize("eps", [1.0, math.inf])
def test_owners_from_arrays_tables_and_blocks(eps):
    X, y = RNG.normal(size=(90, 2)), RNG.choice([-1, 1], 90)
    home = RNG.integers(0, 30, 90)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "ill": y, "home": home})
    machine = given(sm.PrivateLPSVC(eps, 1e-3, rounds=3, data_norm=3.0), classes=(-1, 1))
    expected = clone(machine).fit(X, y, groups=home)
    assert expected.n_features_in_ == 2
    blocks = [X[:40], X[40:]], [y[:40], y[40:]]
    for records in (
        (sp.csr_array(X), y, [str(one) for one in home]),
        (table, "ill", "home"),
        (table[["a", "b"]], y, home),
        (*blocks, home),
        (*blocks, [home[:40], home[40:]]),
    ):
        np.testing.assert_array_equal(clone(machine).fit(*records).coef_, expected.coef_)
    regress = given(sm.PrivateLPSVR(1.0, 1e-3, **OF_Y))
    one = clone(regress).fit(table.drop(columns="ill"), X[:, 0], "home")
    np.testing.assert_array_equal(one.coef_, clone(regress).fit(X, X[:, 0], home).coef_)


def test_the_statement_names_the_person():
    X, y, owner = with_person(0.1, 1)
    machine = given(sm.PrivateLPSVC(delta=1e-3)).fit(X, y, owner)
    assert machine.privacy_.relation.startswith("one person (at most 3 records) replaced; who owns")
    machine = given(sm.PrivateLPSVR(delta=1e-3, relation="add-remove", nominal_n=40, **OF_Y))
    assert "one person (at most 3 records) added or" in machine.fit(X, y, owner).privacy_.relation


def test_a_plan_takes_the_rows_of_a_person():
    for estimator in (sm.PrivateLPSVC(), sm.PrivateQuantileRegressor(**OF_Y)):
        one, ten = (sm.plan(estimator.set_params(rows_per_record=r), 20_000, 3) for r in (1, 10))
        assert ten.prediction_noise == pytest.approx(10 * one.prediction_noise, rel=0.1)
    assert sm.plan(sm.PrivateLPSVC(), 20_000, 3) == sm.plan(
        sm.PrivateLPSVC(rows_per_record=1), 20_000, 3
    )


@pytest.mark.parametrize("name", ["LP", "quantiles", "one against the rest", "selector"])
def test_owners_that_are_refused(name):
    X, y, owner = with_person(0.1, 1)
    estimator = given(ESTIMATORS[name])
    for groups, message in (
        (owner[:-1], "groups has shape .63,.; it needs one record id for each of the 64 rows"),
        ([*owner[:-1], np.nan], "groups has missing record ids"),
    ):
        with pytest.raises(InvalidProblemError, match=message):
            estimator.fit(X, y, groups)
    message = "rows_per_record is missing: .* here nobody has more than 5"
    with pytest.raises(InvalidParameterError, match=message):
        given(estimator, rows_per_record=None).fit(X, y, owner)
    hidden = given(estimator, rows_per_record=None, relation="add-remove", nominal_n=40)
    with pytest.raises(InvalidParameterError, match="rows_per_record is missing") as told:
        hidden.fit(X, y, owner)
    assert "nobody" not in str(told.value)
    with pytest.raises(
        InvalidProblemError, match=r"groups must hold one record id for each row\.$"
    ):
        given(hidden, rows_per_record=2).fit(X, y, owner[:-1])
    for rows, message in ((0, "must be a positive integer"), (MOST_ROWS + 1, "at most 500")):
        with pytest.raises(InvalidParameterError, match=f"rows_per_record {message}|{message}"):
            given(estimator, rows_per_record=rows).fit(X, y, owner)
    assert getattr(estimator, "privacy_", None) is None


def test_owners_of_tables_that_are_refused():
    polars = pytest.importorskip("polars", reason="lazy tables")
    machine = given(sm.PrivateLPSVC(1.0, 1e-3))
    table = polars.DataFrame({"a": [0.1, 0.2, 0.3], "home": ["x", None, "y"], "ill": [1, -1, 1]})
    with pytest.raises(InvalidProblemError, match=r"groups='flat' names no column of X\. Its colu"):
        machine.fit(table, "ill", "flat")
    with pytest.raises(InvalidProblemError, match=r"groups has missing record ids\. Rows without"):
        machine.fit(table, "ill", "home")
    with pytest.raises(InvalidProblemError, match="no fixed order, so groups cannot be matched to"):
        machine.fit(table.lazy().drop("home"), "ill", [1, 1, 2])
    labelled = pd.DataFrame({"a": [0.1, 0.2, 0.3], "ill": [1, -1, 1]})
    with pytest.raises(InvalidProblemError, match=r"groups has the labels .*, in another order\."):
        machine.fit(labelled, "ill", pd.Series([*"xxy"], index=[2, 1, 0]))


def test_who_takes_no_owners():
    X, y, owner = with_person(0.1, 1)
    for exact in (sm.HuberSVC(), sm.LPQuantileRegressor()):
        with pytest.raises(InvalidParameterError, match=r"groups has no use here: .* protects nob"):
            exact.fit(X, y, groups=owner)
    with pytest.raises(InvalidParameterError, match="groups is missing: with rows_per_record=3 al"):
        given(ESTIMATORS["selector"]).fit(X, y)
    with pytest.raises(InvalidParameterError, match="Candidate 0 has rows_per_record=2, the selec"):
        sm.PrivateModelSelector([sm.OutputPerturbationSVC(rows_per_record=2)]).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"sets rows_per_record\. Leave it out and giv"):
        sm.PrivateOneVsRestClassifier(sm.PrivateLPSVC(rows_per_record=2)).fit(X, y)
    with pytest.raises(UnsupportedProblemError):
        sm.plan(sm.OutputPerturbationSVC(rows_per_record=2), 100, 2)
