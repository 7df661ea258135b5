"""Which pages of docs/results were measured with code whose draws or prices have changed since.

``python -m benchmarks.stale`` lists them. A page keeps, in a comment at its end, what its probes
gave when it was measured: small seeded results, of :mod:`benchmarks.probes`. They are computed
again and compared, so that moved files, new names and new words do not count. What a script itself
measures (sizes, seeds, rivals) is no probe: who changes it measures its page anew. Where a page is
older than its probes, they were computed with the code of the commit that its stamp names.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

import numpy as np
from tabulate import tabulate

from benchmarks.probes import values_of
from privlp import __version__
from privlp.errors import PrivLPError

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
#: Lists of pages, which measure nothing.
LISTS = frozenset({"README", "claims", "index"})
#: Relative differences up to this are the libraries'.
TOLERANCE = 1e-6

#: The probes of each page; none: it counts what no draw decides.
PAGES: dict[str, tuple[str, ...]] = {
    page: tuple(filter(None, listed.split(", ")))
    for page, listed in {
        "accounting": "mechanisms, perturbed, staged, perturbed SVM",
        "allocation": "mechanisms, allocation",
        "beside_bound": "default, plan, families",
        "blocks": "blocks",
        "classifier": "PrivateClassifier, PrivateLPSVC, perturbed SVM",
        "cm_logistic": "perturbed SVM",
        "covering": "default, staged, perturbed, chain, dmw, dmw-published",
        "days": "default, staged, chain",
        "exact_noise": "mechanisms, default, perturbed SVM",
        "fairness": "PrivateClassifier, PrivateLPSVC",
        "fallback": "default, ways, soft, PrivateLPSVC, quantiles",
        "feasible": "numbers, always, together",
        "foreign": "default, ways, quantiles, PrivateClassifier",
        "foreign_audits": "",
        "fuzz": "",
        "hints": "default, ways, soft, families",
        "hostile_regions": "perturbed",
        "low_sensitivity": "numbers, always, together",
        "models": "default, ways, numbers, plan, together",
        "never_violated": "numbers, always, margin, together",
        "planted": "mechanisms",
        "private_lp_svc": "exact SVM, perturbed SVM, PrivateLPSVC",
        "readers": "",
        "regression": "quantiles",
        "rivals": "default, ways, dmw, families",
        "scale": "default, staged",
        "scm_curves": "perturbed SVM, kernel",
        "scm_tables": "perturbed SVM",
        "shadow_prices": "prices, default",
        "small": "default, ways, soft, families",
        "small_methods": "default, ways, perturbed, families",
        "speed": "default, ways, plan, families",
        "splits": "chain, families",
        "stored_budget": "mechanisms",
        "svm_audits": "audits, perturbed SVM",
        "thesis": "exact SVM, DMWSVC, perturbed SVM",
        "trust": "mechanisms, audits, default, perturbed SVM",
        "unknown": "default, ways, soft, plan, families",
    }.items()
}

State = dict[str, tuple[float, ...]]

_STAMP = re.compile(
    r"^Measured with privlp \S+, state [0-9a-f]+(; probes of commit [0-9a-f]+)?\.( Its .*)?\n\n"
    r"<!-- probes\n(?P<lines>.*?)-->",
    re.M | re.S,
)

#: How long the command of a page took, in its stamp.
TOOK = re.compile(r" Its command took .*")


@cache
def _now(probe: str) -> tuple[float, ...]:
    """What a probe gives now; nothing where the package refuses it."""
    try:
        return values_of(probe)
    except PrivLPError:
        return ()


def state_of(page: str) -> State:
    """What the probes of a page give now."""
    return {probe: _now(probe) for probe in PAGES[page]}


def stamp(page: str, took: str = "") -> str:
    """The end of a page that is written now: version, state, time, and in a comment the probes."""
    lines = "".join(
        f"{probe}: {' '.join(f'{value:.9g}' for value in values)}\n"
        for probe, values in state_of(page).items()
    )
    short = hashlib.sha256(lines.encode()).hexdigest()[:8]
    return f"Measured with privlp {__version__}, state {short}.{took}\n\n<!-- probes\n{lines}-->\n"


def verdict(text: str, state: State) -> str:
    """What a page's stamp says, given what its probes give now."""
    if not (found := _STAMP.search(text)):
        return "never stamped"
    lines = (line.partition(":") for line in found["lines"].splitlines())
    then = {name: tuple(map(float, values.split())) for name, _, values in lines}
    unknown = [probe for probe in state if not then.get(probe)]
    changed = [probe for probe in state if probe not in unknown and not _same(then, state, probe)]
    told = [f"changed since: {', '.join(changed)}"] if changed else []
    told += [f"not probed then: {', '.join(unknown)}"] if unknown else []
    return "; ".join(told) or ("up to date" if state else "no draw decides it")


def _same(then: State, now: State, probe: str) -> bool:
    one, other = np.array(then[probe]), np.array(now[probe])
    return one.shape == other.shape and np.allclose(one, other, rtol=TOLERANCE, atol=1e-9)


def pages() -> list[Path]:
    """All pages of results."""
    return sorted(path for path in RESULTS.glob("*.md") if path.stem not in LISTS)


def main() -> None:
    rows = [
        (path.stem, verdict(path.read_text(encoding="utf-8"), state_of(path.stem)))
        for path in pages()
    ]
    print(tabulate(rows, ("page", "its draws and prices"), tablefmt="plain"))


if __name__ == "__main__":
    main()
