"""Private estimators on neighbours whose replaced record is hostile."""

import copy
import math
import warnings
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import privlp
import svm_models as sm
from privlp.audits.tape import Tape, differences, largest_changes
from svm_models.account import DECLARED, READ
from svm_models.classifiers.risk import RegularizedRisk, huber
from svm_models.records import grid as records_on_grid
from svm_models.records import scaled, within_norm
from tests.conformance_estimators import ESTIMATORS as CONFORMING
from tests.effort import THOROUGH, each, examples, runs

pytestmark = pytest.mark.usefixtures("short_advice", "fits_of_few")

N, P = 24, 3
RNG = np.random.default_rng(0)
COMMON = RNG.uniform(-0.6, 0.6, (N, P)).round(2)
LABELS = np.where(COMMON[:, 0] > 0, 1, -1)
SETTINGS = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

PRIVATE = {
    "output, SVC": sm.OutputPerturbationSVC(reg=0.1),
    "output, SVC, Gaussian": sm.OutputPerturbationSVC(reg=0.1, delta=1e-3),
    "output, logistic": sm.OutputPerturbationLogisticRegression(reg=0.1),
    "output, any loss": sm.OutputPerturbationClassifier(huber(0.25), reg=0.1),
    "objective, SVC": sm.ObjectivePerturbationSVC(reg=0.1),
    "objective, SVC, Gaussian": sm.ObjectivePerturbationSVC(reg=0.1, delta=1e-3),
    "objective, logistic": sm.ObjectivePerturbationLogisticRegression(reg=0.1),
    "objective, any loss": sm.ObjectivePerturbationClassifier(huber(0.25), reg=0.1, data_norm=1e5),
    "objective, whitened": sm.ObjectivePerturbationSVC(
        reg=0.1, delta=1e-3, whiten=True, data_norm=1e5, class_weight={1: 3.0}
    ),
    "objective, weighted": sm.ObjectivePerturbationSVC(reg=0.1, class_weight={1: 3.0}),
    "output, threshold": sm.OutputPerturbationSVC(reg=0.1, threshold_share=0.3),
    "LP": sm.PrivateLPSVC(delta=1e-3, rounds=4),
    "LP, weighted": sm.PrivateLPSVC(delta=1e-3, rounds=4, class_weight={1: 3.0}),
    "LP, short records": sm.PrivateLPSVC(delta=1e-3, rounds=4, data_norm=1e-90),
    "DMW": sm.DMWSVC(delta=1e-3, radius=2.0, alpha=2.0),
    "DMW, count": sm.DMWSVC(delta=1e-3, radius=2.0, alpha=2.0, score="count", phi=0.1),
    "DMW, radius bought": sm.DMWSVC(delta=1e-3, alpha=9.0, reg=0.3),
    "DMW, published": sm.DMWSVC(delta=1e-3, radius=2.0, alpha=20.0, method="dmw-published"),
    "DMW, soft": sm.DMWSVC(delta=1e-3, form="soft", alpha=80.0, C=0.5, reg=0.3),
    "DMW, soft, radius given": sm.DMWSVC(delta=1e-3, form="soft", radius=20.0, alpha=80.0),
    "quantile": sm.PrivateQuantileRegressor(
        delta=1e-3, quantile=0.9, y_bounds=(-1, 1), data_norm=1.0
    ),
    "SVR, features with ranges": sm.PrivateLPSVR(delta=1e-3, y_bounds=(-1, 1), X_bounds=(-0.5, 1)),
    "selector": sm.PrivateModelSelector(
        [sm.ObjectivePerturbationSVC(reg=0.1), sm.OutputPerturbationSVC(reg=0.3)]
    ),
    "selector of pipelines": sm.PrivateModelSelector(
        [
            make_pipeline(sm.RandomFourierFeatures(0.5, 4), sm.OutputPerturbationSVC(reg=r))
            for r in (0.1, 1.0)
        ]
    ),
    "selector of a selector": sm.PrivateModelSelector(
        [
            sm.PrivateModelSelector([sm.OutputPerturbationSVC(reg=0.1)]),
            make_pipeline(sm.RandomFourierFeatures(0.5, 4), sm.ObjectivePerturbationSVC(reg=0.1)),
        ]
    ),
}


def declaring(estimator, **parameters):
    """A clone with these parameters, and with its classes declared if it is a classifier."""
    classes = {"classes": (-1, 1)} if hasattr(estimator, "classes") else {}
    return clone(estimator).set_params(**parameters, **classes)


# records and how they are stored

