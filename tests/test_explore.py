"""The page for teaching: what it shows is what `solve` and `compare` give, and who may have it."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from privlp import LinearProgram, examples
from privlp.cli import main
from privlp.errors import InvalidParameterError
from privlp.explore import grid as grids
from privlp.explore import page as pages
from privlp.pictures import half_planes

EPSILONS, SHARES = (0.5, 10.0), (0.2,)


@pytest.fixture
def quick(monkeypatch):
    """A small grid, and no JavaScript of Bokeh's."""
    monkeypatch.setitem(pages.explore.__kwdefaults__, "eps", EPSILONS)
    monkeypatch.setattr(grids, "_SHARES", SHARES)
    monkeypatch.setattr(grids, "_FEWEST", 20)
    monkeypatch.setattr(pages, "_scripts", lambda: "")


def shown(path):
    """The numbers of a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_answers_are_those_of_solve_and_one_person_goes(quick, tmp_path):
    lp = examples.kitchen(people=80)
    privlp.explore(lp, tmp_path / "page.html", not_private=True, draws=1, seed=3)
    data = shown(tmp_path / "page.html")
    assert [size["n"] for size in data["sizes"]] == [20, 80]
    assert [size["s"] for size in data["sizes"]] == [[4], [16]]
    assert data["solves"] == 8
    assert data["labels"] == list(lp.variable_names)
    last = data["sizes"][1]
    exact = privlp.solve_exact(lp)
    np.testing.assert_allclose(last["exact"][0], [*exact.x, exact.objective], rtol=1e-4)
    without = LinearProgram(lp.c, lp.A[1:], lp.b[1:])  # the first needs most
    assert last["exact"][1][2] == pytest.approx(privlp.solve_exact(without).objective, rel=1e-4)
    # the last cell of the last size: s = 16, eps = 10
    place = grids._in_random_order(lp, np.random.default_rng(3))[1]
    assert place[0] == 0
    assert sorted(place) == list(range(80))
    rng = np.random.default_rng([3, 1, 0, 1, 0, 0])
    solution = privlp.solve(lp, 10.0, 1e-6, 16, rng=rng)
    seen = privlp.compare(lp, solution)
    expected = [*solution.x, seen.objective, seen.n_violated()]
    np.testing.assert_allclose(last["cells"][1]["answers"][0][0], expected, rtol=1e-4)
    assert last["cells"][1]["advice"] == solution.advice
    # the stronger region holds the exact optimum, and the row that goes is drawn first
    assert min(np.hypot(*(np.array(last["feasible"]) - exact.x).T)) < 1e-3
    assert data["lines"][0][0] == 0


def test_equal_seeds_give_equal_files(quick, tmp_path):
    files = [tmp_path / name for name in ("a.html", "b.html", "c.html")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        privlp.explore(examples.advertising(), path, draws=2, seed=seed)
    texts = [path.read_bytes() for path in files]
    assert texts[0] == texts[1] != texts[2]
    assert b"not for release" in texts[0]
    data = shown(files[0])
    assert data["slice"]
    assert data["shares"] == [None]  # only numbers are private: nothing is given up
    assert re.fullmatch(r"[\d.]+ · advertiser .* [+−] .* …", data["labels"][0])
    assert data["sizes"][0]["moved"] > 0


def test_a_pair_of_variables_is_drawn_as_it_is(quick, tmp_path):
    lp = examples.matrix_game()
    privlp.explore(lp, tmp_path / "page.html", variables=(8, 0), draws=1)
    data = shown(tmp_path / "page.html")
    x = privlp.solve_exact(lp).x
    np.testing.assert_allclose(data["sizes"][0]["exact"][0][:2], x[[8, 0]], rtol=1e-4)
    assert data["labels"] == ["value", "strategy 1"]
    assert data["guesses"][0]["trials"] == 0  # one answer: none to learn from


@pytest.mark.parametrize("change", ["replace", "add-remove"])
def test_soft_rows_of_groups_and_rows_that_may_leave(quick, tmp_path, change):
    rng = np.random.default_rng(0)
    soft, nominal = change == "replace", {} if change == "replace" else {"nominal_n": 80}
    lp = LinearProgram(
        [300.0, 300.0],
        np.vstack([-rng.uniform(0.2, 1, (80, 2)), [1.0, 1.0]]),
        np.append(-np.ones(80), 8.0),
        bounds=(0, 9),
        penalty=np.append(np.full(80, 9.0), np.inf) if soft else None,
        private=np.arange(81) < 80,
        groups=np.arange(81) // 2 if soft else None,
        neighbours=privlp.ConstraintPrivate(change, 2 if soft else 1, **nominal),
    )
    privlp.explore(lp, tmp_path / "page.html", not_private=True, draws=1)
    data = shown(tmp_path / "page.html")
    assert [size["n"] for size in data["sizes"]] == ([20, 40] if soft else [80])
    assert data["shares"] == ([None] if soft else [*SHARES])
    assert len(data["region"]) >= 3


def test_half_planes_on_a_plane_are_the_rows_there():
    rng = np.random.default_rng(0)
    lp = examples.matrix_game()
    origin, basis = rng.uniform(size=9), np.linalg.qr(rng.normal(size=(9, 2)))[0]
    A, b, owner = half_planes(lp, origin, basis)
    z = rng.normal(size=(50, 2))
    x = origin + z @ basis.T
    held = (x @ lp.A.T <= lp.b) & (x @ lp.A.T >= lp.row_lower)
    inside = ((x >= lp.bounds[:, 0]) & (x <= lp.bounds[:, 1])).all(axis=1)
    for row in range(lp.shape[0]):
        assert (((z @ A[owner == row].T) <= b[owner == row]).all(axis=1) == held[:, row]).all()
    assert ((z @ A[owner < 0].T <= b[owner < 0]).all(axis=1) == inside).all()


@pytest.mark.parametrize(("apart", "right"), [(9.0, 20), (0.0, 10)])
def test_an_attacker_is_right_where_answers_tell(apart, right):
    x = np.zeros((20, 2))
    programs = SimpleNamespace(x=np.zeros(2)), SimpleNamespace(x=np.ones(2))
    found = [SimpleNamespace(x=x), SimpleNamespace(x=x + apart)]
    pair = grids.Pair(1, programs, {None: None}, {(None, 1.0): found})
    grid = grids.Grid(None, None, (1.0,), (None,), [pair], 0.0, 20)
    assert grid.guesses(1.0) == (right, 20)
    assert pages._guessed(grid, 1.0)["share"] == right / 20


def test_only_examples_may_be_shown_without_a_word(quick, tmp_path):
    assert all(pages._is_example(getattr(examples, name)()) for name in ("kitchen", "advertising"))
    lp = examples.kitchen()
    for other in (lp.changed(b=2 * lp.b), lp.changed(A=2 * lp.A), lp.changed(name="mine")):
        assert not pages._is_example(other)
        with pytest.raises(InvalidParameterError, match=r"none of privlp.examples, as.* Say not_p"):
            privlp.explore(other, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


NO_POINT = LinearProgram([1, 1], [[-1, 0], [1, 0]], [-2, 1])


@pytest.mark.parametrize(
    ("lp", "arguments", "message"),
    [
        (3, {}, "lp must be a LinearProgram, got int"),
        (examples.diet(), {"draws": 0}, "draws must be"),
        (examples.diet(), {"seed": -1}, "seed must be"),
        (examples.diet(), {"delta": 2}, "delta must be"),
        *((examples.diet(), {"eps": e}, "eps must be a sequence") for e in ((), (2, 1), 1.0)),
        (examples.diet(), {"eps": (0, 1)}, "eps must be"),
        (examples.diet(), {"not_private": 1}, "not_private must be"),
        *(
            (examples.diet(), {"variables": v}, "variables must be two d")
            for v in ((0, 20), (1, 1))
        ),
        (LinearProgram([1], [[-1]], [-1]), {}, "draws two variables; this program has one"),
        (LinearProgram([1, 1], [[-1, 0]], [-1]), {"not_private": True}, "needs at least two"),
        (NO_POINT, {"not_private": True}, "shows exact optima, and there is none .*: infeasible"),
    ],
)
def test_messages(quick, tmp_path, lp, arguments, message):
    with pytest.raises(privlp.PrivLPError, match=message):
        privlp.explore(lp, tmp_path / "page.html", **arguments)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_told_before_anything_is_computed(tmp_path):
    with pytest.raises(privlp.InvalidParameterError, match="There is no folder to hold"):
        privlp.explore(examples.diet(), tmp_path / "no" / "page.html")


def call(*words):
    return CliRunner().invoke(main, ["explore", *map(str, words)])


def test_command_writes_an_example_and_a_model_file_that_may_be_shown(quick, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "model.mps"
    result = call("diet", "--out", page, "--draws", 1, "--eps", 1, "--eps", 4)
    assert result.exit_code == 0, result.output
    assert shown(page)["epsilons"] == [1, 4]
    assert "for teaching, not for release" in result.output
    assert "<h1>diet: what privacy costs" in page.read_text(encoding="utf-8")
    page.unlink()
    examples.kitchen(people=20).to_mps(model)
    result = call(model, "--out", page)
    assert result.exit_code == 2
    assert "Error: --not-private: The page shows private rows" in result.output
    assert "(on the command line --not-private)" in result.output
    assert not page.exists()
    result = call(model, "--out", page, "--not-private", "--draws", 1)
    assert result.exit_code == 0, result.output
    assert "There is no file 'kitchn'. The examples: kitchen, " in call("kitchn").output
    assert "there is no folder" in call("diet", "--out", tmp_path / "no" / "page.html").output


def test_ctrl_c_leaves_no_page(quick, monkeypatch, tmp_path):
    solves = iter(range(5))

    def interrupted(*arguments, **more):
        if next(solves) == 4:
            raise KeyboardInterrupt
        return privlp.solve(*arguments, **more)

    monkeypatch.setattr(grids, "solve", interrupted)
    result = call("diet", "--out", tmp_path / "page.html")
    assert result.exit_code == 130
    assert "Interrupted. Nothing was released" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("kitchen", {"people": 0}),
        ("diet", {"nutrients": 0}),
        ("advertising", {"pages": 2.5}),
        ("matrix_game", {"ours": -1}),
        ("hospital_capacities", {"districts": True}),
    ],
)
def test_sizes_of_examples_are_positive_integers(name, sizes):
    with pytest.raises(InvalidParameterError, match=f"^{next(iter(sizes))} must be a positive int"):
        getattr(examples, name)(**sizes)
