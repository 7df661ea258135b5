"""Reports on a solution: with the exact optimum, not private; or private, paid from a budget."""
