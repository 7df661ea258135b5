"""Private tuning: train each candidate on records of its own, choose by mistakes on others (Sarwate et al. 2009, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from privlp import Budget, InvalidParameterError, InvalidProblemError
from privlp.privacy import ExponentialMechanism, Ledger, PrivacyRecord, Randomness
from svm_models.base import Account, as_rng, open_ledger, two_classes


class PrivateModelSelector(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose among m private classifiers by the mistakes they make on held-out records, at the price of one.

    The records are dealt at random, without regard to what they hold, into m + 1 parts. Candidate i is trained on part i,
    and released with probability proportional to exp(-eps z_i / 2), z_i being its mistakes on the last part.

    *Neighbours*: one record replaced. It lies in one part, and all other parts are as they were. If it trains candidate i,
    the cost is that of candidate i; if it is in the last part, each z_i changes by at most 1 and the exponential mechanism costs
    eps. So the whole costs the dearest of these (parallel composition), not their sum: ``eps`` once if none asks for more.
    Proof: ``docs/proofs.md``, "Private model selection".

    In a pipeline, steps before the classifier must not learn from the records (:class:`RandomFourierFeatures` does not).
    ``GridSearchCV`` around private estimators is not private: it pays for no comparison, and trains on each record many times.

    Parameters
    ----------
    estimators : sequence of private classifiers
        Each with a parameter ``budget`` (its own or, in a pipeline, of its last step). The list must not depend on the records.
    eps : float
        Of the choice, and limit of each candidate, in (0, inf].
    delta : float
        Limit of each candidate.
    classes : pair of labels, optional
        The two labels, where they must not be read from y.
    budget : privlp.Budget, optional
    random_state : None, int or numpy.random.Generator

    Attributes
    ----------
    best_index_ : int
        Which candidate was chosen; released.
    best_estimator_ : classifier
        The candidate, as trained on its part.
    classes_ : (2,) array
    privacy_ : privlp.privacy.PrivacyRecord

    Examples
    --------
    >>> from svm_models import ObjectivePerturbationSVC, PrivateModelSelector, make_separable_sphere
    >>> X, y = make_separable_sphere(9000, random_state=0)
    >>> grid = [ObjectivePerturbationSVC(eps=1.0, reg=reg) for reg in (10.0, 1e-2)]
    >>> tuned = PrivateModelSelector(grid, eps=1.0, random_state=0).fit(X, y)
    >>> tuned.best_estimator_.reg, tuned.score(X, y) > 0.9, round(tuned.privacy_.eps, 6)
    (0.01, True, 1.0)
    """

    def __init__(
        self,
        estimators: Sequence[Any] = (),
        eps: float = 1.0,
        *,
        delta: float = 0.0,
        classes: Any = None,
        budget: Budget | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.eps = eps
        self.delta = delta
        self.classes = classes
        self.budget = budget
        self.random_state = random_state

    privacy_: PrivacyRecord

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Train every candidate on its part and choose one.

        Raises
        ------
        InvalidParameterError
            If there is no candidate, or one is not private or asks for more than (eps, delta).
        InvalidProblemError
            If there are too few records for the parts.
        """
        if unsupported:
            raise InvalidParameterError(f"PrivateModelSelector.fit takes X and y only, not {', '.join(sorted(unsupported))}.")
        candidates = [clone(estimator) for estimator in self.estimators]
        ledger = open_ledger(self.eps, self.delta, self.budget)
        _check(candidates, ledger)
        randomness = Randomness(as_rng(self.random_state))
        X, y = validate_data(self, X, y, accept_sparse="csr")
        self.classes_, _ = two_classes(y, self.classes)
        parts = len(candidates) + 1
        if len(y) < 2 * parts:
            raise InvalidProblemError(f"{len(y)} records are too few for {parts} parts; give at least {2 * parts}.")
        ledgers = ledger.disjoint(parts)
        deal = np.array_split(randomness.generator.permutation(len(y)), parts)
        *_, held_out = deal
        mistakes = np.empty(len(candidates))
        choose = Account(ledgers[-1], randomness).charge(
            ledgers[-1].calibrate(lambda eps: ExponentialMechanism(1.0, eps), 1), "choose a candidate"
        )
        for i, candidate in enumerate(candidates):
            candidate.set_params(**_inside(candidate, ledgers[i], self.classes_, randomness))
            candidate.fit(X[deal[i]], y[deal[i]])
            mistakes[i] = np.count_nonzero(candidate.predict(X[held_out]) != y[held_out])
        self.best_index_ = choose(-mistakes)
        self.best_estimator_ = candidates[self.best_index_]
        self.privacy_ = ledger.record()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """The chosen candidate's decisions, shape (n,)."""
        return self._chosen().decision_function(self._validated(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The chosen candidate's classes, shape (n,)."""
        return self._chosen().predict(self._validated(X))

    def _chosen(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


def _check(candidates: list[Any], ledger: Ledger) -> None:
    if not candidates:
        raise InvalidParameterError("estimators is empty: give private classifiers to choose among.")
    for i, candidate in enumerate(candidates):
        asked = {key.rpartition("__")[2]: value for key, value in candidate.get_params().items()}
        if "budget" not in asked:
            raise InvalidParameterError(
                f"Candidate {i} ({type(candidate).__name__}) has no parameter 'budget', so what it spends cannot be accounted for. "
                "Give private classifiers of svm_models."
            )
        if asked["budget"] is not None:
            raise InvalidParameterError(f"Candidate {i} has a budget of its own; leave it out and give budget to the selector.")
        if asked["eps"] > ledger.eps or asked.get("delta", 0.0) > ledger.delta:
            raise InvalidParameterError(
                f"Candidate {i} asks for eps = {asked['eps']:g}, delta = {asked.get('delta', 0.0):g}, more than the selector's "
                f"({ledger.eps:g}, {ledger.delta:g})."
            )


def _inside(candidate: Any, ledger: Ledger, classes: Any, randomness: Randomness) -> dict[str, Any]:
    """Parameters that a candidate is given here: where to pay, where to draw, and the classes."""
    given = {"budget": ledger, "classes": classes, "random_state": randomness.generator if randomness.seeded else None}
    parameters = candidate.get_params()
    return {key: given[last] for key in parameters if (last := key.rpartition("__")[2]) in given and parameters[key] is None}
