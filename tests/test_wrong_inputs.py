"""Input that means something else than it says is refused: silently wrong input has no protection."""

import gzip
import tracemalloc
from decimal import Decimal
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest

import privlp
from privlp import ConstraintPrivate, LinearProgram, ScalarPrivate, files, models, plan, solve
from privlp.errors import InvalidParameterError, InvalidProblemError, ReadError
from tests.programs import refused_for_free

ROWS, NAMES = np.ones((4, 1)), ["a", "b", "c", "d"]
ADD_REMOVE = ConstraintPrivate("add-remove", nominal_n=9)
FLAGS = [1, 1, 0, 1]
AS_FLAGS = (
    r"private holds only the numbers 0 and 1, as flags do. For a mask give booleans: np.asarray\("
    r"private, dtype=bool\). For row indices give each index once: np.flatnonzero\(mask\)."
)


def from_mps(folder, **options):
    path = folder / "model.mps"
    LinearProgram([1.0], ROWS, np.ones(4), row_names=NAMES).to_mps(path)
    return LinearProgram.from_mps(path, **options)


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "flags",
    [
        *(FLAGS, [0] * 4, [1] * 4, pd.Series(FLAGS), pd.Series(FLAGS, dtype="Int64")),
        *(np.array(FLAGS, dtype=kind) for kind in (np.int8, np.uint8, object)),
    ],
)
def test_flags_are_not_read_as_row_numbers(flags, neighbours, tmp_path):
    """Rows 0 and 1 would be private and all others public, whatever was meant."""
    made = [
        lambda **k: LinearProgram([1.0], ROWS, np.ones(4), **k),
        lambda **k: LinearProgram.from_linprog([1.0], ROWS, np.ones(4), **k),
        lambda **k: from_mps(tmp_path, **k),
    ]
    for make in made:
        with pytest.raises(InvalidProblemError, match=AS_FLAGS) as caught:
            make(private=flags, neighbours=neighbours)
        assert caught.value.parameter == "private"
        as_mask = make(private=np.asarray(flags, dtype=bool), neighbours=neighbours)
        assert as_mask.private.tolist() == [bool(flag) for flag in flags]


@pytest.mark.parametrize("n", [1, 2])
def test_indices_that_could_be_flags_name_all_rows(n):
    """Of one or two rows distinct numbers 0 and 1 are indices of all rows: nothing is public."""
    for places in (range(n), range(n)[::-1], np.arange(n, dtype=np.int8)):
        assert LinearProgram([1.0], ROWS[:n], np.ones(n), private=places).private.all()
    for flags in ([1] * n, [0] * 2):
        with pytest.raises(InvalidProblemError, match=AS_FLAGS):
            LinearProgram([1.0], ROWS[:n], np.ones(n), private=flags)


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "selection",
    [
        *(3, np.int64(3), b"ab", [1j], [2, 3, 2], [-1], [4], [[2, 3]], [True, 1, 0, 0], {2, 3}),
        *(["a", 1], [b"a"], np.array([b"a"]), [2, None], [1.0, 0.0, 0.0, 1.0], [True, "b"]),
        np.ma.array([2, 3], mask=[False, True]),
        np.ma.array([True] * 4, mask=[True, False, False, False]),
        pd.array([True, None, True, True], dtype="boolean"),
        np.array([2, 3], dtype="m8[s]"),
        {"a": 1},
        (place for place in [2, 3]),
    ],
    ids=lambda selection: type(selection).__name__,
)
def test_refuses_selections_of_rows_that_mean_more_than_one_thing(selection, neighbours):
    message = r"private must be a boolean mask, .*, or row names; each once, all of one kind."
    given = {"private": selection, "neighbours": neighbours, "row_names": NAMES}
    with pytest.raises(InvalidProblemError, match=message) as caught:
        LinearProgram([1.0], ROWS, np.ones(4), **given)
    assert caught.value.parameter == "private"


