"""What the tests print beside their results."""

from __future__ import annotations  # pytest 8.0 does not export what is annotated

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each notebook that ran: its seconds."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
    ]
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