#: Entries (column, value) of one record, as they are stored: duplicates add up.
HOSTILE = {
    "zero": [],
    "stored zeros": [(0, 0.0), (2, -0.0)],
    "huge": [(0, 1e308), (1, -1.7e308), (2, 1e308)],
    "one huge entry": [(1, 1e200), (2, 0.1)],
    "denormal": [(0, 5e-324), (1, -1e-310)],
    "huge beside denormal": [(0, 1.7e308), (1, 5e-324)],
    "sum to infinity": [(0, 1e308), (0, 1e308)],
    "sum to minus infinity": [(1, -1.7e308), (0, 0.3), (1, -1.7e308)],
    "infinite on the way to a finite sum": [(0, 1e308), (0, 1e308), (0, -1e308), (0, -1e308)],
    "cancel": [(0, 1e308), (0, -1e308), (1, 0.5)],
    "cancel but for rounding": [(0, 1e16), (0, 1.0), (0, -1e16)],
    "short entries of a long sum": [(2, 0.6)] * 40,
    "unsorted": [(2, 0.5), (0, -0.5), (1, 0.2)],
    "unsorted duplicates": [(2, 0.5), (0, 3.0), (2, 0.5), (0, -2.9)],
    "ordinary": [(0, -0.4), (1, 0.2)],
}


def rows_of(row):
    """All records as lists of stored entries; the last is `row`."""
    return [[(j, v) for j, v in enumerate(r) if v != 0] for r in COMMON[:-1].tolist()] + [row]


def csr(rows, array=sp.csr_array, width=P, index=np.int32, dtype=float):
    """Entries in CSR as they stand, without any tidying."""
    columns = np.array([j for row in rows for j, _ in row], dtype=index)
    values = np.array([v for row in rows for _, v in row], dtype=dtype)
    starts = np.cumsum([0, *map(len, rows)]).astype(index)
    return array((values, columns, starts), shape=(len(rows), width))


def dense(rows):
    """Sums of entries. Sums that overflow, which dense records refuse, become the largest double."""
    X = np.zeros((len(rows), P))
    with np.errstate(over="ignore"):
        for i, row in enumerate(rows):
            for j, v in row:
                X[i, j] += v
    return np.nan_to_num(X, posinf=np.finfo(float).max, neginf=-np.finfo(float).max)


def read_only(X):
    for array in buffers(X):
        array.setflags(write=False)
    return X


def coo(rows):
    X = csr(rows)
    order = np.random.default_rng(0).permutation(X.data.size)
    rows_ = np.repeat(np.arange(N), np.diff(X.indptr))
    return sp.coo_array((X.data[order], (rows_[order], X.indices[order])), shape=X.shape)


def blocks(rows):
    X = csr(rows)
    return sp.bsr_array((X.data[:, None, None], X.indices, X.indptr), shape=X.shape)


def padded(rows):
    """More room than entries, as SciPy leaves it after eliminating zeros."""
    X = csr(rows)
    X.data = np.append(X.data, [7.0] * 3)
    X.indices = np.append(X.indices, np.array([0] * 3, dtype=np.int32))
    return X


def with_object(rows):
    X = dense(rows).astype(object)
    X[0, 0] = Fraction(1, 3)
    return X


def sparse_frame(rows):
    columns = (pd.arrays.SparseArray(column, fill_value=0.0) for column in dense(rows).T)
    return pd.DataFrame({f"x{j}": column for j, column in enumerate(columns)})


