"""Ctrl-C, too little memory, full disks, failures of HiGHS, killed workers, forks: what was spent stays spent, no part passes for a whole, and the message says what happened."""

import contextlib
import gc
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

import privlp
from benchmarks.scores import ResultStore
from privlp import LinearProgram, PrivLPError, Solution, Status, privacy
from privlp.cli import main
from privlp.files import write_whole
from privlp.pictures import save_figure
from privlp.privacy import ChargedDraws, Ledger, accountant, budget_rule, ledger, randomness
from privlp.privacy import budget as budget_module
from privlp.problem import highs
from svm_models import LPSVC, make_separable_sphere
from tests import programs
from tests.effort import each, runs

RELATION = privlp.ConstraintPrivate()


def covering(n=300, d=5, **options):
    return programs.covering(n, costs=np.ones(d), **options)


def slow_program():
    """About a minute for HiGHS."""
    A = sp.random_array((3000, 1200), density=0.05, rng=np.random.default_rng(0), format="csc")
    return LinearProgram(np.ones(1200), -A, -np.full(3000, 0.1))


# Ctrl-C


@contextlib.contextmanager
def ctrl_c_after(seconds):
    """KeyboardInterrupt in the main thread after some seconds, as SIGINT would raise it, unless the block is left before.

    Without hypothesis's callback of the garbage collector, which would swallow one that is raised
    within it.
    """
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks[:] = callbacks


@pytest.fixture
def drawn(monkeypatch):
    """Every draw that was begun."""
    begun, call = [], ChargedDraws.__call__

    def noted(draws, value):
        begun.append(draws.mechanism)
        return call(draws, value)

    monkeypatch.setattr(ChargedDraws, "__call__", noted)
    return begun


def test_whatever_moment_a_solve_is_interrupted_at_its_draws_are_paid(drawn):
    lp, interrupted, charged = covering(3000), 0, 0
    for _ in "warm-up", "measured":
        start = time.perf_counter()
        privlp.solve(lp, 0.5, 1e-6, 50, opt=1.7, method="staged", rng=0)
        took = time.perf_counter() - start
    for share in np.linspace(0.02, 0.98, 15):
        drawn.clear()
        budget = privlp.Budget(1.0, 1e-5)
        try:
            with ctrl_c_after(share * took):
                privlp.solve(lp, 0.5, 1e-6, 50, opt=1.7, method="staged", budget=budget, rng=0)
        except KeyboardInterrupt:
            interrupted += 1
        assert len(drawn) <= sum(entry.draws for entry in budget.entries)
        assert not budget.entries or 0.4 < budget.spent() <= 0.5
        assert budget.statement()["eps"] == budget.spent()
        charged += bool(budget.entries)
    assert interrupted > 3
    assert charged > 3


ACCOUNTING = {of.__file__ for of in (accountant, budget_module, budget_rule, ledger, randomness)}


def test_an_interruption_before_any_line_of_the_ledger_leaves_no_draw_unpaid(drawn):
    def interrupted_at(line):
        """Charge and draw through a share. Is it interrupted before the line-th line that the ledger runs?"""
        drawn.clear()
        budget, count = privlp.Budget(1.0, 1e-6), 0

        def trace(frame, event, _):
            nonlocal count
            if frame.f_code.co_filename not in ACCOUNTING:
                return None
            if event == "line":
                count += 1
                if count == line:
                    raise KeyboardInterrupt
            return trace

        def run():
            draws = budget.share(0.5, 1e-6).charge(
                privacy.GaussianMechanism(1.0, 40.0), 2, "test", RELATION, privacy.Randomness(0)
            )
            draws(np.zeros(2))
            draws(np.zeros(2))

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            run()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
            assert len(drawn) <= sum(entry.draws for entry in budget.entries)
            assert isinstance(str(budget.statement()), str)
        return False

    lines = 1
    while interrupted_at(lines):
        lines += 1
    assert lines > 50


