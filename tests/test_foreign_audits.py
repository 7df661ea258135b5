"""Audits of other packages: what the page says of an honest and of a broken mechanism."""

import click
import pytest

from benchmarks import foreign_audits
from benchmarks.foreign_audits import Case


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
