"""Errors and warnings as commands show them, and the files that they write."""

from __future__ import annotations

import errno
import functools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from privlp import errors
from privlp.cli.options import RANGES, flag
from privlp.errors import PrivLPError

_STAYS_CHARGED = (
    "Nothing was released but what is printed above or saved; what was charged stays charged."
)


class Failure(click.ClickException):
    """A mistake in the input or the options: one line on standard error, exit code 2."""

    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show privlp's errors and warnings as one line each, without a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        with warnings.catch_warnings(record=True) as caught:
            for category in _SHOWN:
                warnings.simplefilter("always", category)
            try:
                return command(*args, **kwargs)
            except PrivLPError as error:
                raise Failure(told(error)) from None
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


#: Warnings that are always shown.
_SHOWN = (
    errors.NotPrivateWarning,
    errors.MostlyNoiseWarning,
    errors.MissedRowsWarning,
    errors.PublicPointWarning,
)
#: Options that fill a parameter of the library, or may take its place, under another name.
_OPTIONS_OF = {
    "bounds": ("box", "opt", "opt_range"),
    "change": ("nominal_n",),
    "opt": ("opt", "opt_range"),
    "penalty": ("penalties",),
    "private": ("patterns",),
    "random_state": ("seed",),
    "rng": ("seed",),
    "zeros": ("zeros_public",),
}


def told(error: PrivLPError) -> str:
    """The message of an error, which begins with the option at fault as it is typed."""
    message, options = str(error), _options(error.parameter)
    if options == [flag(str(error.parameter))] and message.startswith(f"{error.parameter} "):
        return options[0] + message.removeprefix(str(error.parameter))
    return f"{' or '.join(options)}: {message}" if options else message


def _options(parameter: str | None) -> list[str]:
    """The options of the command that fill a parameter, or that may take its place."""
    if parameter is None:
        return []
    context = click.get_current_context()
    options = {
        str(option.name): option.opts[0]
        for option in context.command.params
        if isinstance(option, click.Option)
    }
    names = _OPTIONS_OF.get(parameter, (parameter,))
    if parameter in ("lower", "upper"):
        given = [name for name in RANGES if context.params.get(name) is not None]
        names = tuple(dict.fromkeys(RANGES[name] for name in given))
    return [options[name] for name in names if name in options]


def require_folder(target: str | None) -> None:
    """Refuse an output file without a folder, before anything is computed or spent."""
    if target not in (None, "-") and not Path(str(target)).resolve().parent.is_dir():
        raise Failure(f"No such file or directory: there is no folder to hold {target!r}.")


def require_picture(target: str | None) -> None:
    """Refuse a picture that cannot be written, or is of no known kind."""
    require_folder(target)
    if target is not None and Path(target).suffix not in (".png", ".pdf", ".svg"):
        raise Failure(f"The picture must be a .png, .pdf or .svg file, not {target!r}.")


def write_json(data: Any, target: str | None) -> None:
    """Write data to a file, or to standard output for ``-``; nothing without a target."""
    document = json.dumps(data, indent=1)
    if target == "-":
        click.echo(document)
    elif target is not None:
        from privlp.files import write_whole  # noqa: PLC0415 (loads NumPy)

        write_whole(target, document)
