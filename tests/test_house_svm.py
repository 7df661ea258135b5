"""How the classifiers are laid out: a loss is one file, records leave as sums alone."""

import importlib.util
import inspect
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import svm_models as sm
from privlp.rows.access import InMemory
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.classifiers.dmw import _hinge_losses
from svm_models.classifiers.risk import RegularizedRisk, huber, logistic
from svm_models.records import signed
from svm_models.records.grid import RecordGrid, SignedRecords
from svm_models.whitening import moments_of, second_moments
from tests.toy_rows import SplitRows

ROOT = Path(__file__).parent.parent
X, Y = sm.make_separable_sphere(300, n_features=4, margin=0.1, random_state=0)
CLASSES = filter(inspect.isclass, (getattr(sm, name) for name in sm.__all__))
PRIVATE = [cls for cls in CLASSES if issubclass(cls, PrivateLinearClassifier)]


NEW_LOSS = '''
"""Half of sqrt(1 + (1 - z)^2) + 1 - z: a smooth hinge."""

import numpy as np

from svm_models import MarginLoss

SMOOTH_HINGE = MarginLoss(
    value=lambda z: (np.hypot(1, 1 - z) + 1 - z) / 2,
    slope=lambda z: -((1 - z) / np.hypot(1, 1 - z) + 1) / 2,
    curvature=lambda z: np.hypot(1, 1 - z) ** -3.0 / 2,
    slope_bound=1.0,
    curvature_bound=0.5,
    name="smooth hinge",
    one_sided=True,
)
'''


@pytest.fixture
def smooth_hinge(tmp_path):
    file = tmp_path / "smooth_hinge.py"
    file.write_text(NEW_LOSS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("smooth_hinge", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SMOOTH_HINGE


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("estimator", "steepness"),
    [
        (sm.ObjectivePerturbationClassifier, 2.0),
        (sm.OutputPerturbationClassifier, 2.0 / (300 * 0.05)),
    ],
)
def test_a_new_loss_is_one_file(smooth_hinge, estimator, steepness, delta):
    """Without noise its minimum is certified; with noise its bounds decide what is charged."""
    model = estimator(
        smooth_hinge, eps=math.inf, reg=0.05, delta=delta, fit_intercept=False, classes=(-1, 1)
    ).set_params(random_state=0)
    risk = RegularizedRisk.in_memory(signed(X, Y), smooth_hinge, 0.05, 1.0)
    assert risk.certified(model.fit(X, Y).coef_[0])
    private = model.set_params(eps=2.0).fit(X, Y).privacy_
    assert private.eps == pytest.approx(2.0, rel=1e-5)
    charged = max(entry.sensitivity for entry in private.entries)
    assert charged == pytest.approx(steepness * smooth_hinge.slope_bound, rel=1e-6)


class NotingRows(SplitRows):
    """Rows in several blocks, which note the sizes of what leaves them."""

    def __init__(self, blocks, sizes):
        super().__init__(blocks)
        self.sizes = sizes

    def _keep(self, prepare):
        return NotingRows(map(prepare, self._blocks), self.sizes)

    def _map(self, kernel, *released):
        results = super()._map(kernel, *released)
        self.sizes += [np.size(result) for result in results if result is not None]
        return results


def in_blocks(M):
    """Blocks of several sizes, one of them empty."""
    rows = np.split(np.arange(M.shape[0]), [50, 50, 51, 200])
    return NotingRows([M[of_one] for of_one in rows], [])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", [huber(), huber(0.01), logistic()], ids=lambda loss: loss.name)
def test_a_risk_is_the_same_in_blocks(form, loss):
    M = form(signed(X, Y))
    whole = RegularizedRisk.in_memory(M, loss, 1e-3, 1.0, linear=np.full(4, 1e-3))
    rows = in_blocks(M)
    parts = RegularizedRisk(rows, M.shape, loss, 1e-3, 1.0, linear=np.full(4, 1e-3))
    w = np.array([3.0, -1.0, 0.5, 2.0])
    assert parts.value(w) == pytest.approx(whole.value(w), rel=1e-13)
    np.testing.assert_allclose(parts.gradient(w), whole.gradient(w), rtol=1e-12)
    np.testing.assert_allclose(parts.hessian(w), whole.hessian(w), rtol=1e-12)
    found = parts.minimise()
    assert whole.certified(found)
    np.testing.assert_allclose(found, whole.minimise(), atol=2 * whole.tolerance / whole.reg)
    assert set(rows.sizes) == {1, 4, 16}, "numbers, gradients and second derivatives alone leave"


def test_moments_and_hinge_losses_are_the_same_in_blocks():
    M, w = signed(X, Y), np.array([3.0, -1.0, 0.5, 2.0])
    grid = RecordGrid.of(1_000)
    kernel = partial(moments_of, unit=float(np.linalg.norm(M, axis=1).max()), grid=grid)
    both = (in_blocks(M), InMemory(M))
    moments = [second_moments(rows, kernel, grid, lambda exact: exact) for rows in both]
    np.testing.assert_array_equal(*moments)
    hinge = math.fsum(in_blocks(M).map(_hinge_losses, w))
    assert hinge == pytest.approx(np.maximum(0.0, 1 - M @ w).sum(), rel=1e-13)


@pytest.mark.parametrize("eps", [1.0, math.inf])
def test_private_lp_svc_trains_on_blocks(monkeypatch, eps):
    model = sm.PrivateLPSVC(eps, classes=(-1, 1), random_state=0)
    whole = model.fit(X, Y).coef_
    seen = []

    def door(source, signs):
        cuts = [slice(0, 50), slice(50, 50), slice(50, 51), slice(51, None)]
        seen.append(NotingRows([SignedRecords(X[rows], signs[rows]) for rows in cuts], []))
        return seen[-1]

    monkeypatch.setattr("svm_models.records.source.WholeRecords.rows", door)
    np.testing.assert_array_equal(model.fit(X, Y).coef_, whole)
    assert set(seen[0].sizes) == {5, 25}, "sums and second moments alone leave"


@pytest.mark.parametrize("estimator", PRIVATE, ids=lambda estimator: estimator.__name__)
def test_an_estimator_has_two_bases_of_ours(estimator):
    ours = [c.__name__ for c in estimator.__mro__ if c.__module__.startswith("svm_models")]
    of = ["PrivateLPSVC"] if estimator is sm.PrivateClassifier else []  # the same with another loss
    assert ours == [estimator.__name__, *of, "PrivateLinearClassifier", "LinearBinaryClassifier"]
    assert sm.DMWSVC in PRIVATE
    assert len(PRIVATE) == 9
