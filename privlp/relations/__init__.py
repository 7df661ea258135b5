"""Neighbour relations: what two neighbouring programs may differ in, and how far that moves sums."""

from privlp.relations.base import NeighbourRelation as NeighbourRelation
from privlp.relations.combined import Combined as Combined
from privlp.relations.constraint_private import ConstraintPrivate as ConstraintPrivate
from privlp.relations.low_sensitivity import LowSensitivity as LowSensitivity
from privlp.relations.matrix_private import ColumnPrivate as ColumnPrivate
from privlp.relations.matrix_private import RowPrivate as RowPrivate
from privlp.relations.objective_private import ObjectivePrivate as ObjectivePrivate
from privlp.relations.scalar_private import ScalarPrivate as ScalarPrivate
