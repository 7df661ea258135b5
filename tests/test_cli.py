"""The command line, as a user meets it."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from privlp.cli import main
from privlp.regions.public_rows import CONTRADICTION
from tests.effort import THOROUGH


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = {"variable_names": ["bread", "milk", "rice", "fruit"]}
    names |= {"row_names": [f"person{i}" for i in range(200)]}
    costs, needs = rng.uniform(0.5, 2, 4), -rng.uniform(0, 1, (200, 4))
    path = tmp_path_factory.mktemp("model") / "diet.mps"
    privlp.LinearProgram(costs, needs, -np.ones(200), **names).to_mps(path)
    return path


@pytest.fixture
def wards(tmp_path):
    """Beds of two wards, a floor and a balance row."""
    path = tmp_path / "wards.mps"
    A, b = [[1, 0], [0, 1], [1, 1], [1, -1]], [20.0, 90.0, np.inf, 0.0]
    names, lower = ["beds_1", "beds_2", "patients", "balance"], [-np.inf, -np.inf, 30.0, -np.inf]
    privlp.LinearProgram([1.0, 2.0], A, b, row_lower=lower, row_names=names).to_mps(path)
    return path


EPS = "--eps 1 --delta 1e-6"
SOLVE = f"{EPS} --s 20 --opt 5"
AUDIT = f"{SOLVE} --method staged --pairs 2 --runs 0 --seed 1"


def call(line, *files):
    """Run a command line, in which FILE stands for the files in their order."""
    left = iter(files)
    line = line.replace("SOLVE", SOLVE).replace("AUDIT", AUDIT).replace("EPS", EPS)
    words = [str(next(left)) if word == "FILE" else word for word in line.split()]
    return CliRunner().invoke(main, words)


def said(line, *files, code=0):
    """What a command prints, on both outputs; it ends with an exit code."""
    result = call(line, *files)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize(
    "command", ["solve", "plan", "budget", "audit", "exact", "explore", "demo"]
)
def test_help_has_groups_and_an_example_and_fits_the_terminal(command, columns):
    result = CliRunner().invoke(main, [command, "--help"], terminal_width=columns)
    assert max(map(len, result.output.splitlines())) <= columns
    assert f"  privlp {command} " in result.output
    assert "Exit codes" in result.output
    if command in ("solve", "plan", "audit"):
        headings = re.findall(r"^(\w.*):$", result.output, flags=re.MULTILINE)
        first_words = [heading.split()[0] for heading in headings if heading != "Audit"]
        assert first_words == ["Privacy", "Whole", "Only", "Method", "Output"]


def test_commands_are_listed_with_a_line_each():
    text = said("--help")
    listed = text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    commands = ["audit", "budget", "demo", "exact", "explore", "plan", "solve"]
    assert [line.split()[0] for line in listed] == commands
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)
    assert "Exit codes" in text
    assert privlp.__version__ in said("--version")


def test_the_package_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["privlp", "plan", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("privlp", run_name="__main__")
    assert "Usage: python -m privlp plan" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--s 20 --opt-range 5 2", "--opt or --opt-range: opt=(low, high) must be two finite"),
        ("--s 20 --opt 5 --method dmw-published", "--width is missing: method='dmw-published' nee"),
        ("--s 20 --opt 5 --method dmw --split 1", "--split has no use with method='dmw'"),
        ("--s 20 --opt 5 --feasible always", "--feasible must be None here: when a whole constr"),
        ("--s 20 --opt 5 --private nobody*", "--private: No row name matches private='nobody*'"),
        ("--s 20 --opt 5 --nominal-n 3", "--nominal-n: The program has more than ten times nomi"),
        ("--s 20 --opt 5 --time-limit -1", "--time-limit must be a positive number"),
        ("--s 20 --opt 5 --largest-penalty 1", "--largest-penalty has no use with change='replace"),
        ("--nominal-n 200 --box 9 --penalty 2 --largest-penalty 1", "--largest-penalty: The penal"),
        ("--scalar-private 1 --largest-penalty 1", "--largest-penalty has no use with --scalar-pr"),
        ("--penalty 1", "--box or --opt or --opt-range: The public region is unbounded"),
        ("--s 20 --opt-range 2 5 --method dmw", "--opt or --opt-range: opt must be a number with"),
        ("--row-private 0.1 --opt-range 2 5", "--opt or --opt-range: opt must be a number, got tu"),
        (
            "--s 5 --opt 5 --private person1* --method dmw",
            "This method needs the public region {x >= 0, c·x = opt} to be a simplex",
        ),
        ("--scalar-private -1", "--scalar-private: sensitivity must be positive and finite"),
        ("--scalar-private 1 --b-range 4 2", "--b-range: lower must not exceed upper"),
        ("--scalar-private 1 --feasible always", "--b-range: feasible='always' needs a declared"),
        ("--row-private 1 --feasible always", "--a-range: feasible='always' needs a declared pub"),
    ],
)
def test_messages_name_the_options_as_they_are_typed(model, arguments, message):
    assert f"Error: {message}" in said(f"solve FILE EPS {arguments}", model, code=2)


def test_exact_prints_objective_certificate_and_names(model, tmp_path):
    exact = privlp.solve_exact(privlp.LinearProgram.from_mps(model))
    text, target = said("exact FILE", model), tmp_path / "exact.json"
    words = ("optimal", "NOT PRIVATE", "primal residual", "gap", "rice", f"{exact.objective:.12g}")
    assert all(word in text for word in words)
    said("exact FILE --json FILE", model, target)
    document = json.loads(target.read_text())
    assert document == json.loads(said("exact FILE --json -", model))
    assert (document["status"], document["x"]) == ("optimal", exact.x.tolist())
    assert document["dual"] == exact.dual.tolist()
    assert document["variable_names"] == ["bread", "milk", "rice", "fruit"]


def test_exact_of_an_infeasible_model_exits_with_one(tmp_path):
    path = tmp_path / "infeasible.mps"
    privlp.LinearProgram([1.0], [[1.0], [-1.0]], [1.0, -2.0]).to_mps(path)
    assert "infeasible" in said("exact FILE", path, code=1)
    document = json.loads(said("exact FILE --json -", path, code=1))
    assert (document["status"], document["x"], document["gap"]) == ("infeasible", None, None)


def test_solve_prints_the_solution_and_the_ledger(model):
    text = said("solve FILE SOLVE --seed 3", model)
    words = ("completed", "objective", "sum the slopes of violations", "spent eps")
    assert all(word in text for word in (*words, "not for release"))


def test_solve_prints_shadow_prices_of_public_rows(tmp_path):
    """A stock that is scarce; the price of the other row, which is slack, is 0."""
    rng = np.random.default_rng(0)
    A = np.vstack([-rng.uniform(0.5, 1, (400, 2)), [[1, 0], [0, 1]]])
    names = [*(f"person{i}" for i in range(400)), "stock", "shelf"]
    lp = privlp.LinearProgram([1, 3], A, [*[-1.0] * 400, 0.5, 9.0], bounds=(0, 10), row_names=names)
    path, request = tmp_path / "stock.mps", "FILE --private person* --eps 4 --delta 1e-6 --s 20"
    lp.to_mps(path)
    table = said(f"solve {request} --prices --seed 0", path).partition("shadow price")[2]
    assert re.search(r"^stock +-\d", table, re.M)
    assert not any(word in table for word in ("shelf", "person"))
    planned = [said(f"plan {request} {more}", path) for more in ("", "--prices")]
    assert planned[0] != planned[1]  # noise is a little larger
    assert "slopes" in said(f"audit {request} --prices --pairs 2 --runs 0", path)


def test_solve_json_loads_as_a_solution(model, tmp_path):
    target = tmp_path / "private.json"
    said("solve FILE SOLVE --json FILE", model, target)
    solution = privlp.Solution.load(target)
    assert solution.success
    assert not solution.privacy.seeded
    assert json.loads(call("solve FILE SOLVE --json -", model).stdout)["method"] == "chain"


def test_solve_takes_pattern_relation_and_method(model):
    text = said("solve FILE SOLVE --private person* --nominal-n 200 --rows-per-record 2", model)
    assert "added or removed, nominal n = 200" in text
    assert re.search("\nVerdict: Too few rows for this eps\nMissed: .* probability 0.9\n", text)
    said("solve FILE SOLVE --method dmw-published --width 1 --alpha 50", model)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--s 5 --opt 5", "All 200 rows are private."),
        ("--s 5 --opt 5 --private person[1-9]*", "199 of 200 rows are private; public: person0."),
        (
            "--s 5 --opt 5 --private person1? --private person19*",
            "20 of 200 rows are private; public: person0, person1, person2 and 177 more.\n",
        ),
        ("--s 5 --opt 5 --nominal-n 200", "All rows are private."),
        ("--nominal-n 200 --penalty 0.05 --largest-penalty 1 --box 9", "All rows are private."),
        (
            "--s 5 --opt 5 --nominal-n 200 --private person?*9",
            "181 rows are public; the number of private rows is private.",
        ),
        (
            "--scalar-private 0.1 --private *[2-9]",
            "160 of 200 rows hold private numbers; public: person0, person1, person10",
        ),
        ("--row-private 0.1 --objective-private 0.1 --box 9", "All 200 rows hold private numbers."),
        ("--objective-private 0.1 --box 9", "Costs are private; all rows are public."),
    ],
)
def test_what_is_private_is_told_first(model, arguments, told):
    result = call(f"plan FILE EPS {arguments}", model)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith(told)
    assert result.output.startswith(told)
    assert "person" not in result.stdout


def test_a_solve_that_its_plan_calls_poor_says_so(model):
    request = "solve FILE --delta 1e-6 --s 20 --opt 5 --seed 1"
    poor = said(f"{request} --eps 0.05", model)
    assert "Warning: Too few rows for this eps: noise on all variables is" in poor
    assert poor.index("spent eps") < poor.index("Warning: ")
    assert "Note" not in poor
    rough = said(f"{request} --eps 1 --method dmw", model)
    assert "\nNote: Rough: the predicted violation is" in rough
    assert "Warning" not in rough
    unknown = said("solve FILE --delta 1e-6 --s 20 --eps 4 --seed 1", model)
    assert "\nNote: Rough: noise on all variables is 2." in unknown
    never = "--scalar-private 0.1 --norm 1 --feasible always --b-range -1.01 -0.99"
    assert "Warning: Too much noise for the declared" in said(f"solve FILE EPS {never}", model)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--eps 100", 0),  # enough rows
        ("--eps inf", 0),
        ("--eps 0.1 --method dmw-published --width 1 --alpha 50", 0),  # no prediction
        ("--eps 100 --time-limit 1e-9", 1),  # no solution
    ],
)
def test_there_is_no_note_where_nothing_is_to_be_said(model, arguments, code):
    text = said(f"solve FILE --delta 1e-6 --s 20 --opt 5 --seed 1 {arguments}", model, code=code)
    assert "Privacy" in text
    assert ("\nMissed: " in text) == (not code and "dmw" not in arguments)
    assert not any(word in text for word in ("Note", "Warning"))
    assert ("time limit" in text) == bool(code)


def test_a_file_with_few_rows_is_told_at_once(model):
    """Whether s is given or not, and before anything is charged."""
    for command in ("solve", "plan"):
        text = said(f"{command} FILE --eps 0.1 --delta 1e-6", model, code=2)
        assert "Error: Too few rows for this eps: whatever s, noise on 4 or more" in text
        assert "--scalar-private D" in text
    assert "Error: --s is missing" in said("solve FILE EPS", model, code=2)


def test_compare_is_for_the_eyes_only(model, tmp_path):
    target = tmp_path / "private.json"
    result = call("solve FILE SOLVE --compare --seed 1 --json FILE", model, target)
    lp, solution = privlp.LinearProgram.from_mps(model), privlp.Solution.load(target)
    compared = f"NOT PRIVATE: for your eyes only\n{privlp.compare(lp, solution, s=20)!r}\n"
    assert f"\n{compared}" in result.stderr
    assert "NOT PRIVATE" not in result.stdout
    stopped = said("solve FILE SOLVE --compare --time-limit 1e-9", model, code=1)
    assert "\nThere is no private solution to compare.\n" in stopped


def test_compare_without_an_exact_optimum(tmp_path):
    path = tmp_path / "infeasible.mps"
    privlp.LinearProgram([1.0, 1.0], [[1.0, 1.0], [-1.0, -1.0]] * 10, [1.0, -2.0] * 10).to_mps(path)
    text = said("solve FILE EPS --s 5 --opt 1.5 --compare", path)
    missing = "There is no exact optimum to compare with: No x satisfies all rows and bounds."
    assert f"{missing}\nComparison(" in text


def test_public_rows_that_contradict_each_other_are_the_only_cause_told(tmp_path):
    path, names = tmp_path / "model.mps", ["person", "least", "most"]
    A, b = [[-1, -1], [-1, -1], [1, 1]], [-1, -6, 5]
    privlp.LinearProgram([1, 2], A, b, row_names=names).to_mps(path)
    text = said("solve FILE EPS --s 1 --opt 3 --private person*", path, code=2)
    message = text.split("Error: ")[1]
    assert message == f"{CONTRADICTION}\n"


def test_warnings_are_one_line(model):
    text = said("solve FILE --eps 1 --delta 0.1 --s 20 --opt 5", model)
    assert "Warning: delta = 0.1 is at least 1/n" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("exact missing.mps", "There is no file 'missing.mps'"),
        ("solve missing.mps SOLVE", "There is no file 'missing.mps'"),
        ("audit missing.mps AUDIT", "There is no file 'missing.mps'"),
        ("solve", "Error: Missing: MODEL, --eps, --delta, --s."),
        ("solve FILE --eps 1 --penalty 1", "Missing option '--delta'"),
        ("solve FILE --eps 0 --delta 1e-6 --s 20 --opt 5", "Error: --eps must be positive"),
        ("solve FILE --eps 1 --delta 2 --s 20 --opt 5", "Error: --delta must be in [0, 1)"),
        ("solve FILE EPS --s 2000 --opt 5", "Error: --s must be between 1"),
        ("solve FILE EPS --s many", "'many' is neither a number nor a share such as 5%."),
        ("solve FILE EPS --s 200%", "--s must be a number of private rows, or a share"),
        ("solve FILE EPS --s 20 --method dmw", "Error: --opt or --opt-range: opt is missing."),
        ("solve FILE SOLVE --penalty lots", "--penalty must be one number, or PATTERN=PRICE as of"),
        ("plan FILE SOLVE --penalty 1 --penalty 2", "--penalty must be one number"),
        ("plan FILE SOLVE --penalty =1", "--penalty must be one number"),
        ("plan FILE SOLVE --penalty 0", "--penalty must be a positive number"),
        ("plan FILE SOLVE --penalty no*=1", "--penalty: No row name matches penalty"),
        ("plan FILE SOLVE --plot plan.doc", "must be a .png, .pdf or .svg file"),
        ("solve FILE SOLVE --method simplex", "--method must be"),
        ("solve FILE EPS --scalar-private 1 --nominal-n 5", "--nominal-n has no use with --scalar"),
        ("solve FILE EPS --row-private 1 --rows-per-record 3", "has no use with --row-private"),
        ("solve FILE EPS --s 3 --norm 1", "--norm has no use without --scalar-private"),
        ("solve FILE EPS --scalar-private 1 --a-range 0 1", "no use without --row-private or --c"),
        ("solve FILE EPS --scalar-private 1 --c-range 0 1", "no use without --objective-private"),
        ("solve FILE EPS --scalar-private 1 --split x", "--split must be numbers with commas"),
        ("solve FILE SOLVE --rows-per-record 0", "--rows-per-record must be a positive integer"),
        ("solve FILE SOLVE --json no/such/folder/x.json", "No such file or directory"),
        ("solve FILE SOLVE --opt-range 2 9", "Give --opt or --opt-range, not both"),
        ("exact FILE --json no/such/folder/x.json", "No such file or directory"),
        ("audit FILE SOLVE --pairs 0", "--pairs must be a positive integer"),
        ("audit FILE SOLVE --runs 7", "--runs must be an integer of at least 100"),
        ("audit FILE --eps inf --delta 1e-6", "--eps must be finite"),
        ("audit FILE SOLVE --confidence 2", "--confidence must be in (0, 1)"),
        ("audit FILE SOLVE --method simplex", "--method must be"),
        ("audit FILE SOLVE --plot audit.doc", "must be a .png, .pdf or .svg file"),
        ("audit FILE SOLVE --json no/such/folder/x.json", "No such file or directory"),
    ],
)
def test_mistakes_are_told_in_one_line_and_exit_with_two(model, arguments, message):
    text = said(arguments, model, code=2)
    assert message in text
    assert "Traceback" not in text


def test_prices_of_rows_on_the_command_line(model):
    soft = "FILE EPS --opt 5 --penalty"
    found = json.loads(call(f"solve {soft} person*=0.05 --seed 0 --json -", model).stdout)
    assert "soft rows" in said(f"plan {soft} 0.05", model)
    program = privlp.LinearProgram.from_mps(model, penalty=0.05)
    same = privlp.solve(program, 1, 1e-6, opt=5, rng=0)
    np.testing.assert_array_equal(found["x"], same.x)
    said(f"plan {soft} p*=1 --penalty *1=2", model)


def test_integer_variables_are_relaxed_on_request(tmp_path):
    path = tmp_path / "knapsack.mps"
    path.write_text(
        "NAME k\nROWS\n N cost\n L size\nCOLUMNS\n x cost -2 size 2\n y cost -3 size 4\n"
        "RHS\n R size 5\nBOUNDS\n BV B x\n BV B y\nENDATA\n"
    )
    assert "or --relax, lets them take any value" in said("exact FILE", path, code=2)
    assert "objective        -4.25" in said("exact FILE --relax", path)
    assert "All 1 rows are private." in call("plan FILE SOLVE --relax", path).output


def test_demo_solves_real_records_and_draws(tmp_path, monkeypatch):
    """With fewer draws; as its users see it, and as it is cited, in a thorough run."""
    pytest.importorskip("statsmodels")
    levels = (0.1, 0.25, 0.5, 1, 4) if THOROUGH else (4,)
    if not THOROUGH:
        for name, fewer in (("_EPSILONS", levels), ("_EPS_OF_LEDGER", 4), ("_DRAWS", 2)):
            monkeypatch.setattr(f"privlp.cli.teaching.{name}", fewer)
    picture = tmp_path / "demo.png"
    text = said("demo --output FILE --seed 1", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    spent = f"spent eps = {1 if THOROUGH else 4}, "
    assert all(words in text for words in ("20,190 records", "Exact optimum", spent))
    number = r"([\d.,]+)"
    line = rf"^{number} +\S.*? {number} to {number} +{number} to {number}$"
    rows = re.findall(line, text, flags=re.MULTILINE)
    table = [[float(cell.replace(",", "")) for cell in row] for row in rows]
    assert [row[0] for row in table] == list(levels)
    spread = [row[2] - row[1] for row in table]
    assert spread[0] > 10 * spread[-1] or not THOROUGH  # more eps: answers lie closer together
    claims = (Path(__file__).parents[1] / "docs/results/claims.md").read_text(encoding="utf-8")
    for eps, low, high, *_ in (table[0], table[3], table[4]) if THOROUGH else ():
        assert f"{low:.1f} to {high:.1f} (ε = {eps:g})" in claims
    assert all(most <= 440 for *_, most in table)
    missed_at_four = table[-1][3:5]
    assert 300 < missed_at_four[0] <= missed_at_four[1] <= 408
    assert 14 < table[-1][1] <= table[-1][2] < 17  # visits; exact: 71.5


@pytest.mark.parametrize("library", ["statsmodels.datasets", "matplotlib.pyplot"])
def test_demo_without_its_libraries_says_what_to_install(monkeypatch, tmp_path, library):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    assert "privlp[demo]" in said("demo --output FILE", tmp_path / "demo.png", code=2)


def test_audit_finds_no_fault(model, tmp_path, monkeypatch):
    monkeypatch.setattr("privlp.audits.solve._PATIENCE", 1e6)
    picture, target = tmp_path / "audit.svg", tmp_path / "audit.json"
    result = call("audit FILE AUDIT --plot FILE --json FILE", model, picture, target)
    assert result.exit_code == 0, result.output
    words = ("No fault found", "no proof of privacy", "2 pairs", "Not private")
    assert all(word in result.output for word in words)
    assert "<svg" in picture.read_text()
    found = json.loads(target.read_text())
    assert found["passed"]
    first, *others = result.stderr.splitlines()  # a short audit shows no progress
    assert first == "All 200 rows are private."
    assert all(line.startswith("Warning: ") for line in others)


@pytest.mark.statistical
def test_audit_runs_and_shows_its_progress(wards, tmp_path, monkeypatch):
    """An audit at confidence 0.9999: false-alarm rate 0.0001; seed fixed."""
    request = "audit FILE EPS --row-private 0.01 --box 99 --method direct-noise --pairs 2 --seed 1"
    monkeypatch.setattr("privlp.audits.solve._PATIENCE", 0.0)
    target = tmp_path / "audit.json"
    result = call(f"{request} --runs 100 --confidence 0.9999 --json FILE", wards, target)
    assert result.exit_code == 0, result.output
    told = r"204 solves of \S+ s: about \d+ s. Fewer pairs or runs take less.\n"
    assert re.search(told, result.stderr)
    assert "204/204" in result.stderr
    assert "The released x, 100 runs on each of the worst pair" in result.stdout
    assert json.loads(target.read_text())["end_to_end"]["confidence"] == 0.9999
    found = call(f"{request} --runs 0 --no-progress --json -", wards)
    assert found.stderr == (
        "All 4 rows hold private numbers. Public: costs c, all right-hand sides b, bounds of"
        " variables.\n"
    )
    assert json.loads(found.stdout)["passed"]


def test_audit_that_finds_a_fault_exits_with_one(model, monkeypatch):
    own, name = privlp.ConstraintPrivate.sum_sensitivity, "sum_sensitivity"
    monkeypatch.setattr(privlp.ConstraintPrivate, name, lambda *given: own(*given) / 2)
    fault = "FAULT. 'release the sum of violated rows each round' moves by 2 times the sensitivity"
    assert fault in said("audit FILE AUDIT --pairs 4", model, code=1)


def test_plan_predicts_and_spends_nothing(model, tmp_path):
    picture = tmp_path / "plan.svg"
    text = said("plan FILE SOLVE", model)
    assert "staged" in text
    assert "noise on all variables is" in text
    assert "direct-noise" in said("plan FILE EPS --scalar-private 0.1 --plot FILE", model, picture)
    assert "<svg" in picture.read_text()


def test_range_of_the_optimum(model):
    request = "FILE --eps 4 --delta 1e-6 --s 20 --opt-range 2 9"
    searched = said(f"solve {request} --seed 1 --method staged", model)
    assert "count violated rows" in searched
    assert "count missed rows on a way" in said(f"solve {request} --seed 1", model)
    assert "chain (auto)" in said(f"plan {request}", model)


# ranges row by row, and rows that hold with a probability


SCALAR = "FILE --eps 5 --delta 1e-3 --scalar-private 0.1 --norm 1 --zeros-public"


def test_ranges_row_by_row(wards):
    ranges = "--b-range-of beds_* 15 25 --b-range-of patients -inf 35"
    request = f"plan {SCALAR} --feasible always {ranges}"
    text = said(f"{request} --b-range-of beds_2 80 100", wards)
    assert "the objective is at most 55." in " ".join(text.split())
    text = said(request, wards, code=2)  # the range of all does not hold for ward 2
    assert "Some of the right-hand sides of the private rows lie outside" in text


def test_the_row_in_the_way_is_named_in_the_sign_of_the_file(wards):
    ranges = "--b-range 15 100 --b-range-of patients 25 180"
    text = said(f"solve {SCALAR} --feasible always {ranges}", wards, code=2)
    assert re.search(r"In the way: row '(patients' \(upper end 180|beds)", text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nobody 1 2", "the model has no row 'nobody'"),
        ("beds_1 9 2", "the lower end of row 'beds_1' exceeds its upper end"),
        ("beds_1 nan 2", "the lower end of row 'beds_1' exceeds its upper end, or one of them"),
    ],
)
def test_bad_ranges_of_rows(wards, given, message):
    found = said(f"plan {SCALAR} --b-range-of {given}", wards, code=2)
    assert f"--b-range-of: {message}" in found


def test_ranges_of_rows_need_private_right_hand_sides(wards):
    text = said("plan FILE EPS --row-private 1 --b-range-of beds_1 1 2", wards, code=2)
    assert "--b-range-of has no use without --scalar-private." in text


def test_rows_that_hold_with_a_probability(wards):
    text = said(f"solve {SCALAR} --feasible 0.99 --seed 0", wards)
    assert "hold together with probability at least 0.99" in text
    for wrong, message in (
        ("1.5", "--feasible must be None, 'always' or a probability between 0 and 1"),
        ("often", "'often' is neither 'always' nor a probability."),
    ):
        assert message in said(f"solve {SCALAR} --feasible {wrong}", wards, code=2)
