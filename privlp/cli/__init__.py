"""The command line: ``privlp solve``, ``plan``, ``budget``, ``audit``, ``exact``, and so on."""

from __future__ import annotations

from importlib import import_module

import click

from privlp import __version__
from privlp.cli.options import EXIT_CODES

#: The file that has each command, and a line on it.
_COMMANDS = {
    "audit": ("solve", "Look for a fault in a private solve of a model; not private."),
    "budget": ("solve", "Make a budget that is kept in a file, or say what it has paid for."),
    "demo": ("teaching", "Solve a program of 20,190 real people, and draw it."),
    "exact": ("solve", "Solve a model exactly with HiGHS; not private."),
    "explore": ("teaching", "Write a page with sliders, for teaching; not private."),
    "plan": ("solve", "Predict how well a model can be solved privately; spends nothing."),
    "solve": ("solve", "Solve a model privately."),
}


class _Commands(click.Group):
    """Commands that are imported when they are called: a list of them needs no solver."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"privlp.cli.{_COMMANDS[cmd_name][0]}")
        return getattr(module, f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a line on each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="privlp")
def main() -> None:
    """Solve linear programs under differential privacy. Each command has a --help of its own."""
