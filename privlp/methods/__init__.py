"""Methods: each plans from public numbers, says what it charges, and runs on the private rows."""

from inspect import isabstract

from privlp.methods.base import ChargeRequest as ChargeRequest
from privlp.methods.base import Method as Method
from privlp.methods.base import PlannedRun as PlannedRun
from privlp.methods.base import Prediction as Prediction
from privlp.methods.chain import Chain as Chain
from privlp.methods.direct_noise import DirectNoise as DirectNoise
from privlp.methods.perturbed import Perturbed as Perturbed
from privlp.methods.published.dmw import DenseMultiplicativeWeights as DenseMultiplicativeWeights
from privlp.methods.published.dmw import PublishedDenseWeights as PublishedDenseWeights
from privlp.methods.published.low_sensitivity import (
    MultiplicativeWeights as MultiplicativeWeights,
)
from privlp.methods.published.low_sensitivity import (
    PublishedTruncatedLaplace as PublishedTruncatedLaplace,
)
from privlp.methods.request import SolveRequest as SolveRequest
from privlp.methods.staged import Staged as Staged
from privlp.methods.tightened import Tightened as Tightened

#: Every method that is imported above, by the name under which users ask for it.
METHODS: dict[str, Method] = {
    found.name: found()
    for found in tuple(vars().values())
    if isinstance(found, type) and issubclass(found, Method) and not isabstract(found)
}

_HINT = ". opt is a hint there: noisy counts say whether it is right"
_CERTAIN = ", which takes the noise that loses less"
#: Names that are gone, and what to take for each.
REPLACED = {
    "staged-at-opt": f"method='staged'{_HINT}",
    "perturbed-at-opt": f"method='perturbed'{_HINT}",
    "mirror": f"method='auto'{_HINT}",
    "mirror-dense": f"method='auto'{_HINT}",
    "mirror-best": f"method='auto'{_HINT}",
    "ftpl": f"method='chain'{_HINT}",
    "truncated-laplace": f"method='tightened' or feasible='always'{_CERTAIN}",
    "truncated-gaussian": f"method='tightened' or feasible='always'{_CERTAIN}",
    "measured-slack": f"method='tightened' or feasible='always'{_CERTAIN}",
    "quantile-noise": "feasible=0.99",
}
