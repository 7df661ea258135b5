"""What a plan thinks of a request, in one word."""

from enum import StrEnum


class Verdict(StrEnum):
    """How good a private solve is expected to be, from public numbers alone.

    Its text begins the advice of a plan.

    Examples
    --------
    >>> import privlp
    >>> privlp.plan(privlp.examples.diet(), eps=1.0, delta=1e-3).verdict
    <Verdict.ROWS_HOLD: 'Only costs are private'>
    >>> Verdict.TOO_FEW_ROWS.worrying, Verdict.ENOUGH_ROWS.worrying
    (True, False)
    """

    ENOUGH_ROWS = "Enough rows for this eps"
    ROUGH = "Rough"
    TOO_FEW_ROWS = "Too few rows for this eps"
    #: Violations are predicted, but what rows typically vary by is not known publicly.
    UNKNOWN = "Unknown"
    #: Only costs are private, so that every row holds; the loss of objective is not predicted.
    ROWS_HOLD = "Only costs are private"
    #: ``feasible="always"``: noise tightens the private numbers, within their declared range.
    NEVER_VIOLATED = "Every row holds, whatever the noise"
    #: ``feasible=p``: numbers are tightened by quantiles of the noise.
    PROBABLY_HOLD = "All rows hold together with the probability asked for"
    #: ``feasible="always"`` or ``feasible=p``: the noise is wider than the declared range.
    TOO_MUCH_NOISE = "Too much noise for the declared range"

    #: An allocation: what noise and reserve take of supplies.
    ENOUGH_SUPPLY = "Enough supply for this eps"
    TOO_LITTLE_SUPPLY = "Too little supply for this eps"

    @property
    def worrying(self) -> bool:
        """Whether an answer may be far off: look at the advice before you rely on it."""
        return self in (
            Verdict.ROUGH,
            Verdict.TOO_FEW_ROWS,
            Verdict.TOO_MUCH_NOISE,
            Verdict.TOO_LITTLE_SUPPLY,
        )
