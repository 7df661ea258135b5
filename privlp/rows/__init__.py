"""Private rows: the one door to them, where they are kept, and how a region sees them."""
