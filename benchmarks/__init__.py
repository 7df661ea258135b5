"""Benchmarks: each is a program, ``python -m benchmarks.NAME``, that compares within one run and prints ratios."""
