"""Bounds on the rounding error of sums over rows that are not exact, from public numbers.

Most sums over rows are exact (:mod:`privlp.rows.grid`). The others are computed in floating point,
in an order that may depend on the machine: twice the bound is added to the sensitivity of the exact
sum.
"""

from __future__ import annotations

import math

_UNIT_ROUNDOFF = 2.0**-53

#: Rows that vary by less on a region count as constant.
CONSTANT_ROW = 1e-150
#: Values of a row scaled to equal range stay below this number. So a row whose values vary by less
#: than 1/32 of their size is not stretched all the way to [-1, 1], and the rounding error of a
#: score stays far below its sensitivity.
LARGEST_OF_EQUAL_RANGE = 64.0
#: Values of a row scaled to equal norm stay below this number before they are centred, or before
#: public equalities rule out directions. So a row that varies by little of its size is shorter
#: than 1.
LARGEST_OF_EQUAL_NORM = 8.0


def of_score(n: int) -> float:
    """Bound on the error of a dense average of rows of equal range, for about n rows.

    A score is a sum of n products of size at most 64 z_i with sum_i z_i <= 1. In units of the unit
    roundoff u = 2**-53, summation in any order has an error of n, the multiplier of the projection
    one of n, exponentials of arguments down to -745 one of 745, and the products one of a few. The
    bound is twice their sum.
    """
    return LARGEST_OF_EQUAL_RANGE * 2 * (2 * n + 1024) * _UNIT_ROUNDOFF


def of_scaled_moments(n: int) -> float:
    """Bound on the Euclidean error of multiplying exact second moments by sqrt(2).

    Second moments of n rows of norm 1 at most have a norm of n at most. The computed sqrt(2) is off
    by u of its size, and each product is too. The bound is doubled.
    """
    return 4 * n * _UNIT_ROUNDOFF


def of_average(n: int, d: int) -> float:
    """Bound on the Euclidean error of a sum of rows of equal norm with weights of sum at most 1.

    The errors in each of d entries are those of :func:`of_score`, that of the projection included.
    Rows stand on a grid, so their norms have none; the sum of their centres has an error like that
    of their entries, which the factor of two covers.
    """
    return float(math.sqrt(d)) * LARGEST_OF_EQUAL_NORM * 2 * (2 * n + d + 1024) * _UNIT_ROUNDOFF


def of_sum_on_polytope(n: int, d: int) -> float:
    """Bound on the Euclidean error of a sum of n rows on a polytope with weights in [0, 1].

    It also bounds the errors of the norms of its terms. Each of d entries is a sum of n products of
    size at most 8, in any order: an error of n u times the sum of their sizes, and of a few u for
    each product. Before the projection P a sum has a norm of at most 8 sqrt(d) n. P is two products
    with a fixed matrix of at most d rows: it adds 4 d^(3/2) u times that norm. The norm of a row is
    computed in the same way. The bound is doubled.
    """
    size = math.sqrt(d) * n * LARGEST_OF_EQUAL_NORM * 2
    return size * (n + 64 + 8 * d**1.5) * _UNIT_ROUNDOFF
