"""The audit: it never accuses a correct mechanism, catches gross faults, and promises nothing more."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privlp import AuditResult, InvalidParameterError, audit
from privlp.audits.mechanism import _bound
from privlp.audits.results import Outcomes

RUNS = 2_000


def noisy_count(eps):
    """Laplace noise of the right scale on a count."""
    return lambda records, rng: np.array([records + rng.laplace(scale=1 / eps)])


def coin(eps):
    """Randomised response: the truth with probability e^eps / (1 + e^eps)."""
    return lambda bit, rng: bool(rng.random() < 1 / (1 + math.exp(-eps))) == bit


def gaussian_delta(eps, sigma):
    """The exact delta of Gaussian noise on sensitivity 1."""
    return stats.norm.cdf(0.5 / sigma - eps * sigma) - math.exp(eps) * stats.norm.cdf(
        -0.5 / sigma - eps * sigma
    )


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(3))
def test_correct_mechanisms_pass(seed):
    """Four audits at confidence 0.999.

    False-alarm rate at most 0.004 per seed over the choice of seed; seeds fixed.
    """
    gaussian_claim = (1.0, gaussian_delta(1.0, 2.0))
    for mechanism, eps, delta in (
        (noisy_count(1.0), 1.0, 0.0),
        (coin(1.5), 1.5, 0.0),
        (lambda x, rng: [x + rng.normal(scale=2.0)], *gaussian_claim),
        (lambda x, rng: tuple(rng.permutation(3).tolist()), 0.1, 0.0),
    ):
        result = audit(mechanism, True, False, eps, delta, runs=RUNS, rng=seed)
        assert result.passed
        assert result.eps_lower <= eps


@pytest.mark.statistical
def test_the_bound_comes_close_to_the_truth():
    """Randomised response with 20,000 runs: within 15 % below its exact epsilon.

    False-alarm rate below 0.001; seed fixed.
    """
    result = audit(coin(1.0), True, False, 1.0, 0.0, runs=20_000, rng=0)
    assert 0.85 <= result.eps_lower <= 1.0


GROSS = [
    (noisy_count(2.0), 10, 11),
    (coin(2.0), True, False),
    (lambda x, rng: x, 0, 1),
    (lambda x, rng: [float(x), rng.normal()], 0, 1),
    (lambda x, rng: "rare" if x and rng.random() < 0.05 else "usual", False, True),
    (lambda x, rng: rng.normal() + np.array([x, -x]), 0, 1),
    (lambda x, rng: x + rng.laplace(), 0.0, 10.0),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "data", "neighbour"), GROSS)
def test_gross_faults_are_caught(mechanism, data, neighbour):
    """Claims of eps = 1 that are false by a factor 2 or more, in both orders of the pair.

    Miss rate below 1e-6; seed fixed.
    """
    for pair in ((data, neighbour), (neighbour, data)):
        result = audit(mechanism, *pair, 1.0, 0.0, runs=RUNS, rng=1)
        assert not result.passed
        assert result.eps_lower > 1.0


@pytest.mark.statistical
def test_delta_forgives_what_it_may_and_no_more():
    """An outcome of probability 0.05 on one input only, caught unless delta covers it.

    False-alarm rate 0.001; seed fixed.
    """

    def leak(bit, rng):
        return "leak" if bit and rng.random() < 0.05 else "nothing"

    assert audit(leak, True, False, 0.5, 0.06, runs=2 * RUNS, rng=2).passed
    assert not audit(leak, True, False, 0.5, 0.02, runs=2 * RUNS, rng=2).passed


@pytest.mark.statistical
def test_a_mechanism_that_ignores_its_data_has_no_measured_epsilon():
    """The first of three claims draws at random: false-alarm rate 0.001, seed fixed."""
    outcomes = lambda rng: int(rng.integers(3)), lambda rng: "always", lambda rng: np.zeros(3)
    found = [audit(lambda x, rng, f=f: f(rng), 0, 1, 0.1, 0.0, runs=200, rng=0) for f in outcomes]
    assert found[0].eps_lower < 0.1
    assert found[1].eps_lower == found[2].eps_lower == 0.0
    assert audit(lambda x, rng: x, 0, 1, math.inf, 0.0, runs=200, rng=0).passed


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [lambda x, rng: int(rng.integers(1000)), lambda x, rng: rng.normal(size=100)],
    ids=["1000 labels", "100 entries"],
)
def test_the_event_is_chosen_and_judged_on_different_runs(mechanism):
    """Among many outcomes some are always likelier on one input by chance.

    False-alarm rate 0.001; seed fixed.
    """
    assert audit(mechanism, 0, 1, 0.05, 0.0, runs=600, rng=4).passed


@pytest.mark.parametrize(
    "outcome",
    [
        int,
        np.int64,
        lambda x: (x, "a"),
        lambda x: frozenset({x}),
        lambda x: [x],
        lambda x: np.array([x, 0, -x]),
    ],
)
def test_hashable_and_array_outputs(outcome):
    result = audit(lambda x, rng: outcome(x), 3, 4, 1.0, 0.0, runs=400, rng=0)
    assert result.eps_lower > 2


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (lambda rng: {1: 2}, "must return hashable outcomes .* the first was of type dict"),
        (lambda rng: {1, 2}, "must return hashable outcomes .* the first was of type set"),
        (lambda rng: np.zeros((2, 2)), "must return 1-D arrays of a fixed length"),
        (lambda rng: np.zeros(rng.integers(1, 3)), "arrays of varying lengths, .* pad them to one"),
        (lambda rng: [0.0] * int(rng.integers(1, 3)), "arrays of varying lengths"),
        (lambda rng: [[1.0, 2.0], [3.0]], "of a fixed length; the first was of type list"),
        (lambda rng: [math.nan], "of finite numbers of at most 1e\\+100"),
        (lambda rng: math.inf, "of finite numbers of at most 1e\\+100"),
    ],
)
def test_outputs_that_cannot_be_compared(outcome, message):
    with pytest.raises(InvalidParameterError, match=message):
        audit(lambda x, rng: outcome(rng), 0, 1, 1.0, 0.0, runs=100, rng=0)


def test_the_same_seed_gives_the_same_result():
    sources = (7, np.random.default_rng(7), 8)
    results = [audit(noisy_count(1.0), 0, 1, 1.0, 0.0, runs=500, rng=rng) for rng in sources]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_both_inputs_get_fresh_randomness():
    """Equal noise on both inputs would hide differences and invent others."""
    seen = {0: [], 1: []}
    audit(lambda x, rng: seen[x].append(rng.random()) or 0, 0, 1, 1.0, 0.0, runs=100, rng=0)
    assert len(seen[0]) == len(seen[1]) == 100
    assert len({*seen[0], *seen[1]}) == 200


def test_progress_is_shown_on_request(capfd):
    audit(coin(1.0), True, False, 1.0, 0.0, runs=100, rng=0)
    assert capfd.readouterr() == ("", "")
    audit(coin(1.0), True, False, 1.0, 0.0, runs=100, rng=0, progress=True)
    errors = capfd.readouterr().err
    assert "200/200" in errors
    assert errors.count("\n") == 1  # one bar


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("p", "q", "delta"),
    [(0.5, 0.2, 0.0), (0.05, 0.01, 0.0), (0.3, 0.1, 0.05), (0.01, 0.0, 0.02), (0.9, 0.9, 0.0)],
)
def test_clopper_pearson_bound_covers(p, q, delta):
    """Over 2,000 pairs of binomial draws the 90 % bound exceeds the true epsilon at most as often as it may (half of the error belongs to this direction). Seed fixed; false-alarm rate below 1e-6."""
    rng = np.random.default_rng(3)
    trials, confidence = 300, 0.9
    truth = math.log((p - delta) / q) if p > delta else -math.inf
    draws = rng.binomial(trials, [p, q], (2_000, 2))
    misses = sum(_bound(*map(int, hits), trials, delta, confidence) > truth for hits in draws)
    allowed = (1 - confidence) / 2
    assert stats.binomtest(misses, 2_000, allowed, alternative="greater").pvalue > 1e-6


def test_the_bound_at_the_edges():
    """No hits give no bound; only hits against none give the largest."""
    assert _bound(0, 0, 100, 0.0, 0.99) == -math.inf
    assert _bound(5, 5, 100, 0.5, 0.99) == -math.inf
    # p >= error^(1/100) and q <= 1 - error^(1/100) at a quarter of the error each
    edge = 0.0025**0.01
    assert _bound(100, 0, 100, 0.0, 0.99) == pytest.approx(math.log(edge / (1 - edge)))
    assert _bound(100, 100, 100, 0.0, 0.99) == pytest.approx(math.log(edge))


RESULT = AuditResult(1.0, 1e-6, 0.8, confidence=0.999, runs=1000, event="some outcomes")


def test_a_pass_is_no_proof_and_a_failure_is_called_by_its_name():
    assert RESULT.passed
    assert str(RESULT) == (
        "claimed eps = 1 at delta = 1e-06; measured eps >= 0.8 with confidence 0.999 from 1000 runs"
        " on each input: no fault found (this is not a proof of privacy)."
    )
    failed = replace(RESULT, eps_lower=1.2)
    assert not failed.passed
    assert str(failed).endswith(": THE CLAIM IS FALSE.")


def test_result_fields():
    result = audit(coin(1.0), True, False, 2.0, 1e-3, runs=300, rng=0, confidence=0.95)
    assert (result.eps, result.delta, result.runs, result.confidence) == (2.0, 1e-3, 300, 0.95)
    assert result.event == "1 of 2 outcomes"
    pair = audit(lambda x, rng: [x, rng.normal()], 0, 1, 2.0, 0.0, runs=300, rng=0)
    assert pair.event.startswith("projection ")
    assert pair.outcomes.axis == "projection"


@pytest.mark.parametrize("pair", [(3.0, 5.0), (5.0, 3.0)], ids=["rising", "falling"])
def test_a_single_number_is_drawn_as_it_was_released(pair):
    result = audit(lambda x, rng: [x + 0.1 * rng.normal()], *pair, 1.0, 0.0, runs=400, rng=0)
    assert result.outcomes.axis == "released number"
    assert 2.0 < result.outcomes.edges[0] < 3.0
    assert 5.0 < result.outcomes.edges[-1] < 6.0
    assert 3.0 < float(result.event.split()[-1]) < 5.0


def test_a_projection_is_in_the_units_of_the_release():
    """Its direction has length 1, so that the means are at most as far apart as the releases are."""
    noisy = lambda x, rng: np.array([x, 2 * x]) + 0.1 * rng.normal(size=2)  # noqa: E731
    result = audit(noisy, 0, 1, 1.0, 0.0, runs=400, rng=0)
    edges = result.outcomes.edges
    assert 0.9 * math.sqrt(5) < edges[-1] - edges[0] < 1.5 * math.sqrt(5)


def drawn(result):
    """The bars of the two inputs, as shares of the runs that judge, and which lie in the event."""
    outcomes = result.outcomes
    return np.array(outcomes.counts) / sum(outcomes.counts[0]), np.array(outcomes.in_event)


def bounded_by_its_event(result, trials):
    """Whether the bars of the event are the hits that gave the bound."""
    in_event = np.array(result.outcomes.in_event)
    hits = [int(np.array(counts)[in_event].sum()) for counts in result.outcomes.counts]
    bounds = (_bound(*pair, trials, 0.0, 0.999) for pair in (hits, hits[::-1]))
    return result.eps_lower == pytest.approx(max(0.0, *bounds))


@pytest.mark.parametrize(("pair", "cauchy"), [((0.0, 1.0), False), ((1.0, 0.0), True)])
def test_bins_of_a_projection(pair, cauchy):
    def mechanism(x, rng):
        return [x + (rng.standard_cauchy() if cauchy else rng.normal()), rng.normal()]

    result = audit(mechanism, *pair, 1.0, 0.0, runs=2_000, rng=0)
    _, in_event = drawn(result)
    edges, cut = np.array(result.outcomes.edges), float(result.event.split()[-1])
    assert result.outcomes.names == ()
    assert len(edges) == len(in_event) + 1 <= 82
    assert (np.diff(edges) > 0).all()
    assert np.abs(edges - cut).min() < 1e-5 * max(1.0, abs(cut))
    assert (np.diff(in_event) != 0).sum() == 1  # one cut
    assert [sum(counts) for counts in result.outcomes.counts] == [1_000, 1_000]
    assert bounded_by_its_event(result, 1_000)


def test_bars_of_labels():
    result = audit(coin(2.0), True, False, 1.0, 0.0, runs=400, rng=1)
    shares, in_event = drawn(result)
    assert sorted(result.outcomes.names) == ["False", "True"]
    assert in_event.sum() == 1
    assert shares.sum(axis=1).tolist() == [1.0, 1.0]
    assert bounded_by_its_event(result, 200)


def test_many_labels_are_few_bars():
    result = audit(lambda x, rng: int(rng.integers(1000)), 0, 1, 1.0, 0.0, runs=1_000, rng=1)
    assert len(result.outcomes.names) <= 14
    assert result.outcomes.names[-1].startswith("others")
    assert [sum(counts) for counts in result.outcomes.counts] == [500, 500]


@pytest.mark.parametrize("constant", [0.0, 1e9])
def test_outputs_without_noise_have_a_picture(constant):
    result = audit(lambda x, rng: [constant + x], 0, 1, 1.0, 0.0, runs=200, rng=0)
    assert not result.passed
    shares, in_event = drawn(result)
    assert sorted(shares[:, in_event].sum(axis=1)) == [0.0, 1.0]


@pytest.mark.parametrize("mechanism", [noisy_count(2.0), coin(2.0)], ids=["numbers", "labels"])
def test_picture(mechanism):
    plt = pytest.importorskip("matplotlib.pyplot")
    result = audit(mechanism, 1, 0, 1.0, 0.0, runs=1_000, rng=0)
    ax = result.plot()
    assert result.plot(ax) is ax
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"data", "neighbour", "event"} <= set(words)
    assert any(word.startswith("most that ε = 1, δ = 0\nallows on ") for word in words)
    assert "the claim is false" in ax.get_title()
    assert ax.get_ylabel() == "share of runs"
    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_the_allowed_line_is_the_definition():
    """e^eps times the other bar, plus delta, on the input on which the event is likelier."""
    plt = pytest.importorskip("matplotlib.pyplot")
    outcomes = Outcomes(("a", "b"), (), ((30, 70), (10, 90)), (True, False))
    ax = replace(RESULT, eps=0.5, delta=0.01, outcomes=outcomes).plot()
    stairs = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    *heights, most = [patch.get_data().values.tolist() for patch in stairs]
    assert heights == [[0.3, 0.7], [0.1, 0.9]]
    assert most == pytest.approx([0.1 * math.exp(0.5) + 0.01, 1.0])
    assert "allows on data" in ax.get_legend().get_texts()[-1].get_text()
    plt.close(ax.figure)


def test_nothing_to_draw():
    with pytest.raises(InvalidParameterError, match="holds no outcomes to draw"):
        RESULT.plot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"runs": runs}, rf"runs must be an integer of at least 100, got {runs!r}")
            for runs in (99, -5, 1e4, "many")
        ),
        *(
            ({"confidence": p}, rf"confidence must be in \(0, 1\), got {p!r}")
            for p in (0, 1, math.nan)
        ),
        ({"eps": 0}, "eps must be positive"),
        ({"eps": math.nan}, "eps must be positive"),
        ({"delta": 1}, "delta must be in"),
        ({"delta": -0.1}, "delta must be in"),
        ({"rng": "seed"}, "rng must be None"),
        ({"mechanism": lambda x, rng: [0.0] * (1 + x)}, "same kind and length"),
    ],
)
def test_refusals(options, message):
    arguments = {"mechanism": coin(1.0), "data": True, "neighbour": False, "eps": 1.0, "delta": 0.0}
    with pytest.raises(InvalidParameterError, match=message):
        audit(**{**arguments, "runs": 100, **options})


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_interruptions_and_errors_of_the_mechanism_come_through(error):
    def broken(x, rng):
        raise error("from the mechanism")

    with pytest.raises(error, match="from the mechanism"):
        audit(broken, 0, 1, 1.0, 0.0, runs=100, rng=0, progress=True)