@pytest.mark.parametrize(
    ("selection", "private"),
    [
        (None, [0, 1, 2, 3]),
        ([], []),
        ("?", [0, 1, 2, 3]),
        ("[bd]*", [1, 3]),
        ([2, 1], [1, 2]),
        ([0, 1], [0, 1]),
        (pd.Series([2, 3], index=[0, 1]), [2, 3]),
        (pd.Series([True, False, False, True]), [0, 3]),
        (pd.array([True, False, False, True], dtype="boolean"), [0, 3]),
        ([np.True_, False, False, True], [0, 3]),
        (pd.Index(["a", "d"]), [0, 3]),
        (pd.Series(["a", "[cd]"], dtype="string"), [0, 2, 3]),
        (np.array(["a", "b"], dtype=object), [0, 1]),
    ],
)
def test_selections_of_one_kind_select_what_they_say(selection, private):
    lp = LinearProgram([1.0], ROWS, np.ones(4), private=selection, row_names=NAMES)
    assert np.flatnonzero(lp.private).tolist() == private


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "groups",
    [
        [np.nan, 1, 1, np.nan],
        np.array([np.nan, 1.0, 1.0, float("nan")], dtype=object),
        np.ma.array([1, 2, 3, 4], mask=[True, False, False, True]),
        np.array(["2020-01-01", "NaT", "NaT", "2020-01-01"], dtype="M8[D]"),
        pd.Series([1, None, None, 1], dtype="Int64"),
    ],
)
def test_missing_record_ids_are_refused(groups, neighbours):
    """Two rows without an id may belong to one record, which would have half of its protection."""
    with pytest.raises(InvalidProblemError, match=r"groups .*record id.*give each row its owner"):
        LinearProgram([1.0], ROWS, np.ones(4), groups=groups, neighbours=neighbours)


def test_masks_are_no_record_ids_and_numbers_0_and_1_are():
    for mask in ([True, False, True, True], np.array([True] * 4, dtype=object)):
        with pytest.raises(InvalidProblemError, match=r"groups must hold .*, and a mask holds non"):
            LinearProgram([1.0], ROWS, np.ones(4), groups=mask)
    lp = LinearProgram([1.0], ROWS, np.ones(4), groups=FLAGS)
    assert lp.neighbours.rows_of_one_record(lp) == 3


# --- numbers

N, D = 4, 3
A = np.ones((N, D))
DATE = "2020-01-01"
#: Arrays of a given length.
NOT_NUMBERS = {
    "masked": lambda n: np.ma.array(np.ones(n), mask=[True] + [False] * (n - 1)),
    "masked in a list": lambda n: [np.ma.masked, *np.ones(n - 1)],
    "dates": lambda n: np.array([DATE] * n, dtype="M8[D]"),
    "lengths of time": lambda n: np.array([1] * n, dtype="m8[D]"),
    "dates as objects": lambda n: np.array([np.datetime64(DATE)] * n, dtype=object),
    "lengths of time as objects": lambda n: np.array([np.timedelta64(5)] * n, dtype=object),
    "timestamps": lambda n: [pd.Timestamp(DATE)] * n,
    "digits": lambda n: np.array(["1"] * n),
    "digits as objects": lambda n: np.array(["1"] * n, dtype=object),
    "digits of pandas": lambda n: pd.Series(["1"] * n, dtype="string"),
    "digits in categories": lambda n: pd.Series(["1"] * n, dtype="category"),
    "bytes": lambda n: np.array([b"1"] * n),
    "a digit among numbers": lambda n: [*np.ones(n - 1), "1"],
    "complex numbers": lambda n: np.ones(n, dtype=complex),
    "missing integers": lambda n: pd.Series([1] * (n - 1) + [None], dtype="Int64"),
}
MISSING = {
    "None in an array": lambda n: np.array([None, *np.ones(n - 1)], dtype=object),
    "None in a list": lambda n: [None, *np.ones(n - 1)],
}


def lp_of(**fields):
    return LinearProgram(**{"c": np.ones(D), "A": A, "b": np.ones(N)} | fields)


def people(**fields):
    given = {"values": A, "supplies": np.ones(D), "largest_value": 2.0} | fields
    return privlp.Allocation(given.pop("values"), given.pop("supplies"), **given)


