"""Data sets to measure private classifiers on: two public ones and three simulations."""

from svm_models.datasets.fetch import fetch_adult, fetch_kddcup99
from svm_models.datasets.simulations import (
    make_nested_balls,
    make_separable_sphere,
    make_unseparable_ball,
)

__all__ = [
    "fetch_adult",
    "fetch_kddcup99",
    "make_nested_balls",
    "make_separable_sphere",
    "make_unseparable_ball",
]