FORMATS = {
    "csr array": csr,
    "csr matrix": lambda rows: csr(rows, sp.csr_matrix),
    "csr, long indices": lambda rows: csr(rows, index=np.int64),
    "csr, read-only": lambda rows: read_only(csr(rows)),
    "csr with room": padded,
    "csr, extended precision": lambda rows: csr(rows, dtype=np.longdouble),
    "csr, single precision": lambda rows: csr(
        [[(j, min(max(v, -3e38), 3e38)) for j, v in row] for row in rows], dtype=np.float32
    ),
    "csr, single precision, read-only": lambda rows: read_only(
        FORMATS["csr, single precision"](rows)
    ),
    "csr, bytes": lambda rows: csr(
        [[(j, 100 * np.sign(v)) for j, v in row] for row in rows], dtype=np.int8
    ),
    "csc array": lambda rows: csr(rows).tocsc(),
    "csc, read-only": lambda rows: read_only(csr(rows).tocsc()),
    "coo array": coo,
    "coo matrix, read-only": lambda rows: read_only(sp.coo_matrix(coo(rows))),
    "bsr array": lambda rows: sp.bsr_array(dense(rows), blocksize=(2, 1)),
    "bsr array of repeated blocks": blocks,
    "lil matrix": lambda rows: sp.lil_matrix(dense(rows)),
    "dok array": lambda rows: sp.dok_array(dense(rows)),
    "dia array": lambda rows: sp.dia_array(dense(rows)),
    "array": dense,
    "array by columns": lambda rows: np.asfortranarray(dense(rows)),
    "array, backwards": lambda rows: dense(rows)[::-1, ::-1].copy()[::-1, ::-1],
    "array, read-only": lambda rows: read_only(dense(rows)),
    "objects": with_object,
    "list": lambda rows: dense(rows).tolist(),
    "frame": lambda rows: pd.DataFrame(dense(rows), columns=list("abc")),
    "frame of sparse columns": sparse_frame,
    "single precision": lambda rows: np.clip(dense(rows), -3e38, 3e38).astype(np.float32),
    "whole numbers": lambda rows: np.clip(dense(rows), -1e18, 1e18).astype(np.int64),
    "small numbers": lambda rows: sp.csr_array(np.clip(dense(rows), -9, 9).astype(np.int8)),
    "truths": lambda rows: dense(rows) > 0,
    "sparse truths": lambda rows: sp.csr_array(dense(rows) > 0),
    "sparse whole numbers": lambda rows: sp.csr_array(
        np.clip(dense(rows), -1e18, 1e18).astype(np.int64)
    ),
}


def buffers(X):
    """All arrays in which X keeps its numbers."""
    if isinstance(X, np.ndarray):
        return [X]
    if isinstance(X, pd.DataFrame):
        return [X[name].to_numpy() for name in X]
    names = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
    return [a for name in names if isinstance(a := getattr(X, name, None), np.ndarray)]


def frozen(X):
    """X as bits."""
    if isinstance(X, list | sp.dok_array):
        return repr(X if isinstance(X, list) else dict(X.items()))

    def held(a):
        return repr(a.tolist()) if a.dtype == object else a.tobytes()

    return [(a.dtype, a.shape, a.flags.writeable, held(a)) for a in buffers(X)]


# the replay


def told(estimator):
    """All that a fit tells but for the records: equal on neighbours that saw the same releases."""
    kept = estimator
    while isinstance(kept, sm.PrivateModelSelector):
        kept = kept.best_estimator_
    kept = kept[-1] if hasattr(kept, "steps") else kept
    names = "rounds_", "radius_", "classes_", "best_index_", "warned_of_noise"
    others = [repr(getattr(of, name, None)) for of in (kept, estimator) for name in names]
    solution = kept.solution_.to_json() if hasattr(kept, "solution_") else None
    return estimator.privacy_, kept.privacy_, kept.coef_.tobytes(), others, solution


def fit_on(tape, estimator, X, y):
    """Fit, with no change of what the caller holds, and no warning but that records are few."""
    before, labels = frozen(X), y.tobytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", privlp.MostlyNoiseWarning)
        fitted = declaring(estimator, random_state=tape).fit(X, y)
    fitted.warned_of_noise = [str(warning.message) for warning in caught]
    assert frozen(X) == before
    assert y.tobytes() == labels
    return fitted


@contextmanager
def noting_minimisers():
    """Perturbed objectives and their computed minimisers, in order."""
    found, minimise = [], RegularizedRisk.minimise

    def noted(risk, **options):
        w = minimise(risk, **options)
        if isinstance(risk.linear, np.ndarray):
            found.append((risk, w))
        return w

    with mock.patch.object(RegularizedRisk, "minimise", noted):
        yield found


def coupled(tape, estimator, one, two, labels):
    """The first fit, and its tape as the second is to hear it.

    Objective perturbation releases the minimiser, not the linear term behind it. So the neighbour
    gets the linear term that has the same minimiser: it may lie no farther off than the sensitivity
    (``docs/proofs.md``, "Objective perturbation").
    """
    with noting_minimisers() as here:
        fitted = fit_on(tape, estimator, one, labels[0])
    if not here:
        return fitted, tape
    with noting_minimisers() as there:
        fit_on(Tape(0, replay=tape), estimator, two, labels[1])
    to_play = copy.copy(tape)
    to_play.releases = list(tape.releases)
    perturbed = [k for k, r in enumerate(tape.releases) if r.purpose == "perturb the objective"]
    for k, (risk, w), (other, _) in zip(perturbed, here, there, strict=True):
        n = risk.shape[0]
        moved = risk.gradient(w) - replace(other, linear=0.0).gradient(w)
        release = tape.releases[k]
        most = release.mechanism.sensitivity * (1 + 1e-9)
        assert np.linalg.norm(n * (moved - risk.linear)) <= most, release.purpose
        to_play.releases[k] = replace(release, released=n * moved)
    return fitted, to_play


