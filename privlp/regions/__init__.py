"""Public regions: where x may lie, from public numbers only, and how a descent moves on them."""
