"""The paths on which planted numbers might come out.

Calls that succeed, and calls that fail in as many ways as we know.
"""

from collections.abc import Callable, Iterable

from tests.planted.commands import commands
from tests.planted.foreign import foreign
from tests.planted.foreign_programs import foreign_programs
from tests.planted.interruptions import interrupted, without_highs
from tests.planted.path import Path
from tests.planted.refusals import malformed, refused, unfit
from tests.planted.successes import fits, reports, solves

#: The family whose calls are made once before, to count what happens in them.
INTERRUPTED = "exceptions in the middle of a call"
#: Families of paths, by what happens on them; each takes whether dear paths are wanted.
FAMILIES: dict[str, Callable[[bool], Iterable[Path]]] = {
    "programs solved": lambda dear: solves(),
    "quality, plans, words, progress bars, time limits": lambda dear: reports(),
    "classifiers fitted": lambda dear: fits(),
    "command lines, as they succeed and as they fail": lambda dear: commands(),
    "malformed programs": lambda dear: malformed(),
    "requests refused": lambda dear: refused(),
    "records refused": lambda dear: unfit(),
    "texts, bytes, dates, masks and objects in place of numbers": lambda dear: foreign(),
    "the same in programs, models and allocations": lambda dear: foreign_programs(),
    INTERRUPTED: lambda dear: interrupted(dear=dear),
    "failures of HiGHS": lambda dear: without_highs(dear=dear),
}


def quick_paths() -> list[Path]:
    """Those of all families but the interrupted one that are not dear."""
    paths = (path for name, of in FAMILIES.items() if name != INTERRUPTED for path in of(False))
    return [path for path in paths if not path.dear]
