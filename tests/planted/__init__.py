"""The search for planted private numbers: what to look for, where to look, and which paths to try."""