def assert_neighbours_are_alike(estimator, one, two, labels, *, quiet):
    first = Tape(0, quiet=quiet)
    a, to_play = coupled(first, estimator, one, two, labels)
    second = Tape(0, replay=to_play)
    b = fit_on(second, estimator, two, labels[1])
    assert first.releases, "the tape was not used"
    assert differences(first, second) == []
    for purpose, change in largest_changes(first, second).items():
        assert change <= 1 + 1e-9, purpose
    assert told(a) == told(b)


def labels_ending_in(last):
    return np.append(LABELS[:-1], last)


ORDINARY = rows_of(HOSTILE["ordinary"])


OF_EACH_KIND = ["objective, SVC", "LP", "DMW, radius bought", "selector", "selector of pipelines"]


@pytest.mark.parametrize(
    ("name", "row", "quiet"),
    dict.fromkeys(
        each(PRIVATE, HOSTILE, (True, False)) + each(OF_EACH_KIND[:1], HOSTILE, (True, False))
    ),
)
def test_one_hostile_record(name, row, quiet):
    """In CSR, where a record may be stored in more ways than in any other format."""
    pair = csr(ORDINARY), csr(rows_of(HOSTILE[row]))
    labels = labels_ending_in(1), labels_ending_in(-1)
    assert_neighbours_are_alike(PRIVATE[name], *pair, labels, quiet=quiet)


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns")
@pytest.mark.parametrize(
    ("name", "form"), dict.fromkeys(each(OF_EACH_KIND, FORMATS) + each(OF_EACH_KIND[:1], FORMATS))
)
def test_one_hostile_record_in_every_format(name, form):
    """One of each kind of private classifier. All share one way in: the first gets all records."""
    rows = ("huge", "sum to infinity", "cancel", "denormal")
    if name != OF_EACH_KIND[0] and not THOROUGH:
        rows = [rows[(OF_EACH_KIND.index(name) + list(FORMATS).index(form)) % len(rows)]]
    for row in rows:
        pair = FORMATS[form](ORDINARY), FORMATS[form](rows_of(HOSTILE[row]))
        assert_neighbours_are_alike(
            PRIVATE[name], *pair, (labels_ending_in(1), labels_ending_in(1)), quiet=False
        )


values = st.one_of(
    st.floats(-1.0, 1.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1.7e308, 5e-324, -1e-310, 1e-160, 1e16]),
)
hostile_rows = st.lists(st.tuples(st.integers(0, P - 1), values), max_size=8)
layouts = st.sampled_from(sorted(FORMATS.keys() - {"frame of sparse columns"}))


@pytest.mark.parametrize("name", PRIVATE)
@settings(SETTINGS, max_examples=runs(12, 4))
@given(row=hostile_rows, form=layouts, label=st.sampled_from([-1, 1]), quiet=st.booleans())
def test_any_record(name, row, form, label, quiet):
    pair = FORMATS[form](ORDINARY), FORMATS[form](rows_of(row))
    quiet = (
        quiet and "numbers" not in form
    )  # which are all zero, so that a radius that is bought without noise is, too
    assert_neighbours_are_alike(
        PRIVATE[name], *pair, (labels_ending_in(1), labels_ending_in(label)), quiet=quiet
    )


def test_every_private_estimator_is_replayed():
    public = {getattr(sm, name) for name in sm.__all__}
    # One against the rest: the classifiers that it trains are replayed by themselves.
    replayed = {type(estimator) for estimator in PRIVATE.values()} | {sm.PrivateOneVsRestClassifier}
    # The game of PrivateLPSVC, with other weights, which its own tests replay.
    replayed |= {sm.PrivateClassifier}
    assert replayed == {kind for kind in public if hasattr(kind, "budget")} | {
        kind for kind in public if hasattr(kind, "get_params") and "budget" in kind().get_params()
    }
    covered = frozenset().union(*(subject.covers for subject in CONFORMING))
    assert {type(estimator).__name__ for estimator in PRIVATE.values()} <= covered


