"""Coordinates in which soft rows vary alike, found from noisy sums: shares, then moments."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.perturbed.paths import scaled_or
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, shares_of_norm, symmetric_of, upper_of

# Moments below this share of a row's are not told apart, however small the noise.
_LEAST_MOMENT = 1e-4
# Moments within this ratio count as alike: what noise would tell of them is not worth following.
_ALIKE = 3.0
# Longer units are taken back if the moment in them rose by less than this power of what all rows
# would give, and by so many deviations. Few rows have that direction then, as the people of one
# place among many: longer units tell nothing more of them, and make their rows longer than others.
_RESPONDS, _DOUBT = 0.35, 1.5
_LONGER = 1.01  # A unit that is longer by less is not: turns round it.
_LONGEST = 1e5  # No unit is longer than another by more: doubles would not bear it.


def evened(
    region: ReducedPolytope, public: PublicRows, rows: Rows[Any], draws: ChargedDraws, most: int
) -> tuple[ReducedPolytope, FloatArray]:
    """The region in which variables have equal shares of the norms, as far as rows allow."""
    least, first = max(2 * draws.sigma, _LEAST_MOMENT * most), None
    weights, unit = np.ones(len(public.cost)), np.ones(len(region.live))
    few = np.zeros(len(unit), dtype=bool)
    while draws.remaining:
        noisy = np.asarray(draws(rows.total(shares_of_norm, region, most)))
        first = noisy if first is None else first
        few |= _hardly_rose(first, noisy, unit, draws.sigma)
        noisy = np.maximum(noisy, least)
        unit = np.where(few, 1.0, unit * np.sqrt(noisy.max() / noisy))
        weights[region.live] = unit
        region = scaled_or(region, public, math.inf, weights)
    return region, weights


def whitened(
    region: ReducedPolytope, rows: Rows[Any], draws: ChargedDraws, most: int
) -> ReducedPolytope:
    """The region in coordinates in which rows vary alike in all directions, as far as told."""
    p, start, first = region.size, region, None
    least = max(draws.sigma * math.sqrt(2 * p), _LEAST_MOMENT * most)
    few = np.zeros((p, 0))  # directions that few rows have
    left, unit, right = np.eye(p), np.ones(p), np.eye(p)  # the turn from the start, in its axes
    while draws.remaining:
        kept = rows.keep(partial(RowsInCoordinates, region=region))
        exact = kept.total(RowsInCoordinates.second_moments, most)
        found = symmetric_of(np.asarray(draws(upper_of(exact))), p)
        first = found if first is None else first
        then = np.einsum("ij,ik,kj->j", left, first, left)
        now = np.einsum("ji,ik,jk->j", right, found, right)
        back = _hardly_rose(then, now, unit / unit.min(), draws.sigma)
        turn = (left * np.where(back, unit.min(), unit)) @ right
        few = np.linalg.qr(np.hstack([few, right[back].T]))[0]
        others, largest = np.eye(p) - few @ few.T, float(np.linalg.eigvalsh(found).max())
        moments, axes = np.linalg.eigh(others @ found @ others + largest * few @ few.T)
        ratio = largest / np.maximum(moments, least)
        ratio[ratio < _ALIKE] = 1.0
        left, unit, right = np.linalg.svd(turn @ (axes * np.sqrt(ratio)) @ axes.T)
        unit = np.minimum(unit, _LONGEST * unit.min())
        region = start.turned((left * unit) @ right)
    return region


def _hardly_rose(first: FloatArray, now: FloatArray, longer: FloatArray, sigma: float) -> Any:
    """Where units are longer by so much, and moments did not follow.

    Beside the largest of them: where all rows have a longer unit, the others' shares fall.
    """
    doubt = _DOUBT * sigma
    rise = np.log(np.maximum(now + doubt, 1e-300) / np.maximum(first - doubt, 1e-300))
    rise -= math.log(max(now.max(), 1e-300) / max(first.max(), 1e-300))
    return (longer > _LONGER) & (now > doubt) & (rise < 2 * _RESPONDS * np.log(longer))
