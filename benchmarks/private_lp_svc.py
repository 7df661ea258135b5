"""PrivateLPSVC beside objective perturbation and noisy gradient descent, on the same folds.

The other two are tuned.

Under both neighbour relations, in tables of their own.

Run with ``python -m benchmarks.private_lp_svc``; an interrupted run goes on where it stopped. About
two hours of one core. With ``--data``, ``--preprocessing`` or ``--relation`` it measures a part and
writes no page.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import KFold
from tqdm import tqdm

from benchmarks.measure import Turns, in_fresh_process, peak_resident_bytes
from benchmarks.published import RANKINGS, power_of_ten, rankings, save_picture, store, write_page
from benchmarks.thesis import DataSet, Model, data_set, measure
from privlp.privacy import GaussianMechanism, Ledger
from svm_models import HuberSVC, ObjectivePerturbationSVC, PrivateLPSVC
from svm_models.evaluation import CrossValidation, scores_of_decisions
from svm_models.records import signed

FloatArray = npt.NDArray[np.float64]

EPSILONS = (0.1, 0.2, 0.5, 1.0)
FOLDS, DRAWS = 10, 3
REGS = (1e-2, 1e-3, 1e-4)
STEPS = (0.5, 1.0, 2.0, 4.0)
ROUNDS = {
    0.1: (20, 30, 50, 100),
    0.2: (20, 30, 50, 100),
    0.5: (50, 100, 150, 250),
    1.0: (50, 100, 150, 250),
}
DATA, PREPROCESSINGS = ("adult", "kdd"), ("thesis", "public")
#: Added or removed: with the first preprocessing only.
RELATIONS = {"replace": "one record replaced", "add-remove": "one record added or removed"}
NAMES = {
    "lp": "PrivateLPSVC, no tuning",
    "objective": "objective perturbation, pure eps, best of grid",
    "gaussian": "objective perturbation, Gaussian, best of grid",
    "descent": "accelerated noisy gradient descent, best of grid",
}
#: Colours that the colour-blind can tell apart (Okabe and Ito 2008), with markers and dashes.
STYLES: dict[str, dict[str, Any]] = {
    "lp": {"color": "#000000", "marker": "*", "linestyle": "-"},
    "objective": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "gaussian": {"color": "#56B4E9", "marker": "v", "linestyle": "--"},
    "descent": {"color": "#D55E00", "marker": "s", "linestyle": "-."},
}


def models(relation: str) -> dict[Any, Model]:
    """Ours, and objective perturbation at each regularisation, under one relation."""
    found: dict[Any, Model] = {
        ("lp", eps, ""): lambda n, eps=eps: PrivateLPSVC(eps, 1 / n**2, relation=relation)
        for eps in EPSILONS
    }
    for way, delta in (("objective", lambda _n: 0.0), ("gaussian", lambda n: 1 / n**2)):
        for eps in EPSILONS:
            for reg in REGS:
                found[way, eps, f"reg = {power_of_ten(reg)}"] = (
                    lambda n, eps=eps, reg=reg, delta=delta: ObjectivePerturbationSVC(
                        eps, reg, delta(n), relation=relation
                    )
                )
    return found


def descend(
    M: FloatArray, steps: FloatArray, rounds: int, sigma: float, rngs: list[np.random.Generator]
) -> npt.NDArray[np.float32]:
    """Nesterov's method on the mean Huber hinge (h = 1/2) of signed records: a column a step."""
    columns = M.astype(np.float32)
    transposed = np.ascontiguousarray(columns.T)
    x = ahead = total = np.zeros((M.shape[1], len(steps)))
    for t in range(rounds):
        theta = 2 / (t + 2)
        slopes = np.clip(
            1.5 - columns @ ((1 - theta) * x + theta * ahead).astype(np.float32), 0.0, 1.0
        )
        noise = np.stack([rng.normal(0.0, sigma, M.shape[1]) for rng in rngs], axis=1)
        total = total + (transposed @ slopes + noise) / (len(M) * theta)
        ahead = steps * total
        x = (1 - theta) * x + theta * ahead
    return x.astype(np.float32)


def descents(data: DataSet, relation: str) -> dict[Any, CrossValidation]:
    """Accelerated noisy gradient descent: scores of every step and number of rounds."""
    finished = store("private_lp_svc")
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    scores: dict[Any, list[Any]] = {}
    splits = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    for fold, (train, test) in enumerate(tqdm(splits, desc=data.name)):
        M: Any = None
        for eps, grid in ROUNDS.items():
            for rounds in grid:
                settings = {
                    "data": data.name,
                    "relation": relation,
                    "eps": eps,
                    "rounds": rounds,
                    "steps": STEPS,
                    "fold": fold,
                    "draws": DRAWS,
                }
                if settings not in finished:
                    M = signed(X[train], np.sign(data.y[train])) if M is None else M
                    decided = X[test] @ _descents(M, eps, rounds, fold, relation)
                    found = [scores_of_decisions(d, data.y[test] > 0) for d in decided.T]
                    finished.add(settings, [[f["error"], f["balanced"], f["auc"]] for f in found])
                kept = np.reshape(finished[settings], (len(STEPS), DRAWS, 3))
                for step, row in zip(STEPS, kept, strict=True):
                    key = ("descent", eps, f"{rounds} rounds, step {step:g}")
                    scores.setdefault(key, []).append(row)
    return {
        key: CrossValidation(*np.moveaxis(np.array(rows), 2, 0)) for key, rows in scores.items()
    }


