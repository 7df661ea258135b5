"""Private tuning by Algorithm 3 of Sarwate, Chaudhuri and Monteleoni (2009)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from privlp import Budget, InvalidParameterError, InvalidProblemError
from privlp.checks import IntArray, require
from privlp.privacy import ExponentialMechanism, Randomness
from privlp.quiet import unnoticed
from svm_models import account as accounts
from svm_models.around_fits import INSTEAD, fit, last_of, warn_if_repeated, warn_of_unpaid_steps
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.classifiers.classes import declared_classes, two_classes, warn_of_read_classes
from svm_models.classifiers.meta import PrivateMetaClassifier
from svm_models.parameters import LEAST_EPS_OF_SEVERAL, privacy, share
from svm_models.records.columns import kept_rows


@dataclass(frozen=True)
class RecordParts:
    """The parts of the records: one for each candidate, or one for all; the last is held out."""

    candidates: int
    held_out: float | None

    @property
    def parts(self) -> int:
        return self.candidates + 1 if self.held_out is None else 2

    @property
    def of_one_part(self) -> float:
        """How many times as many records there are as in the part of a candidate."""
        return self.parts if self.held_out is None else 1 / (1 - self.held_out)

    def sharing(self, classifiers: list[Any]) -> list[Any]:
        """Those that are trained on one part, and share its eps; then none has a fallback."""
        if self.held_out is None:
            return [None]
        for one in classifiers:
            if one is not None and "fallback" in one.get_params():
                one.set_params(fallback=False)
        return classifiers or [None]

    def require_enough(self, count: int, *, adding: bool) -> None:
        """Refuse too few persons; not where their number is private."""
        if count < 2 * self.parts and not adding:
            raise InvalidProblemError(
                f"{count} records are too few for {self.parts} parts; give at least"
                f" {2 * self.parts}."
            )

    def persons(
        self, count: int, generator: np.random.Generator, *, adding: bool
    ) -> list[IntArray]:
        """The persons of each part; where one may come or go each is dealt apart from others."""
        share = self.held_out
        if not adding:
            cuts = self.parts if share is None else [count - max(1, round(share * count))]
            return np.array_split(generator.permutation(count), cuts)
        if share is None:
            part_of = generator.integers(self.parts, size=count)
        else:
            part_of = (generator.random(count) < share).astype(np.int64)
        return [np.flatnonzero(part_of == part) for part in range(self.parts)]


#: Least nominal number of a part, which then is of the right order; and how many times the nominal
#: number of records there may be in all.
_LEAST_OF_A_PART, _MOST_TIMES = 8, 2


@dataclass(eq=False, repr=False)
class PrivateModelSelector(PrivateMetaClassifier):
    """Choose among m private classifiers by their mistakes on held-out records.

    It costs as much as one of them. The records are dealt at random, without regard to what they
    hold, into m + 1 parts. Candidate i is trained on part i, and released with probability
    proportional to exp(-eps z_i / 2), z_i being its mistakes on the last part.

    *Neighbours*: one record replaced. It lies in one part, and all other parts are as they were. If
    it trains candidate i, the cost is that of candidate i; if it is in the last part, each z_i
    changes by at most 1 and the exponential mechanism costs eps. So the whole costs the dearest of
    these (parallel composition), not their sum: ``eps`` once if none asks for more. With
    ``relation="add-remove"`` each record is dealt to a part by a draw of its own, so that no other
    record moves when it comes or goes; the z_i then all grow, or all fall, by at most 1, and the
    choice is released with probability proportional to exp(-eps z_i). Proof: ``docs/proofs.md``,
    "Private model selection".

    With `validation_fraction` all candidates are trained on the same records, all but that share,
    and compared on the others. They share eps, as those of :class:`PrivateOneVsRestClassifier` do:
    of m candidates that make Gaussian draws only (:class:`PrivateLPSVC`) each has sqrt(m) times the
    noise, but about m times the records of its part above.

    ``GridSearchCV`` around private estimators is not private: it pays for no comparison, and trains
    on each record many times. Cross-validation on one budget was no better than one split
    (``docs/guides/train-a-private-svm.md``).

    Parameters
    ----------
    estimators : sequence of private classifiers
        Private classifiers of this package, or pipelines that end in one: steps that learn from
        records, such as a scaler, are refused; :class:`RandomFourierFeatures` and scikit-learn's
        ``FunctionTransformer``, with a function of each row by itself, are not. The list must not
        depend on the records. A candidate whose `eps` or `delta` has the default value of its class
        takes the selector's instead; another value is kept, and must not exceed the selector's.
    eps : float
        Of the choice and of each candidate, in (0, inf].
    delta : float
        Of each candidate.
    classes : pair of labels, optional
        The two labels, public. ``None`` reads them from y, which no budget pays for: a warning
        says so.
    budget, random_state, relation, rows_per_record
        As for the classifiers; candidates take them from here. With `groups` persons are dealt to
        parts, with all of their rows that are kept; without, `rows_per_record` is refused.
    validation_fraction : float, optional
        Share of the records on which candidates are compared, in (0, 1), 0.2 for instance; all of
        them are trained on the others. They are compared already, so their `fallback` is left out.
        ``None``: each candidate is trained on a part of its own.
    nominal_n : int, optional
        For ``"add-remove"``: a public number near the number of all records, which is at most twice
        as large. Candidates get their share of it, at least 8. ``None``: each candidate buys a
        noisy count of its part.

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
    >>> grid = [ObjectivePerturbationSVC(reg=reg) for reg in (10.0, 1e-2)]  # eps: the selector's
    >>> tuned = PrivateModelSelector(grid, eps=0.8, classes=(-1, 1), random_state=0).fit(X, y)
    >>> tuned.best_estimator_.reg, tuned.score(X, y) > 0.9, round(tuned.privacy_.eps, 6)
    (0.01, True, 0.8)
    """

    estimators: Sequence[Any] = ()
    eps: float = 1.0
    _: KW_ONLY
    delta: float = 0.0
    validation_fraction: float | None = None

    _last = "best_estimator_"

    def fit(self, X: Any, y: Any, groups: Any = None, **unsupported: Any) -> Self:
        """Train every candidate on its part and choose one; `groups` as for the classifiers.

        Examples
        --------
        >>> from svm_models import PrivateLPSVC, PrivateModelSelector, make_separable_sphere
        >>> X, y = make_separable_sphere(3000, random_state=0)
        >>> tuned = PrivateModelSelector([PrivateLPSVC()], delta=1e-6, classes=(-1, 1)).fit(X, y)
        >>> tuned.best_index_, round(tuned.privacy_.eps, 6)
        (0, 1.0)
        """
        self._begin(unsupported)
        candidates = [clone(estimator) for estimator in _listed(self.estimators)]
        held_out = self.validation_fraction
        held_out = None if held_out is None else share(held_out, "validation_fraction")
        split = RecordParts(len(candidates), held_out)
        eps, delta = privacy(self.eps, self.delta, least=LEAST_EPS_OF_SEVERAL)
        each, ledger = self._split(split.sharing([*map(_classifier, candidates)]), eps, delta)
        neighbours, rows = accounts.accounted(self), accounts.rows_of(self)
        adding = accounts.adds_or_removes(self.relation)
        if rows > 1 and groups is None:
            raise InvalidParameterError(
                f"groups is missing: with rows_per_record={rows} all rows of one person must go to"
                " one part. Say by groups whose each row is.",
                parameter="groups",
            )
        limit = each | self._of_candidates(split)
        _check(candidates, limit)
        for candidate in map(_classifier, candidates):
            candidate.set_params(**_inherited(candidate, limit))
        randomness = accounts.randomness_of(self.random_state)
        warn_of_read_classes(self.classes, self.eps)
        # As the candidates will, who must have nothing left to refuse.
        X, y, owners = self._read(X, y, groups, map(_classifier, candidates))
        self.classes_, _ = two_classes(y, self.classes)
        _check_classes(candidates, self.classes_)
        for candidate in candidates:  # others may have more columns after their steps
            linear = isinstance(candidate, PrivateLinearClassifier)
            if linear and not isinstance(candidate.X_bounds, Mapping):
                clone(candidate)._refuse_parameters(self.classes_, X.shape[1])
        accounts.require_nominal(len(y), self.nominal_n, times=_MOST_TIMES)
        count = len(y) if owners is None else int(owners.max(initial=-1)) + 1
        split.require_enough(count, adding=adding)
        warn_if_repeated(self, eps, delta)
        warn_of_unpaid_steps(self, eps)
        ledgers = ledger.disjoint(split.parts)
        parts = split.persons(count, randomness.generator, adding=adding)
        if owners is not None:
            kept = kept_rows(owners, rows, randomness.generator)
            parts = [kept[np.isin(owners[kept], persons)] for persons in parts]
        choice = ledgers[-1].ledger(eps, delta)
        # Half the span of the changes of all mistakes: they all rise, or all fall, if one comes.
        sensitivity = rows * (0.5 if adding else 1.0)
        choosing = choice.calibrate(lambda eps: ExponentialMechanism(sensitivity, eps), 1)
        words = accounts.relation_in_words(self)
        choose = accounts.Account(choice, randomness, words, neighbours).charge(
            choosing, "choose a candidate"
        )

        def some(rows: IntArray) -> tuple[Any, Any]:
            return _safe_indexing(X, rows), y[rows]

        try:
            mistakes = [
                self._mistakes(
                    candidate, ledgers[part], randomness, some(parts[part]), some(parts[-1])
                )
                for i, candidate in enumerate(candidates)
                for part in [i if split.held_out is None else 0]
            ]
        finally:
            # A part is charged for its own records alone: nobody may fit on others through it.
            for part in ledgers:
                part.close()
            self.privacy_ = ledger.record()
        self.best_index_ = choose(-np.array(mistakes, dtype=float))
        self.best_estimator_ = candidates[self.best_index_]
        return self

    def _of_candidates(self, split: RecordParts) -> dict[str, Any]:
        """What candidates take from here, beside eps and delta."""
        nominal, least = self.nominal_n, _LEAST_OF_A_PART * split.parts
        if nominal is not None and nominal < least:
            raise InvalidParameterError(
                f"nominal_n={nominal} is too small for {split.parts} parts; give at least {least},"
                " or fewer candidates.",
                parameter="nominal_n",
            )
        return {
            "relation": self.relation,
            "rows_per_record": self.rows_per_record,
            "nominal_n": nominal
            and accounts.PartOfNominal.of(nominal, split.of_one_part, times=_MOST_TIMES),
        }

    def _mistakes(
        self, candidate: Any, part: Budget, randomness: Randomness, train: Any, test: Any
    ) -> int:
        """Train the candidate on its part; how many records of the last part it gets wrong."""
        read = self.classes is None or isinstance(self.classes, accounts.ReadClasses)
        classes = accounts.ReadClasses(self.classes_) if read else self.classes_
        given = {"budget": part, "classes": classes, "random_state": randomness}
        before = candidate.get_params()
        mine = {
            key: given[last]
            for key in before
            if (last := key.rpartition("__")[2]) in given and before[key] is None
        }
        candidate.set_params(**mine)
        try:
            with unnoticed():
                fit(candidate, *train)
                if not len(test[1]):
                    return 0
                return int(np.count_nonzero(candidate.predict(test[0]) != test[1]))
        finally:
            candidate.set_params(**dict.fromkeys(mine))

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """The chosen candidate's decisions, shape (n,).

        Examples
        --------
        >>> from svm_models import PrivateLPSVC, PrivateModelSelector, make_separable_sphere
        >>> X, y = make_separable_sphere(3000, random_state=0)
        >>> tuned = PrivateModelSelector([PrivateLPSVC()], delta=1e-6, classes=(-1, 1)).fit(X, y)
        >>> tuned.decision_function(X[:2]).shape
        (2,)
        """
        X = self._validated(X)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        X = self._validated(X)
        return self.best_estimator_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _listed(estimators: Any) -> list[Any]:
    """The candidates, whatever they are, if it is a list of estimators."""
    candidates = list(estimators) if isinstance(estimators, Sequence) else [None]
    if not all(
        hasattr(one, "fit") and hasattr(one, "get_params") and not isinstance(one, type)
        for one in candidates
    ):
        raise InvalidParameterError(
            "estimators must be a list of private classifiers, such as PrivateLPSVC().",
            parameter="estimators",
        )
    return candidates


def _check(candidates: Sequence[Any], limit: dict[str, Any]) -> None:
    """Refuse candidates that are not private, or ask for more than the limit's eps and delta."""
    require(
        candidates, "estimators is empty: give private classifiers to choose among.", "estimators"
    )
    for i, candidate in enumerate(candidates):
        classifier = _classifier(candidate)
        if classifier is None:
            raise InvalidParameterError(
                f"Candidate {i} ({type(candidate).__name__}) may learn from records without paying."
                f" Give private classifiers of svm_models, or pipelines that end in one.{INSTEAD}",
                parameter="estimators",
            )
        if getattr(classifier, "fairness", None) is not None:
            raise InvalidParameterError(
                f"Candidate {i} sets fairness, which needs the groups of records: the selector does"
                " not ask for them. Leave it out, and fit the choice again with fairness.",
                parameter="estimators",
            )
        require(
            classifier.budget is None,
            f"Candidate {i} has a budget of its own; leave it out and give budget to the selector.",
            "estimators",
        )
        asked = {name: getattr(classifier, name) for name in limit}
        asked |= _inherited(classifier, limit)
        for name in ("relation", "rows_per_record"):
            if asked[name] != limit[name]:
                raise InvalidParameterError(
                    f"Candidate {i} has {name}={asked[name]!r}, the selector {limit[name]!r}. Leave"
                    f" it out and give {name} to the selector.",
                    parameter="estimators",
                )
        if asked["eps"] > limit["eps"] or asked["delta"] > limit["delta"]:
            raise InvalidParameterError(
                f"Candidate {i} asks for eps = {asked['eps']:g}, delta = {asked['delta']:g},"
                f" more than the selector's ({limit['eps']:g}, {limit['delta']:g}).",
                parameter="estimators",
            )
        if isinstance(classifier, PrivateModelSelector):
            _check(classifier.estimators, asked)
        elif classifier._needs_delta and asked["eps"] < math.inf and not asked["delta"] > 0:
            raise InvalidParameterError(
                f"Candidate {i} ({type(classifier).__name__}) adds Gaussian noise, which needs"
                " delta > 0. Give the selector a delta, say"
                f" delta={_default(classifier, 'delta')}.",
                parameter="delta",
            )


def _inherited(classifier: Any, limit: dict[str, Any]) -> dict[str, Any]:
    """What a candidate takes from the selector: a default says nothing of what was wanted."""
    return {
        name: value
        for name, value in limit.items()
        if getattr(classifier, name) == _default(classifier, name)
    }


def _default(classifier: Any, name: str) -> Any:
    """The default of a parameter of the classifier's class."""
    return signature(type(classifier)).parameters[name].default


def _check_classes(candidates: list[Any], classes: npt.NDArray[Any]) -> None:
    """Refuse other classes than the selector's, before a candidate is charged."""
    for i, candidate in enumerate(candidates):
        declared = _classifier(candidate).classes
        if declared is not None and not np.array_equal(declared_classes(declared), classes):
            raise InvalidParameterError(
                f"Candidate {i} declares other classes than the selector has; leave them out and"
                " give classes to the selector.",
                parameter="estimators",
            )


def _classifier(candidate: Any) -> Any:
    """The private classifier that a candidate is, or ends in after harmless steps; else None."""
    last = last_of(candidate)
    return last if isinstance(last, PrivateLinearClassifier | PrivateModelSelector) else None
