"""Programs that are stated, read and written; the examples of privlp; what pictures show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import cvxpy
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import scipy.sparse as sp

import privlp
from benchmarks.same.canonical import Parts
from benchmarks.same.cases import Case, later
from benchmarks.same.programs import DELTA
from benchmarks.same.solving import program
from privlp import ConstraintPrivate, LinearProgram

mpl.use("agg")

# -------------------------------------------------------------------------------------- examples

_EXAMPLES: dict[str, tuple[Callable[..., LinearProgram], dict[str, Any]]] = {
    "budgets": (privlp.examples.advertising, {"private": "budgets"}),
    "prices": (privlp.examples.advertising, {"private": "prices", "pages": 4}),
    "both": (privlp.examples.advertising, {"private": "both", "pages": 3, "advertisers": 3}),
    "hospitals": (privlp.examples.hospital_capacities, {}),
    "few hospitals": (privlp.examples.hospital_capacities, {"hospitals": 4, "districts": 9}),
    "diet": (privlp.examples.diet, {}),
    "game by row": (privlp.examples.matrix_game, {"private": "row"}),
    "game by column": (privlp.examples.matrix_game, {"private": "column", "theirs": 12}),
}


def examples() -> Iterator[Case]:
    """Each example: the program, its solutions, a plan, a comparison, a report."""
    for name, (make, options) in _EXAMPLES.items():
        for seed in (0, 3):
            example = later(make, seed, **options)
            label = f"example:{name} {seed}"
            yield f"{label}:program", example
            yield f"{label}:exact", later(_with, privlp.solve_exact, example)
            for feasible in (None, "always"):
                asked = {"eps": 1.0, "delta": 1e-4, "feasible": feasible}
                yield f"{label}:plan {feasible}", later(_with, privlp.plan, example, **asked)
                solve = later(_with, privlp.solve, example, rng=seed, **asked)
                yield f"{label}:solve {feasible}", solve
            yield f"{label}:compare", later(_looked_at, example)
    screening = privlp.examples.screening
    yield "example:screening:program", screening
    for method in ("dmw", "staged", "chain"):
        asked = {"eps": 2.0, "delta": DELTA, "s": 60, "opt": 30.0, "alpha": 1.0, "method": method}
        solve = later(_with, privlp.solve, screening, rng=1, **asked)
        yield f"example:screening:{method}", solve


def _with(call: Callable[..., Any], make: Callable[[], LinearProgram], **asked: Any) -> Any:
    return call(make(), **asked)


def _looked_at(make: Callable[[], LinearProgram]) -> Parts:
    lp = make()
    solution = privlp.solve(lp, 1.0, 1e-4, rng=1)
    report: Any = None
    if "objective" not in lp.neighbours.description:
        report = privlp.quality(lp, solution, 0.5, rng=2)
    return Parts({"": privlp.compare(lp, solution), "quality": report})


# --------------------------------------------------------------------------------------- readers

_C: Any = [1.0, 2.0, 0.5]
_A: Any = [[1.0, 1.0, 0.0], [0.0, -1.0, 2.0]]
_B: Any = [4.0, 3.0]
_EQ, _RHS = [[1.0, 1.0, 1.0]], [2.0]


def readers() -> Iterator[Case]:
    """The same small program as arrays, data frames, files and models, and relations' own words."""
    whole = LinearProgram(_C, _A, _B)
    frame = pd.DataFrame(_A, index=["first", "second"], columns=["x", "y", "z"])
    yield "read:lists", lambda: whole
    yield "read:data frame", lambda: LinearProgram(_C, frame, _B, private="first")
    for layout in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array):
        stored = layout(np.array(_A))
        label = f"read:{layout.__name__}"
        yield label, later(LinearProgram, _C, stored, _B, penalty=[2.0, np.inf])
    yield "read:grouped", later(LinearProgram, _C, _A, _B, groups=["Ann", "Ann"], name="g")
    yield "read:names", later(_named, ["s*"])
    yield "read:indices", later(LinearProgram, _C, _A, _B, private=[1])
    yield (
        "read:empty",
        later(
            LinearProgram,
            _C,
            np.zeros((0, 3)),
            [],
            neighbours=ConstraintPrivate("add-remove", nominal_n=9),
        ),
    )
    both = (_C, _A, _B, _EQ, _RHS)
    for name, bounds in (("plain", (0, None)), ("each", [(None, None), (0, 5), (-3, None)])):
        yield f"read:linprog {name}", later(LinearProgram.from_linprog, *both, bounds)
        boxed = later(LinearProgram.from_linprog, *both, bounds, box=7.0)
        yield f"read:linprog {name} in a box", boxed
    come_and_go = ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=9)
    yield (
        "read:linprog add-remove",
        later(LinearProgram.from_linprog, *both, neighbours=come_and_go),
    )
    for name in ("packing", "sparse packing", "dense", "sparse"):
        yield f"read:mps {name}", later(_written, name)
    yield "read:cvxpy", _from_cvxpy
    for relation in (
        *(privlp.ScalarPrivate(0.5, norm=norm, lower=0, upper=9) for norm in ("inf", "1")),
        privlp.RowPrivate(0.1, lower=0, upper=1, zeros="public"),
        privlp.ColumnPrivate(0.1),
        privlp.ObjectivePrivate(2.0),
        ConstraintPrivate(rows_per_record=4),
        come_and_go,
    ):
        yield f"relation:{relation!r}", later(_words_of, relation)


