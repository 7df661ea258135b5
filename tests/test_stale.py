"""Pages of results say with which code they were measured.

Changed code is noticed, changed words are not.
"""

import re

import pytest

from benchmarks import published, stale

MODULE = '''"""What it does."""

from math import pi

#: Said of the constant.
SHARE = 0.8


class Noise:
    """Noise."""

    scale: float
    """Its scale."""

    def draw(self, x):
        """Draw."""
        return f"{x + SHARE:.2f}"  # why
'''

WORDS = {
    "docstring of the module": ('"""What it does."""', '"""What it does, in other words."""'),
    "no docstring at all": ('        """Draw."""\n', ""),
    "docstring of a class": ('"""Noise."""', '"""Loud."""'),
    "docstring of an attribute": ('"""Its scale."""', '"""Its size."""'),
    "comment": ("# why", "# because"),
    "comment of a constant": ("#: Said", "#: Told"),
    "layout": ("return f", "return  f"),
    "number written otherwise": ("0.8", "8e-1"),
}
CODE = {
    "constant": ("SHARE = 0.8", "SHARE = 0.81"),
    "name": ("SHARE = 0.8", "CHARE = 0.8"),
    "operator": ("x + SHARE", "x - SHARE"),
    "text that is printed": (":.2f", ":.3f"),
    "import": ("from math import pi", "from math import tau"),
    "type of a number": ("0.8", "True"),
    "annotation": ("scale: float", "scale: int"),
    "order": ('    scale: float\n    """Its scale."""\n', ""),
}


def changed(old, new):
    assert MODULE.count(old) == 1
    return MODULE.replace(old, new)


@pytest.mark.parametrize("change", WORDS.values(), ids=WORDS)
def test_words_do_not_count(change):
    assert stale.fingerprint(changed(*change)) == stale.fingerprint(MODULE)


@pytest.mark.parametrize("change", CODE.values(), ids=CODE)
def test_code_counts(change):
    assert stale.fingerprint(changed(*change)) != stale.fingerprint(MODULE)


