"""Methods: each plans from public numbers, says what it charges, and runs on the private rows."""

from privlp.methods.base import ChargeRequest as ChargeRequest
from privlp.methods.base import Method as Method
from privlp.methods.base import PlannedRun as PlannedRun
from privlp.methods.chain import Chain
from privlp.methods.direct_noise import DirectNoise
from privlp.methods.dmw import DenseMultiplicativeWeights
from privlp.methods.ftpl import FollowThePerturbedLeader
from privlp.methods.measured_slack import MeasuredSlack
from privlp.methods.mirror import Mirror, MirrorDense
from privlp.methods.mirror_best import MirrorBest
from privlp.methods.multiplicative_weights import MultiplicativeWeights
from privlp.methods.never_violated import TruncatedGaussian, TruncatedLaplace
from privlp.methods.perturbed import Perturbed
from privlp.methods.prediction import Prediction as Prediction
from privlp.methods.published.dmw import PublishedDenseMultiplicativeWeights
from privlp.methods.published.truncated_laplace import PublishedTruncatedLaplace
from privlp.methods.quantile_noise import QuantileNoise
from privlp.methods.staged import Staged
from privlp.methods.task import Task as Task

#: Every method, by the name under which users ask for it.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        DenseMultiplicativeWeights(),
        PublishedDenseMultiplicativeWeights(),
        Mirror(),
        MirrorDense(),
        MirrorBest(),
        Staged(),
        FollowThePerturbedLeader(),
        Perturbed(),
        Chain(),
        MultiplicativeWeights(),
        DirectNoise(),
        QuantileNoise(),
        # It competes only where it does better than the next two: of equals the first is taken.
        MeasuredSlack(),
        TruncatedLaplace(),
        TruncatedGaussian(),
        PublishedTruncatedLaplace(),
    )
}

#: Names that are gone, and the method that took over.
REPLACED = {"staged-at-opt": "staged", "perturbed-at-opt": "perturbed"}
