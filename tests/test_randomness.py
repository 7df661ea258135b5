"""Where random bits come from, and what is said about them."""

import secrets

import numpy as np
import pytest

import privlp
from privlp import InvalidParameterError, LinearProgram
from privlp.privacy import Randomness


def solve(rng, **options):
    lp = LinearProgram(np.ones(4), -np.random.default_rng(0).uniform(0.2, 1, (30, 4)), -np.ones(30))
    return privlp.solve(lp, 1.0, 1e-6, s=5, alpha=0.8, opt=2.0, method="dmw", rng=rng, **options)


def bits(randomness, count=4):
    return randomness.generator.bit_generator.random_raw(count)


# the default source


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


# seeds


@pytest.mark.parametrize("seed", [0, np.int64(5), np.uint8(5)])
def test_a_seed_is_numpys_default_generator(seed):
    expected = np.random.default_rng(int(seed)).bit_generator.random_raw(4)
    np.testing.assert_array_equal(bits(Randomness(seed)), expected)


# what is said


def test_words_do_not_show_the_key(monkeypatch):
    assert Randomness().description == "ChaCha20 keyed by the operating system"
    assert Randomness(0).description == "seeded generator (experiments only, not for release)"
    assert repr(Randomness(0)) == "Randomness(seeded generator (experiments only, not for release))"
    monkeypatch.setattr(secrets, "randbits", lambda size: 123456789)
    randomness = Randomness()
    assert "123456789" not in f"{randomness!r} {randomness} {randomness.description}"


def test_a_result_says_where_its_bits_came_from():
    assert solve(None).privacy.seeded is False
    for rng in (0, np.random.default_rng()):
        solution = solve(rng)
        assert solution.privacy.seeded is True
        assert "NOT FOR RELEASE" in str(solution.privacy.statement())


# no other source


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
