"""Foreign input is accepted, or refused in a sentence.

`make fuzz` runs far more of it; the watch itself is tested here, too.
"""

import pytest

from fuzz import broken, targets
from fuzz.watch import judge, watched
from tests.effort import THOROUGH

#: Cases of each target, about a two-hundredth of a long run.
QUICK = {
    target: max(2, cases // (30 if THOROUGH else 200)) for target, cases in targets.TARGETS.items()
}


@pytest.mark.parametrize("target", QUICK, ids=lambda target: target.__name__)
def test_foreign_input_is_accepted_or_refused_in_a_sentence(target, tmp_path):
    verdicts = {number: judge(target, number, tmp_path) for number in range(QUICK[target])}
    faults = {
        number: verdict
        for number, verdict in verdicts.items()
        if verdict not in ("accepted", "refused")
    }
    assert not faults, f"run one again: cd tests; python -m fuzz {target.__name__} NUMBER"
    assert len(verdicts) < 30 or set(verdicts.values()) == {"accepted", "refused"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (broken.raises, "KeyError (broken.py:"),
        (broken.warns, "RuntimeWarning (broken.py:"),
        (broken.prints, "output: b'hello'"),
        (broken.prints_from_c, r"output: b'Running HiGHS\n'"),
        (broken.tells, "no clear message: 'b[3] = "),
        (broken.mumbles, "no clear message: ''"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_are_told(target, verdict, tmp_path):
    assert judge(target, 0, tmp_path).startswith(verdict)


def test_crashes_hangs_and_greed_are_told_and_the_run_goes_on_behind_them():
    tally = watched("broken", "now_this_now_that", range(26, 31), patience=1.0)
    told = sorted(verdict.split(":")[0] for verdict in tally.findings.values())
    assert told == ["MemoryError (broken.py", "ends the process with -11", "hangs"]
    assert any("in crashes" in verdict for verdict in tally.findings.values())
    assert (tally.cases, tally.counts["accepted"] + tally.counts["refused"]) == (5, 2)
