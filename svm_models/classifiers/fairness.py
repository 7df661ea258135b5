"""Weights moved until two groups, which are private, are named positive about equally often."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from privlp import InvalidParameterError, InvalidProblemError, MostlyNoiseWarning
from privlp.checks import is_one_of, real, require, shown
from privlp.privacy import ChargedDraws
from privlp.quiet import unquoted
from svm_models.parameters import FloatArray
from svm_models.records.grid import RecordsOnGrid, WhitenedRecords
from svm_models.records.source import RecordSource

KINDS = ("demographic_parity", "equal_opportunity")
#: Shares of squared Gaussian parameters: for the direction between the groups, and for counts.
OF_DIRECTION, OF_COUNTS = 0.04, 0.08
#: Halvings of how far weights are moved; besides, sizes and the gap are counted before and after.
_HALVINGS = 9
COUNTS = _HALVINGS + 3
DIRECTION_PURPOSE = "release the direction between the groups"
COUNTS_PURPOSE = "count the groups, and whom decisions favour"
# A gap is worth a warning if its noise is larger than the tolerance, and than this.
_SMALL_GAP = 0.01
_MEMBERS = "sensitive_features must hold one 0 or 1 for each row: whether its person is of a group."


class Draws(NamedTuple):
    """What was paid for."""

    direction: ChargedDraws
    counts: ChargedDraws


def check(estimator: Any, given: Any) -> None:
    """Refuse parameters that do not go together, before a record is read."""
    fairness = estimator.fairness
    if fairness is None:
        if given is not None:
            raise InvalidParameterError(
                "sensitive_features has no use without fairness='demographic_parity' or"
                " 'equal_opportunity'.",
                parameter="sensitive_features",
            )
        return
    if not is_one_of(fairness, KINDS):
        raise InvalidParameterError(
            "fairness must be None, 'demographic_parity' or 'equal_opportunity', got"
            f" {shown(fairness)}.",
            parameter="fairness",
        )
    tolerance = real(estimator.fairness_tolerance, "fairness_tolerance")
    wrong = f"fairness_tolerance must be in [0, 1), got {tolerance!r}."
    require(0 <= tolerance < 1, wrong, "fairness_tolerance")
    for name, why in (
        ("threshold_share", "buys a threshold that would undo it"),
        ("rows_per_record", "protects persons who own several rows, which it does not yet"),
    ):
        wrong = f"fairness cannot stand beside {name}, which {why}. Leave one of them out."
        require(getattr(estimator, name) is None, wrong, name)
    wrong = f"fairness needs fit(X, y, sensitive_features=...). {_MEMBERS}"
    require(given is not None, wrong, "sensitive_features")


def members_of(given: Any, count: int) -> FloatArray:
    """1 for each record of the group, -1 for each other; what is wrong is said without numbers."""
    found = unquoted(lambda: _numbers(given), _MEMBERS, "sensitive_features")
    if found.shape != (count,) or not np.isin(found, (0.0, 1.0)).all():
        raise InvalidProblemError(_MEMBERS, parameter="sensitive_features")
    return 2 * found - 1


def _numbers(given: Any) -> FloatArray:
    """Of one array, or of one for each block of records."""
    blocks = isinstance(given, list | tuple) and np.ndim(given[0]) == 1
    return np.asarray(np.concatenate([*given]) if blocks else given, dtype=float)


def direction_between(
    X: RecordSource,
    members: FloatArray,
    sizes: FloatArray,
    on_grid: Callable[..., RecordsOnGrid],
    whitened: Callable[..., WhitenedRecords],
    finish: Callable[[Any], FloatArray],
    release: ChargedDraws,
) -> FloatArray:
    """The unit vector between the groups' mean records, in whitened coordinates.

    *Sensitivity*: with r = min(sizes)/size of its group, a released number in [0, 1], a record adds
    r s W x / 2, a vector of norm 1/2 at most. So the sum moves as half of the sum of records does.
    """
    of_group, of_others = (sizes.min() / sizes).tolist()
    rows = X.rows(members).keep(on_grid).keep(partial(whitened, of_classes=(of_others, of_group)))
    total = np.asarray(release(finish(rows.total(WhitenedRecords.centre))))
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-300))


class Groups:
    """Noisy counts of the two groups, and of whom decisions favour.

    *Sensitivity*: a record is in one group at most, and adds 1 or 0 to its count. A replaced one
    may leave one count and enter the other: sqrt 2; one that comes or goes moves one: 1.
    """

    def __init__(self, members: FloatArray, counts: ChargedDraws, tolerance: float) -> None:
        self._of = members > 0, members < 0
        self._counts, self._tolerance = counts, tolerance
        self.sizes = np.maximum(self._count(np.ones(len(members), dtype=bool)), 1.0)
        self._noise = float(counts.sigma * np.sqrt(np.sum(self.sizes**-2.0)))

    def _count(self, who: Any) -> FloatArray:
        return np.asarray(self._counts(np.array([float(np.sum(who & of)) for of in self._of])))

    def _gap(self, decisions: FloatArray) -> float:
        """How much more often the group is named positive, with noise."""
        shares = self._count(decisions > 0) / self.sizes
        return float(shares[0] - shares[1])

    def step(self, decisions: FloatArray, moves: FloatArray, longest: float) -> tuple[float, float]:
        """The least step against `moves` at which the released gap is small; and that gap."""
        if self._noise > max(self._tolerance, _SMALL_GAP):
            warnings.warn(
                f"The gap between the groups is measured with noise of {self._noise:.2g}, more than"
                " fairness_tolerance: a larger eps, or more records of the smaller group, would"
                " help.",
                MostlyNoiseWarning,
                stacklevel=6,
            )
        aim, before = max(self._tolerance - self._noise, 0.0), self._gap(decisions)
        side = math.copysign(1.0, before)
        near, far = 0.0, (longest if abs(before) > aim else 0.0)
        for _ in range(_HALVINGS if far else 0):
            middle = (near + far) / 2
            if side * self._gap(decisions - side * middle * moves) > aim:
                near = middle
            else:
                far = middle
        return side * far, self._gap(decisions - side * far * moves)