def test_threads_that_share_a_budget_go_on_when_one_is_interrupted(drawn):
    lp, budget = covering(), privlp.Budget(1.0, 1e-5)
    options = {"args": (lp, 0.1, 1e-6, 50), "kwargs": {"opt": 1.7, "budget": budget}}
    threads = [threading.Thread(target=privlp.solve, **options) for _ in "abc"]
    for thread in threads:
        thread.start()

    def go_on():
        while True:
            privlp.solve(lp, 1e-4, 1e-9, 50, opt=1.7, budget=budget)

    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.15):
        go_on()
    for thread in threads:
        thread.join()
    assert len(drawn) <= sum(entry.draws for entry in budget.entries)
    assert 0.1 < budget.spent() <= 1.0


@pytest.mark.parametrize(
    "solve",
    [privlp.solve_exact, lambda lp: highs.optimum(lp.c, lp.A, lp.row_lower, lp.b, lp.bounds)],
    ids=["solve_exact", "optimum of a noisy program"],
)
def test_ctrl_c_stops_highs(solve):
    lp, start = slow_program(), time.perf_counter()
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.5):
        solve(lp)
    assert time.perf_counter() - start < 15


ENVIRONMENT = {
    **os.environ,
    "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "PYTHONPATH": str(Path(privlp.__file__).parents[1]),
}
PRIVLP = "from privlp.cli import main; main(prog_name='privlp')"


STAYS = "Nothing was released but what is printed above or saved; what was charged stays charged."
HEED_CTRL_C = (  # a shell may have its jobs ignore it
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
)


def process(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", HEED_CTRL_C + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
        **options,
    )


def ctrl_c(running, *, sign, delay, stream="stderr"):
    """Wait until a process shows a sign of life, and some seconds.

    Then what Ctrl-C in a terminal does to all its processes.
    """
    seen = b""
    while sign not in seen:
        piece = getattr(running, stream).read1()
        assert piece, seen
        seen += piece
    time.sleep(delay)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    seen = {stream: seen, ("stdout" if stream == "stderr" else "stderr"): b""}
    return running.returncode, (seen["stdout"] + out).decode(), (seen["stderr"] + err).decode()