ARCS, FLOW = [(0, 1), (1, 2), (0, 2)], {0: 1, 2: -1}
#: By what messages call the argument: a function of an array of the given length.
ARRAYS = {
    "c": (D, lambda v: lp_of(c=v)),
    "b": (N, lambda v: lp_of(b=v)),
    "A": (D, lambda v: lp_of(A=[list(v)] * N)),
    "row_lower": (N, lambda v: lp_of(row_lower=v)),
    "penalty": (N, lambda v: lp_of(penalty=v)),
    "A_ub": (D, lambda v: LinearProgram.from_linprog(np.ones(D), [list(v)] * N, np.ones(N))),
    "b_eq": (N, lambda v: LinearProgram.from_linprog(np.ones(D), A_eq=A, b_eq=v)),
    "lower": (N, lambda v: ScalarPrivate(1.0, lower=v)),
    "upper": (N, lambda v: ScalarPrivate(1.0, upper=v)),
    "values": (D, lambda v: people(values=[list(v)] * N)),
    "supplies": (D, lambda v: people(supplies=v)),
    "uses": (D, lambda v: people(uses=[list(v)] * D)),
    "limits": (N, lambda v: people(limits=v, largest_limit=2)),
    "shares": (D, lambda v: people().worth([list(v)] * N)),
    "prices": (D, lambda v: models.diet(v, np.ones((2, D)), np.ones((N, 2)))),
    "most": (D, lambda v: models.diet(np.ones(D), np.ones((2, D)), np.ones((N, 2)), most=v)),
    "hours": (N, lambda v: models.staffing(np.ones(2), np.ones((2, D)), np.ones((N, D)), v)),
    "returns": (D, lambda v: models.cvar_portfolio([list(v)] * N, bound=2)),
    "capacities": (3, lambda v: models.min_cost_flow(ARCS, np.ones(3), v, FLOW, sensitivity=1)),
}


@pytest.mark.parametrize("argument", ARRAYS)
def test_what_is_no_number_is_refused_with_the_name_of_the_argument(argument):
    size, use = ARRAYS[argument]
    for make in (*NOT_NUMBERS.values(), *MISSING.values()):
        with pytest.raises(
            privlp.PrivLPError, match=f"{argument}[ [_]|The bounds of row"
        ) as caught:
            use(make(size))
        assert caught.value.parameter == argument
        assert "2020" not in str(caught.value)


def test_solutions_and_bounds_are_numbers():
    for make in (*NOT_NUMBERS.values(), *MISSING.values()):
        with pytest.raises(InvalidParameterError, match=r"The solution (must be a v|holds NaN)"):
            privlp.compare(lp_of(), make(D))
    for make in NOT_NUMBERS.values():
        with pytest.raises(InvalidProblemError, match="bounds must be one"):
            lp_of(bounds=[(0, end) for end in make(D)])


def test_numbers_of_other_kinds_are_numbers():
    for b in ([True, 2, 3.0, np.float32(4)], np.array([Decimal(1), 2, 3, 4], dtype=object)):
        assert lp_of(b=b).b.tolist() == [1.0, 2.0, 3.0, 4.0]


WRONG = [True, np.True_, "1", b"1", 1j, [1.0], np.array([1.0, 2.0, 3.0]), np.timedelta64(1)]
WRONG += [np.datetime64("2020-01-01"), float("nan"), -1.0, 10**400]
SOFT, HARD = lp_of(penalty=1.0, bounds=(0, 9)), lp_of(bounds=(0, 9))
NUMBERS = lp_of(neighbours=ScalarPrivate(0.1, lower=0, upper=2), bounds=(0, 9))
COSTS = lp_of(neighbours=privlp.ObjectivePrivate(0.1), bounds=(0, 9))


def request(lp, **changes):
    given = {"eps": 1.0, "delta": 1e-6, "rng": 0} | changes
    return lambda name, value: solve(lp, **given | {name: value})


def of(function, *arguments, **given):
    return lambda name, value: function(*arguments, **given | {name: value})


