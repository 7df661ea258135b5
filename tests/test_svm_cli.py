"""The command line of svm_models, as a user meets it."""

import hashlib
import importlib.metadata
import math
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("sklearn")

import privlp
import svm_models as sm
from privlp.privacy import Ledger, Randomness
from svm_models.account import Account
from svm_models.classifiers.perturbation import perturb_objective
from svm_models.classifiers.risk import RegularizedRisk, huber, logistic
from svm_models.cli import main
from svm_models.records import signed
from svm_models.records.files import read_training_file

#: Stands in malformed files for a private number, and must not come back.
SECRET = "0.7654321"


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(message, *arguments):
    """Of a command: one line that says so, and no private number."""
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert SECRET[2:] not in result.stderr
    return result.stderr


def weights_and_statuses(result):
    assert result.exit_code == 0, result.output
    fields = [line.split() for line in result.stdout.splitlines()]
    weights = np.array([[float(entry) for entry in line[:-1]] for line in fields])
    return weights, [line[-1] for line in fields]


@pytest.fixture(scope="module")
def sample():
    X, y = sm.make_unseparable_ball(60, n_features=3, random_state=1)
    return 0.9 * X, y


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "records.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def as_text(sample, header):
    X, y = sample
    return "\n".join([header, *(" ".join(map(repr, row)) for row in X.tolist()), *map(str, y), ""])


def test_help_says_what_is_private_and_what_errors_tell():
    assert all(word in call("--help").stdout for word in ("train", "example", "Exit codes"))
    text = " ".join(call("train", "--help").stdout.split())
    for words in ("NOT PRIVATE", "never a number of a record", "cost 2 eps", "0.99 eps"):
        assert words in text
    assert privlp.__version__ in call("--version").output


def test_the_command_is_installed_and_runs_as_a_module():
    scripts = importlib.metadata.entry_points(group="console_scripts")
    assert all(script.load() is main for script in scripts if script.name == "svm-models")
    shown = subprocess.run(
        [sys.executable, "-m", "svm_models", "--help"], capture_output=True, check=True
    )
    assert b"Usage: python -m svm_models" in shown.stdout


@pytest.mark.parametrize("model", ["svm", "lr"])
def test_three_lines_of_weights_and_a_status(sample, write, model):
    path = write(as_text(sample, "60 3 0.05 2" + " 0.4" * (model == "svm")))
    weights, statuses = weights_and_statuses(call("train", path, "--model", model))
    assert weights.shape == (3, 3)
    assert statuses == ["0", "0", "0"]
    exact = sm.HuberSVC(0.05, h=0.4) if model == "svm" else sm.RegularizedLogisticRegression(0.05)
    assert np.array_equal(weights[0], exact.fit(*sample).coef_[0])
    assert not np.allclose(weights[0], weights[1], atol=1e-3)
    assert not np.allclose(weights[0], weights[2], atol=1e-3)


def test_standard_error_says_what_is_private(sample, write):
    path = write(as_text(sample, "60 3 0.05 2"))
    notice = call("train", path, "--model", "lr").stderr
    assert "Line 1 is NOT private and must not be released" in notice
    assert "each differentially private by themselves, with eps = 2" in notice
    assert "together they have 2 eps = 4" in notice
    assert "Seeded" not in notice
    seeded = call("train", path, "--model", "lr", "--seed", 5).stderr
    assert "Seeded noise (--seed): an experiment" in seeded
    assert "not for release" in seeded


def test_seeds_repeat_and_no_seed_does_not(sample, write):
    path = write(as_text(sample, "60 3 0.05 2"))
    first, again, other = (
        call("train", path, "--model", "lr", "--seed", seed).stdout for seed in (5, 5, 6)
    )
    assert first == again != other
    unseeded = [call("train", path, "--model", "lr").stdout.splitlines() for _ in range(2)]
    assert unseeded[0][0] == unseeded[1][0]
    assert unseeded[0][1] != unseeded[1][1]
    assert unseeded[0][2] != unseeded[1][2]


