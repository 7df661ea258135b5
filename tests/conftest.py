"""Which tests run, and what they print with their results."""

from __future__ import annotations  # pytest 8.0 does not export what is annotated

from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.effort import THOROUGH


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked slow, but for a thorough run."""
    slow = [] if THOROUGH else [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each notebook that ran: its seconds."""
    reports = [one for of in ("passed", "failed") for one in terminalreporter.getreports(of)]
    times = {report.nodeid: dict(report.user_properties) for report in reports}
    lines = [
        f"{seconds['processor_seconds']:9.1f} {seconds['wall_seconds']:8.1f} "
        f" {name.partition('::')[2]}"
        for name, seconds in sorted(times.items())
        if "processor_seconds" in seconds
    ]
    if lines:
        terminalreporter.section("seconds of the notebooks")
        terminalreporter.write_line("\n".join(["processor  elapsed", *lines]))


@pytest.fixture(scope="module")
def short_advice() -> Iterator[None]:
    """Warnings of mostly noise say that it is so, and do not search for what would be enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("svm_models.plan"), "_least", lambda *_: None)
        yield


@pytest.fixture
def pyplot():
    """Matplotlib that draws on no screen, and forgets its figures."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is an extra")
    plt.close("all")  # of other tests; old versions complain if a new backend does it
    plt.switch_backend("Agg")
    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def fits_of_few() -> Iterator[None]:
    """Regressions look for a fit, however few records there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("svm_models.regression.plan"), "tells", lambda *_: True)
        yield
