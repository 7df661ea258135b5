"""Neighbour relations: what neighbouring programs differ in, and how far that moves sums."""

from privlp.relations.base import NeighbourRelation as NeighbourRelation
from privlp.relations.bounded_change import ObjectivePrivate as ObjectivePrivate
from privlp.relations.combined import Combined as Combined
from privlp.relations.constraint import ConstraintPrivate as ConstraintPrivate
from privlp.relations.matrix import ColumnPrivate as ColumnPrivate
from privlp.relations.matrix import RowPrivate as RowPrivate
from privlp.relations.numbers import LowSensitivity as LowSensitivity
from privlp.relations.scalar import ScalarPrivate as ScalarPrivate
