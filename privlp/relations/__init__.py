"""Neighbour relations: what two neighbouring linear programs may differ in, and the sensitivities that follow."""

from privlp.relations.base import NeighbourRelation as NeighbourRelation
from privlp.relations.constraint_private import ConstraintPrivate as ConstraintPrivate
