"""Nothing about a record leaves a private classifier by a warning, an exception or a message."""

import numpy as np
import pytest
from sklearn import config_context

import svm_models as sm
from privlp import InvalidParameterError, PrivLPError
from privlp.privacy import Ledger, Randomness
from svm_models.account import Account
from svm_models.classifiers.perturbation import perturb_objective, perturb_output
from svm_models.classifiers.risk import RegularizedRisk, logistic
from tests.effort import runs

#: Classes are left out here where they do not matter.
pytestmark = pytest.mark.filterwarnings("ignore:The two classes are read from the records")
RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, (60, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


def test_even_unchecked_infinities_are_met_with_silence():
    records = X.copy()
    records[0] = [np.inf, np.nan, 1.0]
    with config_context(assume_finite=True):
        sm.ObjectivePerturbationSVC(random_state=0).fit(records, Y)
        sm.DMWSVC(radius=5.0, random_state=0).fit(records, Y)
        sm.PrivateLPSVC(random_state=0).fit(records, Y)


def test_features_of_a_huge_record_are_features():
    features = sm.RandomFourierFeatures(1e3, 20, random_state=0).fit_transform(
        np.array([[1.7e308, -1.7e308], [0.1, 0.2]])
    )
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)


@pytest.mark.parametrize(
    "bounds",
    [{"slope_bound": 0.5}, {"curvature_bound": 0.2}],
    ids=["a false bound on the slope", "a false bound on the curvature"],
)
def test_a_loss_with_false_bounds_is_refused(bounds):
    def slope(z):
        return -1 / (1 + np.exp(np.minimum(z, 700.0)))

    claims = {"slope_bound": 1.0, "curvature_bound": 0.25, **bounds}
    with pytest.raises(InvalidParameterError, match="The guarantee rests on these bounds"):
        sm.MarginLoss(
            lambda z: np.logaddexp(0, -z), slope, lambda z: -slope(z) * (1 + slope(z)), **claims
        )


def test_a_fit_that_fails_after_a_draw_still_says_what_it_spent(monkeypatch):
    def fail(*arguments, **options):
        raise PrivLPError("planted")

    monkeypatch.setattr("svm_models.classifiers.dmw.solve", fail)
    svm = sm.DMWSVC(eps=1.0)
    with pytest.raises(PrivLPError, match="planted"):
        svm.fit(X, Y)
    assert svm.privacy_.eps == pytest.approx(0.5, rel=1e-4)


def test_a_seeded_fit_draws_from_one_stream(monkeypatch):
    seen = []
    from svm_models.classifiers import dmw

    original = dmw.solve
    monkeypatch.setattr(dmw, "solve", lambda *a, **k: seen.append(k["rng"]) or original(*a, **k))
    sm.DMWSVC(eps=1.0, random_state=0).fit(X, Y)
    assert isinstance(seen[0], Randomness)
    assert seen[0].seeded
    assert seen[0].generator.bit_generator.state != np.random.default_rng(0).bit_generator.state


def test_no_fit_is_refused_for_its_own_rounding():
    """All of eps is spent, to the last bit: the sum charged must be the sum that was calibrated."""
    rng = np.random.default_rng(0)
    for _ in range(runs(2_000, 300)):
        n = int(rng.integers(1, 60))
        eps, reg, norm = 10 ** rng.uniform([-3, -5, -1], [1.5, 0, 1])
        risk = RegularizedRisk.in_memory(np.zeros((n, 2)), logistic(), reg * norm**2, norm)
        for perturb in (perturb_output, perturb_objective):
            perturb(risk, Account(Ledger(eps, 0.0), Randomness(0)))
