"""Cross-validated test error of noisy classifiers, resumable and in parallel. **Not private**."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from tqdm import tqdm

from privlp import InvalidParameterError, InvalidProblemError
from svm_models.classifiers.base import LinearBinaryClassifier
from svm_models.classifiers.losses import PROBES, MarginLoss
from svm_models.parameters import FloatArray
from svm_models.records.validation import as_labels
from svm_models.selection import PrivateModelSelector


@dataclass(frozen=True)
class CrossValidation:
    """Test errors of one classifier. **Not private**: computed from held-out records without noise.

    Where one class is rare, a classifier that never names it has a small error. Balanced accuracy
    and the area under the curve tell it from one that finds the class.

    Attributes
    ----------
    errors : (folds, repeats) array
        Share of test records classified wrongly.
    balanced : (folds, repeats) array, optional
        Balanced accuracy: the mean over the classes of the share that is found; 1/2 by guessing.
    auc : (folds, repeats) array, optional
        Area under the receiver operating characteristic: the share of pairs, a positive and a
        negative record, that the decisions order rightly; 1/2 by guessing. NaN without decisions,
        or where a test fold has one class only.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import CrossValidation
    >>> result = CrossValidation(errors=np.array([[0.1], [0.2], [0.3]]))
    >>> print(result)
    0.2000 ± 0.0577
    >>> round(result.mean, 3), round(result.standard_error, 3)
    (0.2, 0.058)
    >>> CrossValidation(np.array([[0.1], [0.1]]), auc=np.array([[0.9], [0.8]])).said("auc")
    '0.8500 ± 0.0500'
    """

    errors: FloatArray
    balanced: FloatArray | None = None
    auc: FloatArray | None = None

    @property
    def mean(self) -> float:
        """Mean over folds and repeats."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over folds, each fold averaged over its repeats."""
        return _standard_error(self.errors)

    def said(self, score: str = "errors") -> str:
        """Mean and standard error of ``"errors"``, ``"balanced"`` or ``"auc"``; a dash without it.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import CrossValidation
        >>> CrossValidation(np.array([[0.1], [0.3]])).said("balanced")
        '–'
        """
        numbers = getattr(self, score)
        if numbers is None or np.isnan(numbers).any():
            return "–"
        return f"{numbers.mean():.4f} ± {_standard_error(numbers):.4f}"

    def __str__(self) -> str:
        return self.said()


def _labels(y: Any) -> npt.NDArray[Any]:
    """Labels in one array; an error quotes none."""
    found = np.asarray(as_labels(y))
    if found.ndim != 1:
        raise InvalidProblemError("y must hold one label for each row of X.", parameter="y")
    return found


def _standard_error(numbers: FloatArray) -> float:
    folds = numbers.mean(axis=1)
    return float(folds.std(ddof=1) / np.sqrt(len(folds)))


def held_out_scores(fitted: Any, X: Any, y: npt.ArrayLike) -> dict[str, float | None]:
    """Error, balanced accuracy and area under the curve on held-out records. **Not private**."""
    y = _labels(y)
    decided = fitted.decision_function(X) if hasattr(fitted, "decision_function") else None
    positive = y == fitted.classes_[1]
    return _scores(fitted.predict(X) == y, y, positive, decided)


