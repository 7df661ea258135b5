"""Public regions: where x may lie, made of public numbers alone, and ways to move on them."""
