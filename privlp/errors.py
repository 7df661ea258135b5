"""Every error and warning of privlp, under one root. Messages say what to do, and carry no data."""

from __future__ import annotations


class PrivLPError(Exception):
    """Root of all errors raised on purpose by privlp.

    Attributes
    ----------
    parameter : str or None
        Name of the parameter that is at fault, as the function that raised spells it; ``None``
        where there is none, or several.

    Examples
    --------
    >>> import privlp
    >>> try:
    ...     privlp.Budget(eps="1", delta=0)
    ... except privlp.PrivLPError as error:
    ...     str(error), error.parameter
    ('eps must be a number, got str.', 'eps')
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class InvalidProblemError(PrivLPError, ValueError):
    """The linear program itself is malformed (shapes, NaN, infinities, contradictory bounds, ...).

    Examples
    --------
    >>> import privlp
    >>> privlp.LinearProgram(c=[1, 2, 3], A=[[1, 1]], b=[1])
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidProblemError: c has shape (3,), but A asks for (2,): one cost per ...
    """


class InvalidParameterError(PrivLPError, ValueError):
    """A parameter such as ``eps``, ``delta``, ``s`` or ``alpha`` is outside its domain.

    Examples
    --------
    >>> import privlp
    >>> privlp.Budget(eps=-1, delta=0)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: eps must be positive (or inf for no privacy), got -1.0.
    """


class ReadError(PrivLPError, ValueError):
    """A file or foreign model cannot be read as a linear program.

    Examples
    --------
    >>> import privlp
    >>> privlp.LinearProgram.from_mps("no-such-file.mps")
    Traceback (most recent call last):
        ...
    privlp.errors.ReadError: There is no file 'no-such-file.mps'.
    """


class UnsupportedProblemError(PrivLPError, ValueError):
    """The problem is well-formed, but the chosen method cannot solve it.

    The message names what is missing.

    Examples
    --------
    >>> import privlp
    >>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1]], b=[-2])
    >>> privlp.solve(lp, eps=1, delta=1e-6, s=1, opt=2, feasible="always")
    Traceback (most recent call last):
        ...
    privlp.errors.UnsupportedProblemError: feasible must be None here: when a whole constraint ...
    """


class BudgetExceededError(PrivLPError, RuntimeError):
    """A charge would take the ledger beyond its (eps, delta).

    Nothing was drawn and nothing was charged.

    Examples
    --------
    >>> from privlp import Budget, examples, solve
    >>> budget = Budget(eps=1.0, delta=0)
    >>> solve(examples.diet(), eps=2.0, delta=0, budget=budget)
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetExceededError: 1 draw of the Laplace mechanism (noise on costs c) would ...
    >>> budget.spent()
    0.0
    """


class BudgetFileError(PrivLPError, RuntimeError):
    """The file of a budget cannot be used: it is damaged, copied, locked, or no such file.

    Nothing was drawn.

    Examples
    --------
    >>> import privlp
    >>> privlp.Budget.open("no-such-file.budget")
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetFileError: There is no file 'no-such-file.budget'. To make one, ...
    """


class RelationMismatchError(PrivLPError, ValueError):
    """One ledger was asked to account for two different neighbour relations.

    Examples
    --------
    >>> from privlp import Budget, examples, solve
    >>> costs_private, capacities_private = examples.diet(), examples.hospital_capacities()
    >>> budget = Budget(eps=1.0, delta=1e-6)
    >>> _ = solve(costs_private, eps=0.1, delta=0, budget=budget, rng=0)
    >>> solve(capacities_private, eps=0.1, delta=0, budget=budget, rng=0)
    Traceback (most recent call last):
        ...
    privlp.errors.RelationMismatchError: This budget already accounts for 'objective-private: ...
    """


class MissingDependencyError(PrivLPError, ImportError):
    """An optional library is not installed; the message names the extra that brings it.

    Examples
    --------
    >>> import privlp
    >>> try:
    ...     from svm_models import LPSVC  # needs scikit-learn
    ... except privlp.MissingDependencyError as error:
    ...     print(error)
    """


class MissedRowsWarning(UserWarning):
    """By noisy counts, which were paid for, the solution misses more rows than the `s` asked for.

    Or a reader took rows for private, which may be missed, where no data seem to stand.

    Examples
    --------
    One person in five needs what another one forbids:

    >>> import warnings
    >>> from privlp import LinearProgram, solve
    >>> needs = [[-1, -1]] * 800 + [[1, 1]] * 200
    >>> lp = LinearProgram([1, 1], needs, [-1] * 800 + [-2] * 200)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = solve(lp, eps=4.0, delta=1e-6, s=50, method="staged", rng=0)
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    No point was found that misses so few rows: by noisy counts at least ...
    """


class MostlyNoiseWarning(UserWarning):
    """The result tells little of the data: by a prediction from public numbers it is mostly noise.

    Or by what was released: x is where a search ended that met no limit of the program, or draws
    did not bring what they were paid for. The message says which.

    Examples
    --------
    >>> import warnings
    >>> from privlp import LinearProgram, solve
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], bounds=(0, 9))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = solve(lp, eps=1.0, delta=1e-6, s=1, rng=0)
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    Too few rows for this eps: ...
    """


class NotPrivateWarning(UserWarning):
    """The parameters are accepted, but their guarantee is too weak to be called private.

    The warning is also given where the guarantee leaves something unprotected.

    Examples
    --------
    >>> import warnings
    >>> from privlp import examples, solve
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = solve(examples.hospital_capacities(), eps=1.0, delta=0.5, rng=0)
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    delta = 0.5 is at least 1/n = 0.0833333: publishing one whole record at random would ...
    """


class PublicPointWarning(UserWarning):
    """Rows hold as promised, but x was taken from public numbers, in whole or in part.

    HiGHS failed, or rounding errors could not be repaired.

    Examples
    --------
    >>> import privlp
    >>> issubclass(privlp.PublicPointWarning, UserWarning)
    True
    """
