"""Pages of results: stale ones are noticed; scores, kept measurements, unknown optima, audits."""

import math
import re
import subprocess
import sys
from dataclasses import replace

import click
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import KFold

import benchmarks.cache
import privlp
from benchmarks import foreign_audits, probes, published, rival_methods, stale, thesis, unknown
from benchmarks.foreign_audits import Case
from benchmarks.rival_methods import RIVALS, Told
from benchmarks.rivals import one_number
from benchmarks.scores import CrossValidation, ResultStore
from benchmarks.small import half_spaces, packing, three_foods
from privlp import LinearProgram, solve_exact
from svm_models import DMWSVC, HuberSVC, make_separable_sphere

# pages of results: stale ones are noticed; scores, kept measurements, unknown optima, audits


PAGE = """# Rates

Some words.

| old | table |
|-----|-------|

<!-- measured -->
An old sentence.

<!-- words -->
| a table of words |
|------------------|
"""
FOUND = (["a"], [["1"]]), "Counts."


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository with one page, of one probe."""
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "docs/results/rates.md").write_text(PAGE)
    monkeypatch.setattr(stale, "RESULTS", tmp_path / "docs/results")
    monkeypatch.setattr(stale, "PAGES", {"rates": ("rate",)})
    yield tmp_path
    stale._now.cache_clear()


@pytest.fixture
def listed(capsys, monkeypatch):
    def listed(*numbers, probe="rate"):
        """The verdict on the page if the probe gives these numbers now."""
        monkeypatch.setitem(probes.PROBES, probe, lambda: numbers)
        stale._now.cache_clear()
        capsys.readouterr()
        stale.main()
        return re.sub(r" +", " ", capsys.readouterr().out)

    return listed


def test_a_page_is_up_to_date_until_its_draws_change(repository, listed, monkeypatch):
    monkeypatch.setitem(probes.PROBES, "rate", lambda: [1.5, 1 / 3])
    published.write_page("rates", *FOUND)
    text = (repository / "docs/results/rates.md").read_text()
    assert text.startswith("# Rates\n\nSome words.\n\n| a")
    assert "\n\n<!-- measured -->\nCounts.\n\n<!-- words -->\n| a table of words |\n" in text
    assert "old" not in text
    with pytest.raises(ValueError, match="shorter"):
        published.write_page("rates", "Counts.")
    published.write_page("rates", None, None)
    assert (repository / "docs/results/rates.md").read_text() == text
    assert re.search(
        r"\nMeasured with privlp \S+, state [0-9a-f]{8}\. Its command took .*\.\n", text
    )
    assert "rates up to date\n" in listed(1.5, 1 / 3)
    assert "rates up to date\n" in listed(1.5, 1 / 3 + 1e-9)  # another BLAS
    assert "rates changed since: rate\n" in listed(1.5, 0.33334)
    assert "rates changed since: rate\n" in listed(1.5)
    assert "rates changed since: rate\n" in listed()  # refused: the method is gone


def test_a_probe_that_is_new_is_told_apart(repository, listed, monkeypatch):
    monkeypatch.setitem(probes.PROBES, "rate", lambda: [1.0])
    published.write_page("rates", *FOUND)
    monkeypatch.setattr(stale, "PAGES", {"rates": ("rate", "other")})
    monkeypatch.setitem(probes.PROBES, "other", lambda: [2.0])
    assert "rates not probed then: other\n" in listed(1.0)
    assert "rates changed since: rate; not probed then: other\n" in listed(3.0)


def test_pages_without_probes_are_told_apart(repository, listed, monkeypatch):
    page = repository / "docs/results/rates.md"
    page.write_text("# Rates\n")
    assert "rates never stamped\n" in listed(1.0)
    page.write_text(PAGE)
    monkeypatch.setattr(stale, "PAGES", {"rates": ()})
    published.write_page("rates", *FOUND)
    assert "rates no draw decides it\n" in listed(1.0)


# ------------------------------------------------------------------ this repository


def test_every_page_has_its_probes_listed():
    assert {path.stem for path in stale.pages()} == set(stale.PAGES)


@pytest.mark.parametrize("page", stale.PAGES)
def test_every_page_has_its_script_its_probes_and_a_stamp(page):
    assert page == "fuzz" or (stale.ROOT / "benchmarks" / f"{page}.py").exists()
    assert set(stale.PAGES[page]) <= set(probes.PROBES)
    text = (stale.RESULTS / f"{page}.md").read_text(encoding="utf-8")
    assert stale.verdict(text, {}) != "never stamped"
    readme = (stale.RESULTS / "README.md").read_text(encoding="utf-8")
    told = re.findall(rf"^\| \[{page}\]\(.*?\) \|.*\| (.*) \|.*\|$", readme, flags=re.MULTILINE)
    assert told == text.splitlines()[2:3]


@pytest.mark.parametrize("probe", ["mechanisms", "numbers", "allocation", "perturbed SVM"])
def test_probes_give_the_same_numbers_twice(probe):
    assert probes.values_of(probe) == probes.values_of(probe) != ()


def test_another_noise_is_noticed(monkeypatch):
    from privlp.privacy.mechanisms import additive

    before = probes.values_of("numbers")
    draw = additive.rounded_sum
    monkeypatch.setattr(additive, "rounded_sum", lambda *a, **k: draw(*a, **k) + 1e-4)
    assert probes.values_of("numbers") != before


# scores on held-out records, and the file of finished measurements


X, Y = make_separable_sphere(90, random_state=0)


def test_scores_are_those_of_scikit_learn_and_a_cut_line_is_measured_anew(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    models = {"dmw": DMWSVC(radius=5.0, classes=(-1, 1), threshold_share=0.5), "exact": HuberSVC()}
    data = thesis.DataSet("", "", 1.0, X, Y, [])
    makers = {name: lambda n, model=model: clone(model) for name, model in models.items()}
    monkeypatch.setattr(thesis, "store", lambda name: ResultStore(path))

    def measured():
        found = thesis.measure(data, makers, draws=2, folds=3)
        return {name: fits.errors for name, fits in found.items()}

    found = measured()
    assert [found[name].errors.shape for name in models] == [(3, 2), (3, 1)]
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        seed = int(np.random.SeedSequence([fold, 1]).generate_state(1)[0])
        fitted = clone(models["dmw"]).set_params(random_state=seed).fit(X[train], Y[train])
        expected = (
            1 - fitted.score(X[test], Y[test]),
            balanced_accuracy_score(Y[test], fitted.predict(X[test])),
            roc_auc_score(Y[test], fitted.decision_function(X[test])),
        )
        dmw = found["dmw"]
        assert (dmw.errors[fold, 1], dmw.balanced[fold, 1], dmw.auc[fold, 1]) == pytest.approx(
            expected
        )
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])
    again = measured()
    assert len(path.read_text().splitlines()) == len(lines) + 1
    for name in models:
        np.testing.assert_array_equal(found[name].errors, again[name].errors)


def test_mean_and_standard_error():
    result = CrossValidation(np.array([[0.1, 0.3], [0.2, 0.6], [0.0, 0.0]]))
    assert result.mean == pytest.approx(0.2)
    assert result.standard_error == pytest.approx(np.std([0.2, 0.4, 0.0], ddof=1) / np.sqrt(3))
    assert (str(result), result.said("auc")) == ("0.2000 ± 0.1155", "–")


#: A bound told, public rows, earnings, a free variable; and soft rows.
SOME = {
    "hard": (1, 6, 8, 10),
    "soft": (1, 3),
}


@pytest.mark.parametrize("table", SOME)
def test_a_quick_run_prints_every_row_of_a_table(table, monkeypatch):
    name = {"hard": "CASES", "soft": "SOFT_CASES"}[table]
    cases = list(getattr(unknown, name).items())
    some = dict(cases[k] for k in SOME[table])
    monkeypatch.setattr(unknown, name, some)
    done = CliRunner().invoke(unknown.main, ["--quick", "--only", table], catch_exceptions=False)
    assert done.exit_code == 0
    assert all(row in done.output for row in some)
    assert "nan" not in done.output


@pytest.mark.parametrize(
    ("cost", "missed", "maximised", "good"),
    [
        (1.05, 5, False, True),
        (1.06, 5, False, False),
        (0.5, 6, False, False),
        (2.0, 5, True, True),
        (0.96, 5, True, True),
        (0.95, 5, True, False),
    ],
)
def test_success(cost, missed, maximised, good):
    result = {"ratio": cost, "missed": missed, "s": 5}
    assert unknown.succeeded(result, maximised=maximised) is good


def test_a_refusal_is_no_success_and_no_number():
    results = [{"refused": "No."}, {"ratio": 1.0, "missed": 0, "s": 5}]
    assert not unknown.succeeded(results[0], maximised=False)
    assert unknown.mean_and_error(unknown.values(results, "ratio")) == "1.000"
    assert unknown.mean_and_error(unknown.values(results[:1], "ratio")) == "refused"


def test_means_and_shares_are_those_of_the_textbook():
    assert unknown.mean_and_error(np.array([1, 2, 3])) == f"2.000 ± {1 / math.sqrt(3):.3f}"
    assert unknown.span(np.array([3, 1, 2])) == "1.00–3.00"
    assert unknown.share([True, True, False, True]) == "75% (3 of 4)"
    assert unknown.counted(["yes", "no", "yes"]) == "no 1, yes 2"


def test_the_way_out_is_read_from_the_advice_of_a_real_plan():
    n, d = 20_000, 20
    lp = privlp.LinearProgram(np.ones(d), -np.ones((n, d)), -np.ones(n))
    plan = privlp.plan(lp, 0.5, 1e-6, s=100)
    found = unknown.named(plan.advice)
    assert f"s = {found['s']:,.0f}" in plan.advice
    assert f"eps = {found['eps']:.2g}" in plan.advice
    enough = privlp.plan(lp, 4.0, 1e-6, s=1000)
    assert unknown.named(enough.advice) == {"s": None, "eps": None}


def _square(cell):
    return cell["k"] ** 2


def test_many_measurements_keep_their_order_and_are_not_made_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks.cache, "_FOLDER", tmp_path)
    asked = [{"k": k} for k in (3, 1, 2)]
    kept = benchmarks.cache.Cache("squares", "state")
    found = kept.measure_all(asked, _square, processes=1, description="squares")
    assert found == [9, 1, 4]

    def never(cell):
        raise AssertionError(cell)

    again = benchmarks.cache.Cache("squares", "state")
    assert again.measure_all(asked, never, processes=2, description="squares") == found


def noisy_count(scale):
    """A count as another package might release it."""
    return lambda records, rng: float(sum(records) + rng.laplace(scale=scale))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scale", "verdict"), [(1.0, "no fault found"), (0.2, "**refuted**")], ids=["honest", "broken"]
)
def test_a_row_tells_honest_from_broken(scale, verdict):
    """False alarms 0.001, misses below 1e-6; seed fixed."""
    pair = foreign_audits.changed([0.0] * 9, 1.0)
    case = Case("count | one of nine | the count", noisy_count(scale), pair, 1_000)
    row = dict(zip(foreign_audits.HEADERS, foreign_audits.row(case), strict=True))
    assert row["verdict"] == verdict
    assert (float(row["audited ε ≥"]) > 1) == (verdict != "no fault found")
    assert row["claimed ε"] == "1"


def test_neighbours_differ_in_the_last_record_alone():
    one, other = foreign_audits.changed([[0, 1], [0, 1]], (5, 1))
    assert (one == other).tolist() == [[True, True], [False, True]]


def test_a_missing_package_is_named_with_the_way_to_install_it():
    with pytest.raises(click.ClickException, match=r"(?s)^absent cannot .*pip install --target"):
        foreign_audits.imported("absent", "absent.models")


# baselines of the page on rivals: what one record moves, and what they find without noise


def told(lp, kind):
    optimum = solve_exact(lp)
    high = np.full(len(lp.c), 1.5 * np.abs(optimum.x).max())
    return Told(lp, optimum.objective, -high if kind == "around" else 0 * high, high, kind)


def one_each():
    """Rows that ask for one unit of one of four things: many of the first two, few of the others."""
    A = np.zeros((60, 4))
    A[np.arange(60), np.repeat([0, 1, 2, 3], [25, 25, 5, 5])] = -1
    return LinearProgram(np.ones(4), A, -np.ones(60))


CASES = [
    (name, lp, kind)
    for name in RIVALS
    if name not in ("weights, told", "histogram, told", "piecewise Laplace")
    for lp, kind in ((three_foods(1, 60, 4), "cover"), (half_spaces(1, 60, 3), "around"))
]
CASES += [("mean of blocks", packing(1, 60, 3), "pack"), ("histogram, told", one_each(), "cover")]
CASES.append(("piecewise Laplace", one_number(1, 60, 1), "cover"))


@pytest.mark.parametrize(("name", "lp", "kind"), CASES)
def test_one_record_moves_a_release_by_no_more_than_was_paid_for(monkeypatch, name, lp, kind):
    run, numbers, _ = RIVALS[name]
    own = told(lp, kind)
    A = own.rows.copy()
    A[0] = np.roll(A[0], 1) if len(A[0]) > 1 else 0.1 * A[0]
    changed = LinearProgram(lp.c, A, lp.b, bounds=lp.bounds, sense=lp.sense)
    other = replace(own, lp=changed)  # all that is told is the same
    tape, mechanisms = [], []

    def record(make, count, eps, delta, seed):
        paid = keep(make, count, eps, delta, seed)

        def draw(value):
            mechanisms.append(paid.mechanism)
            tape.append((np.copy(value), paid(value)))
            return tape[-1][1]

        return draw

    def replay(*_):
        recorded = iter(zip(tape, mechanisms, strict=True))

        def draw(value):
            (before, released), mechanism = next(recorded)
            moved.append(mechanism.distance(before, value) / mechanism.sensitivity)
            return released

        return draw

    keep, moved = rival_methods.paid, []
    monkeypatch.setattr(rival_methods, "paid", record)
    run(own, 1.0, 1e-6, 0, numbers[0], 0.0)
    monkeypatch.setattr(rival_methods, "paid", replay)
    run(other, 1.0, 1e-6, 0, numbers[0], 0.0)
    assert len(moved) == len(tape) > 0
    assert max(moved) <= 1 + 1e-9


def test_without_noise_one_block_is_the_exact_solution():
    for lp, kind in ((three_foods(1, 60, 4), "cover"), (half_spaces(1, 60, 3), "around")):
        of = told(lp, kind)
        x = rival_methods.mean_of_blocks(of, math.inf, 0.0, 0, 1, 0.0)
        assert lp.objective(x) == pytest.approx(of.optimum)


def test_without_noise_a_perceptron_meets_the_rows_at_twice_the_cost():
    of = told(three_foods(1, 60, 4), "cover")
    x = rival_methods.perceptron(of, math.inf, 0.0, 0, 60, 1.0)
    assert (of.rows @ x <= of.lp.b).all()
    assert of.lp.objective(x) <= 2 * of.optimum * (1 + 1e-6)
    x = rival_methods.perceptron_search(of, math.inf, 0.0, 0, 60, 0.0)
    assert (of.rows @ x <= of.lp.b).all()
    assert of.lp.objective(x) <= 2 * of.optimum


def test_a_histogram_buys_what_most_ask_for():
    x = rival_methods.histogram(told(one_each(), "cover"), math.inf, 0.0, 0, 0, 0.0)
    assert list(x) == [1, 1, 0, 0]


def test_a_piecewise_laplace_quantile_is_exact_without_noise():
    of = told(one_number(1, 60, 1), "cover")
    x = rival_methods.piecewise_laplace(of, math.inf, 0.0, 0, 0, 1.0)
    assert 2 <= (x[0] < -of.lp.b).sum() <= 4  # a twentieth of 60


@pytest.mark.parametrize(
    ("name", "first"), [("planted", "It takes no options: it measures"), ("blocks", "usage: ")]
)
def test_help_measures_nothing(name, first):
    asked = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    said = subprocess.run(asked, cwd=stale.ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.startswith(first)
    assert not said.stderr


def test_programs_with_options_print_a_help_of_their_own():
    folder = stale.ROOT / "benchmarks"
    own = {f"benchmarks.{f.stem}" for f in folder.glob("*.py") if "argparse" in f.read_text()}
    assert own == benchmarks._WITH_OPTIONS
