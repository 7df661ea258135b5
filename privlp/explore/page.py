"""Write the page: what a grid of answers shows, as numbers in one HTML file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binomtest
from tqdm import tqdm

from privlp import examples
from privlp.checks import FloatArray, are_places, optional, require, require_flag, whole
from privlp.errors import UnsupportedProblemError
from privlp.explore.grid import EPSILONS, Answers, Grid, Pair, computed
from privlp.files import path_of, write_whole
from privlp.linear_program import LinearProgram, require_program
from privlp.pictures import half_planes, label_of, polygon
from privlp.privacy.budget_rule import validated_budget

#: Programs whose records are made up, or published with a package.
EXAMPLES = (
    *("kitchen", "doctor_visits", "screening", "advertising", "hospital_capacities", "diet"),
    "matrix_game",
)
_MOST_LINES = 400
# The view reaches from exact optima to this multiple of the distance of the nearest quarter of
# answers: of too few rows the others are noise.
_REACH = 6.0
_MARGIN = 0.1
_DIGITS = 5


def explore(
    lp: LinearProgram,
    path: str | os.PathLike[str],
    *,
    not_private: bool = False,
    variables: Sequence[int] | None = None,
    eps: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    draws: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> None:
    """Write a page for teaching, with sliders for eps, s and n: **not private**.

    One HTML file, which needs no network. It shows the private rows, the exact optimum, private
    answers that :func:`solve` gave, their costs and missed rows beside what the plan said, what
    moves when one record is taken away, and whether an attacker notices.

    Parameters
    ----------
    lp : LinearProgram
        The program. At most 2,000 of its records are taken, at random.
    path : str or path
        Of the file. It appears whole or not at all.
    not_private : bool
        Say that the rows may be shown. Needed unless the program is one of ``privlp.examples``,
        as they are made without arguments.
    variables : pair of int, optional
        The two variables of the picture, where there are more. By default a plane through the exact
        optimum in which private answers differ most.
    eps : sequence of float
        Where the slider for eps stops, in ascending order. Fewer take less time.
    delta : float
        Of all solves.
    draws : int, optional
        Private answers for each eps, s and n, with and without the record: each is a solve. 8 by
        default, and up to 36 where s and n do not change.
    seed : int
        Of noise, and of the order of records. Equal seeds and versions give equal files.
    progress : bool
        Show a progress bar.

    Raises
    ------
    InvalidParameterError
        If the program is no example, and nobody said that its rows may be shown.
    MissingDependencyError
        If Bokeh is not installed, whose JavaScript draws.
    UnsupportedProblemError
        If there is one variable, one record, or no exact optimum.

    Examples
    --------
    >>> import pathlib, tempfile, privlp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "page.html")
    ...     privlp.explore(privlp.examples.diet(), page, draws=1)
    ...     "not for release" in page.read_text(encoding="utf-8")
    True
    """
    require_program(lp)
    require_flag(not_private, "not_private")
    require(
        np.ndim(eps) == 1
        and len(eps) > 0
        and all(np.isfinite(eps))
        and list(eps) == sorted(set(eps)),
        "eps must be a sequence of finite numbers in ascending order, such as (0.5, 2.0).",
        "eps",
    )
    validated_budget(eps[0], delta)
    if draws is not None:
        whole(draws, "draws")
    whole(seed, "seed", least=0)
    d = lp.shape[1]
    if d < 2:
        raise UnsupportedProblemError("The page draws two variables; this program has one.")
    pair = variables is None or (len(variables) == 2 and are_places(np.asarray(variables), d))
    require(pair, f"variables must be two different numbers from 0 to {d - 1}.", "variables")
    require(
        not_private or _is_example(lp),
        "The page shows private rows and exact optima: it is for teaching, not for release. This"
        " program is none of privlp.examples, as they are without arguments. Say not_private=True"
        " (on the command line --not-private) if its rows may be shown to whoever sees the page.",
        "not_private",
    )
    folder = Path(path_of(path)).resolve().parent
    require(folder.is_dir(), f"There is no folder to hold {path_of(path)!r}.", "path")
    scripts = _scripts()
    seconds = 0.1 if sys.stderr.isatty() else 10.0  # between two lines of progress
    bar = partial(
        tqdm, disable=not progress, desc="private answers", unit="solve", mininterval=seconds
    )
    grid = computed(lp, tuple(map(float, eps)), float(delta), draws, seed, bar)
    shown = _shown(grid, variables)
    shown["total"] = int(lp.private.sum())
    shown["about"] = f"seed {seed}, privlp {version('privlp')}"
    name = escape(lp.name or "a linear program")
    template = files("privlp.explore").joinpath("page.html").read_text(encoding="utf-8")
    # "<" would end a script within a text; the scripts come last, they may hold any text.
    data = json.dumps(shown, allow_nan=False).replace("<", "\\u003c")
    for key, text in (("@NAME@", name), ("@DATA@", data), ("@SCRIPTS@", scripts)):
        template = template.replace(key, text)
    write_whole(path, template)


def _is_example(lp: LinearProgram) -> bool:
    """Whether all that a page shows is that of an example, as it is made without arguments."""
    name = lp.name.replace(" ", "_")
    if name not in EXAMPLES or lp.in_blocks:
        return False
    example: LinearProgram = getattr(examples, name)()
    return (
        example.shape == lp.shape
        and all(
            np.array_equal(getattr(example, own), getattr(lp, own))
            for own in ("b", "c", "bounds", "row_lower", "private")
        )
        and not (example.A != lp.A).sum()
        and example.variable_names == lp.variable_names
        and example.neighbours == lp.neighbours
        and lp.penalty is None
    )


def _scripts() -> str:
    """Bokeh's JavaScript, of its wheel."""
    need = "The page draws with Bokeh: install it by pip install 'privlp[explore]'."
    resources = optional("bokeh.resources", need).Resources
    found = resources(mode="inline", components=["bokeh", "bokeh-api"], minified=True).js_raw
    return "\n".join(f"<script>{text}</script>" for text in found)