def _named(pattern: list[str]) -> LinearProgram:
    return LinearProgram(_C, _A, _B, private=pattern, row_names=["first", "second"])


def _words_of(relation: Any) -> list[Any]:
    others = [ConstraintPrivate(), privlp.ScalarPrivate(1.0), privlp.ObjectivePrivate(1.0)]
    equal = [relation == other for other in [*others, replace(relation)]]
    return [relation.description, repr(relation), equal, hash(relation) == hash(replace(relation))]


def _written(name: str) -> Parts:
    lp = program(name, "replace")
    lp.to_mps("model.mps")
    with open("model.mps", encoding="utf-8") as file:
        text = file.read()
    again = LinearProgram.from_mps("model.mps", box=50.0)
    return Parts({"": again, "file": text, "exact": privlp.solve_exact(again)})


def _from_cvxpy() -> Parts:
    x, y = cvxpy.Variable(2, nonneg=True, name="x"), cvxpy.Variable(name="y", bounds=[-1.0, 4.0])
    least = cvxpy.sum(x) + y >= 2
    rows = [least, x[0] - 3 * y <= 1.5, x[1] == 2 * y - 0.5]
    lp = LinearProgram.from_cvxpy(cvxpy.Problem(cvxpy.Minimize(3 * x[0] + x[1] + 1), rows))
    other = cvxpy.Problem(cvxpy.Maximize(-x[0] - y), rows)
    named = LinearProgram.from_cvxpy(other, private=[least], box=9.0)
    return Parts({"": lp, "named": named, "exact": privlp.solve_exact(named)})


# -------------------------------------------------------------------------------------- pictures


def pictures() -> Iterator[Case]:
    """The numbers and words in pictures."""
    lp = later(LinearProgram, [1, 2], [[-1, -1], [-1, -3]], [-2, -3])()
    rows: dict[str, Any] = {"eps": 1.0, "delta": DELTA, "s": 20, "opt": 3.0}
    covering, diet = program("dense", "replace"), privlp.examples.diet()
    sold = privlp.examples.advertising(private="both", pages=3, advertisers=2)
    yield "picture:trace dmw", later(_trace, covering, {**rows, "method": "dmw"})
    yield "picture:trace diet", later(_trace, diet, {"eps": 1.0, "delta": 0.0})
    always: dict[str, Any] = {"eps": 1.0, "delta": 1e-4, "feasible": "always"}
    yield "picture:trace always", later(_trace, sold, always)
    yield "picture:plan", lambda: _drawn(privlp.plan(covering, **rows).plot())
    yield "picture:plan always", lambda: _drawn(privlp.plan(sold, **always).plot())
    yield "picture:comparison", lambda: _drawn(privlp.compare(lp, [1, 0]).plot(label="a", s=1))
    yield "picture:program", lambda: _drawn(lp.plot(points={"exact": privlp.solve_exact(lp)}))
    asked: dict[str, Any] = {"pairs": 2, "runs": 0, "rng": 0}
    yield "picture:solve audit", lambda: _drawn(privlp.audit_solve(diet, 1.0, 0.0, **asked).plot())


def _trace(lp: LinearProgram, asked: dict[str, Any]) -> Any:
    return _drawn(privlp.solve(lp, rng=0, **asked).plot_trace(most=3))


def _drawn(axes: Any) -> Parts:
    """Lines, bars and words of a picture."""
    lines = [[line.get_label(), np.asarray(line.get_xydata())] for line in axes.lines]
    bars = [np.asarray(patch.get_path().vertices) for patch in axes.patches]
    words = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
    legend = axes.get_legend()
    words += [text.get_text() for text in (legend.get_texts() if legend else [])]
    ends = [axes.get_xscale(), axes.get_yscale(), *axes.get_xlim(), *axes.get_ylim()]
    plt.close(axes.figure)
    return Parts({"": [lines, bars, ends], "words": words})
