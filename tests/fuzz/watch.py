"""Run cases and judge them; in a child process where one may crash or hang."""

import contextlib
import faulthandler
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tqdm import tqdm

from fuzz.odd import PLANTED
from privlp import MissedRowsWarning, MostlyNoiseWarning, NotPrivateWarning, PrivLPError

#: What a target returns where a command refused its input.
REFUSED = 2
Target = Callable[[Random, Path], int | None]
#: What one case may take: seconds, bytes.
PATIENCE = 20.0
MEMORY = 6 << 30


def judge(target: Target, number: int, folder: Path) -> str:
    """``"accepted"``, ``"refused"``, or what went wrong.

    Refused means: by an error of the library, in a sentence, without a private number; or by
    Python's own word for no path at all. Everything else that is raised is a fault, warnings too,
    and so is output.
    """
    with warnings.catch_warnings(), _standard_output() as printed:
        warnings.simplefilter("error")
        for expected in (NotPrivateWarning, MostlyNoiseWarning, MissedRowsWarning):
            warnings.simplefilter("ignore", expected)
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix
        try:
            refused = target(Random(f"{target.__name__} {number}"), folder) is REFUSED
            verdict = "refused" if refused else "accepted"
        except PrivLPError as error:
            said = str(error)
            verdict = "refused" if _is_sentence(said) else f"no clear message: {said[:300]!r}"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            verdict = f"{type(error).__name__} ({place}): {str(error)[:300]}"
    plain = verdict in ("accepted", "refused")
    return f"output: {printed[0][:300]!r}" if printed and plain else verdict


def _is_sentence(message: str) -> bool:
    ends = message.rstrip("'\"`)").endswith((".", "!"))
    return ends and len(message) < 20_000 and f"{PLANTED}"[2:] not in message


@contextlib.contextmanager
def _standard_output() -> Iterator[list[bytes]]:
    """What anything, C included, writes to standard output meanwhile."""
    printed: list[bytes] = []
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file, io.StringIO() as text:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with contextlib.redirect_stdout(text):
                yield printed
        finally:
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            printed += filter(None, (file.read(), text.getvalue().encode(errors="replace")))


@dataclass
class Tally:
    """Outcomes of the cases of one target."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.counts.total()

    def add(self, number: int, verdict: str) -> None:
        """Count one case."""
        plain = verdict in ("accepted", "refused")
        self.counts[verdict if plain else "findings"] += 1
        if not plain:
            self.findings[number] = verdict


def watched(
    module: str, name: str, numbers: range, *, patience: float = PATIENCE, progress: bool = False
) -> Tally:
    """Run cases of a target in a child process.

    Where one crashes it, or takes longer than `patience` seconds, go on behind it.
    """
    tally, left, start = Tally(), numbers, time.perf_counter()
    with tqdm(total=len(numbers), desc=name, disable=not progress, unit="case") as bar:
        while left:
            last = left.start
            for last, verdict in _one_child(module, name, left, patience):
                tally.add(last, verdict)
                bar.update()
            left = range(last + 1, numbers.stop)
    tally.seconds = time.perf_counter() - start
    return tally


def _one_child(
    module: str, name: str, numbers: range, patience: float
) -> Iterator[tuple[int, str]]:
    """Each case with its verdict, until all are done or one ends the child."""
    ends = map(str, (numbers.start, numbers.stop, patience))
    words = [sys.executable, "-m", "fuzz.watch", module, name, *ends]
    threads = {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    environment = os.environ | threads | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile() as stderr:
        # A process group of its own, so that what the child starts ends with it.
        begun = numbers.start
        with subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=place,
            start_new_session=True,
            env=environment,
        ) as child:
            for line in child.stdout or ():
                number, _, verdict = line.rstrip("\n").partition(" ")
                yield int(number), verdict.encode().decode("unicode_escape")
                begun = int(number) + 1
        code = child.returncode
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        stderr.seek(0)
        said = stderr.read().decode(errors="replace")
    if code:
        what = "hangs" if "Timeout" in said else f"ends the process with {code}"
        yield begun, f"{what}: {said[:2000]}"


def _child(module: str, name: str, start: int, stop: int, patience: float) -> None:
    """Tell the verdict of each case; end when one takes too long."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    target = getattr(__import__(f"fuzz.{module}", fromlist=[name]), name)
    folder = Path.cwd()
    for number in range(start, stop):
        faulthandler.dump_traceback_later(patience, exit=True)
        verdict = judge(target, number, folder)
        faulthandler.cancel_dump_traceback_later()
        print(number, verdict.encode("unicode_escape").decode(), file=report, flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    _child(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
