"""Parts of the page on generated programs: what is measured, and its tables."""
