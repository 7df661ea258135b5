"""Notebooks are committed without outputs and run from top to bottom."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # the kernel's own messages
def test_runs_and_is_committed_without_outputs(path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=120).execute()


def test_there_are_notebooks():
    assert NOTEBOOKS
