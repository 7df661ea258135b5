"""Neighbour relations: what neighbouring programs differ in, and how far that moves sums."""

from privlp.relations.base import NeighbourRelation as NeighbourRelation
from privlp.relations.column_private import ColumnPrivate as ColumnPrivate
from privlp.relations.combined import Combined as Combined
from privlp.relations.constraint_private import ConstraintPrivate as ConstraintPrivate
from privlp.relations.low_sensitivity import LowSensitivity as LowSensitivity
from privlp.relations.objective_private import ObjectivePrivate as ObjectivePrivate
from privlp.relations.row_private import RowPrivate as RowPrivate
from privlp.relations.scalar_private import ScalarPrivate as ScalarPrivate
