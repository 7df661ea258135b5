"""Primal players: they see private scores through charged draws, and give released answers."""
