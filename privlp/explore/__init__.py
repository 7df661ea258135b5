"""A page for teaching: what privacy costs, and what it hides. Not private."""
