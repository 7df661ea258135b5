"""Noise and its price: mechanisms draw, ledgers and budgets are charged."""

from privlp.privacy.accountant import Accountant as Accountant
from privlp.privacy.budget import Budget as Budget
from privlp.privacy.ledger import Ledger as Ledger
from privlp.privacy.mechanisms import EuclideanLaplaceMechanism as EuclideanLaplaceMechanism
from privlp.privacy.mechanisms import ExponentialMechanism as ExponentialMechanism
from privlp.privacy.mechanisms import GaussianMechanism as GaussianMechanism
from privlp.privacy.mechanisms import GaussianObjectivePerturbation as GaussianObjectivePerturbation
from privlp.privacy.mechanisms import LaplaceMechanism as LaplaceMechanism
from privlp.privacy.mechanisms import LaplaceObjectivePerturbation as LaplaceObjectivePerturbation
from privlp.privacy.mechanisms import Mechanism as Mechanism
from privlp.privacy.mechanisms import ObjectivePerturbation as ObjectivePerturbation
from privlp.privacy.mechanisms import TruncatedGaussianMechanism as TruncatedGaussianMechanism
from privlp.privacy.mechanisms import TruncatedLaplaceMechanism as TruncatedLaplaceMechanism
from privlp.privacy.mechanisms import TruncatedSupNormMechanism as TruncatedSupNormMechanism
from privlp.privacy.mechanisms import WeightedGaussianMechanism as WeightedGaussianMechanism
from privlp.privacy.randomness import ChargedDraws as ChargedDraws
from privlp.privacy.randomness import Randomness as Randomness
from privlp.privacy.randomness import exchanged as exchanged
from privlp.privacy.randomness import price_left as price_left
from privlp.privacy.randomness import price_of as price_of
from privlp.privacy.record import LedgerEntry as LedgerEntry
from privlp.privacy.record import PrivacyRecord as PrivacyRecord
from privlp.privacy.record import Statement as Statement
