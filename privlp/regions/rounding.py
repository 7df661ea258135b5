"""Bounds on the rounding error of sums over rows, from public numbers.

Every private sum is computed in floating point, in an order that may depend on the machine. Twice
the bound is added to the sensitivity of the exact sum.
"""

from __future__ import annotations

import math

_UNIT_ROUNDOFF = 2.0**-53

#: Rows that vary by less on a region count as constant.
CONSTANT_ROW = 1e-150
#: Values of a row scaled to equal range stay below this number: a row whose values vary by less
#: than 1/32 of their size is not stretched all the way to [-1, 1]. So the rounding error of a
#: score stays far below its sensitivity.
LARGEST_OF_EQUAL_RANGE = 64.0
#: Values of a row scaled to equal norm stay below this number before they are centred, or before
#: public equalities rule out directions: a row that varies by little of its size is shorter than 1.
LARGEST_OF_EQUAL_NORM = 8.0


def of_score(n: int) -> float:
    """Bound on the error of a dense average of rows of equal range, for about n rows.

    A score is a sum of n products of size at most 64 z_i with sum_i z_i <= 1. With unit roundoff
    u = 2**-53, summation in any order costs n u; the multiplier of the projection n u; exponentials
    of arguments down to -745 cost 745 u; the products a few u. The bound is twice their sum.
    """
    return LARGEST_OF_EQUAL_RANGE * 2 * (2 * n + 1024) * _UNIT_ROUNDOFF


def of_sum(n: int, d: int) -> float:
    """Bound on the Euclidean error of a sum of n rows of equal norm with weights in [0, 1].

    It also bounds the error of the norm of a term. Each of d entries sums n products of size at
    most 8, in any order: an error of n u times the sum of their sizes, and a few u for each; d u
    for the norm. Doubled. It grows as n^2: 0.0006 of a row for n = 10^5 and d = 1,000, 0.06 for
    n = 10^6.
    """
    return float(math.sqrt(d)) * n * LARGEST_OF_EQUAL_NORM * 2 * (n + d + 64) * _UNIT_ROUNDOFF


def of_average(n: int, d: int) -> float:
    """The same for weights that sum to at most 1, the error of a dense projection included.

    As for :func:`of_score`, in each of d entries.
    """
    return float(math.sqrt(d)) * LARGEST_OF_EQUAL_NORM * 2 * (2 * n + d + 1024) * _UNIT_ROUNDOFF


def of_sum_on_polytope(n: int, d: int) -> float:
    """Bound on the Euclidean error of a sum of n rows on a polytope with weights in [0, 1].

    It also bounds the errors of the norms of its terms. Each of d entries sums n products of size
    at most 8, in any order: an error of n u times the sum of their sizes, and a few u for each.
    Before the projection P takes effect a sum has a norm of at most 8 sqrt(d) n. P, two products
    with a fixed matrix of at most d rows, adds 4 d^(3/2) u times that; to the norm of a row,
    computed in the same way, likewise. Doubled.
    """
    size = math.sqrt(d) * n * LARGEST_OF_EQUAL_NORM * 2
    return size * (n + 64 + 8 * d**1.5) * _UNIT_ROUNDOFF
