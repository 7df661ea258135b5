"""Where random bits come from, what is said about them, and that none is drawn twice."""

import copy
import pickle
import secrets
import subprocess
import sys

import numpy as np
import pytest
import sklearn.base
import sklearn.model_selection

import privlp
import svm_models
from privlp import Budget, InvalidParameterError, LinearProgram
from privlp.methods import SolveRequest
from privlp.privacy import GaussianMechanism, Randomness
from privlp.privacy.randomness import Unique
from svm_models.account import Account
from tests.effort import covering
from tests.planted import programs
from tests.planted.search import leaves
from tests.programs import ALL


def bits(randomness, count=4):
    return randomness.generator.bit_generator.random_raw(count)


def test_default_is_chacha20_keyed_with_256_bits_of_the_operating_system(monkeypatch):
    asked = []

    def key(size):
        asked.append(size)
        return 0

    monkeypatch.setattr(secrets, "randbits", key)
    generator = Randomness().generator
    assert asked == [256]
    assert type(generator.bit_generator).__name__ == "ChaCha"
    assert generator.bit_generator.state["state"]["rounds"] == 20
    # The first block of the ChaCha20 key stream for key 0, nonce 0 and counter 0 (RFC 8439,
    # appendix A.1, test vector 1)
    stream = generator.bit_generator.random_raw(8).astype("<u8").tobytes()
    assert stream.hex().startswith(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a37"
    )


def test_every_bit_of_the_key_matters(monkeypatch):
    streams = set()
    for position in (0, 63, 64, 127, 128, 200, 255):
        monkeypatch.setattr(secrets, "randbits", lambda size, position=position: 1 << position)
        streams.add(bits(Randomness()).tobytes())
    assert len(streams) == 7


@pytest.mark.parametrize("seed", [0, np.int64(5), np.uint8(5)])
def test_a_seed_is_numpys_default_generator(seed):
    expected = np.random.default_rng(int(seed)).bit_generator.random_raw(4)
    np.testing.assert_array_equal(bits(Randomness(seed)), expected)


def test_words_do_not_show_the_key(monkeypatch):
    assert Randomness().description == "ChaCha20 keyed by the operating system"
    assert Randomness(0).description == "seeded generator (experiments only, not for release)"
    assert repr(Randomness(0)) == "Randomness(seeded generator (experiments only, not for release))"
    monkeypatch.setattr(secrets, "randbits", lambda size: 123456789)
    randomness = Randomness()
    assert "123456789" not in f"{randomness!r} {randomness} {randomness.description}"


@pytest.mark.parametrize(
    "rng", [-1, 1.5, "seed", True, [1, 2], np.random.RandomState(0), np.random.PCG64(0)]
)
def test_anything_else_is_refused(rng):
    with pytest.raises(InvalidParameterError) as refusal:
        Randomness(rng)
    message = str(refusal.value)
    assert message.startswith("rng must be None (cryptographic randomness), a non-negative int or")
    assert message.endswith(
        f"numpy.random.Generator, not {-1 if rng == -1 else type(rng).__name__}."
    )


COPIERS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda item: pickle.loads(pickle.dumps(item)),
    "the oldest pickle": lambda item: pickle.loads(pickle.dumps(item, protocol=0)),
}
REFUSAL = (
    "A Randomness cannot be copied or pickled: a copy would draw the same noise again. Leave"
    " rng out"
)


@pytest.mark.parametrize("copier", COPIERS)
def test_a_source_keyed_by_the_operating_system_is_not_copied(copier):
    with pytest.raises(InvalidParameterError, match=REFUSAL):
        COPIERS[copier](Randomness())


@pytest.mark.parametrize("copier", COPIERS)
@pytest.mark.parametrize("source", [0, np.random.default_rng(5)], ids=["seed", "generator"])
def test_a_seeded_source_may_be_copied_and_says_that_it_is_seeded(copier, source):
    copied = COPIERS[copier](Randomness(source))
    assert copied.seeded
    assert "not for release" in copied.description


