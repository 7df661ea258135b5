"""Families of programs whose optimum nobody knows beforehand, made from a seed.

Seeds below 100 are for choosing constants; seeds from 1000 on are for reporting. Every size is an
argument. ``python -m benchmarks.families`` prints the families with their sizes and optima.
"""

from benchmarks.families.hard import (
    diet,
    map_covering,
    packing,
    portfolio,
    random_covering,
    transport,
)
from benchmarks.families.instance import Instance, loss, missed, ratio
from benchmarks.families.soft import cvar, hinge, l1_regression, quantile_regression

HARD = {
    "map_covering": map_covering,
    "diet": diet,
    "random_covering": random_covering,
    "packing": packing,
    "transport": transport,
    "portfolio": portfolio,
}
SOFT = {
    "l1_regression": l1_regression,
    "quantile_regression": quantile_regression,
    "hinge": hinge,
    "cvar": cvar,
}

__all__ = [
    "HARD",
    "SOFT",
    "Instance",
    "cvar",
    "diet",
    "hinge",
    "l1_regression",
    "loss",
    "map_covering",
    "missed",
    "packing",
    "portfolio",
    "quantile_regression",
    "random_covering",
    "ratio",
    "transport",
]