def scores_of_decisions(decisions: FloatArray, positive: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The same scores for decisions, positive for a positive record. **Not private**."""
    return _scores((decisions > 0) == positive, positive, positive, decisions)


def _scores(
    right: npt.NDArray[np.bool_],
    y: npt.NDArray[Any],
    positive: npt.NDArray[np.bool_],
    decisions: FloatArray | None,
) -> dict[str, float | None]:
    labels, auc = np.unique(y), None
    if decisions is not None and len(labels) == 2:
        auc = float(roc_auc_score(positive, decisions))
    return {
        "error": float(np.mean(~right)),
        "balanced": float(np.mean([right[y == label].mean() for label in labels])),
        "auc": auc,
    }


class ResultStore:
    """A file of finished measurements, one JSON line each.

    An interrupted run goes on where it stopped. Several processes may add to one file. What another
    process added is seen by whoever opens it afterwards.

    Parameters
    ----------
    path : path
        Created with its folder if absent. A line cut short by an interruption or a full disk
        counts as not done.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from svm_models import ResultStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ResultStore(pathlib.Path(folder, "results.jsonl")).add({"eps": 1.0, "fold": 3}, 0.17)
    ...     store = ResultStore(pathlib.Path(folder, "results.jsonl"))  # the next run
    >>> {"eps": 1.0, "fold": 3} in store, store[{"eps": 1.0, "fold": 3}]
    (True, 0.17)
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._known = dict(self._lines())

    def __contains__(self, settings: dict[str, Any]) -> bool:
        return _key(settings) in self._known

    def __getitem__(self, settings: dict[str, Any]) -> Any:
        return self._known[_key(settings)]

    def add(self, settings: dict[str, Any], result: Any) -> None:
        """Keep a finished measurement.

        Raises
        ------
        OSError
            If the file cannot take it; then it is not kept.

        Examples
        --------
        >>> import json, pathlib, tempfile
        >>> from svm_models import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "results.jsonl")
        ...     ResultStore(path).add({"eps": 1.0, "fold": 3}, 0.17)
        ...     json.loads(path.read_text())
        ['{"eps": 1.0, "fold": 3}', 0.17]
        """
        key, path = _key(settings), os.fspath(self._path)
        line = json.dumps([key, result]).encode() + b"\n"
        try:
            # One call writes a line, so those of several processes do not mix.
            with self._path.open("ab+", buffering=0) as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else b"\n" + line  # it was cut short
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        self._known[key] = result

    def _lines(self) -> Iterator[tuple[str, Any]]:
        exists = self._path.exists()
        for line in self._path.read_text(errors="replace").splitlines() if exists else ():
            try:
                key, result = json.loads(line)
            except (ValueError, TypeError):
                continue
            yield key, result


def cross_validate(
    classifiers: dict[str, Any],
    X: Any,
    y: npt.ArrayLike,
    *,
    folds: int = 10,
    repeats: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    store: ResultStore | None = None,
    name: str = "",
) -> dict[str, CrossValidation]:
    """Test error, balanced accuracy and area under the curve of each classifier on the same folds.

    **Not private**: for choosing among methods on public data. All private classifiers must have
    one neighbour relation.

    Parameters
    ----------
    classifiers : dict
        Name to estimator. Those with a ``random_state``, their own or that of a step, are trained
        `repeats` times on each fold, each time with a seed of its own, the others once.
    X, y
        All records. Classifiers of this package without ``classes`` are told the two labels in y.
    folds, repeats : int
    random_state : int
        Of the split and of the repeats: the same for all classifiers, so that differences are
        paired.
    n_jobs : int, optional
        Parallel processes, as in joblib.
    progress : bool
        Show a progress bar.
    store : ResultStore, optional
        Finished fits are kept there and not run again.
    name : str
        Name of the data in the store; another data set or preprocessing needs another name.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from svm_models import HuberSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(300, random_state=0)
    >>> classifiers = {"fixed": DummyClassifier(), "huber": HuberSVC(reg=1e-3)}
    >>> found = cross_validate(classifiers, X, y, folds=5)
    >>> found["huber"].mean < 0.1 < found["fixed"].mean
    True
    """
    y = _labels(y)
    if not isinstance(classifiers, dict) or not classifiers:
        raise InvalidParameterError(
            "classifiers must be a dict of name to estimator, with one at least.",
            parameter="classifiers",
        )
    if repeats < 1:
        raise InvalidParameterError(
            f"repeats must be at least 1, got {repeats!r}.", parameter="repeats"
        )
    _require_one_relation(classifiers.values())
    splits = list(KFold(folds, shuffle=True, random_state=random_state).split(X))
    wanted: list[dict[str, Any]] = [
        {
            "data": name,
            "model": type(model).__name__,
            "parameters": _plain_parameters(model),
            "classifier": key,
            "split": (folds, random_state, len(y)),
            "fold": fold,
            "repeat": repeat,
        }
        for fold in range(folds)
        for key, model in classifiers.items()
        for repeat in range(repeats if _named(model, "random_state") else 1)
    ]
    found = {
        _key(settings): store[settings]
        for settings in wanted
        if store is not None and settings in store and isinstance(store[settings], dict)
    }
    missing = [settings for settings in wanted if _key(settings) not in found]
    runs = (
        delayed(_one_fit)(classifiers[s["classifier"]], X, y, splits[s["fold"]], s) for s in missing
    )
    finished: Iterable[tuple[dict[str, Any], dict[str, float | None]]] = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered"
    )(runs)
    bar = tqdm(finished, total=len(missing), disable=not progress, unit="fit")
    try:
        for settings, scores in bar:
            if store is not None:
                store.add(settings, scores)
            found[_key(settings)] = scores
    except BaseException as fault:
        kept = "in the store; the same call goes on from there"
        fate = "lost; a store would have kept them" if store is None else kept
        ended = f"cross_validate ended after {len(found)} of {len(wanted)} fits"
        fault.add_note(f"{ended}, which are {fate}.")
        raise
    fits: dict[str, list[list[Any]]] = {key: [[] for _ in range(folds)] for key in classifiers}
    for settings in wanted:
        fits[settings["classifier"]][settings["fold"]].append(found[_key(settings)])

    def all_of(of_one: list[list[Any]], score: str) -> FloatArray:
        return np.array([[fit[score] for fit in fold] for fold in of_one], dtype=float)

    return {
        key: CrossValidation(*(all_of(of_one, score) for score in ("error", "balanced", "auc")))
        for key, of_one in fits.items()
    }


