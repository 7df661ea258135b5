"""Every error and warning of privlp: one root, names for what went wrong, messages that say what to do.

Messages carry names, shapes and public numbers. They never carry data.
"""


class PrivLPError(Exception):
    """Root of all errors raised on purpose by privlp."""


class InvalidProblemError(PrivLPError, ValueError):
    """The linear program itself is malformed (shapes, NaN, infinities, contradictory bounds, ...)."""


class InvalidParameterError(PrivLPError, ValueError):
    """A parameter such as ``eps``, ``delta``, ``s`` or ``alpha`` is outside its domain."""


class ReadError(PrivLPError, ValueError):
    """A file or foreign model cannot be read as a linear program."""


class UnsupportedProblemError(PrivLPError, ValueError):
    """The problem is well-formed, but the chosen method cannot solve it; the message names what is missing."""


class BudgetExceededError(PrivLPError, RuntimeError):
    """A charge would take the ledger beyond its (eps, delta). Nothing was drawn and nothing was charged."""


class RelationMismatchError(PrivLPError, ValueError):
    """One ledger was asked to account for two different neighbour relations."""


class MissingDependencyError(PrivLPError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""


class NotPrivateWarning(UserWarning):
    """The parameters are accepted, but the guarantee they give is too weak to be called private."""
