"""Notebooks are run before the pages are made, as many at once as there are processors."""

import logging
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor


def run_notebooks(folder: Path, store: Path, seconds: int) -> None:
    """Run those whose outputs are not stored, each for so long at most.

    The build takes outputs from the store. One that fails is run again there, and reported.
    """
    cache = get_cache(store)
    paths = [str(path) for path in sorted(folder.glob("*.ipynb"))]
    for path in paths:
        cache.add_nb_to_project(path)
    executor = load_executor("local-parallel", cache, logging.Logger("notebooks", logging.WARNING))
    executor.run_and_cache(filter_uris=paths, timeout=seconds)
