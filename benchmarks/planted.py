"""The search for planted private numbers on every known path, and how many paths the tests take.

Run with ``python -m benchmarks.planted``; about five minutes of one core. It ends with exit code 1
if anything leaks.
"""

import sys
import time

from tqdm import tqdm

from benchmarks.published import write_page
from tests.planted.paths import FAMILIES
from tests.planted.watch import ended_as_expected, try_path

HEADERS = (
    "paths | tried | fail, as they are to | compared with a twin | leaks | of these in the tests"
)


def main() -> None:
    """Try every path, and write the page."""
    rows, found, odd, start = [], [], [], time.process_time()
    for title, family in FAMILIES.items():
        paths = list(family(True))
        leaks = failed = 0
        for path in tqdm(paths, desc=title):
            seen, here = try_path(path)
            leaks += len(here)
            failed += (
                seen.error is not None and getattr(seen.error, "code", 1) != 0
            )  # a command that succeeds exits with 0
            found += [f"{path}: {leak}" for leak in here]
            odd += [] if ended_as_expected(path, seen) else [f"{path}: {seen.error!r}"]
        tests = sum(not path.dear for path in family(False))
        rows.append((title, len(paths), failed, sum(path.twins for path in paths), leaks, tests))
    total = ("all", *(sum(row[i] for row in rows) for i in range(1, 6)))
    summary = (
        f"Paths tried: {total[1]}, leaks found: {total[4]}, in {time.process_time() - start:.0f} s"
        " of one core."
    )
    print(*found, *odd, sep="\n")
    write_page("planted", (HEADERS, [*rows, total]), summary)
    print(f"paths tried {total[1]}, leaks found {total[4]}")
    sys.exit(1 if found or odd else 0)


if __name__ == "__main__":
    main()
