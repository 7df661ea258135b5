"""How a solve ended."""

from enum import StrEnum


class Status(StrEnum):
    """Outcome of :func:`privlp.solve` and :func:`privlp.solve_exact`.

    ``OPTIMAL`` is said only of a certified optimum and ``COMPLETED`` only of a private solve that
    played all its rounds; nothing that stopped at a limit is called a success.

    Examples
    --------
    >>> from privlp import Status
    >>> Status.COMPLETED.success, Status.TIME_LIMIT.success, str(Status.TIME_LIMIT)
    (True, False, 'time limit')
    """

    OPTIMAL = "optimal"
    COMPLETED = "completed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    NUMERICAL_ERROR = "numerical error"

    @property
    def success(self) -> bool:
        """Whether the result is what was asked for."""
        return self in (Status.OPTIMAL, Status.COMPLETED)
