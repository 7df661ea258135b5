"""One round of a game on given rows: what tests of players and duals share."""

from functools import partial

import numpy as np

from privlp.game.duals import DenseDual, DenseProjection, ElasticDual, LogWeights
from privlp.regions.simplex import Simplex
from privlp.rows.access import Grid, InMemory
from privlp.rows.on_simplex import RowsOnSimplex


class Projection:
    """A projection onto the dense distributions that is given all log-weights each time."""

    def __init__(self, n, s):
        self.block = LogWeights(n)
        self.project = DenseProjection(InMemory(self.block), s, Grid.of(0))

    def __call__(self, log_weights):
        self.block.raw[:] = log_weights
        place = self.project()
        return self.block.weights(place, self.project.bits, self.project.s)


def project(log_weights, s):
    """The weights of a fresh projection."""
    return Projection(len(log_weights), s)(np.array(log_weights, dtype=float))


def elastic_weights(rows, point, slope):
    """The weights of rows at a point, but for rounding to a grid."""
    return np.clip(slope * rows.violations(point), 0.0, 1.0)


def weights_of(dual):
    """The weights with which a dual player made its last scores, in the order of the rows."""
    if isinstance(dual, ElasticDual):
        return np.concatenate(dual.rows.map(elastic_weights, dual.point, dual._slope))
    return np.concatenate(dual.weights())


def scaled_rows(lp, opt):
    """The rows of a program, each scaled to the same range of values on the simplex."""
    simplex = Simplex(lp.public().form, opt)
    return lp.rows().keep(partial(RowsOnSimplex.of_equal_range, simplex))


def selection_round(lp, opt, s, history, step):
    """Scores and dense weights after some rounds with a public history of vertices."""
    dual = DenseDual(scaled_rows(lp, opt), s, step)
    for vertex in history:
        dual.learn(vertex)
    return dual.scores(), weights_of(dual)


def violations_at_vertices(rows, d):
    """Scaled violation of every row at every vertex."""

    def table(block):
        found = np.zeros((block.count, d))
        for j in range(d):
            block.add_violations(j, 1.0, found[:, j])
        return found

    return np.concatenate(rows.map(table))