def test_a_wrong_sensitivity_is_seen(monkeypatch):
    """The replay has teeth."""
    monkeypatch.setattr(scaled, "within_norm", lambda X, data_norm: X)
    monkeypatch.setattr(records_on_grid, "bounded", lambda part, grid: part)
    pair = csr(ORDINARY), csr(rows_of([(0, 40.0)]))
    with pytest.raises(AssertionError, match="release the second moments"):
        assert_neighbours_are_alike(PRIVATE["LP"], *pair, (labels_ending_in(1),) * 2, quiet=True)


# within_norm


def bits(X):
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X).view(np.int64).tolist()


@settings(SETTINGS, max_examples=examples(150))
@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 4), values), max_size=40), min_size=1, max_size=5
    ),
    data_norm=st.one_of(st.just(1.0), st.floats(1e-100, 1e14)),
)
@example(rows=[[(0, 0.6), (1, 0.6)], [(0, 0.8), (1, 0.8)]], data_norm=1.0)
@example(rows=[[(k, 0.1 + 0.1 * k) for k in range(5)]], data_norm=math.sqrt(0.55))
def test_every_row_is_within_the_norm_and_for_itself(rows, data_norm):
    """In rational arithmetic, and to the last bit."""
    X = read_only(csr(rows, width=5))
    before = frozen(X)
    for layout in (
        X,
        read_only(np.nan_to_num(X.toarray())),
        np.asfortranarray(X.toarray()),
        X.toarray()[:, ::-1],
    ):
        scaled = within_norm(layout, data_norm)
        for row in scaled.toarray() if sp.issparse(scaled) else scaled:
            assert sum(Fraction(v) ** 2 for v in row.tolist()) <= Fraction(data_norm) ** 2
        alone = [bits(within_norm(layout[[i]], data_norm))[0] for i in range(len(rows))]
        assert bits(scaled) == alone
    assert frozen(X) == before
    scaled = within_norm(X, data_norm)
    assert scaled.has_canonical_format
    for row, result in zip(rows, scaled.toarray(), strict=True):
        plain = np.array([dict(row).get(k, 0.0) for k in range(5)])
        if len(dict(row)) == len(row) and math.hypot(*plain) < data_norm * (1 - 1e-14):
            np.testing.assert_array_equal(result, plain)  # short records are left alone


def test_an_unsorted_row_leaves_equal_columns_of_another_in_their_order():
    """Sums of duplicates depend on their order; only some sorts keep it."""
    rng = np.random.default_rng(0)
    row = [(0, v) for v in (rng.normal(size=200) * 10.0 ** rng.integers(-8, 8, 200)).tolist()]
    sorted_, unsorted = [(0, 0.1), (1, 0.2)], [(1, 0.2), (0, 0.1)]
    one, two = (within_norm(csr([row, of], width=2), 1e13).toarray() for of in (sorted_, unsorted))
    assert bits(one) == bits(two)


# refusals come before paying

LAST, HUGE = np.arange(N)[:, None] == N - 1, np.longdouble("1e4000")
REFUSED = {
    "beyond double precision": lambda: np.where(LAST, HUGE, dense(ORDINARY)),
    "sparse, beyond double precision": lambda: csr(rows_of([(0, HUGE)]), dtype=np.longdouble),
    "a whole number beyond double precision": lambda: np.array(
        [*dense(ORDINARY)[:-1].tolist(), [10**400, 0, 0]], dtype=object
    ),
    "a column that is not there": lambda: csr(rows_of([(P + 90_000_000, 1.0)])),
    "a column before the first": lambda: csr(rows_of([(-1, 1.0)])),
    "a row that is not there": lambda: sp.csc_array(
        (np.ones(P), np.full(P, 90_000_000), np.arange(P + 1)), shape=(N, P)
    ),
    "starts in disorder": lambda: sp.csr_array(
        (np.ones(N), np.zeros(N, dtype=int), [0, 9, 3, *[N] * (N - 2)]), shape=(N, P)
    ),
}


@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(float).max, reason="no extended precision here"
)
@pytest.mark.parametrize(("name", "records"), each(PRIVATE, REFUSED))
def test_what_is_refused_is_refused_before_it_costs(name, records):
    estimator, budget = declaring(PRIVATE[name]), privlp.Budget(math.inf, 0.5)
    estimator.budget = budget  # a clone of it would be refused
    message = r"X contains infinity|X must hold real numbers"
    with pytest.raises(ValueError, match=message), np.errstate(over="ignore"):
        estimator.fit(REFUSED[records](), LABELS)
    assert budget.entries == ()