def test_private_lines_are_those_of_the_mechanisms(sample, write):
    path = write(as_text(sample, "60 3 0.05 2 0.5"))
    weights, _ = weights_and_statuses(call("train", path, "--model", "svm", "--seed", 7))
    generator = np.random.default_rng(7)
    options = {"fit_intercept": False, "classes": (-1, 1), "random_state": generator}
    output = sm.OutputPerturbationSVC(eps=2.0, reg=0.05, h=0.5, **options)
    assert np.array_equal(weights[1], output.fit(*sample).coef_[0])
    ledger = Ledger(2.0, 0.0)
    risk = RegularizedRisk.in_memory(signed(*sample), huber(0.5), 0.05, 1.0)
    account = Account(ledger, Randomness(generator))
    assert np.array_equal(weights[2], perturb_objective(risk, account, add_regularization=False))
    assert ledger.spent() == pytest.approx(2.0)


@pytest.mark.parametrize("model", ["svm", "lr"])
def test_without_noise_all_three_agree(sample, write, model):
    path = write(as_text(sample, "60 3 0.05 1e9" + " 0.5" * (model == "svm")))
    weights, _ = weights_and_statuses(call("train", path, "--model", model))
    assert np.allclose(weights, weights[0], atol=1e-5)


def test_an_uncertified_first_line_says_so_and_the_private_ones_never_do(
    sample, write, monkeypatch
):
    def short(self, X, y):
        self.coef_, self.gradient_norm_ = np.zeros((1, 3)), 1.0
        return self

    monkeypatch.setattr(sm.RegularizedLogisticRegression, "fit", short)
    result = call("train", write(as_text(sample, "60 3 0.05 2")), "--model", "lr")
    assert weights_and_statuses(result)[1] == ["1", "0", "0"]


@pytest.mark.parametrize(
    "text",
    [
        "2 2 0.1 9\n0.5 0.5\n-1 0\n1 -1\n",
        "2 2\n0.1\n9\n0.5 0.5\n-1 0\n1\n-1",
        "\n\n 2.0\t2 1e-1 +9 \r\n\r\n0.5 0.5\r\n-1.0 0\r\n\r\n1.0\r\n-1e0\r\n\r\n",
        b"\xef\xbb\xbf2 2 0.1 9\n0.5 0.5\n-1 0\n1 -1\n",
    ],
    ids=["labels on one line", "header on several", "blanks and Windows", "byte-order mark"],
)
def test_layouts_that_mean_the_same(write, text):
    records = read_training_file(write(text), with_h=False)
    assert records.X.tolist() == [[0.5, 0.5], [-1.0, 0.0]]
    assert records.y.tolist() == [1.0, -1.0]
    assert (records.reg, records.eps, records.h) == (0.1, 9.0, None)


def test_one_record_and_one_class_are_enough(write):
    assert call("train", write("1 1 1 9\n0.5\n1\n"), "--model", "lr").exit_code == 0
    assert call("train", write("2 1 1 9 0.5\n0.5\n0.1\n1 1\n"), "--model", "svm").exit_code == 0


def test_norms_may_exceed_one_by_rounding_only(write):
    assert call("train", write("1 2 1 9\n0.6 0.8000000005\n1\n"), "--model", "lr").exit_code == 0
    beyond = call("train", write("1 2 1 9\n0.6 0.800000003\n1\n"), "--model", "lr")
    assert "line 2: the record has a Euclidean norm above 1" in beyond.stderr


