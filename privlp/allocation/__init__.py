"""Sharing scarce supplies by private prices: jointly private to each person."""
