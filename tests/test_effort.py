"""A quick run leaves out cases of a product, and no meeting of two values."""

from itertools import combinations, product

import pytest

from tests import effort

AXES = ("abc", [1, 2], [True, False, None], ["x", ["a list"]])


def met(cases, together):
    return {tuple(map(str, s)) for of in cases for s in combinations(list(enumerate(of)), together)}


@pytest.mark.parametrize(("choose", "together"), [(effort.each, 1), (effort.pairs, 2)])
@pytest.mark.parametrize("thorough", [False, True])
def test_all_that_is_to_meet_meets(monkeypatch, choose, together, thorough):
    monkeypatch.setattr(effort, "THOROUGH", thorough)
    cases, every = choose(*AXES), list(product(*AXES))
    assert met(cases, together) == met(every, together)
    assert cases == every if thorough else len(cases) < len(every) / 2
    assert cases == [case for case in every if case in cases]  # in their order