@pytest.mark.parametrize("delay", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
def test_ctrl_c_of_a_solve_on_the_command_line(tmp_path, delay):
    covering(3000, 20).to_mps(tmp_path / "model.mps")
    (tmp_path / "out.json").write_text("old")
    options = "--eps=1 --delta=1e-6 --s=300 --alpha=0.02 --opt=1.7 --method=dmw --progress"
    words = ["solve", "model.mps", *options.split(), "--json=out.json"]
    running = process(PRIVLP, *words, cwd=tmp_path)
    code, out, err = ctrl_c(running, sign=b"round", delay=delay)
    assert (code, out) == (130, "")
    assert f"Interrupted. {STAYS}" in err
    assert "Traceback" not in err
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["model.mps", "out.json"]


def test_ctrl_c_in_a_script_leaves_a_true_statement(tmp_path):
    script = """if True:
        import numpy as np, privlp
        lp = privlp.LinearProgram(np.ones(20), -np.random.default_rng(0).uniform(0.2, 1, size=(3000, 20)), -np.ones(3000))
        budget = privlp.Budget(1.0, 1e-6)
        try:
            privlp.solve(lp, 0.6, 1e-7, 300, 0.02, opt=1.7, method="dmw", budget=budget, progress=True)
        except KeyboardInterrupt:
            print(budget.statement().to_json())
        try:
            privlp.solve(lp, 0.6, 1e-7, 300, opt=1.7, budget=budget)
        except privlp.BudgetExceededError:
            privlp.solve(lp, 0.3, 1e-7, 300, opt=1.7, budget=budget)
    """
    code, out, err = ctrl_c(process(script), sign=b"round", delay=0.2)
    assert code == 0, err
    statement = json.loads(out)
    assert 0.5 < statement["eps"] <= 0.6
    assert [entry["mechanism"] for entry in statement["entries"]] == ["exponential mechanism"]


def test_ctrl_c_of_training_prints_no_line(tmp_path):
    X, y = make_separable_sphere(4000, random_state=0)
    rows = [" ".join(f"{value:.6f}" for value in row / 1.001) for row in X]
    header = f"{len(y)} {X.shape[1]} 1e-4 1 1e-7"
    labels = (str(int(label)) for label in y)
    (tmp_path / "records.txt").write_text("\n".join([header, *rows, *labels]))
    told = """if True:
        import sys
        from svm_models import cli
        from svm_models.records import files
        read = files.read_training_file
        def told(*arguments, **options):
            print("reading", file=sys.stderr, flush=True)
            return read(*arguments, **options)
        files.read_training_file = told
        cli.main()
    """
    for delay in (0.0, 0.3)[: runs(2, 1)]:
        running = process(told, "train", "records.txt", "--model", "svm", cwd=tmp_path)
        code, out, err = ctrl_c(running, sign=b"reading", delay=delay)
        assert (code, out) == (130, "")
        assert "Interrupted. " in err
        assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_of_the_demonstration_leaves_no_picture(tmp_path):
    running = process(PRIVLP, "demo", cwd=tmp_path)
    code, _, err = ctrl_c(running, sign=b"The private solves", delay=0.2, stream="stdout")
    assert code == 130
    assert "Interrupted. Nothing was released but what is printed above" in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


# too little memory

#: Uses up all memory but 200 kB, and gives it back.
MEMORY = """if True:
    import os, resource, time
    used = []
    def tight():
        size = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
        rest, size, piece = bytearray(200_000), 1024 * size, 2**24
        resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        while piece > 1000:
            try:
                used.append(bytearray(piece))
            except MemoryError:
                piece //= 2
    def free():
        used.clear()
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    import numpy as np, privlp, scipy.linalg
    scipy.linalg.cho_factor(np.eye(300) @ np.eye(300))  # OpenBLAS ends the process where it finds no memory for its buffers
    lp = privlp.LinearProgram(np.ones(4), -np.random.default_rng(0).uniform(0.2, 1, size=(100_000, 4)), -np.ones(100_000))
    few = privlp.LinearProgram(lp.c, lp.A[:50], lp.b[:50])
    budget = privlp.Budget(1.0, 1e-9)
    def solve_few():  # libc ends the process where a thread that ends finds no memory
        threads = len(os.listdir("/proc/self/task"))
        privlp.solve_exact(few)
        while len(os.listdir("/proc/self/task")) > threads:
            time.sleep(0.01)
"""
EXACT = """
    solve_few()
    tight()
    try:
        privlp.solve_exact(lp)
    except MemoryError:
        free()
        print("out of memory", budget.spent())
"""
SOLVE = """
    import warnings
    warnings.simplefilter("ignore")  # few rows, on purpose
    privlp.solve(few, 0.5, 1e-9, 10, opt=1.7, method="staged")
    import privlp.game.loop as game
    step = game.Game.step
    def tight_step(self, t):
        tight() if t == 1 else None
        step(self, t)
    game.Game.step = tight_step
    try:
        privlp.solve(lp, 0.5, 1e-9, 10_000, opt=1.7, method="staged", budget=budget)
    except MemoryError:
        free()
        print("out of memory", round(budget.spent(), 1))
"""
FIT = """
    from svm_models import ObjectivePerturbationSVC
    import svm_models.classifiers.perturbation, svm_models.classifiers.risk
    svm = ObjectivePerturbationSVC(eps=0.5, reg=1e-2, data_norm=1.0, classes=(-1, 1), budget=budget)
    y = np.where(np.arange(len(lp.A)) % 2, 1, -1)
    svm.fit(few.A, y[:50])
    spent = budget.spent()
    minimise = svm_models.classifiers.risk.RegularizedRisk.minimise
    def tight_minimise(*arguments, **options):
        tight()
        return minimise(*arguments, **options)
    svm_models.classifiers.risk.RegularizedRisk.minimise = tight_minimise
    try:
        svm.fit(lp.A, y)
    except MemoryError:
        free()
        print("out of memory", round(budget.spent(), 1), hasattr(svm, "coef_"), round(svm.privacy_.eps, 1))
"""
COMMAND = """
    import privlp.cli.solve  # commands are imported when they are called
    from privlp.cli import main
    lp.to_mps("model.mps")
    del lp
    solve_few()
    tight()
    main(["exact", "model.mps", "--json", "out.json"])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (EXACT, (0, "out of memory 0.0\n", "")),
        (SOLVE, (0, "out of memory 0.5\n", "")),
        (FIT, (0, "out of memory 1.0 False 0.5\n", "")),
        (COMMAND, (1, "", f"Error: Out of memory. {STAYS}\n")),
    ],
    ids=["exact", "solve", "fit", "command line"],
)
def test_out_of_memory(tmp_path, code, outcome):
    running = process(MEMORY + code, cwd=tmp_path)
    out, err = running.communicate(timeout=100)
    assert (running.returncode, out.decode(), err.decode()) == outcome
    assert set(os.listdir(tmp_path)) <= {"model.mps"}


# full disks


@contextlib.contextmanager
def file_size_limit(_folder):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def full_disk(folder):
    filler, size = folder / "filler", 2**16
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(size)):
            pass
    try:
        yield
    finally:
        filler.unlink()


@pytest.fixture(params=[file_size_limit, full_disk])
def medium(request, tmp_path):
    """A folder, and a context in which nothing more can be written to it."""
    if request.param is file_size_limit:
        yield tmp_path, file_size_limit
        return
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield disk, full_disk
    finally:
        plt.close("all")
        subprocess.run(["umount", disk], check=True)


LP = covering()
SOLUTION = privlp.solve(LP, 1.0, 1e-6, 50, opt=1.7, rng=0)
WRITERS = {
    "solution.json": SOLUTION.save,
    "model.mps": LP.to_mps,
    "model.lp": LP.to_mps,
    "figure.svg": lambda path: save_figure(plt.subplots()[1], path),
    "text": lambda path: write_whole(path, "x" * 100_000),
}


@pytest.mark.parametrize(("old", "name"), each([None, "old"], WRITERS))
def test_a_full_disk_leaves_the_file_as_it_was(medium, name, old):
    folder, exhausted = medium
    path = folder / name
    if old is not None:
        path.write_text(old)
    with exhausted(folder), pytest.raises((OSError, PrivLPError), match=re.escape(name)):
        WRITERS[name](path)
    assert os.listdir(folder) == ([] if old is None else [name])
    assert old is None or path.read_text() == old
    plt.close("all")
    WRITERS[name](path)
    assert os.listdir(folder) == [name]
    assert path.stat().st_size > 1000
    plt.close("all")


REQUEST = ["--eps", "1", "--delta", "1e-6", "--s", "50", "--opt", "1.7"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["solve", *REQUEST, "--json"], "out.json"),
        (["exact", "--json"], "out.json"),
        (["plan", *REQUEST, "--plot"], "plan.png"),
    ],
    ids=["solve", "exact", "plan"],
)
def test_a_full_disk_on_the_command_line(medium, command, name, tmp_path_factory):
    folder, exhausted = medium
    model = tmp_path_factory.mktemp("models") / "model.mps"
    long_names = [f"a_rather_long_name_of_row_{i}" for i in range(300)]
    LinearProgram(LP.c, LP.A, LP.b, row_names=long_names).to_mps(model)
    with exhausted(folder):
        result = CliRunner().invoke(
            main, [command[0], str(model), *command[1:], str(folder / name)]
        )
    plt.close("all")
    assert result.exit_code == 2
    told = rf"Error: .*{name}: (File too large|No space left on device)\.\n"
    assert re.search(told, result.stderr)
    assert os.listdir(folder) == []
    if command[0] == "solve":  # paid for, and not lost
        assert json.loads(result.stdout)["status"] == "completed"


def test_a_full_disk_for_standard_output(tmp_path):
    LP.to_mps(tmp_path / "model.mps")
    with open("/dev/full", "wb") as full:
        running = subprocess.run(
            [sys.executable, "-c", PRIVLP, "solve", "model.mps", *REQUEST, "--json", "out.json"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            cwd=tmp_path,
            check=False,
        )
    assert running.returncode == 2
    assert b"Output: No space left on device." in running.stderr
    assert b"Traceback" not in running.stderr
    assert Solution.load(tmp_path / "out.json").success


def test_pipes_and_links_stay_what_they_are(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    read = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    thread.start()
    write_whole(pipe, "text")
    thread.join(10)
    write_whole(link, "text")
    assert read == ["text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert target.read_text() == "text"


def test_a_full_disk_loses_one_line_of_a_store_and_no_other(medium):
    folder, exhausted = medium
    path, sizes = folder / "store.jsonl", (500, 1000, 5000)
    store = ResultStore(path)
    store.add({"a": 1}, 1)

    def fill():
        for size in sizes:
            store.add({"size": size}, "x" * size)

    with exhausted(folder), pytest.raises(OSError, match=r"store\.jsonl"):
        fill()
    store.add({"a": 3}, 3)
    opened = ResultStore(path)
    assert (opened[{"a": 1}], opened[{"a": 3}]) == (1, 3)
    kept = [{"size": size} in store for size in sizes]
    assert kept == [{"size": size} in opened for size in sizes]
    assert not all(kept)


# several at once


def in_threads(*actions):
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_lines_of_several_writers_of_a_store_do_not_mix(tmp_path):
    path = tmp_path / "store.jsonl"
    stores = [ResultStore(path) for _ in range(4)]  # each opens the file for itself

    def fill(writer):
        for i in range(50):
            stores[writer].add({"writer": writer, "i": i}, "x" * (i * 1000))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(*(lambda writer=writer: fill(writer) for writer in range(4)))
    finally:
        sys.setswitchinterval(interval)
    opened = ResultStore(path)
    sizes = [len(opened[{"writer": k, "i": i}]) for k in range(4) for i in range(50)]
    assert sizes == [1000 * i for i in range(50)] * 4


def test_readers_see_one_writer_s_file_or_the_other_s(tmp_path):
    path, texts, seen = tmp_path / "file", ["a" * 300_000, "b" * 200_000], []
    write_whole(path, texts[0])
    writers = (lambda text=text: [write_whole(path, text) for _ in range(30)] for text in texts)
    in_threads(*writers, lambda: seen.extend(path.read_text() for _ in range(200)))
    assert set(seen) <= set(texts)
    assert os.listdir(tmp_path) == ["file"]


FORK = """if True:
    import os, numpy as np, privlp
    from privlp.privacy import GaussianMechanism, Randomness
    lp = privlp.LinearProgram(np.ones(5), -np.random.default_rng(0).uniform(0.2, 1, size=(300, 5)), -np.ones(300))
    budget = privlp.Budget(1.0, 1e-5)
    share = budget.share(0.1, 1e-6)
    draws = budget.charge(GaussianMechanism(1.0, 40.0), 2, "test", lp.neighbours, Randomness())
    draws(np.zeros(2))
    attempts = [
        lambda: privlp.solve(lp, 0.1, 1e-6, 50, opt=1.7, budget=budget),
        lambda: privlp.solve(lp, None, None, 50, opt=1.7, budget=share),
        lambda: budget.disjoint(2),
        lambda: draws(np.zeros(2)),
        lambda: privlp.solve(lp, None, None, 50, opt=1.7, budget=budget),
    ]
    for attempt in attempts:
        if os.fork() == 0:
            try:
                attempt()
            except privlp.BudgetExceededError as error:
                print(error, flush=True)
            privlp.solve(lp, 0.1, 1e-6, 50, opt=1.7, budget=privlp.Budget(1.0, 1e-5))
            os._exit(0)
        assert os.wait()[1] == 0
        attempt()
"""


def test_a_forked_process_cannot_spend_a_budget_again():
    out, err = process(FORK).communicate(timeout=100)
    assert b"Traceback" not in err
    refusal = (
        "This {} belongs to the process that made it: another one would spend a second time what"
        " was paid for once. Give each process a Budget of its own, or use threads."
    )
    names = ("Budget", "Budget", "Budget", "ChargedDraws", "Budget")
    assert out.decode().splitlines() == [refusal.format(name) for name in names]


# HiGHS

MODEL_STATUS = highspy.HighsModelStatus
FAILURES = "Notset PresolveError PostsolveError LoadError ModelError Interrupt IterationLimit"
FAILURES += " SolveError Unknown TimeLimit"
FAILURES = [getattr(MODEL_STATUS, f"k{name}") for name in FAILURES.split()]
LIMITS = {MODEL_STATUS.kTimeLimit: Status.TIME_LIMIT}
LIMITS |= {MODEL_STATUS.kIterationLimit: Status.ITERATION_LIMIT}


@pytest.fixture
def failing(monkeypatch):
    """Let HiGHS end with some status, at once or from a later run on."""

    def fail(failure, after=0):
        runs, run, status = [], highspy.Highs.run, highspy.Highs.getModelStatus

        def failed(highs):
            runs.append(1)
            returned = run(highs)  # which leaves a point that is not to be taken
            return returned if len(runs) <= after else highspy.HighsStatus.kError

        monkeypatch.setattr(highspy.Highs, "run", failed)
        told = lambda highs: status(highs) if len(runs) <= after else failure  # noqa: E731
        monkeypatch.setattr(highspy.Highs, "getModelStatus", told)
        return runs

    return fail


@pytest.mark.parametrize("failure", FAILURES, ids=lambda status: status.name)
def test_exact_solutions_are_honest_about_failures_of_highs(failing, failure):
    failing(failure)
    exact = privlp.solve_exact(LP)
    assert exact.status == LIMITS.get(failure, Status.NUMERICAL_ERROR)
    assert (exact.x, exact.dual, exact.success) == (None, None, False)
    assert np.isnan(exact.gap)


def test_highs_out_of_memory_is_no_numerical_failure(failing):
    failing(MODEL_STATUS.kMemoryLimit)
    with pytest.raises(MemoryError, match="HiGHS ran out of memory"):
        privlp.solve_exact(LP)


@pytest.mark.parametrize("failure", FAILURES[-3:], ids=lambda status: status.name)
def test_an_svm_without_a_certified_optimum_is_refused(failing, failure):
    failing(failure)
    svm = LPSVC()
    with pytest.raises(PrivLPError, match="HiGHS found no certified optimum"):
        svm.fit(*make_separable_sphere(50, random_state=0))
    with pytest.raises(NotFittedError):
        svm.predict(np.zeros((1, 2)))


def numbers(**options):
    relation = privlp.ScalarPrivate(0.1, norm="1", lower=-2.0, upper=-0.5)
    return LinearProgram(LP.c, LP.A, LP.b, bounds=(0, 10), neighbours=relation, **options)


METHODS = {
    "direct-noise": (numbers(), {}),
    "tightened": (numbers(), {"feasible": "always"}),
    "chain": (covering(bounds=(0, 10)), {"s": 50, "opt": 1.7}),
}


WHICH = ["all runs", "runs after the charge", "last run"]


@pytest.mark.parametrize(
    ("failure", "method", "which"),
    [  # every failure at every run, every method with every failure and with every run
        pytest.param(failure, method, WHICH[(i + j) % 3], id=f"{failure.name}-{method}")
        for i, failure in enumerate(FAILURES[-3:])
        for j, method in enumerate(METHODS)
    ],
)
def test_private_solves_are_honest_about_failures_of_highs(failing, failure, method, which):
    lp, options = METHODS[method]

    def solve(budget):
        return privlp.solve(lp, 0.5, 1e-6, method=method, budget=budget, rng=0, **options)

    with pytest.MonkeyPatch.context() as patch:
        runs, before_the_charge = [], []
        run, charge = highspy.Highs.run, Ledger.charge_together

        def noted(*arguments, **how):
            before_the_charge.append(len(runs))
            return charge(*arguments, **how)

        patch.setattr(highspy.Highs, "run", lambda highs: runs.append(1) or run(highs))
        patch.setattr(Ledger, "charge_together", noted)
        assert solve(privlp.Budget(1.0, 1e-5)).success
    budget = privlp.Budget(1.0, 1e-5)
    failing(failure, dict(zip(WHICH, (0, before_the_charge[0], len(runs) - 1), strict=True))[which])
    if which == "all runs" and method == "tightened":
        with pytest.raises(PrivLPError, match=r"unbounded|no feasible point"):
            solve(budget)
        assert budget.entries == ()
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", privlp.PublicPointWarning)
        solution = solve(budget)
    assert budget.spent() > 0.4
    assert solution.privacy.entries == budget.entries
    if method == "chain":  # goes on with what it has
        assert solution.status is Status.COMPLETED
        assert (solution.x >= 0).all()
    elif method == "tightened" and solution.success:
        fallen_back = "No certain optimum of the tightened program was found" in solution.message
        assert fallen_back or which == "last run"  # the last run is that of a repair
        told = [str(warning.message).partition(" that")[0] for warning in caught]
        assert told == ["x is a public point"] * fallen_back
        assert (lp.A @ solution.x <= lp.b).all()
    else:
        limited = failure == MODEL_STATUS.kTimeLimit
        assert solution.status is (Status.TIME_LIMIT if limited else Status.NUMERICAL_ERROR)
        assert (solution.x, solution.success) == (None, False)
        told = "time limit" if limited else "HiGHS ended without a solution: numerical error"
        assert told in solution.message
        assert not limited or solution.trace == {}


def test_a_time_limit_of_an_exact_solve_is_told():
    start = time.perf_counter()
    exact = privlp.solve_exact(slow_program(), time_limit=0.2)
    assert time.perf_counter() - start < 15
    assert (exact.status, exact.x) == (Status.TIME_LIMIT, None)
    assert exact.message == "HiGHS reached the time limit before an optimum was certified."


def test_badly_scaled_programs_are_certified_or_not_called_optimal():
    def badly_scaled(seed):
        rng = np.random.default_rng(seed)
        c, A, b = rng.random(6), rng.normal(size=(8, 6)), np.abs(rng.normal(size=8))
        c, A, b = (part * 10.0 ** rng.integers(-9, 10, size=part.shape) for part in (c, A, b))
        return LinearProgram(-c, A, b, bounds=(0, 1e9))

    solved = [privlp.solve_exact(badly_scaled(seed)) for seed in range(20)]
    for exact in solved:
        assert exact.status in (Status.OPTIMAL, Status.NUMERICAL_ERROR)
        certified = max(exact.primal_residual, exact.dual_residual, exact.gap) <= 1e-5
        assert exact.success == certified == (exact.x is not None)
    assert {exact.status for exact in solved} == {Status.OPTIMAL, Status.NUMERICAL_ERROR}
