"""Pictures: axes come back, labelled, without a display; what they show."""

import dataclasses
import functools
import re
import sys

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex

import privlp
from privlp import LinearProgram, examples
from privlp.game.loop import Path
from privlp.methods.tightened.noise import TruncatedGaussian
from privlp.pictures import COLOURS, STYLE, new_axes

pytestmark = pytest.mark.usefixtures("pyplot")
NEEDS = np.random.default_rng(1).uniform(0.2, 1.0, size=(300, 4))
COVERING = LinearProgram([1.0, 2.0, 1.0, 3.0], -NEEDS, -np.ones(300))
TRIANGLE = LinearProgram([-1.0, -1.0], [[1.0, 2.0], [3.0, 1.0]], [4.0, 6.0])


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@functools.cache
def solved(method, **options):
    lp, s = COVERING, 20
    if method == "mw":
        lp, s = lp.changed(neighbours=privlp.ScalarPrivate(0.01)), None
    return privlp.solve(lp, 1.0, 1e-6, s, opt=4.6, method=method, rng=0, **options)


def answer(bit, rng):
    return bit if rng.random() < 0.75 else 1 - bit


#: What is drawn; it is made once.
MADE = {
    "program": lambda: TRIANGLE.plot,
    "comparison": lambda: privlp.compare(COVERING, [1.0, 1.0, 0.0, 0.0]).plot,
    "plan": lambda: privlp.plan(COVERING.changed(penalty=1, bounds=(0, 9)), 1.0, 1e-6).plot,
    "plan of many methods": lambda: privlp.plan(COVERING, 1.0, 1e-6, 20, opt=4.6).plot,
    "trace of dmw": lambda: solved("dmw").plot_trace,
    "trace of mw": lambda: solved("mw").plot_trace,
    "trace of direct noise": lambda: privlp.solve(examples.diet(), 1.0, 0.0, rng=0).plot_trace,
    "audit": lambda: privlp.audit(answer, 0, 1, 1.1, 0.0, runs=1000, rng=0).plot,
    "audit of a solve": (
        lambda: privlp.audit_solve(examples.diet(), 1.0, 0.0, pairs=1, runs=0, rng=0).plot
    ),
}
made = functools.cache(lambda name: MADE[name]())


def sizes_of(ax):
    labels = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    return {label.get_fontsize() for label in labels}


PICTURES = MADE.keys() - {"plan of many methods"}  # which takes long


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_every_picture_is_labelled_drawn_and_says_whether_it_is_private(pyplot, name):
    ax = made(name)()
    assert isinstance(ax, pyplot.Axes)
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name == "audit of a solve"  # whose bars have names
    assert re.search("not private|released values only|public numbers alone", ax.get_title())
    assert sizes_of(ax) == {STYLE["font.size"]}
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", MADE)
def test_every_picture_takes_axes_and_leaves_their_title_but_for_verdicts(pyplot, name):
    _, (left, right) = pyplot.subplots(1, 2, figsize=(18, 7))
    right.set_title("mine")
    assert made(name)(right) is right
    assert (right.get_title() == "mine") != name.startswith("audit")
    assert not left.has_data()
    assert sizes_of(right) == {STYLE["font.size"]}
    colours = {to_hex(line.get_color()) for line in right.lines}
    assert not colours & {to_hex(f"C{k}") for k in range(10)}
    # the style does not stay
    assert pyplot.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]
    right.figure.canvas.draw()
    legend = right.get_legend()
    if legend is not None:
        corners = right.transAxes.inverted().transform(legend.get_window_extent())
        assert (corners >= 0).all()
        assert (corners <= 1).all()


def test_axes_that_are_drawn_on_keep_their_colours(pyplot):
    ax = pyplot.subplots()[1]
    ax.plot([0, 1])
    assert to_hex(made("comparison")(ax).lines[1].get_color()) == to_hex("C1")


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_every_picture_says_what_to_install(monkeypatch, name):
    draw = made(name)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = r"Plots need Matplotlib: install it by pip install 'privlp\[plot\]'"
    with pytest.raises(privlp.MissingDependencyError, match=message):
        draw()


def test_lines_take_the_palette_in_its_order():
    ax = new_axes()
    drawn = [ax.plot([0, 1])[0].get_color() for _ in COLOURS]
    assert drawn == list(COLOURS.values())


def polygon_of(ax):
    return {tuple(corner) for corner in np.round(ax.patches[0].get_xy(), 6).tolist()}