#: By function and parameter.
SINGLE = {
    **{f"solve {name}": request(HARD, s=1) for name in ("eps", "delta", "s", "alpha")},
    "solve width": request(SOFT),
    "solve opt": request(HARD, s=1),
    "solve time_limit": request(HARD, s=1),
    "exact time_limit": of(privlp.solve_exact, HARD),
    "solve feasible": request(NUMBERS),
    "solve split": request(NUMBERS, feasible="always"),
    "soft alpha": request(SOFT),
    "costs alpha": request(COSTS),
    "program penalty": of(lp_of),
    "program offset": of(lp_of),
    "linprog box": of(LinearProgram.from_linprog, np.ones(D), A, np.ones(N)),
    "relation sensitivity": of(ScalarPrivate),
    "relation rows_per_record": of(ConstraintPrivate),
    "relation nominal_n": of(ConstraintPrivate, "add-remove"),
    "people nominal_n": of(privlp.PersonPrivate, "add-remove"),
    "people largest_value": of(people),
    "people largest_use": of(people),
    "allocate feasible": of(privlp.allocate, people(), 1.0, rng=0),
    "allocate eps": of(privlp.allocate, people(), rng=0),
    "portfolio bound": of(models.cvar_portfolio, A),
    "portfolio beta": of(models.cvar_portfolio, A, bound=2),
    "quality eps": of(privlp.quality, HARD, np.ones(D), rng=0),
    "quality alpha": of(privlp.quality, HARD, np.ones(D), 1.0, rng=0),
    "compare s": of(privlp.compare, HARD, np.ones(D)),
    "budget eps": of(privlp.Budget, delta=0),
    "budget delta": of(privlp.Budget, eps=1),
    "budget count": of(privlp.Budget(1.0, 0).disjoint),
}


@pytest.mark.parametrize("where", SINGLE)
def test_single_numbers_are_real_numbers_within_their_domain(where):
    name = where.split()[1]
    several = name in ("width", "opt", "penalty", "split")
    for value in WRONG:
        harmless = name in ("opt", "offset") and isinstance(value, float) and value == -1.0
        if harmless or (several and isinstance(value, list | np.ndarray)):
            continue
        with pytest.raises(privlp.PrivLPError, match=name) as caught:
            SINGLE[where](name, value)
        assert caught.value.parameter == name


@pytest.mark.parametrize("value", ["1", 1, 0, None, [True], np.array([True])], ids=repr)
def test_flags_are_true_or_false(value, tmp_path):
    places = {
        "progress": lambda: solve(HARD, 1.0, 1e-6, 1, progress=value, rng=0),
        "prices": lambda: solve(HARD, 1.0, 1e-6, 1, prices=value, rng=0),
        "relax": lambda: from_mps(tmp_path, relax=value),
        "adopt": lambda: privlp.Budget.open(tmp_path / "x.budget", 1.0, 0.0, adopt=value),
        "sparse": lambda: LinearProgram.from_parquet(tmp_path, [1.0], "b", sparse=value),
    }
    for name, call in places.items():
        with pytest.raises(InvalidParameterError, match=f"{name} must be True or False"):
            call()


@pytest.mark.parametrize(
    ("lp", "changes", "message"),
    [
        (HARD, {"s": 1, "delta": 5e-324}, "delta must be 0, or at least 1e-300"),
        (NUMBERS, {"delta": 1e-320}, "delta must be 0, or at least 1e-300"),
        (SOFT, {"eps": 5e-324}, "eps must lie between 1e-100 and 1e[+]100"),
        (SOFT, {"eps": 1e300}, "eps must lie between 1e-100 and 1e[+]100"),
        (lp_of(), {"s": 1, "opt": 1e300}, "opt must lie between 1e-100 and 1e[+]100"),
        (lp_of(), {"s": 1, "opt": (1.0, 1e300)}, "opt must lie between 1e-100 and 1e[+]100"),
        (lp_of(), {"s": 1, "opt": 1.0, "alpha": 1e-320}, "alpha must lie between 1e-100"),
        (HARD, {"s": 1e300}, "s must be between 1 and the number of private rows"),
        (NUMBERS, {"feasible": 1 - 1e-16}, "feasible must be .*at most 1 - 1e-12"),
        (NUMBERS, {"feasible": 10**400}, "feasible must be None"),
        (NUMBERS, {"feasible": 5e-324}, "feasible must be .*at least 1e-5"),
    ],
)
def test_extreme_numbers_have_a_domain_and_charge_nothing(lp, changes, message):
    with refused_for_free(message) as budget:
        solve(lp, **{"eps": 1.0, "delta": 1e-6, "rng": 0} | changes, budget=budget)
    with pytest.raises(InvalidParameterError, match=message):
        plan(lp, **{"eps": 1.0, "delta": 1e-6} | changes)


