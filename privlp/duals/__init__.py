"""Dual players: the weights of the private rows, from how far they are violated."""