def _shown(grid: Grid, variables: Sequence[int] | None) -> dict[str, Any]:
    """All numbers of the page."""
    lp, d = grid.lp, grid.lp.shape[1]
    optimum = grid.pairs[-1].programs[0].x
    if d == 2 or variables is not None:
        chosen = [0, 1] if variables is None else [int(j) for j in variables]
        basis = np.eye(d)[:, chosen]
        labels = [label_of(lp.variable_names, j) for j in chosen]
    else:
        basis = _principal_plane(grid)
        labels = [_in_words(lp, direction) for direction in basis.T]
    # In the plane only; the other variables stay where the optimum has them.
    origin = optimum - basis @ (basis.T @ optimum)
    every = [(w, a) for pair in grid.pairs for w, a in pair.each()]
    low, high = _limits(
        np.vstack([(answers.x - program.x) @ basis for program, answers in every]),
        np.array([program.x @ basis for program, _ in every]),
    )
    exact = np.array([program.objective for program, _ in every])[:, None]
    off = [answers.cost - program.objective for program, answers in every]
    costs = np.concatenate(_limits(np.concatenate(off)[:, None], exact, _REACH / 2))
    centre, reach = (low + high) / 2, float((high - low).max())
    A, b, owner = half_planes(lp, origin, basis)
    place = np.where(owner < 0, -1, grid.place[owner])
    lines = np.flatnonzero((np.abs(b - A @ centre) < reach) & (place >= 0))

    def region(kept: Any) -> Any:
        return _plain(polygon(A[kept], b[kept], centre, reach, 1e-9 * reach))

    whole_rows = lp.neighbours.changes_whole_rows
    return {
        "epsilons": grid.epsilons,
        "shares": grid.shares,
        "labels": labels,
        "slice": d > 2,
        "view": _plain([low, high]),
        "costs": _plain(costs),
        "wholeRows": whole_rows,
        "delta": grid.delta,
        "sense": lp.sense,
        "solves": sum(len(pair.answers) * 2 * grid.draws for pair in grid.pairs),
        "draws": grid.draws,
        "better": _plain(-lp.sign * lp.c @ basis),
        "region": region(place < 0),
        "lines": [
            [int(place[i]), *_plain(_segment(A[i], b[i], centre, reach))]
            for i in sorted(lines, key=lambda i: (place[i], i))[:_MOST_LINES]
        ],
        "sizes": [
            {**_of_size(pair, basis), "feasible": region(place < pair.records)}
            for pair in grid.pairs
        ],
        "guesses": [_guessed(grid, eps) for eps in grid.epsilons],
    }


