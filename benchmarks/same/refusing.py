"""Bad input: what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from benchmarks.same.cases import Case, later
from benchmarks.same.paying import public
from benchmarks.same.programs import DELTA
from benchmarks.same.solving import program
from privlp import (
    ColumnPrivate,
    ConstraintPrivate,
    LinearProgram,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
)

_A, _B, _C = [[-1.0, -1.0], [-1.0, -3.0]], [-2.0, -3.0], [1.0, 2.0]
_NAN, _INF = float("nan"), float("inf")
_COMING = ConstraintPrivate("add-remove", nominal_n=9)


def programs() -> Iterator[Case]:
    """Programs and relations that are none."""
    odd: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "short c": (([1.0], _A, _B), {}),
        "short b": ((_C, _A, [1.0]), {}),
        "nan in A": ((_C, [[_NAN, 1.0], [1.0, 1.0]], _B), {}),
        "inf in A": ((_C, [[_INF, 1.0], [1.0, 1.0]], _B), {}),
        "nan in sparse A": ((_C, sp.csr_array([[_NAN, 1.0], [1.0, 1.0]]), _B), {}),
        "nan in c": (([_NAN, 1.0], _A, _B), {}),
        "inf in b": ((_C, _A, [_INF, 1.0]), {}),
        "words in b": ((_C, _A, ["one", "two"]), {}),
        "ragged A": ((_C, [[1.0], [1.0, 2.0]], _B), {}),
        "no rows": ((_C, np.zeros((0, 2)), []), {}),
        "no columns": (([], np.zeros((2, 0)), _B), {}),
        "flat A": ((_C, [1.0, 2.0], _B), {}),
        "complex A": ((_C, np.array(_A) * 1j, _B), {}),
        "bounds crossed": ((_C, _A, _B), {"bounds": (2, 1)}),
        "bounds too many": ((_C, _A, _B), {"bounds": [(0, 1)] * 3}),
        "bounds nan": ((_C, _A, _B), {"bounds": (_NAN, 1)}),
        "sides crossed": ((_C, _A, _B), {"row_lower": [0.0, 0.0]}),
        "private out of range": ((_C, _A, _B), {"private": [5]}),
        "private pattern": ((_C, _A, _B), {"private": "patient*"}),
        "private unmatched": ((_C, _A, _B), {"private": "z*", "row_names": ["a", "b"]}),
        "mask too short": ((_C, _A, _B), {"private": [True]}),
        "groups too short": ((_C, _A, _B), {"groups": ["Ann"]}),
        "names twice": ((_C, _A, _B), {"row_names": ["a", "a"]}),
        "names too few": ((_C, _A, _B), {"variable_names": ["a"]}),
        "penalty negative": ((_C, _A, _B), {"penalty": -1.0}),
        "sense": ((_C, _A, _B), {"sense": "up"}),
        "offset": ((_C, _A, _B), {"offset": _INF}),
        "name": ((_C, _A, _B), {"name": 3}),
        "relation class": ((_C, _A, _B), {"neighbours": ConstraintPrivate}),
        "relation word": ((_C, _A, _B), {"neighbours": "rows"}),
        "relations twice": ((_C, _A, _B), {"neighbours": (RowPrivate(1.0), RowPrivate(2.0))}),
        "relations mixed": ((_C, _A, _B), {"neighbours": (RowPrivate(1.0), ConstraintPrivate())}),
        "outside range": ((_C, _A, _B), {"neighbours": ScalarPrivate(1.0, lower=0, upper=1)}),
        "costs outside": ((_C, _A, _B), {"neighbours": ObjectivePrivate(1.0, lower=0, upper=1)}),
        "too small a step": ((_C, _A, _B), {"neighbours": ScalarPrivate(1e-30)}),
        "nominal n": ((_C, _A * 60, _B * 60), {"neighbours": _COMING}),
        "rows of a record": ((_C, _A, _B), {"neighbours": _COMING, "groups": [1, 1]}),
        "hidden short b": ((_C, _A, [1.0]), {"neighbours": _COMING}),
        "hidden nan": ((_C, [[_NAN, 1.0], [1.0, 1.0]], _B), {"neighbours": _COMING}),
    }
    for name, (arguments, options) in odd.items():
        yield f"odd:program {name}", later(LinearProgram, *arguments, **options)
    for kind in (ScalarPrivate, RowPrivate, ColumnPrivate, ObjectivePrivate):
        for value in (0.0, -1.0, _NAN, _INF, "1", None, True):
            yield f"odd:{kind.__name__} {value!r}", later(kind, value)
        yield f"odd:{kind.__name__} range", later(kind, 1.0, lower=2, upper=1)
        yield f"odd:{kind.__name__} shapes", later(kind, 1.0, lower=[1, 2], upper=[1, 2, 3])
    yield "odd:ScalarPrivate norm", later(ScalarPrivate, 1.0, norm="2")
    yield "odd:RowPrivate zeros", later(RowPrivate, 1.0, zeros="no")
    for options in ({"change": "swap"}, {"change": "add-remove"}, {"nominal_n": 5}):
        yield f"odd:ConstraintPrivate {options}", later(ConstraintPrivate, **options)
    for count in (0, 1.5, True, 2**60):
        wrong = later(ConstraintPrivate, rows_per_record=count)
        yield f"odd:ConstraintPrivate rows {count!r}", wrong


def requests() -> Iterator[Case]:
    """Requests that cannot be met."""
    lp, numbers = program("dense", "replace"), program("dense", "scalar")
    usual = {"eps": 1.0, "delta": DELTA, "s": 20, "opt": 3.0}
    odd: dict[str, dict[str, Any]] = {
        "eps": {"eps": 0.0},
        "negative eps": {"eps": -1.0},
        "nan eps": {"eps": _NAN},
        "word eps": {"eps": "1"},
        "delta": {"delta": 1.0},
        "delta below": {"delta": -0.1},
        "only eps": {"delta": None},
        "no s": {"s": None},
        "s": {"s": 0},
        "s above": {"s": 10_000},
        "s word": {"s": "ten"},
        "alpha": {"alpha": 0.0},
        "alpha inf": {"alpha": _INF},
        "alpha large": {"alpha": 1e9, "method": "dmw"},
        "opt nan": {"opt": _NAN},
        "opt word": {"opt": "3"},
        "opt range": {"opt": (4.0, 3.0)},
        "opt of three": {"opt": (1.0, 2.0, 3.0)},
        "opt negative": {"opt": -3.0},
        "range for dmw": {"opt": (2.0, 3.0), "method": "dmw"},
        "method": {"method": "simplex"},
        "method mw": {"method": "mw"},
        "method number": {"method": 3},
        "always": {"feasible": "always"},
        "feasible": {"feasible": "maybe"},
        "split": {"split": (1.0, 1.0)},
        "width": {"width": 2.0, "method": "staged"},
        "no width": {"method": "dmw-published", "alpha": 1.0},
        "budget": {"budget": 1.0},
        "rng": {"rng": -1},
        "rng word": {"rng": "seed"},
        "time limit": {"time_limit": 0.0},
        "tiny budget": {"eps": 1e-12, "delta": 0.0},
    }
    for name, change in odd.items():
        yield f"odd:solve {name}", later(privlp.solve, lp, **{**usual, "rng": 0, **change})
        for drop in ("method", "budget", "rng", "time_limit", "split"):
            change.pop(drop, None)
        if change:
            yield f"odd:plan {name}", later(privlp.plan, lp, **{**usual, **change})
    small: dict[str, dict[str, Any]] = {
        "s": {"s": 3},
        "alpha": {"alpha": 1.0},
        "width": {"width": 1.0},
    }
    for name, change in small.items():
        for method in ("mw", "direct-noise", "tightened"):
            asked = {"eps": 1.0, "delta": DELTA, "opt": 3.0, "method": method, "rng": 0, **change}
            yield f"odd:{method} {name}", later(privlp.solve, numbers, **asked)
    for name, call in {
        "solve": later(privlp.solve, None, 1.0, 0.0),
        "plan": later(privlp.plan, None, 1.0, 0.0),
        "exact": later(privlp.solve_exact, None),
        "compare": later(privlp.compare, None, [1.0]),
        "quality": later(privlp.quality, None, [1.0], 1.0),
        "audit_solve": later(privlp.audit_solve, None, 1.0, 0.0),
    }.items():
        yield f"odd:{name} of nothing", call


def others() -> Iterator[Case]:
    """Points, reports, audits, budgets and files."""
    lp = program("dense", "replace")
    for name, point in {"short": [1.0], "nan": [_NAN] * 5, "words": ["a"] * 5}.items():
        yield f"odd:compare {name}", later(privlp.compare, lp, point)
        yield f"odd:quality {name}", later(privlp.quality, lp, point, 1.0, rng=0)
    yield "odd:quality exact", later(privlp.quality, lp, privlp.solve_exact(lp), 1.0)
    public_rows = program("dense", "objective")
    yield "odd:quality public", later(privlp.quality, public_rows, [1.0] * 5, 1.0)
    yield "odd:violation_at", lambda: privlp.compare(lp, [1.0] * 5).violation_at(-1)
    yield "odd:n_violated", lambda: privlp.compare(lp, [1.0] * 5).n_violated(_NAN)
    wrong: dict[str, dict[str, Any]] = {"runs": {"runs": 5}, "confidence": {"confidence": 2.0}}
    for name, asked in wrong.items():
        claim = (_same, 0, 1, 1.0, 0.0)
        yield f"odd:audit {name}", later(privlp.audit, *claim, **asked)
        yield f"odd:audit_solve {name}", later(privlp.audit_solve, lp, 1.0, 0.0, 5, **asked)
    yield "odd:audit kinds", later(privlp.audit, _longer, 0, 1, 1.0, 0.0, runs=100, rng=0)
    yield "odd:audit objects", later(privlp.audit, _no_key, 0, 1, 1.0, 0.0, runs=100, rng=0)
    yield "odd:audit_solve inf", later(privlp.audit_solve, lp, _INF, 0.0, 5)
    for arguments in ((0.0, 0.0), (1.0, 2.0), ("1", 0.0), (_NAN, 0.0)):
        yield f"odd:Budget {arguments}", later(privlp.Budget, *arguments)
    yield "odd:Budget composition", later(privlp.Budget, 1.0, 0.0, composition="sum")
    for count in (0, 1.5, True):
        yield f"odd:disjoint {count}", later(privlp.Budget(1.0, 0.0).disjoint, count)
    for name in ("no.mps", "words.mps", "lines.json", "no.budget"):
        yield f"odd:file {name}", later(_opened, name)
    yield "odd:linprog", later(LinearProgram.from_linprog, _C, _A)
    yield "odd:cvxpy", later(LinearProgram.from_cvxpy, 3)
    made: dict[str, tuple[Any, ...]] = {
        "LaplaceMechanism": (0.0, 1.0),
        "GaussianMechanism": (1.0, -1.0),
        "ExponentialMechanism": (1.0, -1.0),
        "TruncatedLaplaceMechanism": (1.0, 1.0, 0.0),
        "TruncatedGaussianMechanism": (1.0, 1.0, 100.0, 1.0, 1.0, 1.0, 1),
        "WeightedGaussianMechanism": (1.0, 1.0, ()),
        "Randomness": ("seed",),
        "Ledger": (0.0, 0.0),
    }
    for name, sizes in made.items():
        yield f"odd:{name}", later(_called, name, sizes)


def _called(name: str, arguments: tuple[Any, ...]) -> Any:
    return repr(public(name)(*arguments))


def _same(data: int, _: np.random.Generator) -> int:
    return data


def _longer(data: int, _: np.random.Generator) -> list[float]:
    return [0.0] * (data + 1)


def _no_key(_: int, __: np.random.Generator) -> Any:
    return {}


def _opened(name: str) -> Any:
    if not name.startswith("no."):
        Path(name).write_text("nonsense\nand more\n", encoding="utf-8")
    if name.endswith(".mps"):
        return LinearProgram.from_mps(name)
    return privlp.Budget.open(name) if name.endswith(".budget") else privlp.Solution.load(name)
