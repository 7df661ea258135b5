"""Notebooks: committed without outputs, built alike; in a thorough run, run with widgets or not."""

import re
import time
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
MOST_SECONDS = 30  # of the processor: twice what a quiet one takes, for a busy one takes longer
GOALS, QUESTION, EXERCISE = "## Goals", "**Question.**", "**Exercise "
# Real sliders, of which each is read once: an error below them is an error of the cell.
PREAMBLE = {
    True: (
        "import ipywidgets; ipywidgets.interact = lambda f, **sliders: f(**{name: s.value for name,"
        " s in sliders.items()})"
    ),
    False: 'import sys; sys.modules["ipywidgets"] = None',
}
#: Nothing of an earlier notebook is left but the modules that it imported.
START = """%reset -f
import os, time
os.environ["START"] = str(time.process_time())
del os, time"""
END = """import os, time
print(time.process_time() - float(os.environ["START"]))"""
SOLUTION_TAGS = ["solution", "hide-cell"]

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def tagged(cell, tag):
    return tag in cell.metadata.get("tags", [])


def test_there_are_notebooks_numbered_without_gaps():
    numbers = [int(path.stem[:2]) for path in NOTEBOOKS]
    assert numbers == list(range(1, len(NOTEBOOKS) + 1))
    assert len(NOTEBOOKS) >= 4


@every_notebook
def test_is_committed_without_outputs_with_goals_ids_and_pictures_in_words(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    first, *_ = notebook.cells
    assert first.source.startswith("# ")
    assert first.cell_type == "markdown"
    assert GOALS in first.source
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    for cell in notebook.cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        if "plt.show()" in cell.source:  # pages take the words from the cell
            assert cell.metadata.get("mystnb", {}).get("image", {}).get("alt"), cell.id


@every_notebook
def test_each_exercise_has_a_cell_to_work_in_and_a_hidden_solution(path):
    cells = read(path).cells
    exercises = [k for k, cell in enumerate(cells) if cell.source.startswith(EXERCISE)]
    numbers = [int(re.match(r"\*\*Exercise (\d+)", cells[k].source)[1]) for k in exercises]
    assert numbers == list(range(1, len(exercises) + 1))
    assert len(exercises) >= 3
    for k in exercises:
        work, words, solution = cells[k + 1 : k + 4]
        assert tagged(work, "exercise")
        assert "</details>" in words.source.partition("<details><summary>Solution</summary>")[2]
        assert solution.cell_type == "code"
        assert solution.metadata.tags == SOLUTION_TAGS
        assert solution.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    assert sum(tagged(cell, "solution") for cell in cells) == len(exercises)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One process for all notebooks without widgets: what they import is loaded once."""
    manager = pytest.importorskip("jupyter_client.manager").KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("notebooks")))
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@every_notebook
@pytest.mark.parametrize("widgets", [True, False], ids=["with widgets", "without"])
@pytest.mark.filterwarnings("ignore")  # the kernel's own messages
def test_runs_from_top_to_bottom(path, widgets, kernel, monkeypatch, record_property):
    """Each cell that shows something stands below a question."""
    nbclient = pytest.importorskip("nbclient")
    notebook = read(path)
    uses_widgets = "ipywidgets" in path.read_text(encoding="utf-8")
    if not widgets and not uses_widgets:
        pytest.skip("has no widgets")
    if widgets and uses_widgets:
        pytest.importorskip("ipywidgets")
    if "privlp.explore(" in path.read_text(encoding="utf-8"):
        pytest.importorskip("bokeh", reason="draws the page of privlp.explore")
    if uses_widgets:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(PREAMBLE[widgets]))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(START))
    notebook.cells.append(nbformat.v4.new_code_cell(END))
    monkeypatch.delenv("PRIVLP_DATA", raising=False)
    start = time.perf_counter()
    shared = {} if uses_widgets else {"km": kernel}
    client = nbclient.NotebookClient(notebook, timeout=300, **shared)
    client.execute()
    if shared:
        client.kc.stop_channels()
    seconds = float(notebook.cells.pop().outputs[0].text)
    notebook.cells.pop(0)
    record_property("wall_seconds", round(time.perf_counter() - start, 1))
    record_property("processor_seconds", round(seconds, 1))
    assert seconds <= MOST_SECONDS
    for before, cell in zip(notebook.cells, notebook.cells[1:], strict=False):
        if cell.get("outputs") and not tagged(cell, "solution"):
            assert QUESTION in before.source, cell.id