def test_the_feasible_region_has_the_corners_of_the_program():
    assert polygon_of(TRIANGLE.plot()) == {(0.0, 0.0), (2.0, 0.0), (1.6, 1.2), (0.0, 2.0)}


def test_equalities_ranges_bounds_and_sparse_rows():
    A = sp.csr_array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    lower, upper = [3.0, -1.0, -np.inf], [3.0, 1.0, 1.0]
    lp = LinearProgram([1.0, 0.0], A, upper, row_lower=lower, bounds=(0, 10), private=[1])
    ax = lp.plot()
    assert polygon_of(ax) == {(1.0, 2.0), (2.0, 1.0)}
    assert legend_of(ax) == ["feasible region", "public row", "private row"]


@pytest.mark.parametrize(("sense", "way"), [("min", -1.0), ("max", 1.0)])
def test_the_arrow_points_to_better_objectives(sense, way):
    ax = LinearProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], sense=sense).plot()
    (arrow,) = ax.texts
    step = np.subtract(arrow.xy, arrow.get_position()) * way
    assert arrow.get_text() == "better"
    assert step[1] == pytest.approx(2 * step[0])
    assert step[0] > 0
    assert not LinearProgram([0.0, 0.0], [[1.0, 1.0]], [1.0]).plot().texts  # without costs


def test_points_solutions_clouds_and_highlighted_rows():
    lp = LinearProgram([-1.0, -1.0], TRIANGLE.A, TRIANGLE.b, variable_names=["bread", "butter"])
    cloud = np.random.default_rng(0).uniform(size=(30, 2))
    points = {"exact": privlp.solve_exact(lp), "a guess": [5.0, 0.5], "private": cloud}
    ax = lp.plot(points=points, highlight=[1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bread", "butter")
    rows = ["feasible region", "private row", "highlighted row"]
    assert legend_of(ax) == [*rows, "exact", "a guess", "private"]
    places = {line.get_label(): np.array(line.get_data()).T for line in ax.lines}
    assert places["exact"] == pytest.approx(np.array([[1.6, 1.2]]))
    assert places["private"] == pytest.approx(cloud)
    assert ax.get_xlim()[1] > 5.0
    colours = {line.get_label(): line.get_color() for line in ax.lines}
    assert len({colours[name] for name in ("exact", "a guess", "private")}) == 3


POINT = r"points\['mine'\] must be a solution with an x, or finite numbers"
NAMES = "points must map a name to each point, got "
LIMITS = "limits must hold a lower and a larger upper end"


@pytest.mark.parametrize(
    ("argument", "several", "message"),
    [
        ("points", [{"mine": p} for p in ([1.0], [1, 2, 3], [np.nan, 0], "ab", None)], POINT),
        ("ax", ["here"], "ax must be Matplotlib axes, got str"),
        ("ax", [object()], "ax must be Matplotlib axes, got object"),
        ("points", [{"mine": [[[1.0, 2.0]]]}], POINT),
        ("points", [[[1.0, 2.0]], np.ones((1, 2)), "ab"], NAMES),
        ("highlight", [[2], [-1], [0.5], ["a"]], "highlight must hold row numbers of the program"),
        ("highlight", [[0, 1, 1]], "highlight must hold row numbers .*, each once"),
        ("limits", [(0, 1), [(0, 1), (1, 1)], [(0, 1), (0, np.inf)], "ab", [(0, 1)]], LIMITS),
    ],
)
def test_what_is_refused(argument, several, message):
    for wrong in several:
        with pytest.raises(privlp.InvalidParameterError, match=message):
            TRIANGLE.plot(**{argument: wrong})


def test_limits_frame_the_view():
    ax = TRIANGLE.plot(limits=[(0.5, 2.0), (-1.0, 1.5)])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.5, 2.0), (-1.0, 1.5))
    (arrow,) = ax.texts
    assert arrow.get_position() == (1.25, 0.25)