@pytest.mark.parametrize("price", [5e-324, 1e-200, 1e200])
def test_extreme_prices_have_a_domain(price):
    for penalty in (price, [price] * N, [[price, 1.0]] * N, {"r*": price}):
        with pytest.raises(InvalidProblemError, match=r"must lie between 1e-100 and 1e\+100"):
            lp_of(penalty=penalty, row_names=["r1", "r2", "r3", "r4"])


def test_allocations_refuse_nan_without_advice_on_infinity():
    with pytest.raises(InvalidProblemError) as caught:
        people(values=[[np.nan, 1.0, 1.0]])
    assert "NaN" in str(caught.value)
    assert "nfinity" not in str(caught.value)
    with pytest.raises(InvalidProblemError, match=r"plus infinity, .* Minus infinity is for what"):
        people(values=[[np.inf, 1.0, 1.0]])


def test_nodes_of_networks_have_names_of_their_own():
    given = {"costs": [1, 1], "capacities": [1, 1], "sensitivity": 1}
    for name in (np.nan, None, [1], pd.NA):
        with pytest.raises(InvalidProblemError, match="arcs must name both ends"):
            models.min_cost_flow([("x", name), (name, "y")], supply={"x": 1, "y": -1}, **given)
    twice = pd.Series([1, -1, 5], index=["x", "y", "x"])
    with pytest.raises(InvalidProblemError, match="supply names a node twice"):
        models.min_cost_flow([("x", "m"), ("m", "y")], supply=twice, **given)


# --- what is taken for public


DEMAND = {"A_eq": [[1.0, 1.0]], "b_eq": [3.0]}


@pytest.mark.parametrize(
    ("neighbours", "options", "public"),
    [
        (ScalarPrivate(1.0), {}, "costs c, all coefficients A, bounds of variables"),
        (ScalarPrivate(1.0), {"feasible": 0.9}, "costs c, all coefficients A, bounds of variables"),
        (privlp.RowPrivate(1.0), {}, "costs c, all right-hand sides b, bounds of variables"),
        (
            privlp.ColumnPrivate(1.0),
            {"method": "mw", "opt": 3.0},
            "costs c, all right-hand sides b",
        ),
        (ConstraintPrivate(), {"s": 1}, "costs c, bounds of variables"),
    ],
)
def test_nobody_is_advised_to_publish_equalities(neighbours, options, public):
    """Demands are private data often enough; they stand in equalities, which are public if unsaid."""
    lp = LinearProgram.from_linprog([1, 2], **DEMAND, neighbours=neighbours, bounds=(0, 9))
    for call in (solve, plan):
        given = {key: value for key, value in options.items() if call is solve or key != "method"}
        with pytest.raises(privlp.PrivLPError) as caught:
            call(lp, 1.0, 1e-6, **given)
        message = str(caught.value)
        assert f"Taken for public: {public}" in message
        assert "1 public row (an equality)" in message
        assert "name its rows by private=..., and write a bound that does as a row." in message
        assert message.endswith("Only if all of it may be known, use solve_exact.")


