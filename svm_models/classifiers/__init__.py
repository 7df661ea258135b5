"""Classifiers: private by several mechanisms, and exact ones to compare with."""