@pytest.mark.parametrize("array", [csr, lambda rows: csr(rows, sp.csr_matrix)])
def test_columns_out_of_range_are_refused_when_predicting(array):
    fitted = sm.HuberSVC(0.1).fit(dense(ORDINARY), LABELS)
    with pytest.raises(privlp.InvalidProblemError, match="X must hold real numbers"):
        fitted.predict(array([[(P + 90_000_000, 1.0)]]))


def test_candidates_of_other_classes_are_refused_before_anything_is_paid():
    budget = privlp.Budget(1.0, 0.0)
    grid = [
        sm.OutputPerturbationSVC(reg=0.1),
        make_pipeline(sm.RandomFourierFeatures(), sm.OutputPerturbationSVC(classes=(0, 1))),
    ]
    selector = sm.PrivateModelSelector(grid, classes=(-1, 1), budget=budget)
    message = "Candidate 1 declares other classes than the selector has; leave them out"
    with pytest.raises(privlp.InvalidParameterError, match=message):
        selector.fit(COMMON, LABELS)
    assert budget.entries == ()


@pytest.mark.parametrize("exact", [sm.HuberSVC(0.1), sm.LPSVC()], ids=lambda e: type(e).__name__)
def test_exact_classifiers_leave_their_records_alone(exact):
    X = read_only(csr(rows_of(HOSTILE["unsorted duplicates"])))
    before = copy.deepcopy(frozen(X))
    exact.fit(X, LABELS).predict(X)
    assert frozen(X) == before


# where the classes are from


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_classes_that_are_read_are_pointed_out(name):
    estimator = clone(PRIVATE[name]).set_params(random_state=0)
    with pytest.warns(
        privlp.NotPrivateWarning, match=r"label of one record can decide .* Pass classes=\(a, b\)"
    ) as caught:
        estimator.fit(COMMON, LABELS)
    assert {warning.filename for warning in caught} == {__file__}
    assert sum(warning.category is privlp.NotPrivateWarning for warning in caught) == 1
    assert READ in estimator.privacy_.relation
    assert DECLARED not in estimator.privacy_.relation
    assert "which were read from the records" in str(estimator.privacy_)
    declared = clone(estimator).set_params(classes=(-1, 1)).fit(COMMON, LABELS)  # without a word
    assert DECLARED in declared.privacy_.relation
    assert READ not in declared.privacy_.relation


@pytest.mark.parametrize(
    "labels", [LABELS, labels_ending_in(2), np.ones(N), np.append(np.ones(N - 1), -1)]
)
@pytest.mark.parametrize("name", ["objective, SVC", "LP", "selector"])
def test_the_warning_does_not_depend_on_the_labels(name, labels):
    """It comes before they are read: as an error it stops a fit that one label could stop."""
    estimator = clone(PRIVATE[name])
    wrong = pytest.raises(privlp.NotPrivateWarning, match="The two classes are read from the")
    with warnings.catch_warnings(action="error", category=privlp.NotPrivateWarning), wrong:
        estimator.fit(COMMON, labels)


def test_without_privacy_nothing_is_said_of_classes():
    assert sm.ObjectivePerturbationSVC(math.inf).fit(COMMON, LABELS).classes_.tolist() == [-1, 1]


def test_a_shared_budget_tells_both():
    budget = privlp.Budget(1.0, 0.0)
    sm.OutputPerturbationSVC(0.5, 0.1, classes=(-1, 1), budget=budget, random_state=0).fit(
        COMMON, LABELS
    )
    with pytest.warns(privlp.NotPrivateWarning, match="read from the records"):
        sm.OutputPerturbationSVC(0.4, 0.1, budget=budget, random_state=0).fit(COMMON, LABELS)
    assert budget.record().relation == f"{DECLARED} and {READ}"


# tapes


def test_a_replay_makes_other_draws_again_too():
    """Which record falls into which part is drawn after a release here, and is none."""
    selector, first = PRIVATE["selector of a selector"], Tape(0)
    second = Tape(0, replay=first)
    one, two = (fit_on(tape, selector, COMMON, LABELS) for tape in (first, second))
    assert told(one) == told(two)
    assert [release.exact.tolist() for release in first.releases] == [
        release.exact.tolist() for release in second.releases
    ]


def test_a_tape_changes_nothing():
    for estimator in map(PRIVATE.get, OF_EACH_KIND):
        one = declaring(estimator, random_state=0).fit(COMMON, LABELS)
        two = fit_on(Tape(0), estimator, COMMON, LABELS)
        assert told(one)[2] == told(two)[2]