def holders():
    """What lives while noise is drawn, each with a source of randomness of its own."""
    lp = LinearProgram(np.ones(4), -np.random.default_rng(0).uniform(0.2, 1, (30, 4)), -np.ones(30))
    yield "source", Randomness()
    budget = Budget(9.0, 1e-3)
    yield "account", Account(budget, Randomness())
    noise = GaussianMechanism(1.0, 40.0)
    yield "paid draws", budget.charge(noise, 2, "test", lp.neighbours, Randomness())
    solves = [(name, method) for name in programs.PROGRAMS for method in programs.methods_of(name)]
    for name, method in covering(solves, together=1):
        lp, request = programs.problem(name).lp, {**programs.request_of(name, method)}
        request.pop("method")
        task = SolveRequest.of(lp, 1.0, 1e-6, **request)
        planned = ALL[method].plan(task)
        draws = task.ledger.charge_together(planned.charges, lp.neighbours, Randomness())
        yield f"draws of {name} {method}", draws
        yield f"solver of {name} {method}", planned.start(lp.rows(), draws)
    data = programs.records()
    names = ("ObjectivePerturbationSVC", "PrivateLPSVC", "RandomFourierFeatures")
    for kind in (getattr(svm_models, name) for name in names):
        estimator = kind(classes=(-1, 1)) if hasattr(kind, "predict") else kind()
        yield f"{kind.__name__}, not fitted", estimator
        yield f"{kind.__name__}, fitted", sklearn.base.clone(estimator).fit(data.X, data.y)


def generators_in(item, seen=None):
    """Generators of the stream cipher that can be reached from an object."""
    seen = {} if seen is None else seen
    if id(item) in seen or isinstance(item, type | str | bytes | np.ndarray | int | float):
        return []
    seen[id(item)] = item
    if isinstance(item, np.random.Generator):
        return [item] if type(item.bit_generator).__name__ == "ChaCha" else []
    parts = list(item.values()) if isinstance(item, dict) else []
    parts += list(item) if isinstance(item, list | tuple | set) else []
    parts += list(getattr(item, "__dict__", {}).values())
    parts += [getattr(item, name, None) for name in getattr(type(item), "__slots__", ())]
    return [generator for part in parts for generator in generators_in(part, seen)]


def test_no_copy_of_anything_holds_a_second_generator_in_the_same_state():
    """Every object of a solve and of a fit, by every way of copying."""
    found = refused = 0
    for name, holder in holders():
        mine = {id(generator) for generator in generators_in(holder)}
        found += len(mine)
        for copier, make in COPIERS.items():
            try:
                copied = make(holder)
            # The last three: closures, HiGHS.
            except (privlp.PrivLPError, TypeError, AttributeError, pickle.PicklingError):
                refused += 1
                continue
            assert {id(generator) for generator in generators_in(copied)} <= mine, (name, copier)
    assert found > 30
    assert refused > 50


def test_what_holds_generators_is_seen_at_all():
    class Holder:
        def __init__(self):
            self.parts = [{"source": Randomness()}]

    assert len(generators_in(Holder())) == 1
    assert list(leaves(Holder())) != []


def run(code, cwd=None):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=True)


