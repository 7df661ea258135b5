"""``privlp plan``."""

from __future__ import annotations

from typing import Any

import click

from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import require_picture
from privlp.cli.program import program
from privlp.plan import plan
from privlp.report.figure import save_figure


@click.command(
    "plan",
    cls=options.GroupedCommand,
    epilog=options.example("privlp plan model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5"),
)
@click.argument("model", type=click.Path())
@options.privacy(
    "--eps", type=float, required=True, help="Privacy parameter eps: smaller is more private."
)
@options.REQUEST
@options.output(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False),
    help="Draw the predictions over eps into this file.",
)
@plain_errors
def command(model: str, picture: str | None, **given: Any) -> None:
    """Predict how well MODEL can be solved privately, from public numbers. Spends nothing."""
    require_picture(picture)
    lp, request = program(model, given)
    planned = plan(lp, **request)
    click.echo(planned)
    if picture is not None:
        save_figure(planned.plot(), picture)
