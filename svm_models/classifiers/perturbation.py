"""Output and objective perturbation of regularised risk minimisers.

Published by Chaudhuri, Monteleoni and Sarwate (2011), corrected here. Between neighbours k = 2
records move (one is replaced) or k = 1 (one comes or goes; n is nominal). Where one person owns r
records, r times as many do, and the factor below is taken to the power of r. ||x_i||_2 <= R,
abs(loss') <= c, loss'' <= q; a minimiser is computed to a gradient of norm g, and every guarantee
covers that error.

*Output perturbation.* Minimisers are within kcR/(n reg), the computed ones within (kcR/n + 4g)/reg.

*Objective perturbation.* b·w/n is added. Between neighbours b moves by at most kcR, and the
Jacobians' determinants differ by a factor of at most 1 + qR^2/(n reg): *one* such factor, because
both Hessians share the other records (the sources pay for two). The computed minimiser gets noise
to cover g.

Proofs: ``docs/proofs.md``, "Output perturbation", "Objective perturbation".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from privlp import privacy
from svm_models import whitening
from svm_models.account import Account, Neighbours
from svm_models.classifiers.risk import RegularizedRisk
from svm_models.parameters import FloatArray
from svm_models.records.grid import RecordGrid

#: Share of eps that covers the error of the computed minimiser in objective perturbation.
SHARE_OF_THE_CERTIFICATE = 0.01
#: Largest share of eps that may go to the change of curvature before regularisation is added.
_SHARE_OF_THE_CURVATURE = 1 / 16


def perturb_output(risk: RegularizedRisk, account: Account) -> FloatArray:
    """Minimise, then add noise: pure eps if the ledger's delta is 0, else Gaussian."""
    risk.require_certifiable()
    risk, ledger = risk.allowing_for_rounding(), account.ledger
    noise = privacy.EuclideanLaplaceMechanism if ledger.delta == 0 else privacy.GaussianMechanism
    sensitivity = (risk.moved * _slope(risk) / risk.shape[0] + 2 * risk.error) / risk.reg
    mechanism = ledger.calibrate(lambda eps: noise(sensitivity, sensitivity / eps), 1)
    release = account.charge(mechanism, "perturb the minimiser")
    return np.asarray(release(risk.minimise()))


def perturb_objective(
    risk: RegularizedRisk, account: Account, *, add_regularization: bool = True, refuse: bool = True
) -> FloatArray:
    """Minimise a perturbed objective: pure eps if the ledger's delta is 0, else Gaussian.

    Regularisation is raised until the curvature costs no more than a sixteenth of eps; for logistic
    loss and pure eps, nothing (``docs/results/scm_tables.md``). A `reg` still too small to certify
    the minimiser is raised too, unless it is to `refuse`.
    """
    risk, (cover, draw) = _planned(
        risk, account, add_regularization=add_regularization, refuse=refuse
    )
    perturbed = replace(risk, linear=draw(np.zeros(risk.shape[1])) / risk.shape[0])
    return np.asarray(cover(perturbed.minimise()))


def perturb_whitened_objective(
    risk: RegularizedRisk, account: Account, *, refuse: bool = True
) -> FloatArray:
    """Minimise a perturbed objective in coordinates in which the records are alike all around.

    *Privacy.* Second moments are released for a tenth of the squared Gaussian parameters. Given
    them, a record becomes another one of norm 1 at most by itself: what follows is objective
    perturbation for R = 1. All is charged before the first draw; noise levels are functions of
    public numbers. With W the whitening matrix, w = W v. Proof: ``docs/proofs.md``, "Objective
    perturbation", Whitened.
    """
    p, ledger = risk.shape[1], account.ledger
    ways, owned = risk.moved // risk.owned, risk.owned
    neighbours = Neighbours(risk.shape[0], risk.most or risk.shape[0], ways, owned)
    once = whitening.noise_of_one_sum(ledger, neighbours)
    ridge = whitening.ridge_of(whitening.noise_beside_a_mean(neighbours.n, p, once.sigma))
    error = whitening.error_of_a_record(p, whitening.spread_of(ridge))
    sensitivity = neighbours.moved_moments
    noise_of_moments = once.sigma / neighbours.moved / math.sqrt(whitening.SHARE_OF_MOMENTS)
    moments = privacy.GaussianMechanism(sensitivity, sensitivity * noise_of_moments)
    of_norm_1 = replace(risk, data_norm=whitening.NORM + error)
    before = [(moments, 1, whitening.PURPOSE)]
    inner, (release, cover, draw) = _planned(of_norm_1, account, refuse=refuse, before=before)
    grid = RecordGrid.of(neighbours.most)
    kernel = partial(whitening.moments_of, unit=risk.data_norm, grid=grid)
    released = whitening.second_moments(risk.rows, kernel, grid, release)
    whiten, _ = whitening.whitening(released / neighbours.n, ridge)
    noisy = math.isfinite(ledger.eps)
    short = partial(whitening.shortened, unit=risk.data_norm, whiten=whiten, shorten=noisy)
    rows = risk.rows.keep(short)
    linear = draw(np.zeros(p)) / neighbours.n
    v = cover(replace(inner, rows=rows, linear=linear).minimise())
    return np.asarray(whiten @ v) / risk.data_norm


