"""Primal players: they see private scores through paid draws, and answer with something released."""
