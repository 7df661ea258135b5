"""Families of programs whose optimum nobody knows beforehand, made from a seed.

Seeds below 100 are for choosing constants; seeds from 1000 on are for reporting. Every size is an
argument.
"""

from benchmarks.families import hard, soft
from benchmarks.families.instance import Instance as Instance
from benchmarks.families.instance import loss as loss
from benchmarks.families.instance import missed as missed
from benchmarks.families.instance import ratio as ratio

HARD = {
    "map_covering": hard.map_covering,
    "diet": hard.diet,
    "random_covering": hard.random_covering,
    "packing": hard.packing,
    "transport": hard.transport,
    "portfolio": hard.portfolio,
}
SOFT = {
    "l1_regression": soft.l1_regression,
    "quantile_regression": soft.quantile_regression,
    "hinge": soft.hinge,
    "cvar": soft.cvar,
}