def test_fingerprints_do_not_depend_on_pythons_version():
    """Newer versions have more fields in their trees; this number was found by another one."""
    assert stale.fingerprint(MODULE) == "13fa8bce3de4"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository with one page, which depends on its own benchmark and one module."""
    for name in ("benchmarks", "privlp/privacy", "docs/results"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "benchmarks/rates.py").write_text("print(1)\n")
    (tmp_path / "privlp/privacy/prices.py").write_text(MODULE)
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    monkeypatch.setattr(stale, "RESULTS", tmp_path / "docs/results")
    monkeypatch.setattr(published, "_ROOT", tmp_path)
    monkeypatch.setattr(stale, "SOURCES", {"rates": ("privlp/privacy/*.py",)})
    stale._fingerprint_of.cache_clear()
    yield tmp_path
    stale._fingerprint_of.cache_clear()


def listed(capsys):
    stale._fingerprint_of.cache_clear()
    capsys.readouterr()
    stale.main()
    return re.sub(r" +", " ", capsys.readouterr().out)


def test_a_page_is_up_to_date_until_its_code_changes(repository, capsys):
    published.write_page("rates", "Rates", ["Some words.", (["a"], [["1"]])])
    text = (repository / "docs/results/rates.md").read_text()
    assert text.startswith("# Rates\n\nSome words.\n\n| a")
    assert re.search(r"\nMeasured with privlp \S+, state [0-9a-f]{8}\.\n", text)
    assert "rates up to date\n" in listed(capsys)

    prices = repository / "privlp/privacy/prices.py"
    prices.write_text(MODULE.replace("What it does.", "What else."))
    assert "rates up to date\n" in listed(capsys)
    prices.write_text(MODULE.replace("0.8", "0.9"))
    assert "rates changed since: privlp/privacy/prices.py\n" in listed(capsys)
    (repository / "benchmarks/rates.py").write_text("print(2)\n")
    assert "rates changed since: benchmarks/rates.py, privlp/privacy/prices.py\n" in listed(capsys)
    prices.unlink()
    (repository / "privlp/privacy/costs.py").write_text(MODULE)
    assert "privlp/privacy/costs.py, privlp/privacy/prices.py\n" in listed(capsys)


def test_a_change_that_moves_no_number_is_told_apart(repository, capsys, monkeypatch):
    published.write_page("rates", "Rates", ["Some words."])
    prices = repository / "privlp/privacy/prices.py"
    before = stale.fingerprint(prices.read_text())
    prices.write_text(MODULE.replace("0.8", "0.80001"))
    after = stale.fingerprint(prices.read_text())
    monkeypatch.setitem(stale.UNMOVED, ("privlp/privacy/prices.py", before, after), "a comma")
    assert "rates up to date, but for words and warnings\n" in listed(capsys)
    prices.write_text(MODULE.replace("0.8", "0.9"))
    assert "rates changed since: privlp/privacy/prices.py\n" in listed(capsys)


def test_pages_without_a_fingerprint_are_told_apart(repository, capsys):
    page = repository / "docs/results/rates.md"
    page.write_text("# Rates\n")
    assert "rates never stamped\n" in listed(capsys)
    page.write_text(
        "# Rates\n\nMeasured with privlp 0.1.0, no later than 2026-11-21, before fingerprints.\n"
    )
    assert "rates measured before fingerprints, no later than 2026-11-21\n" in listed(capsys)


# ------------------------------------------------------------------------------------ this
# repository


@pytest.mark.parametrize(("path", "before", "after"), stale.UNMOVED)
def test_changes_that_move_no_number_end_at_the_code_of_now(path, before, after):
    assert before != after == stale.fingerprint((stale.ROOT / path).read_text(encoding="utf-8"))


def test_every_page_has_its_sources_listed():
    assert {path.stem for path in stale.pages()} == set(stale.SOURCES)


@pytest.mark.parametrize("page", stale.SOURCES)
def test_every_source_listed_exists(page):
    missing = [pattern for pattern in stale.SOURCES[page] if not any(stale.files_of(pattern))]
    assert not missing
    assert page == "fuzz" or (stale.ROOT / "benchmarks" / f"{page}.py").exists()


@pytest.mark.parametrize("page", stale.SOURCES)
def test_every_page_has_a_stamp(page):
    path = stale.RESULTS / f"{page}.md"
    assert stale.verdict(path.read_text(encoding="utf-8"), stale.state_of(page)) != "never stamped"


@pytest.mark.parametrize("page", stale.SOURCES)
def test_every_page_depends_on_what_its_benchmark_imports_from_benchmarks(page):
    """Other benchmark files with numbers in them; not those that only time, store or print."""
    if page == "fuzz":
        return
    text = (stale.ROOT / "benchmarks" / f"{page}.py").read_text(encoding="utf-8")
    used = set(re.findall(r"^from benchmarks\.(\w+) import", text, flags=re.MULTILINE))
    used |= set(re.findall(r"^from benchmarks import (\w+)", text, flags=re.MULTILINE))
    needed = set()
    for name in used - {"published", "measure", "cache", "stale"}:
        file = stale.ROOT / "benchmarks" / f"{name}.py"
        files = [file] if file.exists() else (stale.ROOT / "benchmarks" / name).glob("*.py")
        needed |= {str(path.relative_to(stale.ROOT)) for path in files}
    assert needed <= set(stale.state_of(page))


class TestNeededBy:
    NEEDED = stale.needed_by(stale.ROOT / "svm_models/private_lp_svc.py")

    @pytest.mark.parametrize(
        "path",
        [
            "svm_models/private_lp_svc.py",
            "svm_models/records/whitening.py",  # imported by a module that it imports
            "privlp/privacy/gaussian_dp.py",  # behind names of a package
            "privlp/rows/door.py",
        ],
    )
    def test_what_is_imported(self, path):
        assert stale.ROOT / path in self.NEEDED

    @pytest.mark.parametrize("path", ["privlp/solve.py", "privlp/players/perturbed.py"])
    def test_what_is_not(self, path):
        assert (stale.ROOT / path).exists()
        assert stale.ROOT / path not in self.NEEDED

    def test_a_page_that_calls_solve_needs_every_method(self):
        needed = stale.needed_by(stale.ROOT / "svm_models/dmw_svc.py")
        assert set(stale.ROOT.glob("privlp/methods/perturbed*.py")) <= needed
