"""The search for planted private numbers.

What to look for, where to look, and which paths to try.
"""