def _descents(
    M: FloatArray, eps: float, rounds: int, fold: int, relation: str
) -> npt.NDArray[np.float32]:
    """The weights of all steps and draws; with the true n where it is private."""
    moved = 2.0 if relation == "replace" else 1.0
    sigma = (
        Ledger(eps, 1 / len(M) ** 2)
        .calibrate(lambda t: GaussianMechanism(moved, moved / t), rounds)
        .sigma
    )
    rngs = [np.random.default_rng([fold, rounds, draw]) for _ in STEPS for draw in range(DRAWS)]
    return descend(M, np.repeat(STEPS, DRAWS), rounds, sigma, rngs)


def errors_on(name: str, preprocessing: str, relation: str) -> dict[Any, CrossValidation]:
    """(method, eps, parameters) to test errors and other scores."""
    data = data_set(name, preprocessing)
    data = data if preprocessing == "thesis" else replace(data, name=f"{name}_{preprocessing}")
    fits = {
        key: found.errors
        for key, found in measure(data, models(relation), draws=DRAWS, folds=FOLDS).items()
    }
    return fits | descents(data, relation)


def best(found: dict[Any, CrossValidation], way: str, eps: float) -> tuple[str, CrossValidation]:
    """Parameters of least test error, and their errors."""
    of_way = {
        parameters: errors for (w, e, parameters), errors in found.items() if (w, e) == (way, eps)
    }
    parameters = min(of_way, key=lambda key: of_way[key].mean)
    return parameters, of_way[parameters]


def difference(ours: CrossValidation, theirs: CrossValidation) -> str:
    """Paired over folds, draws averaged; in units of 0.0001."""
    folds = 1e4 * (ours.errors.mean(axis=1) - theirs.errors.mean(axis=1))
    return f"{folds.mean():+.1f} ± {folds.std(ddof=1) / np.sqrt(len(folds)):.1f}"


@click.command()
@click.option(
    "--data", "names", multiple=True, type=click.Choice(DATA), help="Measure this data set only."
)
@click.option(
    "--preprocessing",
    multiple=True,
    type=click.Choice(PREPROCESSINGS),
    help="Measure this preprocessing only.",
)
@click.option(
    "--relation", multiple=True, type=click.Choice(list(RELATIONS)), help="Measure this one only."
)
@click.option("--memory", type=click.Choice(["lp", "huber"]), hidden=True)
def main(
    names: tuple[str, ...],
    preprocessing: tuple[str, ...],
    relation: tuple[str, ...],
    memory: str | None,
) -> None:
    """Measure; then write the tables and draw the picture."""
    if memory:
        print(_memory(memory))
        return
    found = {
        (name, way, one): errors_on(name, way, one)
        for one in relation or RELATIONS
        for way in preprocessing or PREPROCESSINGS
        for name in names or DATA
        if one == "replace" or way == PREPROCESSINGS[0]
    }
    if names or preprocessing or relation:
        return
    _draw({key[:2]: errors for key, errors in found.items() if key[2] == "replace"})
    page: list[Any] = [SETTINGS, WHERE_BEHIND, "![Test error over eps](private_lp_svc.png)"]
    said: set[str] = set()
    for (name, way, one), errors in found.items():
        if one != "replace" and one not in said:
            page.append(ADDED)
        said.add(one)
        page += [
            f"## {data_set(name, way).title}, preprocessing “{way}”, {RELATIONS[one]}",
            _table(errors),
            RANKINGS,
            _rankings(errors),
            DIFFERENCES,
            _differences(errors),
        ]
    write_page(
        "private_lp_svc",
        "PrivateLPSVC beside its strongest rivals",
        [*page, "## Time and memory", *_costs()],
    )


