"""What exactly rounded noise costs, and what naive noise gives away.

Run with ``python -m benchmarks.exact_noise``; about five minutes of one core. Adult is read from
scikit-learn's cache or from the folder named by PRIVLP_DATA. Single releases are also timed against
OpenDP's exact samplers where OpenDP is installed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import ndtr, ndtri

import privlp
from benchmarks import problems
from benchmarks.measure import Turns
from benchmarks.published import write_page
from benchmarks.thesis import data_set
from privlp import privacy
from privlp.privacy import noise as laws
from privlp.privacy.mechanisms import additive, selection
from svm_models import DMWSVC, ObjectivePerturbationSVC, PrivateLPSVC

SIZES = (1, 100, 10_000)
DELTA, TURNS = 1e-6, 7
HEADERS = "what | exact, seconds | float, seconds | ratio"


def naive_sum(
    value: Any,
    scale: float,
    law: laws.Law,
    generator: np.random.Generator,
    *,
    down: bool = False,  # noqa: ARG001
) -> Any:
    """A sum of doubles, as NumPy draws them: what most software releases. Not private."""
    exact = np.asarray(value, dtype=float)
    if isinstance(law, laws.Gaussian):
        return exact + generator.normal(0.0, scale, exact.shape)
    if isinstance(law, laws.Laplace):
        return exact + generator.laplace(0.0, scale, exact.shape)
    if isinstance(law, laws.OneSidedTruncatedLaplace):
        size = -np.log1p(-generator.random(exact.shape) * -np.expm1(-law.width))
        either = np.where(generator.random(exact.shape) < 0.5, -size, size)
        return exact + scale * (law.width + either)
    if isinstance(law, laws.OneSidedTruncatedGaussian):
        beyond = ndtr(-law.width)
        within = beyond + generator.random(exact.shape) * (1 - 2 * beyond)
        return exact + scale * (law.width + ndtri(within))
    if isinstance(law, laws.OneSidedSupNorm):
        length = min(generator.gamma(exact.size + 1), law.width)
        return exact + scale * (law.width + length * generator.uniform(-1, 1, exact.shape))
    direction = generator.normal(size=exact.shape)
    return exact + direction * (scale * generator.gamma(exact.size) / np.linalg.norm(direction))


def naively(action: Callable[[], Any]) -> Callable[[], Any]:
    """The same action with naive noise."""

    def secret(scale: float, law: laws.Law, size: int, generator: np.random.Generator) -> Any:
        return naive_sum(np.zeros(size), scale, law, generator)

    def run() -> Any:
        with (
            mock.patch.object(additive, "rounded_sum", naive_sum),
            mock.patch.object(selection, "nearly", secret),
        ):
            return action()

    return run


def whole_solves() -> list[str]:
    """Rows of the table of solves and fits."""
    instance = problems.covering(0)
    actions: dict[str, Callable[[], Any]] = {}
    for method in ("staged", "chain", "dmw"):
        asked = {"opt": instance.opt, "method": method, "rng": 0}
        solve = partial(privlp.solve, instance.lp, 1.0, DELTA, 500, None, **asked)
        actions[f"covering program, {method}"] = solve
    adult = data_set("adult")
    X, y = adult.X.toarray(), adult.y
    seeded: dict[str, Any] = {"classes": (-1, 1), "fit_intercept": False, "random_state": 0}
    for name, model in {
        "PrivateLPSVC": PrivateLPSVC(1.0, DELTA, **seeded),
        "DMWSVC, radius bought": DMWSVC(1.0, DELTA, s=0.2 * len(y), alpha=30.0, **seeded),
        "ObjectivePerturbationSVC": ObjectivePerturbationSVC(1.0, **seeded),
    }.items():
        actions[f"{name} (Adult)"] = partial(model.fit, X, y)
    rows = []
    for name, action in actions.items():
        measured = Turns(action, naively(action), turns=TURNS)
        exact, naive = (np.median(times) for times in (measured.ours, measured.baseline))
        rows.append(f"{name} | {exact:.3f} | {naive:.3f} | {measured.of_medians:.2f}")
        print(rows[-1])
    return rows


def single_releases() -> list[str]:
    """Rows of the table of single releases, in microseconds."""
    rows = []
    kinds: dict[str, privacy.Mechanism] = {
        "Gaussian": privacy.GaussianMechanism(1.0, 30.0),
        "Laplace": privacy.LaplaceMechanism(1.0, 30.0),
        "Euclidean Laplace": privacy.EuclideanLaplaceMechanism(1.0, 30.0),
    }
    for name, mechanism in kinds.items():
        for size in SIZES if name != "Euclidean Laplace" else SIZES[:2]:
            value = np.random.default_rng(0).normal(size=size)
            release = partial(mechanism.release, value, privacy.Randomness())
            measured = Turns(release, naively(release), turns=200, calls=max(1, 500 // size))
            peer = opendp_release(name, size)
            rival = "–" if peer is None else _microseconds(Turns(peer, peer, turns=20).ours)
            ours, numpy = map(_microseconds, (measured.ours, measured.baseline))
            rows.append(f"{name} | {size:,} | {ours} | {numpy} | {rival}")
            print(rows[-1])
    return rows


def _microseconds(times: Any) -> str:
    return f"{1e6 * np.median(times):,.0f}"


def opendp_release(name: str, size: int) -> Callable[[], Any] | None:
    """OpenDP's release of a vector of that size, if it is installed and has one."""
    try:
        from opendp import prelude as dp  # noqa: PLC0415
    except ImportError:
        return None
    make = {"Gaussian": dp.m.make_gaussian, "Laplace": dp.m.make_laplace}.get(name)
    if make is None:
        return None
    dp.enable_features("contrib")
    metric = dp.l2_distance(T=float) if name == "Gaussian" else dp.l1_distance(T=float)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), metric
    return partial(make(*space, scale=30.0, k=-20), [0.5] * size)


def attacks() -> list[str]:
    """Rows of the table of attacks: eps that an audit proves, at one claimed."""

    def low_bits(release: Callable[[Any, Any], Any], value: float, rng: np.random.Generator) -> str:
        out = float(release([value], rng)[0])
        return "many" if abs(out) < 0.25 and (out * 2.0**53) % 1 else "few"

    rows = []
    for name, mechanism in {
        "Laplace": privacy.LaplaceMechanism(1.0, 1.0),
        "Gaussian": privacy.GaussianMechanism(1.0, 4.0),
        "Euclidean Laplace": privacy.EuclideanLaplaceMechanism(1.0, 1.0),
    }.items():

        def exact(value: Any, rng: Any, mechanism: privacy.Mechanism = mechanism) -> Any:
            return mechanism.release(value, privacy.Randomness(rng))

        def naive(value: Any, rng: Any, exact: Any = exact) -> Any:
            return naively(lambda: exact(value, rng))()

        asked = {"runs": 20_000, "rng": 0}
        attacked = (partial(low_bits, release) for release in (naive, exact))
        found = [privlp.audit(one, 0.0, 1.0, 1.0, 1e-3, **asked).eps_lower for one in attacked]
        rows.append(f"{name} | {mechanism.parameter} | {found[0]:.2f} | {found[1]:.2f}")
        print(rows[-1])
    return rows


def main() -> None:
    of_releases = "noise | entries | exact | NumPy | OpenDP, discrete"
    of_attacks = "noise | parameter | float: ε at least | exact: ε at least"
    tables = (HEADERS, whole_solves()), (of_releases, single_releases())
    write_page("exact_noise", *tables, (of_attacks, attacks()))


if __name__ == "__main__":
    main()