FORK = """if True:
    import os, numpy as np, privlp
    from privlp.privacy import GaussianMechanism, LaplaceMechanism, Ledger, Randomness
    lp = privlp.LinearProgram(np.ones(5), -np.random.default_rng(0).uniform(0.2, 1, size=(300, 5)), -np.ones(300))
    source, seeded = Randomness(), Randomness(0)
    first = GaussianMechanism(1.0, 1.0).release(np.zeros(2), source)
    attempts = [
        lambda budget, source: source.generator.random(),
        lambda budget, source: LaplaceMechanism(1.0, 1.0).release(0.0, source),
        lambda budget, source: source.draw(GaussianMechanism(1.0, 1.0), np.zeros(2), "test"),
        lambda budget, source: Ledger(1.0, 0.0).charge(
            LaplaceMechanism(1.0, 1.0), 1, "test", privlp.ConstraintPrivate(), source),
        lambda budget, source: privlp.solve(lp, 0.1, 1e-6, 50, opt=1.7, budget=budget, rng=source),
        lambda budget, source: privlp.quality(lp, np.ones(5), 0.1, budget=budget, rng=source),
    ]
    for attempt in attempts:
        if os.fork() == 0:
            budget = privlp.Budget(1.0, 1e-5)
            try:
                attempt(budget, source)
            except privlp.InvalidParameterError as error:
                print(error, budget.spent(), flush=True)
            attempt(budget, Randomness())
            attempt(budget, seeded)
            if os.fork() == 0:  # a process of the same number as its grandparent would not pass either
                os.getpid = lambda: source._process[0]
                try:
                    attempt(privlp.Budget(1.0, 1e-5), source)
                except privlp.InvalidParameterError as error:
                    print(error, 0.0, flush=True)
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
        assert os.wait()[1] == 0
        attempt(privlp.Budget(1.0, 1e-5), source)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_cannot_draw_the_same_noise_and_spends_nothing():
    done = run(FORK)
    refusal = (
        "This Randomness belongs to the process that made it: another one would draw the same noise"
        " again. Leave rng out, so that each call makes a source of its own. 0.0"
    )
    assert done.stdout.splitlines() == [refusal] * 12
    assert "Traceback" not in done.stderr


WORKERS = """if True:
    import multiprocessing, noises
    from privlp.privacy import Randomness
    if __name__ == "__main__":
        for kind in ("fork", "spawn"):
            if kind not in multiprocessing.get_all_start_methods():
                continue
            with multiprocessing.get_context(kind).Pool(2) as pool:
                noise = pool.map(noises.noise_of, range(8))
                assert len(set(noise)) == 8, noise
                try:
                    pool.map(noises.noise_of, [Randomness()])
                except Exception as error:
                    print(type(error).__name__, error)
"""


NOISES = """
from privlp.privacy import Randomness

def noise_of(source):
    return (Randomness() if isinstance(source, int) else source).generator.standard_normal()
"""


def test_workers_draw_noise_of_their_own_and_take_no_source_from_outside(tmp_path):
    (tmp_path / "noises.py").write_text(NOISES)
    done = run(WORKERS, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) >= 1
    assert all(line.startswith(f"InvalidParameterError {REFUSAL}") for line in lines)


def test_a_clone_does_not_take_a_source_along():
    budget = Budget(1.0, 1e-3)
    estimator = svm_models.ObjectivePerturbationSVC(
        eps=0.5, classes=(-1, 1), random_state=Randomness(), budget=budget
    )
    data = programs.records()
    selector = svm_models.PrivateModelSelector([estimator], classes=(-1, 1), budget=budget)
    for use in (
        lambda: sklearn.base.clone(estimator),
        lambda: sklearn.model_selection.cross_validate(
            estimator, data.X, data.y, error_score="raise"
        ),
        lambda: selector.fit(data.X, data.y),
    ):
        with pytest.raises(InvalidParameterError, match=REFUSAL):
            use()
    assert budget.spent() == 0


@pytest.mark.filterwarnings("ignore::svm_models.RepeatedFitsWarning")
def test_folds_of_a_cross_validation_in_workers_draw_noise_of_their_own():
    """The chance that two of eight weights of fresh noise agree is far below 1e-9."""
    data = programs.records()
    everyone = [(np.arange(len(data.y)), np.arange(5))] * 8
    estimator = svm_models.ObjectivePerturbationSVC(eps=0.5, classes=(-1, 1))
    found = sklearn.model_selection.cross_validate(
        estimator, data.X, data.y, cv=everyone, n_jobs=2, return_estimator=True, error_score="raise"
    )
    assert len({svm.coef_.tobytes() for svm in found["estimator"]}) == 8
    assert not any(svm.privacy_.seeded for svm in found["estimator"])


def test_a_class_of_ones_own_may_be_unique():
    class Key(Unique):
        remedy = "Make another."

    message = r"A Key cannot be copied or pickled: .* Make another\."
    with pytest.raises(InvalidParameterError, match=message):
        copy.copy(Key())
