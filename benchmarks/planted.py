"""The search for planted private numbers on every known path, and how many paths the tests take.

Run with ``python -m benchmarks.planted``; about five minutes of one core. It ends with exit code 1
if anything leaks.
"""

import sys
import time

from tqdm import tqdm

from benchmarks.published import write_page
from benchmarks.tables import column_names
from tests.planted.paths import FAMILIES
from tests.planted.watch import ended_as_expected, try_path

HEADERS = column_names(
    "paths | tried | fail, as they are to | compared with a twin | leaks | of these in the tests"
)
LEAD = """Private parts of programs and records are numbers that can be recognised by their digits, at magnitudes from 1e-300 to \
1e19, private names, and, where rows come and go, the number of rows. Each path is a call with them. \
In place of numbers and labels of records also texts, bytes, dates, masked entries, and objects whose every use raises an error that \
quotes them. \
Searched are: results with all that can be reached from them (attributes, \
closures, views, caches, models of HiGHS), their texts, JSON and pickles; exceptions with causes, hidden contexts and notes; \
warnings; log records of all levels; standard output and error, at the level of descriptors; files; what is left behind (budgets, \
estimators). A float is a leak to a relative 1e-9 of a planted number or of one computed from planted ones (norms, sums, ratios, \
the optimum, violations at released points), or to 1e-12 if scaled by a power of two or ten; a text, from three digits on (five \
of a whole number, six of a computed one), rounded or cut. A twin is the same call with another private part, satisfiable or not, \
or without any row, that sees the same releases: it must look the same. \
`tests/test_planted_search.py` shows that leaks are found."""


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
    write_page(
        "planted",
        "Planted private numbers",
        [LEAD, (HEADERS, [*rows, total]), summary, *found, *odd],
    )
    print(f"paths tried {total[1]}, leaks found {total[4]}")
    sys.exit(1 if found or odd else 0)


if __name__ == "__main__":
    main()
