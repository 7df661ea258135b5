"""Neighbour relations: what neighbouring programs differ in, and how far that moves sums."""

from privlp.relations.base import NeighbourRelation as NeighbourRelation
from privlp.relations.bounded_change import Combined as Combined
from privlp.relations.bounded_change import ObjectivePrivate as ObjectivePrivate
from privlp.relations.constraint import ConstraintPrivate as ConstraintPrivate
from privlp.relations.numbers import LowSensitivity as LowSensitivity
from privlp.relations.scalar_and_matrix import ColumnPrivate as ColumnPrivate
from privlp.relations.scalar_and_matrix import RowPrivate as RowPrivate
from privlp.relations.scalar_and_matrix import ScalarPrivate as ScalarPrivate