@pytest.mark.parametrize(
    ("A", "b", "xlim", "ylim"),
    [
        ([[1, 0]], [5], (-1, 6), (-1.5, 9)),
        ([[1, 0]], [1], (-0.2, 1.2), (-0.3, 1.8)),
        ([[1, 0], [-1, 0]], [3, -1], (0.6, 3.4), (-0.6, 3.6)),
        ([[1, -1]], [1], (-0.2, 1.2), (-0.3, 1.8)),
        ([[-1, 0], [0, -1]], [-3, -2], (2.1, 8.4), (1.1, 7.4)),
        ([[1, 2], [3, 1]], [4e-6, 6e-6], (-4e-7, 2.4e-6), (-4e-7, 2.4e-6)),
        ([[1, 0], [0, 1]], [1e5, 1], (-2e4, 1.2e5), (-0.2, 1.2)),
        ([[0, 1]], [0], (-0.3, 1.8), (-0.7, 0.7)),
        ([[1, 1]], [0], (-0.7, 0.7), (-0.7, 0.7)),
        ([[1, 1], [-1, -1]], [1, -3], (-0.6, 3.6), (-0.6, 3.6)),
    ],
    ids=["one row", "strip", "range", "unbounded", "corner", "tiny", "wide", "ray", "0", "empty"],
)
def test_the_view_holds_the_region_at_its_own_scale(A, b, xlim, ylim):
    ax = LinearProgram([1.0, 2.0], A, b).plot()
    assert ax.get_xlim() == pytest.approx(xlim, rel=1e-3)
    assert ax.get_ylim() == pytest.approx(ylim, rel=1e-3)


def test_free_variables_see_the_row_from_the_origin():
    ax = LinearProgram([1.0, 1.0], [[-1.0, -2.0]], [-2.0], bounds=(None, None)).plot()
    assert (*ax.get_xlim(), *ax.get_ylim()) == pytest.approx((-0.16, 0.96, -0.32, 1.92))


def test_loose_bounds_do_not_blur_the_region():
    lp = LinearProgram(TRIANGLE.c, TRIANGLE.A, TRIANGLE.b, bounds=(0, 1e9))
    assert polygon_of(lp.plot()) == {(0.0, 0.0), (2.0, 0.0), (1.6, 1.2), (0.0, 2.0)}
    infeasible = LinearProgram([1.0, 1.0], [[1.0, 1.0], [-1.0, -1.0]], [1.0, -3.0], bounds=(0, 1e9))
    ax = infeasible.plot()
    assert legend_of(ax)[0] == "feasible region: empty"
    ax.figure.canvas.draw()


def test_a_region_of_one_point_is_marked():
    ax = LinearProgram(
        [1.0, 1.0], [[1, 0], [-1, 0], [0, 1], [0, -1]], [1.0, -1.0, 1.0, -1.0]
    ).plot()
    (mark,) = (line for line in ax.lines if line.get_marker() == "o")
    assert np.ravel(mark.get_data()) == pytest.approx([1.0, 1.0])
    assert (*ax.get_xlim(), *ax.get_ylim()) == pytest.approx((0.3, 1.7, 0.3, 1.7))


@pytest.mark.parametrize("s", [-1, np.nan])
def test_a_comparison_refuses_to_mark_less_than_no_row(s):
    with pytest.raises(privlp.InvalidParameterError, match="s must not be negative"):
        privlp.compare(TRIANGLE, [5.0, 5.0]).plot(s=s)


def test_a_comparison_says_that_no_row_is_violated():
    held = privlp.compare(TRIANGLE, [0.0, 0.0])
    ax = held.plot()
    assert legend_of(ax) == ["no row is violated"]
    assert ax.get_ylim() == (0.0, 1.0)
    assert legend_of(held.plot(label="zero")) == ["zero: no row is violated"]


def test_comparisons_on_the_same_axes_are_all_in_view_and_differ_by_more_than_colour():
    near, far = (privlp.compare(COVERING, np.full(4, amount)) for amount in (0.35, 0.1))
    ax = far.plot(near.plot(label="near"), label="far")
    assert ax.get_ylim()[1] >= far.n_violated() > near.n_violated() > 0
    assert ax.get_xlim()[1] >= far.violations.max()
    assert len({line.get_marker() for line in ax.lines}) == 2


def test_the_two_inputs_of_an_audit_differ_by_more_than_colour():
    looks = {step.get_label(): step.get_linestyle() for step in made("audit")().patches}
    assert looks["data"] != looks["neighbour"]


def test_a_faulty_release_is_called_a_fault():
    sound, faulty = (
        privlp.AuditedRelease(purpose, "any", 1, 2.0, change)
        for purpose, change in (("sound", 1.0), ("broken", 3.0))
    )
    found = 1.0, 0.0, "mine", "rows", 1, (sound, faulty), (), (), None, (TRIANGLE, TRIANGLE)
    ax = privlp.SolveAudit(*found).plot()
    assert [text.get_text() for text in ax.texts] == [" 0.50", " 1.50 FAULT"]
    assert ax.get_title() == "not private; mine: 1 fault found"