def _planned(
    risk: RegularizedRisk,
    account: Account,
    *,
    add_regularization: bool = True,
    refuse: bool,
    before: Sequence[tuple[privacy.Mechanism, int, str]] = (),
) -> tuple[RegularizedRisk, list[privacy.ChargedDraws]]:
    """Charge the draws `before`, the cover and the perturbation; the risk that they are for."""
    ledger = account.ledger
    pure = ledger.delta == 0
    if add_regularization:
        risk = replace(risk, reg=max(risk.reg, enough_regularization(risk, ledger.eps, pure=pure)))
    if not refuse:
        risk = replace(risk, reg=max(risk.reg, risk.least_reg))
    risk.require_certifiable()
    noise = privacy.EuclideanLaplaceMechanism if pure else privacy.GaussianMechanism
    share = SHARE_OF_THE_CERTIFICATE * ledger.eps
    intensity = share if pure else min(share, math.sqrt(share))
    covering = _covering(noise, risk, intensity)
    perturbing = ledger.calibrate(
        lambda eps: _perturbing(risk, eps, pure=pure),
        1,
        together_with=[*(mechanism for mechanism, _, _ in before), covering],
    )
    # A tolerance larger by a power of two: the price of covering it stays the same to the last bit.
    risk = risk.allowing_for_rounding(_most_noise(risk, perturbing))
    cover = _covering(noise, risk, intensity), 1, "cover the error of the computed minimiser"
    drawn = perturbing, 1, "perturb the objective"
    return risk, account.charge_together([*before, cover, drawn])


def _perturbing(
    risk: RegularizedRisk, intensity: float, *, pure: bool
) -> privacy.ObjectivePerturbation | privacy.GaussianObjectivePerturbation:
    """The noise of a linear term with so many sensitivities to a scale."""
    sensitivity = risk.moved * _slope(risk)
    if pure:
        cost = _pure_curvature_cost(risk, intensity / risk.moved)
        return privacy.ObjectivePerturbation(sensitivity, sensitivity / intensity, cost)
    scale, cost = sensitivity / intensity, curvature_cost(risk)
    one_sided, parts = risk.loss.one_sided, risk.moved
    return privacy.GaussianObjectivePerturbation(sensitivity, scale, cost, one_sided, parts)


def enough_regularization(risk: RegularizedRisk, eps: float, *, pure: bool) -> float:
    """The regularisation at which the curvature costs a sixteenth of eps, or nothing."""
    if pure and risk.loss.logistic_curvature:
        slope = (1 - SHARE_OF_THE_CERTIFICATE) * eps / risk.moved * (1 - 1e-9)
        return 4 * _curvature(risk) / slope
    return _curvature(risk) / math.expm1(min(_SHARE_OF_THE_CURVATURE * eps / risk.owned, 700.0))


def _pure_curvature_cost(risk: RegularizedRisk, slope: float) -> float:
    """What the curvature adds to the price of the noise: 2·slope where a record is replaced.

    `slope` is c R over the noise's scale. With logistic curvature a record of slope p c (0 <= p <=
    1) has curvature 4 q p (1 - p) at most. So the loss is at most slope (if a second record leaves)
    plus the maximum over p of f(p) = slope·p + ln(1 + k p (1 - p)), k = 4 q R^2/(n reg). f is
    concave and f'(1) = slope - k: where k <= slope the maximum is f(1) = slope, and the curvature
    costs nothing. Records of one person add up.
    """
    if not risk.loss.logistic_curvature:
        return curvature_cost(risk)
    k = 4 * _curvature(risk) / risk.reg
    if k <= slope:
        return 0.0
    # f'(p) = 0 is slope k p^2 - (slope - 2) k p - (slope + k) = 0; either form of its root loses no
    # digits where it is used.
    middle, root = (slope - 2) * k, math.sqrt((slope**2 + 4) * k**2 + 4 * slope**2 * k)
    p = (middle + root) / (2 * slope * k) if middle > 0 else 2 * (slope + k) / (root - middle)
    of_one = max(0.0, slope * (p - 1) + math.log1p(k * p * (1 - p)))
    return risk.owned * of_one * (1 + 1e-12)


def _covering(
    noise: type[privacy.EuclideanLaplaceMechanism | privacy.GaussianMechanism],
    risk: RegularizedRisk,
    intensity: float,
) -> privacy.EuclideanLaplaceMechanism | privacy.GaussianMechanism:
    """Noise for a computed minimiser's error: given the exact one, two are within 2 error/reg."""
    error = 2 * risk.error / risk.reg
    return noise(error, error / intensity)


def curvature_cost(risk: RegularizedRisk) -> float:
    """What the change of curvature costs: ln(1 + q R^2 / (n reg)) for each record of a person."""
    return risk.owned * math.log1p(_curvature(risk) / risk.reg)


def eps_for_noise(risk: RegularizedRisk, eps: float) -> float:
    """What is left of a pure `eps` for the noise in an objective without added regularisation."""
    return eps * (1 - SHARE_OF_THE_CERTIFICATE) - curvature_cost(risk)


def _most_noise(
    risk: RegularizedRisk,
    perturbing: privacy.ObjectivePerturbation | privacy.GaussianObjectivePerturbation,
) -> float:
    """Bound on the linear term over n: 4 (p + 16) scales, and what it moves between neighbours.

    Noise exceeds so many scales with a probability below e^-64, which is charged as a chance. The
    term is drawn to within sqrt(p) 2^-40 of the scale, so it is off by at most 2^-42 of this bound.
    """
    scale = (
        perturbing.sigma
        if isinstance(perturbing, privacy.GaussianObjectivePerturbation)
        else perturbing.scale
    )
    n, p = risk.shape
    return (4 * (p + 16) * scale + perturbing.sensitivity) / n


def _slope(risk: RegularizedRisk) -> float:
    """Bound c R on the gradient of one record's loss."""
    return risk.loss.slope_bound * risk.data_norm


def _curvature(risk: RegularizedRisk) -> float:
    """Bound q R^2 / n on the curvature of one record's share of the mean loss."""
    return risk.loss.curvature_bound * risk.data_norm**2 / risk.shape[0]
