"""How much the tests do.

``make test`` takes minutes. ``make test-thorough`` sets ``PRIVLP_THOROUGH=1``: then properties are
tried on four times as many examples, which are new in every run, and what is marked ``slow`` runs.
"""

import os

from hypothesis import settings

THOROUGH = os.environ.get("PRIVLP_THOROUGH") == "1"

settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile("thorough" if THOROUGH else "quick")


def examples(thorough: int) -> int:
    """Examples of a property: a quarter of those of a thorough run, but ten at least."""
    return thorough if THOROUGH else min(thorough, max(10, thorough // 4))


def runs(thorough: int, quick: int) -> int:
    """Runs of a trial."""
    return thorough if THOROUGH else quick
