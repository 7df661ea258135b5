"""Every relation with every method that protects it, and programs for both."""

import pytest

import privlp
from privlp import ColumnPrivate, ConstraintPrivate, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.relations import Combined
from tests import effort, programs
from tests.programs import method_of, methods_for

OPT = 6.0

# Numbers of `covering` lie in these ranges.
SCALAR = {"lower": -1.2, "upper": -0.8}
MATRIX = {"lower": -1.0, "upper": -0.4}
COSTS = {"lower": 0.4, "upper": 2.1}
RELATIONS = {
    "whole rows": ConstraintPrivate(),
    "scalar": ScalarPrivate(0.05, **SCALAR),
    "scalar in sum": ScalarPrivate(0.05, norm="1", **SCALAR),
    "row": RowPrivate(0.01, **MATRIX),
    "column": ColumnPrivate(0.01, **MATRIX),
    "objective": ObjectivePrivate(0.05, **COSTS),
    "row+column": Combined((RowPrivate(0.01, **MATRIX), ColumnPrivate(0.02, **MATRIX))),
    "row+scalar": Combined((RowPrivate(0.01, **MATRIX), ScalarPrivate(0.05, **SCALAR))),
    "column+objective": Combined((ColumnPrivate(0.01, **MATRIX), ObjectivePrivate(0.05, **COSTS))),
    "row+scalar+objective": Combined(
        (
            RowPrivate(0.01, **MATRIX),
            ScalarPrivate(0.05, norm="1", **SCALAR),
            ObjectivePrivate(0.05, **COSTS),
        )
    ),
}
#: What a method is told of the program.
REQUESTS = {
    "mw": {"opt": OPT, "alpha": 1.0},
    "dmw": {"s": 30, "opt": OPT, "alpha": 2.0},
    "dmw-published": {"s": 30, "opt": OPT, "alpha": 20.0, "width": 1.0},
    **{method: {"s": 30, "opt": OPT} for method in ("chain", "perturbed", "staged")},
}
#: Those that add Gaussian or truncated noise, whatever they are asked.
NEED_DELTA = ("chain", "perturbed", "staged", "dmw-published")
NEED_DELTA += ("truncated", "measured", "one", "by-")


def parts_of(relation):
    return relation.parts if isinstance(relation, Combined) else (relation,)


def has(relation, *kinds):
    return any(isinstance(part, kinds) for part in parts_of(relation))


def combinations(keep=lambda relation, method: True):
    """Every relation but whole rows, with every method that protects it."""
    return [
        (name, method)
        for name, relation in RELATIONS.items()
        if name != "whole rows"
        for method in methods_for(relation)
        if keep(relation, method)
    ]


def conforming(keep=lambda relation, method: True, *, whole_rows=False):
    """Every relation and every method; each with each in a thorough run."""
    cases = combinations(keep)
    if whole_rows:
        relation = RELATIONS["whole rows"]
        cases += [("whole rows", m) for m in methods_for(relation) if keep(relation, m)]
    return pytest.mark.parametrize(("name", "method"), effort.covering(cases, together=1))


def every(keep=lambda relation, method: True):
    """Every relation, whole rows too."""
    return conforming(keep, whole_rows=True)


def never(method):
    return method.startswith(("truncated", "measured", "one", "by-"))


def tightens(method):
    return never(method) or method == "quantile-noise"


def covering(name, **fields):
    relation = RELATIONS.get(name)
    # Noisy costs might reward any direction.
    boxed = relation and has(relation, ObjectivePrivate)
    fields = {"neighbours": relation, "bounds": (0, 20 if boxed else None), **fields}
    return programs.covering(300 if name == "whole rows" else 30, 4, least=0.5, **fields)


def run(lp, method, *, eps=1.0, delta=1e-6, rng=0, **options):
    options = {**REQUESTS.get(method, {}), **options}
    return privlp.solve(lp, eps, delta, method=method_of(method), rng=rng, **options)