def _principal_plane(grid: Grid) -> FloatArray:
    """Two directions in which answers to all records differ most from the optimum, (d, 2)."""
    last = grid.pairs[-1]
    apart = np.vstack([answers.x - program.x for program, answers in last.each()])
    apart = np.vstack([apart, last.programs[1].x - last.programs[0].x])
    size = np.linalg.norm(apart, axis=1)
    if size.any():  # one answer far away would fix a direction alone
        apart = apart[size <= np.median(size[size > 0])]
    basis = np.linalg.svd(np.vstack([apart, 1e-9 * np.eye(2, apart.shape[1])]))[2][:2].T
    return basis * np.sign(basis[np.abs(basis).argmax(axis=0), [0, 1]])


def _in_words(lp: LinearProgram, direction: FloatArray) -> str:
    """A direction by the two variables that it changes most."""
    largest = np.argsort(-np.abs(direction))[:2]
    terms = [f"{direction[j]:+.2g} · {label_of(lp.variable_names, j)}" for j in largest]
    return f"{' '.join(terms)} …".removeprefix("+").replace(" +", " + ").replace(" -", " − ")


def _limits(
    apart: FloatArray, optima: FloatArray, reach: float = _REACH
) -> tuple[FloatArray, FloatArray]:
    """Ends of a view of all optima, and of answers that lie so far apart from them."""
    typical = np.percentile(np.abs(apart), [25, 50, 75, 95, 100], axis=0)
    typical = np.array([next(iter(each[each > 0]), 0.0) for each in typical.T])
    typical[typical == 0] = typical.max() or 1.0
    low, high = optima.min(axis=0), optima.max(axis=0)
    room = reach * typical + _MARGIN * (high - low)
    return low - room, high + room


def _segment(normal: FloatArray, rhs: float, centre: FloatArray, reach: float) -> FloatArray:
    """The part of a line about the view: x and y of one end, then of the other."""
    foot = centre + (rhs - normal @ centre) * normal
    along = 2 * reach * np.array([-normal[1], normal[0]])
    return np.concatenate([foot - along, foot + along])


def _of_size(pair: Pair, basis: FloatArray) -> dict[str, Any]:
    """What is shown of one number of records."""
    one, other = pair.programs
    return {
        "n": pair.records,
        "rows": int(one.lp.private.sum()),
        "s": list(pair.s.values()),
        "exact": [[*_plain(w.x @ basis), *_plain([w.objective])] for w in pair.programs],
        "moved": _plain([np.linalg.norm(one.x - other.x)])[0],
        "cells": [
            {
                "verdict": with_it.verdict,
                "advice": with_it.advice,
                "apart": _apart(with_it.x, without_it.x),
                "answers": [_points(each, basis) for each in (with_it, without_it)],
            }
            for with_it, without_it in pair.answers.values()
        ],
    }


def _points(answers: Answers, basis: FloatArray) -> list[list[float]]:
    return _plain(np.column_stack([answers.x @ basis, answers.cost, answers.missed]))


def _apart(one: FloatArray, other: FloatArray) -> list[float] | None:
    """Typical distances: of an answer with the record from one without, and of two with it."""
    if len(one) < 2 or not len(other):
        return None
    across, within = cdist(one, other), pdist(one)
    return _plain([np.median(across), np.median(within)])


def _guessed(grid: Grid, eps: float) -> dict[str, Any]:
    """The attacker's share of right guesses at one eps, with its interval of 95 %."""
    right, trials = grid.guesses(eps)
    if not trials:
        return {"right": 0, "trials": 0, "share": None, "interval": None}
    test = binomtest(right, trials)
    return {
        "right": right,
        "trials": trials,
        "share": _plain([right / trials])[0],
        "interval": _plain(test.proportion_ci()),
    }


def _plain(values: Any) -> Any:
    """Nested lists of numbers of a few digits; the last one is a row of them."""
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [_plain(row) for row in array]
    return [float(f"{value:.{_DIGITS}g}") for value in array]
