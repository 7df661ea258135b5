"""In the place of ipywidgets while notebooks run for the documentation.

Its pages are static, so notebooks show pictures.
"""

raise ImportError("Pages of the documentation have no widgets.")
