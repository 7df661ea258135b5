"""Errors and warnings as the terminal shows them."""

from __future__ import annotations

import errno
import functools
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click

from privlp.errors import NotPrivateWarning, PrivLPError

_STAYS_CHARGED = (
    "Nothing was released but what is printed above or saved; what was charged stays charged."
)


class Failure(click.ClickException):
    """A mistake in the input or the options: one line on standard error, exit code 2."""

    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show privlp's errors and warnings as one line each, without a traceback.

    A letter that the terminal cannot show is written as ``?``.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NotPrivateWarning)
            try:
                return command(*args, **kwargs)
            except PrivLPError as error:
                raise Failure(in_flags(str(error))) from None
            except OSError as error:
                if error.errno == errno.EPIPE:  # nobody reads the output: click ends quietly
                    raise
                raise Failure(f"{error.filename or 'Output'}: {error.strerror or error}.") from None
            except MemoryError:
                click.echo(f"Error: Out of memory. {_STAYS_CHARGED}", err=True)
                sys.exit(1)
            except KeyboardInterrupt:
                click.echo(f"Interrupted. {_STAYS_CHARGED}", err=True)
                sys.exit(130)
            finally:
                for warning in caught:
                    click.echo(f"Warning: {warning.message}", err=True)

    return run


_PHRASES = {
    "opt=(low, high)": "--opt-range LOW HIGH",
    "bounds=..., or box=... in the readers": "--box",
    "or give opt or a range": "or give --opt or --opt-range",
    "(and opt, if given)": "(and --opt, if given)",
    "opt must be a number, got tuple": "This method takes --opt, not --opt-range",
    "opt must be a number with this method, got a sequence": (
        "This method takes --opt, not --opt-range"
    ),
    "by a mask of True or the pattern '*'": "by --private '*'",
    "sides b: give the neighbour relation a finite": "sides b: by --b-range, with a finite",
    "coefficients A: give the neighbour relation a finite": (
        "coefficients A: by --a-range, with a finite"
    ),
    "give lower and upper to the neighbour relation": "give --a-range",
    "feasible must be None here": "--feasible has no use here",
    "or None for the best": "or left out for the best",
    "The parameters s and alpha say": "--s and --alpha say",
    "use solve_exact": "use `privlp exact`",
}
_AT_THE_START = r"(?:^|(?<=[.:] ))({})(?= (?:must|is missing|has no use|needs|=))"
_WITH_A_VALUE = r"\b({})=('[^']*'|\.\.\.|[-\w.]*\w)"


def in_flags(text: str) -> str:
    """A message with the options of the command in place of the parameters of the library."""
    known = click.get_current_context().command.params
    flags = {
        str(option.name): option.opts[0] for option in known if isinstance(option, click.Option)
    }
    if "patterns" in flags:
        flags["private"] = flags.pop("patterns")
    for phrase, said in _PHRASES.items():
        text = text.replace(phrase, said)
    names = "|".join(flags)
    text = re.sub(
        _WITH_A_VALUE.format(names),
        lambda found: f"{flags[found[1]]} {_plain(found[2])}".strip(),
        text,
    )
    text = re.sub(_AT_THE_START.format(names), lambda found: flags[found[1]], text)
    return re.sub(r"\b\w+_\w+\b", lambda found: flags.get(found[0], found[0]), text)


def _plain(value: str) -> str:
    """A value as one types it: a plain word without quotes."""
    return "" if value == "..." else re.sub(r"^'([-\w]+)'$", r"\1", value)
