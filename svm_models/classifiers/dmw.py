"""The LP-SVM by private dense multiplicative weights: Algorithm 3 of van der Reijden (2019).

Proof: ``docs/proofs.md``, "Dense multiplicative weights for support vector machines".
"""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from privlp import InvalidParameterError, MostlyNoiseWarning, Solution, solve
from privlp.checks import positive, real, require, require_one_of
from privlp.game.loop import MOST_ROUNDS, as_rounds
from privlp.methods.published import dmw
from privlp.privacy import LaplaceMechanism
from svm_models.account import Account, Neighbours, adds_or_removes, counts
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.classifiers.linear_programs import hard_margin_lp, soft_margin_lp
from svm_models.classifiers.perturbation import perturb_objective
from svm_models.classifiers.risk import RegularizedRisk, huber
from svm_models.parameters import MOST_SIZE, REG, FloatArray, finite, share, within
from svm_models.records import signed
from svm_models.records.grid import MOST_RECORDS

# Beyond these, rounds are without number, or costs differ too much for a simplex.
_ALPHA, _PRICE, _RADIUS = (1e-4, 1e14), (1e-4, 1e4), (1e-30, 1e15)
#: Under which names users ask for a method, and its variant with the count score.
_METHODS = {
    "dmw": (dmw.DenseMultiplicativeWeights, dmw.CountScore),
    "dmw-published": (dmw.PublishedDenseWeights, dmw.PublishedCountScore),
}


