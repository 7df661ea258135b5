"""Support vector machines as linear programs, on top of :mod:`privlp`."""

from svm_models.linear_programs import hard_margin_lp as hard_margin_lp
from svm_models.linear_programs import soft_margin_lp as soft_margin_lp
