"""Perturbed convex programs, for hard and soft rows, and for shadow prices."""

from privlp.methods.perturbed.method import Perturbed as Perturbed
from privlp.methods.perturbed.method import require_enough_rows as require_enough_rows
