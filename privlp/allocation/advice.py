"""What a plan of an allocation says in words, from public numbers."""

from __future__ import annotations

import math

from privlp.allocation.losses import Losses
from privlp.allocation.sizes import Sizes
from privlp.verdict import Verdict


def advice_of(
    verdict: Verdict,
    sizes: Sizes,
    eps: float,
    feasible: float | None,
    kept: float,
    share: float,
    losses: Losses,
    closed: int,
) -> str:
    """The verdict in words, with what would be enough.

    `kept` is the reserve, or where there is none the noise, in the user's units.
    """
    if math.isinf(eps):
        return "Without noise: NOT PRIVATE."
    if feasible is not None:
        reserve = (
            f"a reserve of {kept:.3g} of each supply, {share:.0%} of all, is kept"
            f" back, so that all supplies hold together with probability {feasible:g}"
        )
    else:
        reserve = (
            f"there is no reserve, and the use of each supply varies by {kept:.3g} (one standard"
            f" deviation), {share:.0%} of all supplies"
        )
    words = (
        f"{verdict}: {reserve}. By trials, at most about {losses.spread:.0%} of the best total"
        f" value is lost where wishes spread over the supplies, {losses.crowded:.0%} where they"
        " crowd on a few."
    )
    if closed:
        words += f" {closed} of {len(sizes.supplies)} supplies are not above the reserve: unused."
    if verdict is not Verdict.ENOUGH_SUPPLY:
        words += f" To lose about a tenth, {_enough(sizes, eps, losses)}."
    return words


def _enough(sizes: Sizes, eps: float, losses: Losses) -> str:
    """Supplies, or an eps, with which about a tenth is lost."""

    def either(supply: float, factor: float) -> str:
        return (
            f"supplies of {supply * sizes.unit:.3g} each would do, or an eps of about"
            f" {_two_digits(eps * factor)}"
        )

    crowded = either(losses.supply, losses.factor)
    if losses.factor_if_spread <= 1:
        return f"these supplies do where wishes spread; where they crowd, {crowded}"
    spread = either(losses.supply_if_spread, losses.factor_if_spread)
    if spread == crowded:
        return crowded
    return f"{spread}, where wishes spread; where they crowd, {crowded}"


def _two_digits(number: float) -> str:
    """Two digits, rounded up."""
    if not 0 < number < math.inf:
        return "inf"
    step = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / step) * step:.3g}"