def test_readers_and_plans_say_what_is_public_where_numbers_are_private():
    given = {"A_ub": [[1.0, 2.0]], "b_ub": [30.0], **DEMAND, "bounds": [(0, 7), (0, 9)]}
    lp = LinearProgram.from_linprog([1, 2], **given, neighbours=ScalarPrivate(0.1))
    public = "costs c, all coefficients A, bounds of variables, 1 public row (an equality)"
    assert repr(lp).endswith(f"; public: {public})")
    assert f"Public: {public}." in " ".join(str(plan(lp, 1.0, 1e-6)).split())
    told = {
        privlp.RowPrivate(
            0.1
        ): "costs c, all right-hand sides b, bounds of variables, 1 public row (an",
        privlp.ObjectivePrivate(
            0.1
        ): "all coefficients A, all right-hand sides b, bounds of variables)",
        (
            ScalarPrivate(0.1),
            privlp.RowPrivate(0.1),
        ): "costs c, bounds of variables, 1 public row (an",
    }
    for neighbours, words in told.items():
        lp = LinearProgram.from_linprog([1, 2], **given, neighbours=neighbours)
        assert f"public: {words}" in repr(lp)
    assert "public:" not in repr(LinearProgram.from_linprog([1, 2], **given))


# --- packed files

LIMITED = pytest.mark.skipif(
    tuple(map(int, version("highspy").split(".")[:2])) < (1, 15),
    reason="this HiGHS cannot read gzipped files",
)


def packed_model(folder, comments, name="model.mps.gz"):
    plain = folder / "plain.mps"
    LinearProgram([1.0], ROWS, np.ones(4), row_names=NAMES).to_mps(plain)
    path = folder / name
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(plain.read_bytes().replace(b"ROWS", b"*" * comments + b"\nROWS", 1))
    return path


@pytest.mark.parametrize("name", ["model.mps.gz", "model.lp.gz", "model.gz"])
def test_a_small_file_cannot_take_all_memory(tmp_path, name):
    path = packed_model(tmp_path, 90_000_000, name)
    assert path.stat().st_size < 500_000
    message = (
        r"holds more than 67,108,864 bytes when it is unpacked. If you trust it, unpack it and read"
        r" the plain file, or allow more by from_mps\(..., largest_unpacked=BYTES\)\."
    )
    tracemalloc.start()
    with pytest.raises(ReadError, match=message):
        LinearProgram.from_mps(path)
    assert tracemalloc.get_traced_memory()[1] < 160_000_000
    tracemalloc.stop()


@LIMITED
def test_the_limit_of_packed_files_can_be_set(tmp_path):
    path = packed_model(tmp_path, 1000)
    assert LinearProgram.from_mps(path).shape == (4, 1)
    assert LinearProgram.from_mps(path, largest_unpacked=5000).shape == (4, 1)
    with pytest.raises(ReadError, match="holds more than 1,000 bytes"):
        LinearProgram.from_mps(path, largest_unpacked=1000)
    with pytest.raises(InvalidParameterError, match="largest_unpacked must be a positive integer"):
        LinearProgram.from_mps(path, largest_unpacked="1000")


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("LARGEST_RATIO", 9_999, "more than 9,999"), ("LARGEST_UNPACKED", 9_000, "than 9,000 bytes")],
)
def test_limits_of_packed_files(tmp_path, monkeypatch, limit, value, message):
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(bytes(5000)) + gzip.compress(bytes(5000)))
    size = path.stat().st_size
    monkeypatch.setattr(files, "_NO_BOMB", 10)
    monkeypatch.setattr(files, "LARGEST_RATIO", 10_000 / size)
    assert len(files.unpacked(path)) == 10_000
    monkeypatch.setattr(files, limit, value / size if limit == "LARGEST_RATIO" else value)
    with pytest.raises(ReadError, match=message):
        files.unpacked(path)


@pytest.mark.parametrize("name", ["model.mps", "model.lp", "model.MPS", "model", "model.ems"])
def test_a_packed_file_says_so_by_its_name(tmp_path, name):
    """HiGHS would unpack it whatever its name is, and as much as there is."""
    with pytest.raises(ReadError, match=r"is gzipped, so its name must end in \.gz"):
        LinearProgram.from_mps(packed_model(tmp_path, 10, name))


