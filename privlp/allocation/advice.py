"""What a plan of an allocation says in words, from public numbers."""

from __future__ import annotations

import math

from privlp.allocation.sizes import Sizes
from privlp.verdict import Verdict

#: Up to this share of all supplies kept back, nine tenths of the best total value were reached in
#: trials, or nearly so; beyond it a plan is rough.
ROUGH = 0.07


def advice_of(
    verdict: Verdict,
    sizes: Sizes,
    eps: float,
    feasible: float | None,
    noise: float,
    lost: float,
    share: float,
    closed: int,
) -> str:
    """The verdict in words, with what would be enough."""
    if math.isinf(eps):
        return "Without noise: NOT PRIVATE."
    if feasible is not None:
        kept = (
            f"a reserve of {lost * sizes.unit:.3g} of each supply, {share:.0%} of all, is kept"
            f" back, so that all supplies hold together with probability {feasible:g}"
        )
    else:
        kept = (
            f"there is no reserve, and the use of each supply varies by {noise:.3g} (one standard"
            f" deviation), {share:.0%} of all supplies"
        )
    words = (
        f"{verdict}: {kept}. Of the best total value about this share is lost, to twice as much."
    )
    if closed:
        words += f" {closed} of {len(sizes.supplies)} supplies are not above the reserve: unused."
    if verdict is not Verdict.ENOUGH_SUPPLY:
        words += (
            f" To lose a tenth, supplies of {lost * sizes.unit / ROUGH:.3g} each would do, or an"
            f" eps of about {_two_digits(eps * float(lost / sizes.supplies.mean()) / ROUGH)}."
        )
    return words


def _two_digits(number: float) -> str:
    """Two digits, rounded up."""
    if not 0 < number < math.inf:
        return "inf"
    step = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / step) * step:.3g}"
