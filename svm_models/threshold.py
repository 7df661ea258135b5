"""A private threshold: where to cut released decisions, so that both classes are found alike.

With few positives a classifier of small error flags almost nobody. Its decisions may still rank
well. So the threshold is chosen apart, by balanced accuracy, for a share of eps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.privacy import ExponentialMechanism, LaplaceMechanism
from svm_models.account import Account
from svm_models.neighbours import Neighbours

FloatArray = npt.NDArray[np.float64]

#: Share of the threshold's eps that counts the classes; the rest chooses.
_SHARE_OF_THE_COUNTS = 0.25
#: Candidates on each side of zero, and the least beside the largest possible decision.
_EACH_SIDE, _LEAST = 48, 10**-2.5


def private_threshold(
    decisions: FloatArray,
    signs: FloatArray,
    reach: float,
    account: Account,
    neighbours: Neighbours,
) -> float:
    """The decision above which records are positive: of about the best balanced accuracy.

    Candidates are 0 and +-g reach for a geometric grid of g up to 1. Noisy counts n_+ and n_- of
    the classes weigh the classes; a candidate's score is the number of true positives times n_-
    plus that of true negatives times n_+, both over the larger of the two: n_+ n_- times twice the
    balanced accuracy, but for a factor.

    *Sensitivity.* Decisions are those of released weights, each of one record. A record is in one
    class, and adds a number in [0, 1] to each score. If it comes or goes, one of the two counts
    moves by 1, and the scores all rise, or all fall, by at most 1. If it is replaced, the number of
    positives moves by 1 (the negatives are the others of n), and the changes of scores span 2. Half
    of the span is what the exponential mechanism takes, plus the rounding of the scores. All of the
    account is charged at once: the mechanism that chooses does not depend on the counts. Proof:
    ``docs/proofs.md``, "A threshold for balanced accuracy".

    Parameters
    ----------
    decisions : (n,) array
        x·w of records of norm data_norm at most and released weights w.
    reach : float
        ||w||_2 data_norm: no decision is larger. Released.
    """
    ledger = account.ledger
    counts = LaplaceMechanism.of_eps(1.0, _SHARE_OF_THE_COUNTS * ledger.eps)
    half_span = neighbours.moved / 2 + neighbours.most * 2.0**-50
    choice = ledger.calibrate(
        lambda eps: ExponentialMechanism(half_span, eps), 1, together_with=[counts]
    )
    release, choose = account.charge_together(
        [(counts, 1, "count the classes"), (choice, 1, "choose a threshold")]
    )
    negative, positive = np.sort(decisions[signs < 0]), np.sort(decisions[signs > 0])
    if neighbours.moved == 2:
        positives = float(release(float(len(positive))))
        noisy = np.array([neighbours.n - positives, positives])
    else:
        noisy = np.asarray(release(np.array([len(negative), len(positive)], dtype=float)))
    weights = np.maximum(noisy, 1.0)[::-1] / max(float(noisy.max()), 1.0)
    grid = reach * np.geomspace(_LEAST, 1.0, _EACH_SIDE)
    thresholds = np.concatenate([-grid[::-1], [0.0], grid])
    below = np.searchsorted(negative, thresholds, side="right")
    above = len(positive) - np.searchsorted(positive, thresholds, side="right")
    return float(thresholds[choose(weights[0] * below + weights[1] * above)])
