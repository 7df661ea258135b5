"""In the place of ipywidgets while notebooks run for the documentation: its pages are static, so they show pictures."""

raise ImportError("Pages of the documentation have no widgets.")
