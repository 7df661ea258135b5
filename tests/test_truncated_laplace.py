"""Truncated Laplace noise: delta of its width is the exact divergence, computed without randomness."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privlp.privacy import TruncatedLaplaceMechanism
from tests.effort import each

EPS, DELTA = 2.0, 0.02

# The exact divergence. On a grid of cells that the steps and the width are multiples of, the loss
# of a cell is a multiple of the cell: the losses of independent entries add, by convolution of
# their masses. A grid can lose divergence, but loses none at eps.

CELLS_PER_UNIT = 200


def cell_masses(width):
    """Masses of noise of scale 1, truncated to [-width, width], in cells of a grid."""
    cells = np.exp(-np.arange(round(width * CELLS_PER_UNIT)) / CELLS_PER_UNIT)
    return np.concatenate([cells[::-1], cells]) / (2 * cells.sum())


def losses_of_one_entry(step, width):
    """Masses of the losses -step, ..., step by cells, and that which one input alone can release."""
    cells = round(step * CELLS_PER_UNIT)
    masses = np.concatenate([np.zeros(cells), cell_masses(width)])
    other = np.concatenate([cell_masses(width), np.zeros(cells)])
    both = (masses > 0) & (other > 0)
    loss = np.log(masses[both] / other[both]) * CELLS_PER_UNIT
    index = np.rint(loss).astype(int)
    assert np.allclose(loss, index, atol=1e-4)
    return np.bincount(index + cells, masses[both], 2 * cells + 1), masses[~both].sum()


def exact_delta(eps, steps, width):
    """Hockey-stick divergence at `eps` of entries that move by `steps`, in units of their scales."""
    pieces = [losses_of_one_entry(step, width) for step in steps]
    total = np.ones(1)
    for masses, _ in pieces:
        total = np.convolve(total, masses)
    loss = (np.arange(len(total)) - len(total) // 2) / CELLS_PER_UNIT
    alone = 1 - math.prod(1 - mass for _, mass in pieces)
    return alone + float(total @ np.maximum(0.0, -np.expm1(eps - loss)))


def on_the_grid(mechanism):
    """The width in units of the scale, rounded down to cells, and the delta of the formula there."""
    width = math.floor(mechanism.width / mechanism.scale * CELLS_PER_UNIT) / CELLS_PER_UNIT
    return width, replace(mechanism, width=width * mechanism.scale).own_delta


CLAIMS = [(0.5, 0.1), (1.0, 1e-3), (2.0, 0.02), (4.0, 1e-6)]


@pytest.mark.parametrize(("eps", "delta"), CLAIMS)
def test_delta_of_one_entry_is_exact(eps, delta):
    """The divergence is the delta of the formula, no less. No randomness."""
    mechanism = TruncatedLaplaceMechanism.of_budget(1.0, eps, delta)
    assert mechanism.own_delta == pytest.approx(delta, rel=1e-9)
    width, claimed = on_the_grid(mechanism)
    assert exact_delta(eps, [eps], width) == pytest.approx(claimed, rel=1e-9)
    # eps is no larger than it has to be
    assert exact_delta(0.9 * eps, [eps], width) > 1.1 * claimed


@pytest.mark.parametrize(("m", "claim"), each([2, 3, 4, 5, 6], CLAIMS))
def test_delta_of_several_entries(m, claim):
    """However the change is split, at most that of one entry, and near it where one moves most."""
    eps, delta = claim
    width, claimed = on_the_grid(TruncatedLaplaceMechanism.of_budget(1.0, eps, delta))
    even, geometric = np.full(m, 1.0 / m), 2.0 ** -np.arange(m)
    lopsided = np.array([1 - 0.02 * (m - 1), *[0.02] * (m - 1)])
    for split in (even, geometric / geometric.sum(), lopsided):
        steps = np.floor(split * eps * CELLS_PER_UNIT) / CELLS_PER_UNIT
        steps[0] += eps - steps.sum()
        assert 0 < exact_delta(eps, steps, width) <= claimed * (1 + 1e-9)
    assert exact_delta(eps, steps, width) > 0.5 * claimed  # the lopsided split


@pytest.mark.parametrize("m", [1, 3])
def test_published_width_is_wider(m):
    """It keeps the same claim, with room to spare. No randomness."""
    published = TruncatedLaplaceMechanism.of_budget(1.0, EPS, DELTA, published_for=m)
    assert published.width > TruncatedLaplaceMechanism.of_budget(1.0, EPS, DELTA).width
    assert published.own_delta == pytest.approx(DELTA / (2 * m))
    assert exact_delta(EPS, [EPS], on_the_grid(published)[0]) < DELTA
