"""The method that ``"auto"`` stands for: the one of the least error predicted from public numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.relations import ConstraintPrivate
from privlp.solvers.direct_noise import predict_direct_noise
from privlp.solvers.dmw import predict_tight_dmw
from privlp.solvers.ftpl import predict_ftpl
from privlp.solvers.mirror import predict_mirror, predict_mirror_dense
from privlp.solvers.multiplicative_weights import predict_multiplicative_weights
from privlp.solvers.never_violated import (
    narrower_noise,
    predict_published_truncated_laplace,
    predict_truncated_gaussian,
    predict_truncated_laplace,
)
from privlp.solvers.portfolio import predict_mirror_best
from privlp.solvers.prediction import Prediction
from privlp.solvers.task import Task
from privlp.solvers.value_search import is_range

PREDICTIONS: Mapping[str, Callable[[Task], Prediction]] = {
    "dmw": predict_tight_dmw,
    "mirror": predict_mirror,
    "mirror-dense": predict_mirror_dense,
    "mirror-best": predict_mirror_best,
    "ftpl": predict_ftpl,
    "mw": predict_multiplicative_weights,
    "direct-noise": predict_direct_noise,
    "truncated-laplace": predict_truncated_laplace,
    "truncated-gaussian": predict_truncated_gaussian,
    "truncated-laplace-published": predict_published_truncated_laplace,
}
#: What ``"auto"`` takes, and in that order if nothing is predicted. Whether ``"mirror"`` or
#: ``"mirror-dense"`` is the better one depends on private rows, which ``"mirror-best"`` asks at a
#: price.
_CANDIDATES = ("mirror-best", "dmw", "ftpl")


def predictions(
    task: Task, available: Sequence[str]
) -> tuple[dict[str, Prediction], dict[str, PrivLPError]]:
    """Predictions of the methods that apply to a task, and why others do not; nothing is spent."""
    found: dict[str, Prediction] = {}
    reasons: dict[str, PrivLPError] = {}
    for method in available:
        if method in PREDICTIONS:
            try:
                found[method] = PREDICTIONS[method](task)
            except (UnsupportedProblemError, InvalidParameterError) as error:
                reasons[method] = error
    return found, reasons


def in_short(reasons: Mapping[str, object]) -> list[str]:
    """Why methods do not apply, in a sentence each; methods of one reason together."""
    methods: dict[str, list[str]] = {}
    for method, reason in reasons.items():
        methods.setdefault(str(reason).split(". ", 1)[0].rstrip(".") + ".", []).append(method)
    return [f"{', '.join(names)}: {reason}" for reason, names in methods.items()]


def best_method(task: Task, available: Sequence[str]) -> str:
    """The method of the least predicted error among those of the task's neighbour relation.

    Raises
    ------
    UnsupportedProblemError
        If none applies, and why.
    """
    candidates = _candidates(task, available)
    if len(candidates) == 1:
        return candidates[0]
    found, reasons = predictions(task, candidates)
    if "mw" in reasons:
        return "direct-noise"
    if not found:
        if len({str(reason) for reason in reasons.values()}) == 1:
            raise reasons[candidates[0]]
        cause = reasons.pop(candidates[-1])  # of the method that asks least of the region
        raise UnsupportedProblemError(
            " ".join(["No method applies.", str(cause), *in_short(reasons)])
        )
    # HiGHS costs many times the time of closed formulas: it is for regions that have none.
    closed = [method for method in found if method != "ftpl"] or list(found)
    return min(closed, key=lambda method: found[method].violation)


def _candidates(task: Task, available: Sequence[str]) -> tuple[str, ...]:
    if isinstance(task.relation, ConstraintPrivate):
        task.density(), task.accuracy()  # refused here as anywhere, whichever method is taken
        if task.lp.penalty is not None:
            return ("mirror",)
        return ("mirror", "ftpl") if task.opt is None or is_range(task.opt) else _CANDIDATES
    if "direct-noise" not in available:  # rows that are never violated
        return (narrower_noise(task),)
    if "mw" not in available:
        return tuple(available[:1])
    task.accuracy()
    return (
        ("direct-noise",) if task.opt is None or task.split is not None else ("mw", "direct-noise")
    )