@dataclass(eq=False, repr=False)
class DMWSVC(PrivateLinearClassifier):
    """Linear-programming SVM trained by private dense multiplicative weights.

    It selects among the vertices of ||w||_1 = radius. Each round selects one feature and sign,
    +-radius e_j, by the exponential mechanism, against dual weights on the records; w is the
    average of the selections. With ``eps=inf`` the best vertex is taken: the non-private (argmax)
    algorithm.

    With s near n the dual weights hardly move, and one feature is selected throughout: the sign of
    that feature is the classifier (``docs/results/thesis.md``). A smaller s selects more
    features, with more noise. The rounds of ``"dmw-published"`` grow with the square of the radius,
    to tens of thousands where it is bought at a small eps.

    *Neighbours*: one record replaced. *Budget*: one ledger. With ``radius=None`` the share
    `radius_share` of eps buys it, as the 1-norm of a Huber SVM trained by objective perturbation
    (pure eps; for ``form="soft"`` half of the share, the other half buying the sum of its hinge
    losses by Laplace noise: a record's hinge loss lies in [0, 1 + ||w||_2 R]). All that is left
    goes to the selections, whose sensitivity is derived in ``privlp.methods.published.dmw``. A
    given radius costs nothing and must be public.

    Parameters
    ----------
    eps : float
        In (0, inf].
    delta : float
        In [0, 1), well below 1/n.
    s : float
        Density of the dual weights: a share of the records if below 1, else their number. Where
        their number is bought, an `s` beyond it, or less than one record, is moved to it.
    alpha : float, optional
        Accuracy, which sets the number of rounds, as in :func:`privlp.solve`; ``None`` lets
        ``"dmw"`` choose. With ``"dmw-published"`` it is required, counts in units of the margin,
        and is lowered to 9 (data_norm radius + 1) if above. Where the radius is bought, it is
        raised to what 10,000,000 rounds reach, if below: nothing is refused after it was paid for.
        An alpha that a radius of 1/data_norm would not allow is refused before.
    score : {"distance", "count"}
        How vertices are scored: weighted sum of margins, or weight of the records whose margin is
        at least 1 - phi. (The name is also that of a method; read the parameter by
        ``get_params()``.)
    phi : float
        Tolerance of the count score.
    radius : float, optional
        Public ||w||_1 (``form="soft"``: public value of ||w||_1 + C sum_i xi_i).
    method : {"dmw", "dmw-published"}
        Tight constants, or the published ones.
    form : {"hard", "soft"}
        ``"soft"`` keeps one slack variable for each record: 2p + n vertices.
    C : float
        Price of a unit of slack, for ``form="soft"``.
    radius_share : float
        Share of eps that buys the radius, in (0, 1).
    reg : float
        Regularisation of the SVM behind the radius.
    relation : {"replace", "add-remove"}
        As for :class:`PrivateLPSVC`, but the second halves the noise behind a bought radius only:
        selections have the same sensitivity either way. ``form="soft"`` has a variable for each
        record, and is refused.
    nominal_n : int, optional
        As for :class:`PrivateLPSVC`; a share `s` is one of it.
    data_norm, X_bounds, fit_intercept, classes, budget, random_state, rows_per_record
        As for :class:`PrivateLPSVC`.
    threshold_share : float, optional
        As for :class:`PrivateLPSVC`.

    Attributes
    ----------
    coef_, intercept_, classes_, privacy_
        As for :class:`PrivateLPSVC`.
    radius_ : float
        Given, or bought.
    solution_ : privlp.Solution
        The private solve. ``solution_.trace["selected"]`` holds the columns selected, w_plus
        first, then w_minus.

    Examples
    --------
    >>> from svm_models import DMWSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(4000, random_state=0)
    >>> svm = DMWSVC(eps=1.0, delta=1e-6, radius=20.0, classes=(-1, 1), random_state=0).fit(X, y)
    >>> svm.score(X, y) > 0.8, float(abs(svm.coef_).sum()) <= 20.0 + 1e-9
    (True, True)
    """

    eps: float = 1.0
    delta: float = 1e-6
    s: float = 0.75
    alpha: float | None = None
    score: str = "distance"  # type: ignore[assignment]
    phi: float = 0.0
    radius: float | None = None
    method: str = "dmw"
    _: KW_ONLY
    form: str = "hard"
    C: float = 1.0
    radius_share: float = 0.5
    reg: float = 1e-3
    class_weight: Any = field(default=None, init=False)
    radius_: float = field(init=False)
    solution_: Solution = field(init=False)

    #: How the later calls are planned depends on the radius.
    _plans_several_calls = True

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Examples
        --------
        >>> from svm_models import DMWSVC
        >>> DMWSVC(score="count", phi=0.1).get_params()["score"]
        'count'
        """
        return {**super().get_params(deep), "score": self.__dict__["score"]}

    def _train_privately(
        self, X: Any, signs: FloatArray, account: Account, neighbours: Neighbours
    ) -> FloatArray:
        n, p = neighbours.n, X.shape[1]
        s = self._density(n)
        if self.alpha is not None and self.radius is None and not counts(self):
            # No alpha may be too small for the least radius at which margins of 1 are possible.
            factor, size = self._rounds(n, s, 1 / self._prepare.norm)
            as_rounds(factor, size / self.alpha, self.alpha)
        lp = (
            hard_margin_lp(X, signs, neighbours=neighbours.relation)
            if self.form == "hard"
            else soft_margin_lp(X, signs, self.C).changed(neighbours=neighbours.relation)
        )
        self.radius_ = (
            self._buy_radius(X, signs, account, neighbours)
            if self.radius is None
            else float(self.radius)
        )
        left = account.ledger.eps
        if self.radius is None:  # a hair less, so that sums of parts do not exceed eps by rounding
            left = left * (1 - self.radius_share) * (1 - 1e-12)
        published = self.method == "dmw-published"
        by_distance, by_count = _METHODS[self.method]
        counting = self.get_params()["score"] == "count"
        alpha = self.alpha
        if published and alpha is not None:
            alpha = min(alpha, 9 * (self._entry_bound() * self.radius_ + 1) * (1 - 1e-9))
        if alpha is not None and self.radius is None:
            factor, size = self._rounds(n, s, self.radius_)
            alpha = max(alpha, size * math.sqrt(factor / MOST_ROUNDS) * (1 + 1e-9))
        # A verdict on rows says little of the accuracy of a classifier.
        with warnings.catch_warnings(action="ignore", category=MostlyNoiseWarning):
            self.solution_ = solve(
                lp,
                left,
                account.ledger.delta,
                s=s,
                alpha=alpha,
                opt=self.radius_,
                method=by_count(float(self.phi)) if counting else by_distance(),
                width=(self._entry_bound(), 1.0) if published else None,
                budget=account.budget,
                rng=account.randomness,
            )
        x = self.solution_.x
        assert x is not None  # noqa: S101 (no time limit was given)
        return np.asarray(x[:p] - x[p : 2 * p])

    def _entry_bound(self) -> float:
        return max(self._prepare.norm, 1.0) if self.form == "soft" else self._prepare.norm

    def _check_parameters(self, p: int) -> None:  # noqa: ARG002
        words = {"score": ("distance", "count"), "method": _METHODS, "form": ("hard", "soft")}
        parameters = self.get_params()  # `score` is a method too
        for name, allowed in words.items():
            require_one_of(parameters[name], name, allowed)
        if self.form == "soft" and adds_or_removes(self.relation):
            raise InvalidParameterError(
                "form='soft' has a variable for each record, which shows their number. Take"
                " form='hard' with relation='add-remove'.",
                parameter="form",
            )
        finite(real(self.phi, "phi"), "phi", MOST_SIZE)
        wrong = f"s must be at most {MOST_RECORDS:,}, the largest number of records."
        require(positive(self.s, "s") <= MOST_RECORDS, wrong, "s")
        if self.alpha is not None:
            within(self.alpha, "alpha", *_ALPHA)
        within(self.C, "C", *_PRICE)
        within(self.reg, "reg", *REG)
        if self.radius is not None:
            within(self.radius, "radius", *_RADIUS)
        share(self.radius_share, "radius_share")
        if self.method == "dmw-published" and self.delta == 0 and math.isfinite(self.eps):
            raise InvalidParameterError(
                "delta must be positive: the published composition formula divides by ln(1/delta).",
                parameter="delta",
            )
        wrong = "alpha is missing: method='dmw-published' takes its number of rounds from alpha."
        require(self.method != "dmw-published" or self.alpha is not None, wrong, "alpha")

    def _rounds(self, n: int, s: float, radius: float) -> tuple[float, float]:
        """A factor and a size: factor (size/alpha)^2 rounds are enough for alpha."""
        vertex = radius / (min(1.0, self.C) if self.form == "soft" else 1.0)
        if self.method == "dmw-published":
            return 36 * math.log(n), self._entry_bound() * vertex + 1
        return 8 * math.log(n / s), vertex / math.sqrt(2)

    def _density(self, n: int) -> float:
        """The density s as a number of records; where those were bought, moved to the nearest."""
        if counts(self):
            return min(max(self.s * n if self.s < 1 else float(self.s), 1.0), float(n))
        if not positive(self.s, "s") <= n or (self.s < 1 and self.s * n < 1):
            raise InvalidParameterError(
                f"s must be a share of the records below 1, at least 1/{n} here, or a number of"
                f" records from 1 to {n}; got {self.s!r}.",
                parameter="s",
            )
        return self.s * n if self.s < 1 else float(self.s)

    def _buy_radius(
        self, X: Any, signs: FloatArray, account: Account, neighbours: Neighbours
    ) -> float:
        """The 1-norm of a private Huber SVM; for the soft form also C times its noisy losses."""
        soft = self.form == "soft"
        eps = account.ledger.eps * self.radius_share / (2 if soft else 1)

        def one_call() -> Account:
            return replace(account, ledger=account.budget.ledger(eps, 0.0))

        M = signed(X, signs)
        risk = RegularizedRisk.in_memory(M, huber(), self.reg, self._prepare.norm)
        risk = risk.between(neighbours)
        w = perturb_objective(risk, one_call(), refuse=not counts(self))
        radius = float(np.abs(w).sum())
        if soft:
            losses = _noisy_hinge_losses(risk, w, one_call())
            radius += self.C * max(0.0, losses)
        return radius


# The field's name for how vertices are scored is also scikit-learn's name for a method; both must
# work.
DMWSVC.score = property(  # type: ignore[assignment]
    PrivateLinearClassifier.score.__get__,
    lambda model, rule: model.__dict__.update(score=rule),
    doc="Mean accuracy on (X, y), as in scikit-learn; assigning sets how vertices are scored.",
)


def _noisy_hinge_losses(risk: RegularizedRisk, w: FloatArray, account: Account) -> float:
    """The sum of the hinge losses of released weights, with Laplace noise.

    Each lies in [0, 1 + ||w||_2 data_norm], those of a person add up; the sensitivity
    allows for rounding all margins one way.
    """
    n, p = risk.shape  # n is public: a soft program has a variable for each record
    sensitivity = 1 + float(np.linalg.norm(w)) * risk.data_norm
    sensitivity *= risk.owned * (1 + 2.0**-51 * n * (p + 8))
    noise = LaplaceMechanism.of_eps(sensitivity, account.ledger.eps)
    add_noise = account.charge(noise, "sum of hinge losses, for the radius")
    return float(add_noise(math.fsum(risk.rows.map(_hinge_losses, w))))


def _hinge_losses(M: Any, w: FloatArray) -> float:
    """The sum of the hinge losses of a block of signed records."""
    return math.fsum(np.maximum(0.0, 1 - M @ w))
