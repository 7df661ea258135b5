"""Private rows: the only access to them, where they are kept, and how they look on a region."""
