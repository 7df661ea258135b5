"""``privlp audit``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from privlp.audits import audit_solve
from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import require_folder, require_picture
from privlp.cli.program import program, shares
from privlp.files import write_whole
from privlp.report.figure import save_figure

_EXIT_CODES = (
    "Exit codes: 0 no fault found (no proof of privacy); 1 fault found; 2 wrong input or options;"
    " 130 interrupted."
)


@click.command(
    "audit",
    cls=options.GroupedCommand,
    epilog=options.example(
        "privlp audit model.mps --eps 1 --delta 1e-6 --s 6 --opt 3 --pairs 6 --runs 0",
        exit_codes=_EXIT_CODES,
    ),
)
@click.argument("model", type=click.Path())
@options.privacy(
    "--eps", type=float, required=True, help="Privacy parameter eps that is claimed; finite."
)
@options.REQUEST
@options.MANNER
@options.audit(
    "--pairs",
    type=int,
    default=50,
    show_default=True,
    help="Pairs of neighbours to try, two solves each.",
)
@options.audit(
    "--runs",
    type=int,
    default=2_000,
    show_default=True,
    help="Solves on each of the worst pair; 0: no statistics.",
)
@options.audit(
    "--confidence", type=float, default=0.999, show_default=True, help="Of each statistical audit."
)
@options.output("--seed", type=int, help="Reproducible audit.")
@options.output(
    "--progress/--no-progress",
    default=True,
    show_default=True,
    help="Say how long it may take, and how far it is.",
)
@options.output(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False),
    help="Draw the changes found against those charged.",
)
@options.output(
    "--json",
    "json_file",
    help="Write the findings as JSON to this file, or to standard output for '-'.",
)
@plain_errors
def command(
    model: str,
    json_file: str | None,
    picture: str | None,
    seed: int | None,
    split: str | None,
    **given: Any,
) -> None:
    """Look for a fault in a private solve of MODEL, on extreme neighbours of it.

    NOT PRIVATE: do not publish what it prints.

    What one neighbour releases is played back to the other; then no number behind a release may
    move by more than was charged, and all else must be equal. A single draw of each kind, and the
    released x, are audited by statistics. An audit finds faults; it proves nothing.
    """
    require_folder(json_file)
    require_picture(picture)
    split_in = shares(split)
    lp, request = program(model, given)
    found = audit_solve(lp, rng=seed, split=split_in, **request)
    document = json.dumps(found.to_dict(), indent=1)
    click.echo(document if json_file == "-" else found)
    if json_file not in (None, "-"):
        write_whole(json_file, document)
    if picture is not None:
        save_figure(found.plot(), picture)
    sys.exit(0 if found.passed else 1)
