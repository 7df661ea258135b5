"""One picture for each model: the exact answer beside private ones. Made-up data, so not private.

The name of a function is that of its picture in docs/results.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import privlp
from benchmarks.published import picture
from privlp import models
from privlp.models import simulated
from privlp.pictures import COLOURS, GREY

EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6
_SHOWN_EPS = 1.0
_LOOKS: dict[Any, dict[str, Any]] = {
    "exact": {"color": COLOURS["black"]},
    0.5: {"color": COLOURS["vermilion"], "linestyle": "-"},
    1.0: {"color": COLOURS["blue"], "linestyle": "--"},
    4.0: {"color": COLOURS["green"], "linestyle": ":"},
}


def models_diet(seed: int) -> None:
    """Amounts of the foods in the exact menu and in private ones, and the coverage of needs."""
    lp = models.diet(**simulated.canteen(seed))
    answers = _answers(lp, s=3_000)
    with picture("models_diet", 2, size=(12, 5.2)) as (foods, covered):
        amounts = {name: 100 * lp.values(x)["amounts"] for name, x in answers.items()}
        shown = np.flatnonzero(np.max(list(amounts.values()), axis=0) > 15)
        _bars(foods, [lp.variable_names[j] for j in shown], amounts, shown)
        foods.set(xlabel="grams a day", title="everybody's menu")
        for name, x in answers.items():
            share = np.sort(-lp.A @ x)
            at_most = 100 * np.arange(1, len(share) + 1) / len(share)
            covered.plot(100 * share, at_most, **_look(name))
        covered.axvline(100, color=GREY, linestyle=":")
        covered.axhline(5, color=GREY, linestyle="--", linewidth=1.2, label="s, 5 % of the rows")
        covered.set(xlim=(70, 160), ylim=(0, 30), title="people's needs (not private)")
        covered.set_xlabel("coverage of a need, in %")
        covered.set_ylabel("rows with at most\nthis coverage, in %")


def models_staffing(seed: int) -> None:
    """Workers on duty by the hour, in the exact roster and in private ones."""
    data = simulated.care(seed)
    lp = models.staffing(**data)
    with picture("models_staffing", 1, size=(9, 5)) as (axis,):
        for name, x in _answers(lp, s=1_000).items():
            workers = lp.values(x)["workers"] @ data["shifts"]
            axis.step(np.arange(25), np.append(workers, workers[-1]), where="post", **_look(name))
        axis.axhline(data["at_least"], color=GREY, linestyle=":", label="public minimum")
        axis.set(xlabel="hour of the day", ylabel="workers on duty", xticks=range(0, 25, 4))
        axis.set_ylim(0, None)


def models_flow(seed: int) -> None:
    """Loads on the roads of a map, exactly and privately: no true capacity is exceeded."""
    data = simulated.road_network(seed)
    places = simulated.towns(seed)
    lp = models.min_cost_flow(**data)
    answers = _answers(lp, feasible="always")
    roads = np.array([[places[tail], places[head]] for tail, head in data["arcs"]])
    with picture("models_flow", 2, size=(12, 6.4), sharey=True) as axes:
        for axis, name in zip(axes, ("exact", _SHOWN_EPS), strict=True):
            flows = lp.values(answers[name])["flows"]
            full = flows > 0.999 * data["capacities"]
            _lines(axis, roads, np.zeros(len(roads)), "0.85", least=0.6)
            _lines(axis, roads[~full], flows[~full] / 25, COLOURS["sky"], label="loads")
            _lines(axis, roads[full], flows[full] / 25, COLOURS["vermilion"], label="road is full")
            for sign, mark, label in ((1, "s", "depot"), (-1, "o", "town with a demand")):
                ends = [node for node, units in data["supply"].items() if sign * units > 0]
                colour = COLOURS["black"] if sign > 0 else COLOURS["green"]
                axis.scatter(*places[ends].T, marker=mark, color=colour, zorder=3, label=label)
            cost = lp.objective(answers[name])
            title = "exact" if name == "exact" else f"ε = {name:g}, capacities private"
            _map(axis, f"{title}: cost {cost:,.0f}")


def models_transport(seed: int) -> None:
    """Routes from warehouses to shops, exactly and privately: every order is met."""
    data = simulated.deliveries(seed)
    lp = models.transport(**data)
    warehouses, shops = simulated.places(seed)
    answers = _answers(lp, feasible="always")
    m, k = data["costs"].shape
    routes = np.array([[warehouses[i], shops[j]] for i in range(m) for j in range(k)])
    with picture("models_transport", 2, size=(12, 6.4), sharey=True) as axes:
        for axis, name in zip(axes, ("exact", _SHOWN_EPS), strict=True):
            shipments = lp.values(answers[name])["shipments"].ravel()
            used = shipments > 1
            _lines(axis, routes[used], shipments[used] / 60, COLOURS["sky"], label="shipments")
            look = {"marker": "s", "color": COLOURS["black"], "label": "warehouse"}
            axis.scatter(*warehouses.T, zorder=3, **look)
            axis.scatter(*shops.T, color=COLOURS["green"], zorder=3, label="shop")
            title = "exact" if name == "exact" else f"ε = {name:g}, orders and stocks private"
            _map(axis, f"{title}: cost {lp.objective(answers[name]):,.0f}")


def models_portfolio(seed: int) -> None:
    """Weights of the exact portfolio and of private ones, and their losses in bad scenarios."""
    data = simulated.market(seed)
    lp = models.cvar_portfolio(**data)
    answers = _answers(lp)
    d = len(data["assets"])
    weights = {name: lp.values(x)["weights"] for name, x in answers.items()}
    with picture("models_portfolio", 2, size=(12, 5.2)) as (shares, losses):
        percent = {name: 100 * of_assets for name, of_assets in weights.items()}
        _bars(shares, data["assets"], percent, np.arange(d))
        shares.set(xlabel="weight in %", title="portfolio")
        equal = np.full(d, 1 / d)
        for name, of_assets in [*weights.items(), ("equal weights", equal)]:
            worst = np.sort(-data["returns"] @ of_assets)[::-1]
            count = len(worst) // 10
            look = _look(name) if name in weights else {"color": GREY, "label": name}
            losses.plot(100 * np.arange(1, count + 1) / len(worst), 100 * worst[:count], **look)
        losses.axvline(5, color=GREY, linestyle=":", label="worst 5 %")
        losses.set(xlabel="worst scenarios, in %", ylabel="loss, in %", ylim=(0, 12))
        losses.set_title("losses in the tail (not private)")


#: The picture of each model.
PICTURES: dict[str, Callable[[int], None]] = {
    "diet": models_diet,
    "staffing": models_staffing,
    "min-cost flow": models_flow,
    "transport": models_transport,
    "portfolio": models_portfolio,
}


def _answers(lp: Any, **asked: Any) -> dict[Any, Any]:
    """The exact x and that of a private solution at each eps."""
    private = {eps: privlp.solve(lp, eps, DELTA, rng=0, **asked).x for eps in EPSILONS}
    return {"exact": privlp.solve_exact(lp).x, **private}


def _look(name: Any) -> dict[str, Any]:
    label = "exact" if name == "exact" else f"ε = {name:g}"
    return {**_LOOKS[name], "label": label}


def _bars(axis: Axes, names: list[str], values: dict[Any, Any], shown: Any) -> None:
    """Horizontal bars, those of all answers beside each other."""
    height = 0.8 / len(values)
    for k, (name, of_all) in enumerate(values.items()):
        look = {key: value for key, value in _look(name).items() if key != "linestyle"}
        axis.barh(np.arange(len(shown)) + (k - 1.5) * height, of_all[shown], height, **look)
    axis.set_yticks(np.arange(len(shown)), names)
    axis.invert_yaxis()


def _lines(
    axis: Axes, ends: Any, widths: Any, colour: str, *, least: float = 0.0, label: str = ""
) -> None:
    lines = LineCollection(list(ends), linewidths=np.maximum(widths, least), colors=colour)
    axis.add_collection(lines)
    if label:
        axis.plot([], [], color=colour, label=label)


def _map(axis: Axes, title: str) -> None:
    axis.set(title=title, xticks=[], yticks=[], aspect="equal")
    axis.autoscale()
    for spine in axis.spines.values():
        spine.set_visible(False)
