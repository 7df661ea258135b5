"""Small programs that a user recognises, one for each way in which numbers can be private.

They are made from a seed, or of real people.

>>> from privlp import examples, solve
>>> lp = examples.advertising(private="budgets")
>>> solution = solve(lp, eps=1.0, delta=1e-3, feasible="always", rng=0)
>>> solution.status, bool((lp.A @ solution.x <= lp.b).all())
(<Status.COMPLETED: 'completed'>, True)
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import optional as _optional
from privlp.checks import require as _require
from privlp.checks import shown as _shown
from privlp.checks import whole as _whole
from privlp.linear_program import LinearProgram
from privlp.relations import ColumnPrivate, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.relations.base import NeighbourRelation

_LARGEST_BUDGET_STEP = 0.1
_LARGEST_PRICE_STEP = 0.001


def advertising(
    seed: int = 0,
    *,
    pages: int = 10,
    advertisers: int = 5,
    private: Literal["budgets", "prices", "both"] = "budgets",
) -> LinearProgram:
    """Sell impressions on pages to advertisers, so as to earn the most.

    Advertisers have budgets and pages have visitors; neither may be exceeded. Variable x_ij is the
    number of impressions (in thousands) of advertiser i on page j, at a price p_ij per thousand: 0
    with probability 0.2, else uniform in [0, 1]. Rows: sum_j p_ij x_ij <= budget_i for each
    advertiser (private) and sum_i x_ij <= visitors_j for each page (public). At the optimum the
    budgets bind. After Muñoz Medina, Syed, Vassilvitskii and Vitercik (2021), where the budgets are
    private, and Benvenuti et al. (2026), where the prices are.

    Parameters
    ----------
    seed : int
        Of prices, budgets and visitors.
    pages, advertisers : int
        Sizes.
    private : {"budgets", "prices", "both"}
        One record is an advertiser. ``"budgets"``: its budget moves by at most 0.1, in a public
        range of [2, 10]. ``"prices"``: its prices move by at most 0.001 each, in a public range of
        [0, 1], and with them its row of A and its part of c. ``"both"``: all of this at once.

    Examples
    --------
    >>> from privlp import examples
    >>> examples.advertising(private="prices").shape
    (15, 50)
    """
    kinds = f"private must be 'budgets', 'prices' or 'both', got {_shown(private)}."
    _require(private in ("budgets", "prices", "both"), kinds, "private")
    _require_sizes(pages=pages, advertisers=advertisers)
    rng = np.random.default_rng(seed)
    prices = np.where(rng.random((advertisers, pages)) < 0.2, 0.0, rng.random((advertisers, pages)))
    budgets, visitors = rng.uniform(4.0, 8.0, advertisers), rng.uniform(8.0, 16.0, pages)
    own = np.kron(np.eye(advertisers), np.ones(pages))
    budget_rows = np.vstack([own, np.zeros((pages, own.shape[1]))])
    touched: list[NeighbourRelation] = []
    if private != "prices":
        touched = [ScalarPrivate(_LARGEST_BUDGET_STEP, norm="1", lower=2.0, upper=10.0)]
    if private != "budgets":
        touched.append(RowPrivate(_LARGEST_PRICE_STEP, lower=0.0, upper=budget_rows))
        touched.append(ObjectivePrivate(_LARGEST_PRICE_STEP * pages, lower=0.0, upper=1.0))
    numbers = range(1, advertisers + 1), range(1, pages + 1)
    return LinearProgram(
        prices.ravel(),
        np.vstack([own * prices.ravel(), np.tile(np.eye(pages), advertisers)]),
        np.concatenate([budgets, visitors]),
        sense="max",
        private=np.arange(advertisers + pages) < advertisers,
        neighbours=touched[0] if len(touched) == 1 else tuple(touched),
        row_names=[*(f"budget {i}" for i in numbers[0]), *(f"page {j}" for j in numbers[1])],
        variable_names=[f"advertiser {i} on page {j}" for i in numbers[0] for j in numbers[1]],
        name="advertising",
    )


def hospital_capacities(
    seed: int = 0, *, hospitals: int = 12, districts: int = 40
) -> LinearProgram:
    """Send patients from districts to hospitals at the least total distance.

    The capacities of the hospitals are private. Variable x_ij is the number of patients sent from
    district j to hospital i. Rows: everyone is sent somewhere (public), and no hospital takes more
    than it has free beds (private: one bed more or less at one hospital, in a public range of [150,
    400]).

    Examples
    --------
    >>> from privlp import examples, solve
    >>> lp = examples.hospital_capacities()
    >>> print(solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0).message)
    Solved the tightened program; x satisfies every inequality row with certainty within ...
    """
    _require_sizes(hospitals=hospitals, districts=districts)
    rng = np.random.default_rng(seed)
    homes, places = rng.uniform(0, 50, (districts, 2)), rng.uniform(0, 50, (hospitals, 2))
    distance = np.linalg.norm(places[:, None] - homes, axis=2)
    patients, beds = rng.integers(10, 60, districts), rng.integers(180, 300, hospitals)
    into = sp.kron(sp.eye_array(hospitals), np.ones((1, districts)))
    out_of = sp.kron(np.ones((1, hospitals)), sp.eye_array(districts))
    return LinearProgram(
        distance.ravel(),
        sp.vstack([into, -out_of]),
        np.concatenate([beds, -patients]),
        private=np.arange(hospitals + districts) < hospitals,
        neighbours=ScalarPrivate(1.0, norm="1", lower=150.0, upper=400.0),
        row_names=[
            *(f"beds of hospital {i + 1}" for i in range(hospitals)),
            *(f"district {j + 1}" for j in range(districts)),
        ],
        name="hospital capacities",
    )


def diet(seed: int = 0, *, foods: int = 20, nutrients: int = 6) -> LinearProgram:
    """Buy the cheapest food that holds enough of each nutrient; its prices are private.

    Variable x_j is an amount of food j, at most 10. One supplier's offer moves the prices by at
    most 0.2 in sum.

    Examples
    --------
    >>> from privlp import examples, solve
    >>> lp = examples.diet()
    >>> solution = solve(lp, eps=1.0, delta=0.0, rng=0)
    >>> bool((lp.A @ solution.x <= lp.b + 1e-6).all())  # the rows are public: they hold
    True
    """
    _require_sizes(foods=foods, nutrients=nutrients)
    rng = np.random.default_rng(seed)
    content = rng.gamma(2.0, 1.0, (nutrients, foods))
    return LinearProgram(
        rng.uniform(1.0, 5.0, foods),
        -content,
        -rng.uniform(10.0, 20.0, nutrients),
        bounds=(0, 10),
        neighbours=ObjectivePrivate(0.2, lower=0.0, upper=10.0),
        name="diet",
    )


def matrix_game(
    seed: int = 0, *, ours: int = 8, theirs: int = 30, private: Literal["row", "column"] = "row"
) -> LinearProgram:
    """Find a mixed strategy of small loss against every opponent of a zero-sum game.

    The losses are private. Minimise v subject to sum_j A_ij x_j <= v for each opponent i and sum_j
    x_j = 1 (public): variables x and v. Losses lie in [-1, 1]; those of one opponent (a row), or of
    one of our strategies (a column), move by at most 0.002 each.

    Examples
    --------
    >>> from privlp import examples, solve
    >>> lp = examples.matrix_game()
    >>> solution = solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0)
    >>> largest_loss = float((lp.A[:30, :8] @ solution.x[:8]).max())
    >>> largest_loss <= solution.objective  # the promised loss is never exceeded
    True
    """
    _require_sizes(ours=ours, theirs=theirs)
    rng = np.random.default_rng(seed)
    losses = rng.uniform(-1.0, 1.0, (theirs, ours))
    A = np.vstack([np.column_stack([losses, -np.ones(theirs)]), np.append(np.ones(ours), 0.0)])
    own = np.zeros(A.shape)
    own[:theirs, :ours] = 1.0
    kinds = f"private must be 'row' or 'column', got {_shown(private)}."
    _require(private in ("row", "column"), kinds, "private")
    relation = RowPrivate if private == "row" else ColumnPrivate
    value = np.where(own == 0, A, 0.0)
    return LinearProgram(
        np.append(np.zeros(ours), 1.0),
        A,
        np.append(np.zeros(theirs), 1.0),
        row_lower=np.append(np.full(theirs, -np.inf), 1.0),
        bounds=[*[(0, 1)] * ours, (-1, 1)],
        private=np.arange(theirs + 1) < theirs,
        neighbours=relation(0.002, lower=value - own, upper=value + own),
        variable_names=[*(f"strategy {j + 1}" for j in range(ours)), "value"],
        name="matrix game",
    )


def kitchen(seed: int = 5, *, people: int = 2000) -> LinearProgram:
    """Cook the cheapest mix of two dishes that is enough for everybody.

    Each person owns one constraint, ``bread_i x_0 + beans_i x_1 >= 1``: how far a portion of each
    dish feeds her is private. The first person needs more than anyone else, and the exact optimum
    gives her away.

    Examples
    --------
    >>> from privlp import examples, solve
    >>> solution = solve(examples.kitchen(), eps=2.0, delta=1e-6, s="5%", rng=0)
    >>> solution.status, solution.verdict.worrying
    (<Status.COMPLETED: 'completed'>, False)
    """
    _require_sizes(people=people)
    rng = np.random.default_rng(seed)
    angle, fed = np.radians(rng.uniform(15, 75, people)), rng.uniform(1.0, 1.5, people)
    feeds = fed[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    feeds[0] = 0.58, 0.62
    names, prices = ["bread (portions)", "beans (portions)"], np.array([1.0, 1.4])
    return LinearProgram(prices, -feeds, -np.ones(people), variable_names=names, name="kitchen")


def doctor_visits() -> LinearProgram:
    """Grant visits to a doctor by a public formula, so that each of 20,190 real people has enough.

    Each record is a person in one year, and owns one constraint: the visits that the formula grants
    are at least those that the person made. The formula grants w_0 visits to everyone, and adds
    w_1 if a physical condition limits the person, w_2 per 10 points of an index of chronic illness
    (0 to 59), and w_3, w_4 or w_5 if the person calls her health good, fair or poor (rather than
    excellent). All w are at least 0. The cost is the number of visits granted to an average member:
    averages of the population, in round numbers, are declared public. The records come with
    statsmodels (``randhie``: the RAND health insurance experiment).

    Raises
    ------
    MissingDependencyError
        If statsmodels is not installed.

    Examples
    --------
    >>> from privlp import examples
    >>> examples.doctor_visits().shape  # doctest: +SKIP
    (20190, 6)
    """
    need = "The people come with statsmodels: install it by pip install 'privlp[demo]'."
    people = _optional("statsmodels.datasets", need).randhie.load_pandas().data
    health = ["physlm", "disea", "hlthg", "hlthf", "hlthp"]
    units = np.array([1.0, 10.0, 1.0, 1.0, 1.0])
    known = np.column_stack([np.ones(len(people)), people[health].to_numpy(float) / units])
    average = np.array([1.0, 0.12, 1.12, 0.36, 0.08, 0.015])
    return LinearProgram(
        average,
        -known,
        -people["mdvis"].to_numpy(float),
        variable_names=[
            *("everyone", "limited by a physical condition", "per 10 points of chronic illness"),
            *("good health", "fair health", "poor health"),
        ],
        name="doctor visits",
    )


def screening() -> LinearProgram:
    """Weigh measurements so that each of 569 real patients is on the right side of a threshold.

    Each patient owns one constraint. Minimise sum_j abs(w_j) subject to y_i (w·x_i + w_0) >= 1,
    with y_i = 1 for the sick and -1 for the others. Variables are the positive parts of the 30
    weights and of the threshold, then the negative parts. Measurements are mapped to [-1, 1] by the
    ranges that the public description of the data set states, which are rounded. The patients come
    with scikit-learn (breast cancer, Wisconsin; Street, Wolberg and Mangasarian 1993).

    Raises
    ------
    MissingDependencyError
        If scikit-learn is not installed.

    Examples
    --------
    >>> from privlp import examples
    >>> examples.screening().shape
    (569, 62)
    """
    need = "The patients come with scikit-learn: install it by pip install 'privlp[svm]'."
    records = _optional("sklearn.datasets", need).load_breast_cancer()
    # Smallest and largest value of each measurement, of the public description.
    line = r"^(?:.*\((?:mean|standard error|worst)\)): +([\d.]+) +([\d.]+)$"
    ranges = re.findall(line, records.DESCR, flags=re.MULTILINE)
    low, high = np.array(ranges, dtype=float).T
    scaled = 2 * (records.data - low) / (high - low) - 1
    scaled = np.column_stack([scaled, np.ones(len(scaled))])
    sick = np.where(records.target == 0, 1.0, -1.0)
    margins = sick[:, None] * scaled
    measurements = [*records.feature_names, "threshold"]
    names = [f"{sign}{name}" for sign in "+-" for name in measurements]
    A = np.hstack([-margins, margins])
    return LinearProgram(
        np.ones(A.shape[1]), A, -np.ones(len(A)), variable_names=names, name="screening"
    )


def _require_sizes(**sizes: int) -> None:
    """Refuse a size that is no positive integer."""
    for name, size in sizes.items():
        _whole(size, name)
