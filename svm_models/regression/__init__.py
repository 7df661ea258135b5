"""Regression: private quantiles and support vectors, and exact ones to compare with."""
