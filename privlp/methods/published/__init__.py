"""Published variants, for comparison only: each has a better counterpart in this package."""
