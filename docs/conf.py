"""How Sphinx builds the documentation: ``make docs``.

Nothing is fetched at build time, and pages load nothing from elsewhere.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.pop("MPLBACKEND", None)  # notebooks draw into their pages
os.environ["PYTHONPATH"] = str(HERE / "_ext" / "static_pages")  # their kernels find no widgets
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from folded_notebooks import bring_notebooks  # noqa: E402
from proof_pages import write_pages  # noqa: E402
from stored_notebooks import run_notebooks  # noqa: E402

import privlp  # noqa: E402

bring_notebooks(HERE.parent / "notebooks", HERE / "tutorial")
write_pages(
    HERE / "proofs.md", HERE / "proofs", (HERE.parent / "privlp", HERE.parent / "svm_models")
)

project = "privlp"
author = "The privlp developers"
project_copyright = author
version = release = privlp.__version__

extensions = [
    "docstrings",
    "formulas",
    "mathml",
    "myst_nb",
    "numpydoc",
    "proof_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates"]
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|scipy|sklearn|cvxpy|matplotlib)\..*")
]  # their pages are on the network

smartquotes = False  # they turn --eps into –eps, and quotes around arguments into others
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_timeout = 300
run_notebooks(HERE / "tutorial", Path(nb_execution_cache_path), nb_execution_timeout)
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

autosummary_generate = True
autosummary_filename_map = {
    f"privlp.{name}": f"privlp.{name}_function" for name in ("plan", "quality")
}  # beside Plan, Quality
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the pages list them with their docstrings
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "privlp"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["privlp.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],  # a field has no room beside six links
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}


def setup(app):
    """A page that is opened as a file cannot read others: a search shows their titles alone."""
    alone = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
    app.add_js_file(None, body=alone)
