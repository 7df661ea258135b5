"""Private solvers: a dual player and a private primal player, driven by one loop.

A method is a function from a :class:`~privlp.solvers.task.Task` to a
:class:`~privlp.solvers.game.Solver`. It checks its own requirements, fixes every parameter from
public numbers, and charges the ledger for all of its draws.
"""

from collections.abc import Callable

from privlp.solvers.choice import best_method as best_method
from privlp.solvers.choice import predictions as predictions
from privlp.solvers.direct_noise import direct_noise
from privlp.solvers.dmw import published_dmw, tight_dmw
from privlp.solvers.driver import drive as drive
from privlp.solvers.ftpl import ftpl
from privlp.solvers.game import Solver as Solver
from privlp.solvers.mirror import mirror, mirror_dense
from privlp.solvers.multiplicative_weights import multiplicative_weights
from privlp.solvers.never_violated import (
    published_truncated_laplace,
    truncated_gaussian,
    truncated_laplace,
)
from privlp.solvers.portfolio import mirror_best
from privlp.solvers.prediction import Prediction as Prediction
from privlp.solvers.task import Task as Task

METHODS: dict[str, Callable[[Task], Solver]] = {
    "dmw": tight_dmw,
    "dmw-published": published_dmw,
    "mirror": mirror,
    "mirror-dense": mirror_dense,
    "mirror-best": mirror_best,
    "ftpl": ftpl,
    "mw": multiplicative_weights,
    "direct-noise": direct_noise,
    "truncated-laplace": truncated_laplace,
    "truncated-gaussian": truncated_gaussian,
    "truncated-laplace-published": published_truncated_laplace,
}