HEADER = "3 2 0.1 9\n"
ROWS = f"{SECRET} 0.1\n0.2 {SECRET}\n0.1 -{SECRET}\n"
BEFORE = HEADER + ROWS
NO_NUMBER = "some of it is not a finite number"
ENDS = "the file ends after"
AFTER = "something follows the last of n = 3 labels"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\t\n", "is empty"),
        (b"\x1f\x8b\x08\0\0\xff", "is not a text file"),
        ("3 2 ä".encode("latin1"), f"line 1: {NO_NUMBER}"),
        ("2.5 2 0.1 9\n", "line 1: n must be a positive integer"),
        ("0 2 0.1 9\n", "line 1: n must be a positive integer"),
        ("1e300 2 0.1 9\n", "line 1: n must be a positive integer"),
        ("3\n-2 0.1 9\n", "line 2: d must be a positive integer"),
        ("3 2\n\n0 9\n", "line 3: lambda must be positive"),
        ("3 2 inf 9\n", f"line 1: {NO_NUMBER}"),
        ("3 2 0.1 -9\n", "line 1: eps must be positive"),
        ("3 2\n0.1\n", "line 2: the file ends within the header; the header is 4 numbers, n, d,"),
        (f"3 2 0.1 9 0.5\n{ROWS}", "the header is 4 numbers, n, d, lambda, eps (only a file for"),
        (f"3 2 0.1 9 {SECRET} 0.1\n", "the first record begins on a line of its own"),
        (f"{HEADER}1 2\n{SECRET}\n", "line 3: found 1 number; record 2 of n = 3 takes d = 2"),
        (f"{HEADER}1 2\n\n{SECRET} 0 0\n", "line 4: found 3 numbers; record 2 of n = 3 takes d ="),
        (f"{HEADER}0.1 0.2\n{SECRET} x{SECRET}\n", f"line 3: {NO_NUMBER}"),
        (f"{HEADER}{SECRET}, 0.2\n", f"line 2: {NO_NUMBER}. Separate numbers by blanks, not by"),
        (f"{HEADER}{SECRET} 0.1_1\n", f"line 2: {NO_NUMBER}"),
        (f"{HEADER}{SECRET} 1e999\n", f"line 2: {NO_NUMBER}"),
        (HEADER, f"line 1: {ENDS} 0 records; n = 3 are expected"),
        (f"{HEADER}{SECRET} 0.2\n", f"line 2: {ENDS} 1 record; n = 3 are expected"),
        (f"{HEADER}0 0\n{SECRET} {SECRET}\n0 0\n1 1 1\n", "line 3: the record has a Euclidean nor"),
        (f"{HEADER}0 0\n0 0\n{SECRET} 1e300\n1 1 1\n", "line 4: the record has a Euclidean norm"),
        (BEFORE, f"line 4: {ENDS} 0 labels; n = 3 are expected"),
        (f"{BEFORE}1\n-1\n", f"line 6: {ENDS} 2 labels; n = 3 are expected"),
        (f"{BEFORE}1\n{SECRET}\n1\n", "line 6: a label is neither -1 nor 1"),
        (f"{BEFORE}1\n0\n1\n", "line 5: from here on the labels are 0 and 1; they must be -1 and"),
        (f"{BEFORE}1\n-1\nyes\n", f"line 7: {NO_NUMBER}"),
        (f"2 2 0.1 9\n{ROWS}1 1 -1\n", "line 4: a label is neither -1 nor 1. Labels begin after r"),
        (f"{BEFORE}1\n-1\n1\n1\n", f"line 8: {AFTER}"),
        (f"{BEFORE}1 -1 1 1\n", f"line 5: {AFTER}"),
        (f"{BEFORE}1 -1 1\n\n\nEND {SECRET}\n", f"line 8: {AFTER}"),
    ],
)
def test_malformed_files_are_refused_by_line_and_without_their_numbers(write, text, message):
    path = write(text)
    refused(message, "train", path, "--model", "lr")
    with pytest.raises(privlp.errors.ReadError) as error:
        read_training_file(path, with_h=False)
    assert error.value.__cause__ is None


@pytest.mark.parametrize("h", ["0", "-0.1", "0.51", SECRET])
def test_h_out_of_its_range_is_refused(write, h):
    message = "line 2: h must be above 0 and at most 1/2"
    refused(message, "train", write(f"3 2 0.1 9\n{h}\n" + ROWS), "--model", "svm")
    message = "line 2: the header is 5 numbers, n, d, lambda, eps, h (a file for logistic regressi"
    refused(message, "train", write(f"{BEFORE}1 1 1\n"), "--model", "svm")


def test_files_that_cannot_be_opened(tmp_path):
    refused("There is no file", "train", tmp_path / "none.txt", "--model", "lr")
    refused("cannot be read", "train", tmp_path, "--model", "lr")
    refused("cannot be read: not a usable file name", "train", "\ud800", "--model", "svm")
    with pytest.raises(privlp.errors.ReadError, match="cannot be read: not a usable file name"):
        read_training_file("a\0b", with_h=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("FILE",), "Missing option '--model'"),
        (("FILE", "--model", "tree"), "'tree' is not one of"),
        (("--model", "lr"), "Missing argument 'FILE'"),
        (("FILE", "--model", "lr", "--seed", -1), "x>=0"),
    ],
)
def test_wrong_options(write, arguments, message):
    path = write(f"{BEFORE}1 1 1\n")
    refused(message, "train", *[path if a == "FILE" else a for a in arguments])