def test_the_trace_of_a_walk_ends_at_the_solution():
    solution = solved("mw")
    ax = solution.plot_trace()
    ends = [line.get_ydata()[-1] for line in ax.lines]
    assert ends == pytest.approx(solution.x)
    assert len({line.get_marker() for line in ax.lines}) == 4  # not only colours differ
    assert legend_of(ax) == ["x[0]", "x[1]", "x[2]", "x[3]"]


def test_the_trace_of_selections_ends_at_their_shares():
    solution = solved("dmw")
    variables, counts = np.unique(solution.trace["selected"], return_counts=True)
    ax = solution.plot_trace()
    assert [line.get_ydata()[-1] for line in ax.lines] == pytest.approx(counts / counts.sum())
    assert legend_of(ax) == [f"x[{j}]" for j in variables]
    assert legend_of(solution.plot_trace(most=1)) == [f"x[{variables[np.argmax(counts)]}]"]


def test_only_the_largest_variables_are_drawn_by_their_names():
    fields = {"variable_names": list("abcd"), "neighbours": privlp.ScalarPrivate(0.01)}
    lp = LinearProgram(COVERING.c, COVERING.A, COVERING.b, **fields)
    solution = privlp.solve(lp, 1.0, 1e-6, opt=4.6, method="mw", rng=0)
    for most in (0, -1, 2.0, True, "all"):
        with pytest.raises(privlp.InvalidParameterError, match="most must be a positive integer"):
            solution.plot_trace(most=most)
    largest = np.sort(np.argsort(-solution.x)[:2])
    assert legend_of(solution.plot_trace(most=2)) == ["abcd"[j] for j in largest]


def test_the_trace_of_released_numbers():
    lp = examples.advertising(private="both")
    solution = privlp.solve(lp, 1.0, 0.1, method=TruncatedGaussian(), rng=0)
    ax = solution.plot_trace()
    assert set(legend_of(ax)) == set(solution.trace) == {"tightened b", "largest A", "noisy c"}
    for line in ax.lines:
        np.testing.assert_array_equal(line.get_ydata(), np.ravel(solution.trace[line.get_label()]))


def test_a_trace_of_one_number_is_numbered_0():
    fields = {"bounds": (0, 9), "neighbours": privlp.ScalarPrivate(0.1)}
    row = LinearProgram([1.0, 1.0], [[-1.0, -2.0]], [-2.0], **fields)
    ax = privlp.solve(row, 1.0, 1e-6, rng=0, method="direct-noise").plot_trace()
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [0.0]


NOTHING = {
    "four variables": (
        COVERING.plot,
        "Only programs in two variables can be drawn; this one has 4",
    ),
    "a plan without a prediction": (
        lambda: privlp.plan(examples.diet(), 1.0, 0.0).plot(),
        r"There is nothing to draw: neither .*\. Only costs are private",
    ),
    "a solve that stopped": (
        lambda: solved("mw", time_limit=1e-9).plot_trace(),
        r"nothing to draw: this solution by method 'mw' \(time limit\)",
    ),
    "a trace of sums": (
        lambda: dataclasses.replace(solved("mw"), trace={"sum": np.zeros(3)}).plot_trace(),
        "nothing to draw",
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_where_there_is_nothing_to_draw(name):
    draw, message = NOTHING[name]
    with pytest.raises(privlp.PrivLPError, match=message):
        draw()


@pytest.mark.parametrize("size", [1, 40, 60_000])
@pytest.mark.parametrize("rounds", [0, 1, 7, 5000])
def test_a_walk_is_thinned_out_evenly(rounds, size):
    walk = Path()
    for t in range(rounds):
        walk.add(np.broadcast_to(float(t + 1), size))
    trace = walk.trace(lambda point: point[:1])
    kept = trace.get("rounds", np.zeros(0))
    assert len(kept) * size <= 50_000
    assert len(kept) >= min(rounds, 50_000 // size) // 2
    assert len(set(np.diff(kept, prepend=0))) <= 1
    np.testing.assert_array_equal(trace.get("x after rounds", np.zeros((0, 1)))[:, 0], kept)
