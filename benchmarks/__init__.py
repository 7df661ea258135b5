"""Benchmarks, each a program: ``python -m benchmarks.NAME``. It compares within one run."""
