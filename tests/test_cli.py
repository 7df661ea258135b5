"""The command line, as a user meets it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from privlp.cli import main
from tests.effort import THOROUGH


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    lp = privlp.LinearProgram(
        rng.uniform(0.5, 2, 4),
        -rng.uniform(0, 1, (200, 4)),
        -np.ones(200),
        variable_names=["bread", "milk", "rice", "fruit"],
        row_names=[f"person{i}" for i in range(200)],
    )
    path = tmp_path / "diet.mps"
    lp.to_mps(path)
    return path


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


SOLVE = ("--eps", 1, "--delta", 1e-6, "--s", 20, "--opt", 5)


def words(line):
    """Of a command line, in which names stand for what they stand for here."""
    named = {"SOLVE": SOLVE, "AUDIT": AUDIT}
    return [word for given in line.split() for word in named.get(given, (given,))]


def test_help_names_all_commands_and_exit_codes():
    result = call("--help")
    assert result.exit_code == 0
    assert all(
        word in result.output
        for word in ("solve", "plan", "budget", "audit", "exact", "demo", "Exit codes")
    )


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("command", ["solve", "plan", "budget", "audit", "exact", "demo"])
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
    listed = call("--help").output.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == [
        "audit",
        "budget",
        "demo",
        "exact",
        "plan",
        "solve",
    ]
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--s 20 --opt-range 5 2",
            "--opt or --opt-range: opt=(low, high) must be two finite numbers in rising order",
        ),
        (
            "--s 20 --opt 5 --method dmw-published",
            "--width is missing: method='dmw-published' needs",
        ),
        ("--s 20 --opt 5 --method dmw --split 1", "--split has no use with method='dmw'"),
        (
            "--s 20 --opt 5 --feasible always",
            "--feasible must be None here: when a whole constraint may change",
        ),
        ("--s 20 --opt 5 --private nobody*", "--private: No row name matches private='nobody*'"),
        (
            "--s 20 --opt 5 --nominal-n 3",
            "--nominal-n: The program has more than ten times nominal_n=3 private rows",
        ),
        ("--s 20 --opt 5 --time-limit -1", "--time-limit must be a positive number"),
        ("--penalty 1", "--box or --opt or --opt-range: The public region is unbounded"),
        (
            "--s 20 --opt-range 2 5 --method dmw",
            "--opt or --opt-range: opt must be a number with this method, got a sequence.",
        ),
        (
            "--row-private 0.1 --opt-range 2 5",
            "--opt or --opt-range: opt must be a number, got tuple.",
        ),
        (
            "--s 5 --opt 5 --private person1* --method dmw",
            "This method needs the public region {x >= 0, c·x = opt} to be a simplex",
        ),
        ("--scalar-private -1", "--scalar-private: sensitivity must be positive and finite"),
        ("--scalar-private 1 --b-range 4 2", "--b-range: lower must not exceed upper"),
        (
            "--scalar-private 1 --feasible always",
            "--b-range: feasible='always' needs a declared public range of the right-hand sides b",
        ),
        (
            "--row-private 1 --feasible always",
            "--a-range: feasible='always' needs a declared public range of the coefficients A",
        ),
    ],
)
def test_messages_name_the_options_as_they_are_typed(model, arguments, message):
    result = call("solve", model, "--eps", 1, "--delta", 1e-6, *arguments.split())
    assert result.exit_code == 2
    assert f"Error: {message}" in result.stderr


def test_plan_of_rows_that_are_never_violated(model):
    request = (
        "plan",
        model,
        *[
            "--eps",
            "1",
            "--delta",
            "1e-6",
            "--scalar-private",
            "0.01",
            "--norm",
            "1",
            "--feasible",
            "always",
        ],
    )
    result = call(*request, "--b-range", -1.5, -0.5)
    assert result.exit_code == 0, result.output
    assert "tightened (auto)  right-hand sides b" in result.output
    assert (
        "Too much noise for the declared range" in call(*request, "--b-range", -1.01, -0.99).output
    )


def test_version():
    assert privlp.__version__ in call("--version").output


def test_exact_prints_objective_certificate_and_names(model):
    result = call("exact", model)
    exact = privlp.solve_exact(privlp.LinearProgram.from_mps(model))
    assert result.exit_code == 0
    assert f"{exact.objective:.12g}" in result.output
    assert all(
        word in result.output
        for word in ("optimal", "NOT PRIVATE", "primal residual", "gap", "rice")
    )


def test_exact_json(model, tmp_path):
    target = tmp_path / "exact.json"
    assert call("exact", model, "--json", target).exit_code == 0
    document = json.loads(target.read_text())
    assert document == json.loads(call("exact", model, "--json", "-").output)
    assert document["status"] == "optimal"
    assert document["variable_names"] == ["bread", "milk", "rice", "fruit"]


def test_exact_of_an_infeasible_model_exits_with_one(tmp_path):
    path = tmp_path / "infeasible.mps"
    privlp.LinearProgram([1.0], [[1.0], [-1.0]], [1.0, -2.0]).to_mps(path)
    result = call("exact", path)
    assert result.exit_code == 1
    assert "infeasible" in result.output
    document = json.loads(call("exact", path, "--json", "-").output)
    assert (document["status"], document["x"], document["gap"]) == ("infeasible", None, None)


def test_solve_prints_the_solution_and_the_ledger(model):
    result = call("solve", model, *SOLVE, "--seed", 3)
    assert result.exit_code == 0
    assert all(
        word in result.output
        for word in (
            "completed",
            "objective",
            "sum the slopes of violations",
            "spent eps",
            "not for release",
        )
    )


def test_solve_prints_shadow_prices_of_public_rows(tmp_path):
    """A stock that is scarce; the price of the other row, which is slack, is 0."""
    rng = np.random.default_rng(0)
    lp = privlp.LinearProgram(
        [1, 3],
        np.vstack([-rng.uniform(0.5, 1, (400, 2)), [[1, 0], [0, 1]]]),
        [*[-1.0] * 400, 0.5, 9.0],
        bounds=(0, 10),
        row_names=[*(f"person{i}" for i in range(400)), "stock", "shelf"],
    )
    lp.to_mps(tmp_path / "stock.mps")
    request = (tmp_path / "stock.mps", "--private", "person*", "--eps", 4, "--delta", 1e-6)
    result = call("solve", *request, "--s", 20, "--prices", "--seed", 0)
    assert result.exit_code == 0, result.output
    table = result.output.partition("shadow price")[2]
    assert re.search(r"^stock +-\d", table, re.M)
    assert "shelf" not in table
    assert "person" not in table
    planned = [call("plan", *request, "--s", 20, *more) for more in ([], ["--prices"])]
    assert [result.exit_code for result in planned] == [0, 0]
    assert planned[0].output != planned[1].output  # noise is a little larger
    audited = call("audit", *request, "--s", 20, "--prices", "--pairs", 2, "--runs", 0)
    assert audited.exit_code == 0
    assert "slopes" in audited.output


def test_solve_json_loads_as_a_solution(model, tmp_path):
    target = tmp_path / "private.json"
    assert call("solve", model, *SOLVE, "--json", target).exit_code == 0
    solution = privlp.Solution.load(target)
    assert solution.success
    assert not solution.privacy.seeded
    assert json.loads(call("solve", model, *SOLVE, "--json", "-").stdout)["method"] == "chain"


def test_solve_takes_pattern_relation_and_method(model):
    result = call(
        "solve", model, *SOLVE, "--private", "person*", "--nominal-n", 200, "--rows-per-record", 2
    )
    assert "added or removed, nominal n = 200" in result.output
    published = call(
        "solve", model, *SOLVE, "--method", "dmw-published", "--width", 1, "--alpha", 50
    )
    assert published.exit_code == 0


def test_patterns_of_private_rows_add_up(model):
    words = ("--private", "person1?", "--private", "person19*", "--s", 5, "--opt", 5)
    result = call("plan", model, "--eps", 1, "--delta", 1e-6, *words)
    assert (
        result.stderr
        == "20 of 200 rows are private; public: person0, person1, person2 and 177 more.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--s 5 --opt 5", "All 200 rows are private."),
        ("--s 5 --opt 5 --private person[1-9]*", "199 of 200 rows are private; public: person0."),
        ("--s 5 --opt 5 --nominal-n 200", "All rows are private."),
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
    result = call("plan", model, "--eps", 1, "--delta", 1e-6, *arguments.split())
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith(told)
    assert result.output.startswith(told)
    assert "person" not in result.stdout


def test_a_solve_that_its_plan_calls_poor_says_so(model):
    request = ("solve", model, "--delta", 1e-6, "--s", 20, "--opt", 5, "--seed", 1)
    poor = call(*request, "--eps", 0.05)
    assert "\nWarning: Too few rows for this eps: noise on all variables is" in poor.stderr
    assert poor.output.index("spent eps") < poor.output.index("Warning: ")
    assert "Note" not in poor.output
    rough = call(*request, "--eps", 1, "--method", "dmw").stderr
    assert "\nNote: Rough: the predicted violation is" in rough
    assert "Warning" not in rough
    unknown = call("solve", model, "--delta", 1e-6, "--s", 20, "--eps", 4, "--seed", 1)
    assert "\nNote: Rough: noise on all variables is 1." in unknown.stderr
    never = [
        "--scalar-private",
        "0.1",
        "--norm",
        "1",
        "--feasible",
        "always",
        "--b-range",
        "-1.01",
        "-0.99",
    ]
    assert (
        "\nWarning: Too much noise for the declared"
        in call("solve", model, "--eps", 1, "--delta", 1e-6, *never).stderr
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "--eps 100",
        "--eps inf",
        "--eps 0.1 --method dmw-published --width 1 --alpha 50",
        "--eps 100 --time-limit 1e-9",
    ],
    ids=["enough rows", "no noise", "no prediction", "no solution"],
)
def test_there_is_no_note_where_nothing_is_to_be_said(model, arguments):
    result = call(
        "solve", model, "--delta", 1e-6, "--s", 20, "--opt", 5, "--seed", 1, *arguments.split()
    )
    assert "Privacy" in result.stdout
    assert "Note" not in result.output
    assert "Warning" not in result.output


def test_a_file_with_few_rows_is_told_at_once(model):
    """Whether s is given or not, and before anything is charged."""
    for command in ("solve", "plan"):
        result = call(command, model, "--eps", 0.1, "--delta", 1e-6)
        assert result.exit_code == 2
        assert "Error: Too few rows for this eps: whatever s, noise on 4 or more" in result.stderr
        assert "--scalar-private D" in result.stderr
    enough = call("solve", model, "--eps", 1, "--delta", 1e-6)
    assert "Error: --s is missing" in enough.stderr


def test_compare_is_for_the_eyes_only(model, tmp_path):
    result = call(
        "solve", model, *SOLVE, "--compare", "--seed", 1, "--json", tmp_path / "private.json"
    )
    lp, solution = (
        privlp.LinearProgram.from_mps(model),
        privlp.Solution.load(tmp_path / "private.json"),
    )
    compared = f"NOT PRIVATE: for your eyes only\n{privlp.compare(lp, solution, s=20)!r}\n"
    assert f"\n{compared}" in result.stderr
    assert "NOT PRIVATE" not in result.stdout
    stopped = call("solve", model, *SOLVE, "--compare", "--time-limit", 1e-9)
    assert "\nThere is no private solution to compare.\n" in stopped.stderr


def test_compare_without_an_exact_optimum(tmp_path):
    path = tmp_path / "infeasible.mps"
    privlp.LinearProgram([1.0, 1.0], [[1.0, 1.0], [-1.0, -1.0]] * 10, [1.0, -2.0] * 10).to_mps(path)
    result = call("solve", path, "--eps", 1, "--delta", 1e-6, "--s", 5, "--opt", 1.5, "--compare")
    assert result.exit_code == 0
    assert (
        "There is no exact optimum to compare with: No x satisfies all rows and"
        " bounds.\nComparison(" in result.stderr
    )


def test_why_no_method_applies_begins_with_the_cause(tmp_path):
    path, names = tmp_path / "model.mps", ["person", "least", "most"]
    privlp.LinearProgram([1, 2], [[-1, -1], [-1, -1], [1, 1]], [-1, -6, 5], row_names=names).to_mps(
        path
    )
    result = call(
        "solve", path, "--eps", 1, "--delta", 1e-6, "--s", 1, "--opt", 3, "--private", "person*"
    )
    message = result.stderr.split("Error: ")[1]
    assert message.startswith(
        "No method applies. The public rows and bounds contradict each other: no x satisfies them"
        " all. staged: "
    )
    assert message.count("simplex") == 1


def test_solve_at_the_time_limit_exits_with_one(model):
    result = call("solve", model, *SOLVE, "--time-limit", 1e-9)
    assert result.exit_code == 1
    assert "time limit" in result.output


def test_public_rows_need_no_simplex(model):
    request = ("solve", model, *SOLVE, "--private", "person1*", "--seed", 1)
    for method, purpose in (
        ("auto", "sum the slopes of violations"),
        ("perturbed", "perturb the convex program"),
    ):
        result = call(*request, "--method", method)
        assert result.exit_code == 0
        assert purpose in result.output


def test_warnings_are_one_line(model):
    result = call("solve", model, "--eps", 1, "--delta", 0.1, "--s", 20, "--opt", 5)
    assert result.exit_code == 0
    assert "Warning: delta = 0.1 is at least 1/n" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("exact missing.mps", "There is no file 'missing.mps'"),
        ("solve missing.mps SOLVE", "There is no file 'missing.mps'"),
        ("solve", "Missing argument"),
        ("solve MODEL", "Missing option"),
        ("solve MODEL --eps 0 --delta 1e-6 --s 20 --opt 5", "Error: --eps must be positive"),
        ("solve MODEL --eps 1 --delta 2 --s 20 --opt 5", "Error: --delta must be in [0, 1)"),
        ("solve MODEL --eps 1 --delta 1e-6 --s 2000 --opt 5", "Error: --s must be between 1"),
        (
            "solve MODEL --eps 1 --delta 1e-6 --s 20 --method dmw",
            "Error: --opt or --opt-range: opt is missing.",
        ),
        ("solve MODEL SOLVE --private nobody*", "No row name matches"),
        (
            "solve MODEL SOLVE --penalty lots",
            "--penalty must be one number, or PATTERN=PRICE as often as needed; got 'lots'",
        ),
        ("plan MODEL SOLVE --penalty 1 --penalty 2", "--penalty must be one number"),
        ("plan MODEL SOLVE --penalty =1", "--penalty must be one number"),
        ("plan MODEL SOLVE --penalty 0", "--penalty must be a positive number"),
        ("plan MODEL SOLVE --penalty no*=1", "--penalty: No row name matches penalty"),
        ("solve MODEL SOLVE --method simplex", "--method must be"),
        ("solve MODEL SOLVE --rows-per-record 0", "--rows-per-record must be a positive integer"),
        ("solve MODEL SOLVE --json no/such/folder/x.json", "No such file or directory"),
        ("exact MODEL --json no/such/folder/x.json", "No such file or directory"),
    ],
)
def test_mistakes_are_told_in_one_line_and_exit_with_two(model, arguments, message):
    result = call(*[model if a == "MODEL" else a for a in words(arguments)])
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_prices_of_rows_on_the_command_line(model):
    soft = (model, "--eps", 1, "--delta", 1e-6, "--opt", 5)
    result = call("solve", *soft, "--seed", 0, "--penalty", "person*=0.05", "--json", "-")
    assert result.exit_code == 0
    assert "soft rows" in call("plan", *soft, "--penalty", 0.05).output
    program = privlp.LinearProgram.from_mps(model, penalty=0.05)
    same = privlp.solve(program, 1, 1e-6, opt=5, rng=0)
    np.testing.assert_array_equal(json.loads(result.stdout)["x"], same.x)
    two = call("plan", *soft, "--penalty", "p*=1", "--penalty", "*1=2")
    assert two.exit_code == 0


def test_integer_variables_are_relaxed_on_request(tmp_path):
    path = tmp_path / "knapsack.mps"
    path.write_text(
        "NAME k\nROWS\n N cost\n L size\nCOLUMNS\n x cost -2 size 2\n y cost -3 size 4\n"
        "RHS\n R size 5\nBOUNDS\n BV B x\n BV B y\nENDATA\n"
    )
    refused = call("exact", path)
    assert refused.exit_code == 2
    assert "or --relax, lets them take any value" in refused.output
    assert "objective        -4.25" in call("exact", path, "--relax").output
    assert "All 1 rows are private." in call("plan", path, *SOLVE, "--relax").output


def test_a_model_of_equalities_has_no_private_rows_by_default(tmp_path):
    path = tmp_path / "flow.mps"
    rows = {"row_lower": [1.0, 2.0], "row_names": ["in", "out"]}
    privlp.LinearProgram([1, 2], [[1, 1], [1, 3]], [1, 2], **rows).to_mps(path)
    message = (
        "--private: The program has no private rows. Taken for public: costs c, bounds of"
        " variables, 2 public rows (2 of them equalities). A result without noise publishes what it"
        " depends on. Readers take equalities for public unless told otherwise: if any of this"
        " holds private data, name its rows by private=..., and write a bound that does as a row."
    )
    for command in ("solve", "plan"):
        result = call(command, path, "--eps", 1, "--delta", 1e-6, "--s", 1, "--opt", 1, "--box", 9)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def test_an_interruption_exits_with_130(model, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("privlp.cli.solve.solve", interrupted)
    result = call("solve", model, *SOLVE)
    assert result.exit_code == 130
    assert "what was charged stays charged" in result.output


def test_demo_solves_real_records_and_draws(tmp_path, monkeypatch):
    """With fewer draws; as its users see it, and as it is cited, in a thorough run."""
    pytest.importorskip("statsmodels")
    levels = (0.1, 0.25, 0.5, 1, 4) if THOROUGH else (0.25, 4)
    if not THOROUGH:
        for name, fewer in (("_EPSILONS", levels), ("_EPS_OF_LEDGER", 4), ("_DRAWS", 2)):
            monkeypatch.setattr(f"privlp.cli.demo.{name}", fewer)
    picture = tmp_path / "demo.png"
    result = call("demo", "--output", picture, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "20,190 records" in result.output
    assert "Exact optimum" in result.output
    assert f"spent eps = {1 if THOROUGH else 4}, " in result.output
    number = r"([\d.,]+)"
    rows = re.findall(
        rf"^{number} +\S.*? {number} to {number} +{number} to {number}$",
        result.output,
        flags=re.MULTILINE,
    )
    table = [[float(cell.replace(",", "")) for cell in row] for row in rows]
    assert [row[0] for row in table] == list(levels)
    spread = [row[2] - row[1] for row in table]
    assert spread[0] > 10 * spread[-1] or not THOROUGH  # more eps: answers lie closer together
    said = (Path(__file__).parents[1] / "docs/results/claims.md").read_text(encoding="utf-8")
    for eps, low, high, *_ in (table[0], table[3], table[4]) if THOROUGH else ():
        assert f"{low:.1f} to {high:.1f} (ε = {eps:g})" in said
    # The table also counts people who miss less than 1 % of their visits; s = 400 does not.
    assert all(most <= 408 for *_, most in table)
    missed_at_four = table[-1][3:5]
    assert 300 < missed_at_four[0] <= missed_at_four[1] <= 408
    assert 14 < table[-1][1] <= table[-1][2] < 17  # visits; exact: 71.5


@pytest.mark.parametrize("library", ["statsmodels.datasets", "matplotlib.pyplot"])
def test_demo_without_its_libraries_says_what_to_install(monkeypatch, tmp_path, library):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    result = call("demo", "--output", tmp_path / "demo.png")
    assert result.exit_code == 2
    assert "privlp[demo]" in result.output


AUDIT = (*SOLVE, "--method", "staged", "--pairs", 4, "--runs", 0, "--seed", 1)


def test_audit_finds_no_fault(model, tmp_path):
    picture, target = tmp_path / "audit.svg", tmp_path / "audit.json"
    result = call("audit", model, *AUDIT, "--plot", picture, "--json", target)
    assert result.exit_code == 0, result.output
    assert all(
        words in result.output
        for words in ("No fault found", "no proof of privacy", "4 pairs", "Not private")
    )
    assert "<svg" in picture.read_text()
    assert json.loads(target.read_text())["passed"]
    assert json.loads(call("audit", model, *AUDIT, "--json", "-").stdout) == json.loads(
        target.read_text()
    )


@pytest.mark.statistical
def test_audit_runs_and_shows_its_progress(model, monkeypatch):
    """Two audits at confidence 0.9999: false-alarm rate 0.0002; seed fixed."""
    request = [
        "--eps",
        "1",
        "--delta",
        "1e-6",
        "--opt",
        "5",
        "--row-private",
        "0.01",
        "--method",
        "direct-noise",
    ]
    request = (
        "audit",
        model,
        *request,
        *["--pairs", "2", "--runs", "100", "--seed", "1", "--confidence", "0.9999"],
    )
    monkeypatch.setattr("privlp.audits.solve._PATIENCE", 0.0)
    result = call(*request)
    assert result.exit_code == 0, result.output
    assert re.search(
        r"204 solves of \S+ s: about \d+ s. Fewer pairs or runs take less.\n", result.stderr
    )
    assert "204/204" in result.stderr
    assert "The released x, 100 runs on each of the worst pair" in result.stdout
    found = call(*request, "--no-progress", "--json", "-")
    assert found.stderr == (
        "All 200 rows hold private numbers. Public: costs c, all right-hand sides b, bounds of"
        " variables.\n"
    )
    assert json.loads(found.stdout)["end_to_end"]["confidence"] == 0.9999


def test_short_audits_show_no_progress(model):
    said = call("audit", model, *AUDIT).stderr.splitlines()
    assert said[0] == "All 200 rows are private."
    assert all(line.startswith("Warning: ") for line in said[1:])


def test_audit_that_finds_a_fault_exits_with_one(model, monkeypatch):
    original = privlp.ConstraintPrivate.sum_sensitivity
    monkeypatch.setattr(
        privlp.ConstraintPrivate, "sum_sensitivity", lambda *arguments: original(*arguments) / 2
    )
    result = call("audit", model, *AUDIT)
    assert result.exit_code == 1
    assert (
        "FAULT. 'release the sum of violated rows each round' moves by 2 times the sensitivity"
        in result.output
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("missing.mps AUDIT", "There is no file 'missing.mps'"),
        ("MODEL SOLVE --pairs 0", "--pairs must be a positive integer"),
        ("MODEL SOLVE --runs 7", "--runs must be an integer of at least 100"),
        ("MODEL --eps inf --delta 1e-6", "--eps must be finite"),
        ("MODEL SOLVE --confidence 2", "--confidence must be in (0, 1)"),
        ("MODEL SOLVE --method simplex", "--method must be"),
        ("MODEL SOLVE --plot audit.doc", "must be a .png, .pdf or .svg file"),
        ("MODEL SOLVE --json no/such/folder/x.json", "No such file or directory"),
    ],
)
def test_mistakes_of_an_audit_exit_with_two(model, arguments, message):
    result = call("audit", *[model if a == "MODEL" else a for a in words(arguments)])
    assert result.exit_code == 2
    assert message in result.output


def test_plan_predicts_and_spends_nothing(model, tmp_path):
    picture = tmp_path / "plan.svg"
    result = call("plan", model, *SOLVE, "--plot", picture)
    assert result.exit_code == 0
    assert "staged" in result.output
    assert "noise on all variables is" in result.output
    assert "<svg" in picture.read_text()


def test_plan_takes_the_relations_of_solve(model):
    result = call("plan", model, "--eps", 1, "--delta", 1e-6, "--opt", 5, "--scalar-private", 0.1)
    assert result.exit_code == 0
    assert "direct-noise" in result.output


def test_range_of_the_optimum(model):
    request = ("--eps", 4, "--delta", 1e-6, "--s", 20, "--opt-range", 2, 9)
    searched = call("solve", model, *request, "--seed", 1, "--method", "staged")
    assert searched.exit_code == 0
    assert "count violated rows" in searched.output
    result = call("solve", model, *request, "--seed", 1)
    assert result.exit_code == 0
    assert "count missed rows on a way" in result.output
    assert "chain (auto)" in call("plan", model, *request).output
    both = call("solve", model, *request, "--opt", 5)
    assert both.exit_code == 2
    assert "Give --opt or --opt-range, not both" in both.output


def test_plan_refuses_a_picture_of_no_known_kind(model):
    result = call("plan", model, *SOLVE, "--plot", "plan.doc")
    assert result.exit_code == 2
    assert "must be a .png, .pdf or .svg file" in result.output


# ranges row by row, and rows that hold with a probability


@pytest.fixture
def wards(tmp_path):
    """Beds of two wards, a floor and a balance row."""
    path = tmp_path / "wards.mps"
    privlp.LinearProgram(
        [1.0, 2.0],
        [[1, 0], [0, 1], [1, 1], [1, -1]],
        [20.0, 90.0, np.inf, 0.0],
        row_lower=[-np.inf, -np.inf, 30.0, -np.inf],
        row_names=["beds_1", "beds_2", "patients", "balance"],
    ).to_mps(path)
    return path


SCALAR = ("--eps", 5, "--delta", 1e-3, "--scalar-private", 0.1, "--norm", 1, "--zeros-public")


def test_ranges_row_by_row_from_a_file_and_from_options(wards, tmp_path):
    table = tmp_path / "ranges.csv"
    table.write_text("row,low,high\nbeds_*,15,25\npatients,,35\n")
    request = ("plan", wards, *SCALAR, "--feasible", "always", "--b-ranges", table)
    result = call(*request, "--b-range-of", "beds_2", 80, 100)
    assert result.exit_code == 0, result.output
    assert "the objective is at most 55." in " ".join(result.output.split())
    result = call(*request)  # the file's range does not hold for the second ward
    assert result.exit_code == 2
    assert "Some of the right-hand sides of the private rows lie outside" in result.stderr


def test_the_row_in_the_way_is_named_in_the_sign_of_the_file(wards):
    result = call(
        "solve",
        wards,
        *SCALAR,
        *("--feasible", "always", "--b-range", 15, 100, "--b-range-of", "patients", 25, 180),
    )
    assert result.exit_code == 2
    assert re.search(r"In the way: row '(patients' \(upper end 180|beds)", result.stderr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beds_1,15\n", "--b-ranges: line 1 of .* must be a row name|no row"),
        ("row,low,high\nbeds_1,few,25\n", "--b-ranges: line 2 of .* must be a row name, a lower"),
        ("nobody,1,2\n", "--b-ranges: the model has no row 'nobody'"),
        ("beds_1,9,2\n", "--b-ranges: the lower end of row 'beds_1' exceeds its upper end"),
        ("beds_1,nan,2\n", "--b-ranges: the lower end of row 'beds_1' exceeds .* is no number"),
        ("beds_1,1,2\n\xff", "no row|is not a CSV file|must be a row name"),
    ],
)
def test_bad_files_of_ranges(wards, tmp_path, text, message):
    table = tmp_path / "ranges.csv"
    table.write_bytes(text.encode("latin-1"))
    result = call("plan", wards, *SCALAR, "--b-ranges", table)
    assert result.exit_code == 2
    assert re.search(message, result.stderr), result.stderr


def test_a_file_of_ranges_that_is_not_there(wards, tmp_path):
    result = call("plan", wards, *SCALAR, "--b-ranges", tmp_path / "none.csv")
    assert (result.exit_code, "none.csv: No such file" in result.stderr) == (2, True)


def test_ranges_of_rows_need_private_right_hand_sides(wards):
    result = call(
        "plan", wards, "--eps", 1, "--delta", 0, "--row-private", 1, "--b-range-of", "beds_1", 1, 2
    )
    assert result.exit_code == 2
    assert "--b-range-of has no use without --scalar-private." in result.stderr


def test_rows_that_hold_with_a_probability(wards):
    result = call("solve", wards, *SCALAR, "--feasible", 0.99, "--seed", 0)
    assert result.exit_code == 0, result.output
    assert "hold together with probability at least 0.99" in result.output
    for wrong, message in (
        ("1.5", "--feasible must be None, 'always' or a probability between 0 and 1"),
        ("often", "'often' is neither 'always' nor a probability."),
    ):
        result = call("solve", wards, *SCALAR, "--feasible", wrong)
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
