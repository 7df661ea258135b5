"""No program and no record is kept in memory longer than its user keeps it."""

import importlib
import inspect
import pkgutil
import tracemalloc

import numpy as np

import privlp
import svm_models


def every_class():
    for package in (privlp, svm_models):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield from filter(
                    inspect.isclass, vars(importlib.import_module(module.name)).values()
                )


def test_no_method_remembers_its_object_for_ever():
    """A cache on a method belongs to the class."""
    remembered = [c for c in every_class() for m in vars(c).values() if hasattr(m, "cache_info")]
    assert remembered == []


def test_owners_are_read_without_an_object_for_each():
    """Beyond the rows: sides, flags, owners and a flag of each while it is read."""
    n, A = 20_000, -np.ones((20_000, 1))
    A.flags.writeable = False
    tracemalloc.start()
    privlp.LinearProgram([1.0], A, np.full(n, -1.0), groups=np.arange(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * n
