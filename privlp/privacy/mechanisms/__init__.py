"""Mechanisms: the only place that draws noise to protect a record."""

from privlp.privacy.mechanisms.additive import (
    EuclideanLaplaceMechanism as EuclideanLaplaceMechanism,
)
from privlp.privacy.mechanisms.additive import GaussianMechanism as GaussianMechanism
from privlp.privacy.mechanisms.additive import HasGenerator as HasGenerator
from privlp.privacy.mechanisms.additive import LaplaceMechanism as LaplaceMechanism
from privlp.privacy.mechanisms.additive import Mechanism as Mechanism
from privlp.privacy.mechanisms.additive import (
    WeightedGaussianMechanism as WeightedGaussianMechanism,
)
from privlp.privacy.mechanisms.selection import ExponentialMechanism as ExponentialMechanism
from privlp.privacy.mechanisms.selection import (
    GaussianObjectivePerturbation as GaussianObjectivePerturbation,
)
from privlp.privacy.mechanisms.selection import (
    LaplaceObjectivePerturbation as LaplaceObjectivePerturbation,
)
from privlp.privacy.mechanisms.selection import ObjectivePerturbation as ObjectivePerturbation
from privlp.privacy.mechanisms.truncated import (
    TruncatedGaussianMechanism as TruncatedGaussianMechanism,
)
from privlp.privacy.mechanisms.truncated import (
    TruncatedLaplaceMechanism as TruncatedLaplaceMechanism,
)
from privlp.privacy.mechanisms.truncated import (
    TruncatedSupNormMechanism as TruncatedSupNormMechanism,
)