def _named(model: Any, name: str) -> dict[str, Any]:
    """The model's parameters of this name and, in a pipeline, those of its steps."""
    return {k: v for k, v in model.get_params().items() if k.rpartition("__")[2] == name}


def _require_one_relation(classifiers: Iterable[Any]) -> None:
    """Refuse to compare results under different neighbour relations."""
    relations = {r for model in classifiers for r in _named(model, "relation").values()}
    if len(relations) > 1:
        raise InvalidParameterError(
            "The classifiers protect records under different relations"
            f" ({', '.join(sorted(map(str, relations)))}), and the same eps promises different"
            " things. Compare those of one relation at a time.",
            parameter="classifiers",
        )


def _plain_parameters(model: Any) -> dict[str, Any]:
    """What a store holds of parameters: the same in every run, unlike an address in a repr."""

    def plain(value: Any) -> Any:
        if isinstance(value, MarginLoss):
            slopes = hashlib.sha256(value.slope(PROBES).tobytes()).hexdigest()[:16]
            return f"{value.name} loss, slopes {slopes}"
        return value if isinstance(value, str | int | float | bool | None) else repr(value)

    left_out = {**_named(model, "random_state"), **_named(model, "budget")}
    return {k: plain(v) for k, v in model.get_params().items() if k not in left_out}


def _one_fit(
    model: Any, X: Any, y: npt.NDArray[Any], split: tuple[Any, Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, float | None]]:
    train, test = split
    place = [settings["fold"], settings["repeat"], settings["split"][1]]
    seed = int(np.random.SeedSequence(place).generate_state(1)[0])
    fitted = clone(model)
    seeds = dict.fromkeys(_named(fitted, "random_state"), seed)
    fitted.set_params(**seeds, **_undeclared_classes(fitted, y))
    fitted.fit(_safe_indexing(X, train), y[train])
    return settings, held_out_scores(fitted, _safe_indexing(X, test), y[test])


def _undeclared_classes(model: Any, y: npt.NDArray[Any]) -> dict[str, Any]:
    """The classes of all records, for classifiers that would read them from those of a fold."""
    parameters, classes = model.get_params(), np.unique(y)
    kinds = LinearBinaryClassifier | PrivateModelSelector
    return {
        name: classes
        for name, value in _named(model, "classes").items()
        if len(classes) == 2
        and value is None
        and isinstance(parameters.get(name.rpartition("__")[0], model), kinds)
    }


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
