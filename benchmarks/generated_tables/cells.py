"""One measurement: a player on a program at an eps."""

from __future__ import annotations

import math
import time
import warnings
from functools import lru_cache
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

import privlp
from benchmarks.families.generated import GENERATED
from benchmarks.families.instance import Instance
from privlp.privacy.mechanisms import additive

EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0), 1e-6
#: So large that three values of eps would add nothing but time.
LARGE = {"covering with many rows": (1.0,)}

AUTO, UNKNOWN = "auto, opt given", "auto, nothing known"
NOISELESS, LONG = "no noise", "no noise, more rounds"
PLAYERS = (AUTO, UNKNOWN)
_DESCENT = "staged"

Cell = dict[str, Any]
Result = dict[str, Any] | None


@lru_cache(maxsize=2)
def _instance(family: str, seed: int) -> Instance:
    return GENERATED[family](seed)


def measure(cell: Cell) -> Result:
    """What a player leaves on a program; None where it does not apply.

    Returns
    -------
    dict
        signed : the (s+1)-th largest violation in units of the program (``Instance.unit``).
        per_norm : the same of rows divided by their norms.
        cost : objective over the optimum.
        method, rounds, seconds : which method ran, its rounds, and CPU seconds.
    """
    instance = _instance(cell["family"], cell["seed"])
    player, eps = cell["player"], cell["eps"]
    given = None if player == UNKNOWN else instance.opt  # computed before the clock starts
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            solution = _solved(instance, player, eps, given, cell["seed"])
        except privlp.UnsupportedProblemError:
            return None
        seconds = time.process_time() - start
    if solution.x is None:
        return None
    signed, per_norm = violations(instance, solution.x)
    return {
        "signed": signed,
        "per_norm": per_norm,
        "cost": instance.lp.objective(solution.x) / instance.opt,
        "method": solution.method,
        "rounds": solution.iterations,
        "seconds": seconds,
    }


def _solved(
    instance: Instance, player: str, eps: float, opt: float | None, seed: int
) -> privlp.Solution:
    def solve(method: str, eps: float = eps) -> privlp.Solution:
        return privlp.solve(instance.lp, eps, DELTA, instance.s, opt=opt, method=method, rng=seed)

    if player == NOISELESS:
        # Planned for eps, and nothing is added to what is released: for measuring only.
        with mock.patch.object(additive, "rounded_sum", _exactly):
            return solve(_DESCENT)
    if player == LONG:
        return solve(_DESCENT, math.inf)
    return solve("auto")


def _exactly(value: Any, *_: Any, **__: Any) -> np.ndarray:
    return np.array(value, dtype=float)


def violations(instance: Instance, x: np.ndarray) -> tuple[float, float]:
    """The (s+1)-th largest violation of a private row, signed: by unit, and by row norm."""
    lp, rank = instance.lp, (instance.s or 0) + 1
    private = lp.private
    A = sp.csr_array(lp.A)[private]
    activity = A @ x
    over = np.maximum(activity - lp.b[private], lp.row_lower[private] - activity)
    norms = np.sqrt(np.asarray(A.power(2).sum(axis=1)).ravel())
    scaled = over / np.where(norms > 0, norms, 1.0)
    signed, per_norm = (float(np.partition(v, -rank)[-rank]) for v in (over, scaled))
    return signed / instance.unit, per_norm


def epsilons(family: str, asked: tuple[float, ...] = EPSILONS) -> tuple[float, ...]:
    """The eps at which a family is measured."""
    return tuple(eps for eps in LARGE.get(family, asked) if eps in asked)
