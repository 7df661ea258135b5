"""Dual players: how much each private row counts, given how far it is violated."""