def floor(n, reg, c):
    """The eps that leaves 1e-4 for the noise."""
    return (math.log1p(c / (n * reg)) + 1e-4) / 0.99


@pytest.mark.parametrize(
    ("model", "h", "c"), [("lr", "", 0.25), ("svm", " 0.5", 1.0), ("svm", " 0.1", 5.0)]
)
def test_eps_left_for_noise_has_a_floor(sample, write, monkeypatch, model, h, c):
    eps = floor(60, 0.01, c)
    path = write(as_text(sample, f"60 3 0.01 {eps * (1 + 1e-9)!r}{h}"))
    assert weights_and_statuses(call("train", path, "--model", model))[1] == ["0", "0", "0"]

    def never(*_, **__):
        raise AssertionError("trained or charged")

    monkeypatch.setattr(RegularizedRisk, "minimise", never)
    monkeypatch.setattr(Ledger, "charge", never)
    path = write(as_text(sample, f"60 3 0.01 {eps * (1 - 1e-9)!r}{h}"))
    below = refused("is below 1e-4 for n = 60, lambda = 0.01", "train", path, "--model", model)
    assert "Line 1" not in below


@pytest.mark.parametrize("eps", [0.05, 1e-3, 0.9])
def test_the_parameters_it_proposes_would_do(sample, write, eps):
    header = {"n": "60", "d": "3", "lambda": "1e-3", "eps": repr(eps)}
    path = write(as_text(sample, " ".join(header.values())))
    cures = refused("at least ", "train", path, "--model", "lr").strip().rstrip(".")
    proposed = dict(cure.split(" = ") for cure in cures.split("at least ")[1].split(", "))
    assert list(proposed) == ["eps", "lambda", "n"]
    for name in ("eps", "lambda"):
        cured = write(as_text(sample, " ".join({**header, name: proposed[name]}.values())))
        assert call("train", cured, "--model", "lr").exit_code == 0
    curvature = logistic().curvature_bound / (int(proposed["n"]) * 1e-3)
    assert 1e-4 <= 0.99 * eps - math.log1p(curvature) < 0.01


@pytest.mark.parametrize(
    ("header", "cure"),
    [
        ("60 3 1e-3 1e-20", "at least eps = "),
        ("60 3 1e-320 0.1", "at least lambda = "),
        ("60 3 1e-320 1e-20", "a larger lambda"),
    ],
)
def test_extreme_parameters_are_refused_alike(sample, write, header, cure):
    refused(cure, "train", write(as_text(sample, header)), "--model", "lr")


@pytest.mark.parametrize("model", ["svm", "lr"])
def test_examples_are_as_simulated_and_train(write, model):
    shown = call("example", "--model", model)
    assert shown.exit_code == 0
    digest = hashlib.sha256(shown.stdout.encode()).hexdigest()
    assert digest.startswith({"svm": "741c601ebcfe23bc", "lr": "51558d741083192a"}[model])
    path = write(shown.stdout)
    records = read_training_file(path, with_h=model == "svm")
    X, y = sm.make_unseparable_ball(200, n_features=5, random_state=0)
    assert np.allclose(records.X, X, atol=2e-6)
    assert np.array_equal(records.y, y)
    assert (records.reg, records.eps, records.h) == (0.01, 1.0, 0.5 if model == "svm" else None)
    weights, statuses = weights_and_statuses(call("train", path, "--model", model))
    assert weights.shape == (3, 5)
    assert statuses == ["0", "0", "0"]
    assert (np.sign(X @ weights[0]) == y).mean() > 0.8


def test_without_scikit_learn_it_says_what_to_install(tmp_path):
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from click.testing import CliRunner\nfrom svm_models.cli import main\n"
        "shown = CliRunner().invoke(main, ['example', '--model', 'lr'])\n"
        "open(sys.argv[1], 'w').write(shown.stdout)\n"
        "result = CliRunner().invoke(main, ['train', sys.argv[1], '--model', 'lr'])\n"
        "print(shown.exit_code, result.exit_code, result.output)\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "lr.txt")]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("0 2 Error: ")
    assert "pip install 'privlp[svm]'" in ran.stdout
