"""Audits of mechanisms and of whole solves, from seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import privlp
from benchmarks.same.cases import Case, later


def _noisy_count(records: Any, rng: np.random.Generator) -> list[float]:
    return [len(records) + rng.laplace(scale=1.0)]


def _coin(bit: int, rng: np.random.Generator) -> int:
    return bit if rng.random() < 0.75 else 1 - bit


def _vector(records: Any, rng: np.random.Generator) -> Any:
    return np.array([len(records), 2.0 * len(records)]) + rng.normal(scale=3.0, size=2)


def audits() -> Iterator[Case]:
    """Audits of mechanisms and of whole solves."""
    pairs: dict[str, tuple[Any, Any, Any]] = {
        "count": (_noisy_count, [1] * 9, [1] * 10),
        "coin": (_coin, 0, 1),
        "vector": (_vector, [1] * 3, [1] * 4),
    }
    for name, (mechanism, one, other) in pairs.items():
        for eps, delta in ((1.0, 0.0), (0.2, 0.0), (0.5, 1e-3)):
            claim = {"eps": eps, "delta": delta, "runs": 3000, "rng": 1}
            label = f"audit:{name} ({eps}, {delta})"
            yield label, later(privlp.audit, mechanism, one, other, **claim)
    rng = np.random.default_rng(0)
    costs, needs = np.array([1.0, 2.0, 1.0]), rng.uniform(0.2, 1.0, (40, 3))
    lp = privlp.LinearProgram(costs, -needs, -np.ones(40))
    for method in ("dmw", "staged", "auto"):
        asked: dict[str, Any] = {
            "s": 6,
            "opt": 3.0,
            "method": method,
            "pairs": 2,
            "runs": 0,
            "rng": 2,
        }
        yield f"audit_solve:{method}", later(privlp.audit_solve, lp, 1.0, 1e-6, **asked)
    asked = {"s": 6, "opt": 3.0, "method": "staged", "pairs": 2, "runs": 100, "rng": 2}
    yield "audit_solve:staged with runs", later(privlp.audit_solve, lp, 1.0, 1e-6, **asked)
    for private in ("budgets", "prices", "both"):
        sold = privlp.examples.advertising(private=private, pages=3, advertisers=2)
        for feasible in (None, "always"):
            asked = {"feasible": feasible, "pairs": 3, "runs": 0, "rng": 3}
            label = f"audit_solve:advertising {private} {feasible}"
            yield label, later(privlp.audit_solve, sold, 1.0, 1e-4, **asked)
    diet = privlp.examples.diet(foods=5, nutrients=2)
    asked = {"pairs": 3, "runs": 100, "rng": 4}
    yield "audit_solve:diet with runs", later(privlp.audit_solve, diet, 1.0, 0.0, **asked)