WHERE_BEHIND = (
    "On KDDCup99 at small eps tuned noisy gradient descent is as good within the error; in one"
    " table, with preprocessing “public” at eps = 0.2, it is better by 3 of 10,000. Rare"
    " attacks are directions that few rounds do not reach: in an earlier trial without noise (two"
    " folds) as many rounds as at eps = 0.1 erred on about 0.012 of the records, and 16 times as"
    " many on 0.004."
)
SETTINGS = (
    f"Mean test error ± standard error over {FOLDS} folds, {DRAWS} draws each. Two relations, in"
    " tables of their own. delta = 1/n², n the training records (pure eps: 0). Adult: 45,222"
    " records; KDDCup99: 70,000 random ones. `PrivateLPSVC` has its default rule everywhere. Its"
    " rivals have the best parameters of a grid, in brackets, **chosen by the same test errors**,"
    f" which flatters them: reg {', '.join(map(power_of_ten, REGS))} (up to eps = 1 a smaller one"
    f" is raised to the same value as 1e-4); rounds {ROUNDS[0.1]} for eps up to 0.2, {ROUNDS[1.0]}"
    f" above, times steps {STEPS}, for Nesterov's method with Gaussian noise on the mean Huber"
    " hinge in Euclidean geometry (features of the records as they are). The rule's"
    " constants were chosen by trial on the same records, preprocessing “thesis”, mostly in other"
    " folds (one of them, that of rounds, in these) and with other draws of the noise; they are"
    " the same for both and for all eps."
)
ADDED = (
    "The tables that follow are for one record added or removed. The same eps promises less there:"
    " do not compare them with those above. The number of records is private. `PrivateLPSVC` and"
    " objective perturbation buy a noisy count for a fiftieth of eps; noisy gradient descent is"
    " given the true number for nothing, which flatters it."
)
DIFFERENCES = (
    "PrivateLPSVC minus rival, in units of 0.0001, paired over folds with draws averaged, ±"
    " standard error; negative: better."
)


def _table(found: dict[Any, CrossValidation]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for way, title in NAMES.items():
        cells = [best(found, way, eps) for eps in EPSILONS]
        rows.append(
            [
                title,
                *(
                    f"{errors}" + (f" [{parameters}]" if parameters else "")
                    for parameters, errors in cells
                ),
            ]
        )
    return ["method", *(f"eps = {eps:g}" for eps in EPSILONS)], rows


def _rankings(found: dict[Any, CrossValidation]) -> tuple[list[str], list[list[str]]]:
    """Balanced accuracy and area under the curve, at the parameters of least error."""
    rows = []
    for way, title in NAMES.items():
        cells = [best(found, way, eps)[1] for eps in EPSILONS]
        rows.append([title, *map(rankings, cells)])
    return ["method", *(f"eps = {eps:g}" for eps in EPSILONS)], rows


def _differences(found: dict[Any, CrossValidation]) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            NAMES[way],
            *(difference(found["lp", eps, ""], best(found, way, eps)[1]) for eps in EPSILONS),
        ]
        for way in NAMES
        if way != "lp"
    ]
    return ["rival", *(f"eps = {eps:g}" for eps in EPSILONS)], rows


def _draw(found: dict[tuple[str, str], dict[Any, CrossValidation]]) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    for ax, ((name, way), errors) in zip(axes.flat, found.items(), strict=True):
        for method, title in NAMES.items():
            cells = [best(errors, method, eps)[1] for eps in EPSILONS]
            bars = [cell.standard_error for cell in cells]
            ax.errorbar(
                EPSILONS,
                [c.mean for c in cells],
                bars,
                label=title,
                capsize=3,
                linewidth=2,
                markersize=8,
                **STYLES[method],
            )
        ax.set(
            title=f"{data_set(name).title}, “{way}”",
            xlabel="eps",
            ylabel="test error (share of records)",
            xscale="log",
        )
        ax.set_ylim(0.15 if name == "adult" else 0.0, None)
        ax.set_xticks(EPSILONS, [f"{eps:g}" for eps in EPSILONS])
        ax.minorticks_off()
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    save_picture("private_lp_svc", figure)


def _costs() -> list[Any]:
    data, rows = data_set("adult"), []
    for title, X in (("dense", data.X.toarray()), ("sparse", data.X)):
        for eps in (EPSILONS[0], EPSILONS[-1]):
            ours, rival = PrivateLPSVC(eps, 1 / len(data.y) ** 2, classes=(-1, 1)), HuberSVC()
            turns = Turns(partial(ours.fit, X, data.y), partial(rival.fit, X, data.y), turns=5)
            seconds = np.median(turns.ours), np.median(turns.baseline)
            rows.append(
                [title, f"{eps:g}", *(f"{s:.2f}" for s in seconds), f"{turns.of_medians:.2f}"]
            )
    lp, huber = (
        in_fresh_process("benchmarks.private_lp_svc", "--memory", which)[0]
        for which in ("lp", "huber")
    )
    return [
        "Adult, all records, wall time in seconds, medians of 5 turns in one process:",
        (["records", "eps", "PrivateLPSVC", "HuberSVC, not private", "ratio"], rows),
        (
            f"Peak memory above the records in memory, Adult dense: PrivateLPSVC {lp:.0f} MB,"
            f" HuberSVC {huber:.0f} MB."
        ),
    ]


def _memory(which: str) -> float:
    X, y = data_set("adult").X.toarray(), data_set("adult").y
    small = PrivateLPSVC(1.0, 1e-10, classes=(-1, 1)) if which == "lp" else HuberSVC()
    small.fit(X[:2000], y[:2000])
    before = peak_resident_bytes()
    small.fit(X, y)
    return (peak_resident_bytes() - before) / 2**20


if __name__ == "__main__":
    main()
