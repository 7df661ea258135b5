"""The results that ``benchmarks.same_results`` compares, and the bytes that stand for them."""