# --- blocks, bounds of files, paths, integers


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
def test_numbers_of_blocks_stand_in_no_message_where_rows_come_and_go(neighbours):
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"x": np.ones(14)}), npartitions=7)
    series = dask.from_pandas(pd.Series(np.ones(14)), npartitions=6)
    lists = [np.ones((2, 1))] * 7, [np.ones(2)] * 6
    for rows, said in (
        (lists, "one block of right-hand sides for each block of rows"),
        ((frame, series), "Take both from the same collection."),
    ):
        with pytest.raises(InvalidProblemError, match=said) as caught:
            LinearProgram([1.0], *rows, neighbours=neighbours)
        message = str(caught.value)
        assert ("b has 6 blocks, but A has 7" in message) is not neighbours.hides_rows
        assert any(digit in message for digit in "67") is not neighbours.hides_rows


MODEL = "NAME m\nROWS\n N c\n L r\nCOLUMNS\n x c 1 r 1\nRHS\n R r 5\nBOUNDS\n{}ENDATA\n"


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (" FR B x\n LO B x 1\n", "its lower bound twice, by FR and by LO"),
        (" LO B x 1\n FR B x\n", "its lower bound twice, by LO and by FR"),
        (" FX B x 1\n UP B x 4\n", "its upper bound twice, by FX and by UP"),
        (" UP B x 4\n UP B x 5\n", "its upper bound twice, by UP and by UP"),
    ],
)
def test_a_bound_that_is_given_twice_is_named(tmp_path, bounds, message):
    path = tmp_path / "model.mps"
    path.write_text(MODEL.format(bounds))
    with pytest.raises(ReadError, match=rf"line 11, section BOUNDS: variable 'x' gets {message}"):
        LinearProgram.from_mps(path)
    with pytest.raises(ReadError, match=rf"mps', section BOUNDS: variable 'x' gets {message}"):
        LinearProgram.from_mps(path, neighbours=ADD_REMOVE)
    path.write_text(MODEL.format(" MI B x\n PL B x\n"))  # two bounds of two sides
    assert tuple(LinearProgram.from_mps(path).bounds[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("path", ["\ud800.mps", "a\0b.mps", 1, None, True, ["a.mps"]], ids=repr)
def test_what_no_system_takes_for_a_path_is_refused(path):
    solution = solve(HARD, float("inf"), 0, 1, rng=0)
    calls = [
        lambda: LinearProgram.from_mps(path),
        lambda: LinearProgram.from_parquet(path, [1.0], "b"),
        lambda: HARD.to_mps(path),
        lambda: privlp.Budget.open(path, 1.0, 0.0),
        lambda: solution.save(path),
        lambda: privlp.Solution.load(path),
        lambda: privlp.AllocationResult.load(path),
    ]
    for call in calls:
        with pytest.raises(InvalidParameterError, match="path must be the path of a") as caught:
            call()
        str(caught.value).encode()


def test_names_of_files_that_are_no_utf8_text(tmp_path):
    odd = f"{tmp_path}/a\udc80"
    HARD.to_mps(odd + ".mps")
    assert np.array_equal(LinearProgram.from_mps(odd + ".mps").b, HARD.b)
    pd.DataFrame({"x": [1.0], "b": [2.0]}).to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "rows.parquet").rename(odd + ".parquet")
    for path in (odd + ".parquet", tmp_path):
        with pytest.raises(InvalidProblemError, match="names are UTF-8 text"):
            LinearProgram.from_parquet(path, [1.0], "b")


def test_integers_are_refused_with_the_reason():
    given = {"c": np.ones(D), "A_ub": A, "b_ub": np.ones(N)}
    for none in (None, 0, [0] * D):
        assert LinearProgram.from_linprog(**given, integrality=none).shape == (N, D)
    for some in (1, [0, 1, 0], [2] * D):
        with pytest.raises(InvalidProblemError, match=r"linear programs only: .*Leave integrality"):
            LinearProgram.from_linprog(**given, integrality=some)
