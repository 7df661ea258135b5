"""Pages of results say what their probes gave; changed draws are noticed, moved code is not."""

import re

import pytest

from benchmarks import probes, published, stale

PAGE = """# Rates

Some words.

| old | table |
|-----|-------|

<!-- measured -->
An old sentence.

<!-- words -->
| a table of words |
|------------------|
"""
FOUND = (["a"], [["1"]]), "Counts."


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository with one page, of one probe."""
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "docs/results/rates.md").write_text(PAGE)
    monkeypatch.setattr(stale, "RESULTS", tmp_path / "docs/results")
    monkeypatch.setattr(stale, "PAGES", {"rates": ("rate",)})
    yield tmp_path
    stale._now.cache_clear()


@pytest.fixture
def listed(capsys, monkeypatch):
    def listed(*numbers, probe="rate"):
        """The verdict on the page if the probe gives these numbers now."""
        monkeypatch.setitem(probes.PROBES, probe, lambda: numbers)
        stale._now.cache_clear()
        capsys.readouterr()
        stale.main()
        return re.sub(r" +", " ", capsys.readouterr().out)

    return listed


def test_a_page_is_up_to_date_until_its_draws_change(repository, listed, monkeypatch):
    monkeypatch.setitem(probes.PROBES, "rate", lambda: [1.5, 1 / 3])
    published.write_page("rates", *FOUND)
    text = (repository / "docs/results/rates.md").read_text()
    assert text.startswith("# Rates\n\nSome words.\n\n| a")
    assert "\n\n<!-- measured -->\nCounts.\n\n<!-- words -->\n| a table of words |\n" in text
    assert "old" not in text
    with pytest.raises(ValueError, match="shorter"):
        published.write_page("rates", "Counts.")
    published.write_page("rates", None, None)
    assert (repository / "docs/results/rates.md").read_text() == text
    assert re.search(r"\nMeasured with privlp \S+, state [0-9a-f]{8}\.\n", text)
    assert "rates up to date\n" in listed(1.5, 1 / 3)
    assert "rates up to date\n" in listed(1.5, 1 / 3 + 1e-9)  # another BLAS
    assert "rates changed since: rate\n" in listed(1.5, 0.33334)
    assert "rates changed since: rate\n" in listed(1.5)
    assert "rates changed since: rate\n" in listed()  # refused: the method is gone


def test_a_probe_that_is_new_is_told_apart(repository, listed, monkeypatch):
    monkeypatch.setitem(probes.PROBES, "rate", lambda: [1.0])
    published.write_page("rates", *FOUND)
    monkeypatch.setattr(stale, "PAGES", {"rates": ("rate", "other")})
    monkeypatch.setitem(probes.PROBES, "other", lambda: [2.0])
    assert "rates not probed then: other\n" in listed(1.0)
    assert "rates changed since: rate; not probed then: other\n" in listed(3.0)


def test_pages_without_probes_are_told_apart(repository, listed, monkeypatch):
    page = repository / "docs/results/rates.md"
    page.write_text("# Rates\n")
    assert "rates never stamped\n" in listed(1.0)
    page.write_text(PAGE)
    monkeypatch.setattr(stale, "PAGES", {"rates": ()})
    published.write_page("rates", *FOUND)
    assert "rates no draw decides it\n" in listed(1.0)


# ------------------------------------------------------------------ this repository


def test_every_page_has_its_probes_listed():
    assert {path.stem for path in stale.pages()} == set(stale.PAGES)


@pytest.mark.parametrize("page", stale.PAGES)
def test_every_page_has_its_script_its_probes_and_a_stamp(page):
    assert page == "fuzz" or (stale.ROOT / "benchmarks" / f"{page}.py").exists()
    assert set(stale.PAGES[page]) <= set(probes.PROBES)
    text = (stale.RESULTS / f"{page}.md").read_text(encoding="utf-8")
    assert stale.verdict(text, {}) != "never stamped"
    readme = (stale.RESULTS / "README.md").read_text(encoding="utf-8")
    told = re.findall(rf"^\| \[{page}\]\(.*?\) \|.*\| (.*) \|.*\|$", readme, flags=re.MULTILINE)
    assert told == text.splitlines()[2:3]


@pytest.mark.parametrize("probe", ["mechanisms", "numbers", "allocation", "perturbed SVM"])
def test_probes_give_the_same_numbers_twice(probe):
    assert probes.values_of(probe) == probes.values_of(probe) != ()


def test_another_noise_is_noticed(monkeypatch):
    from privlp.privacy.mechanisms import additive

    before = probes.values_of("numbers")
    draw = additive.rounded_sum
    monkeypatch.setattr(additive, "rounded_sum", lambda *a, **k: draw(*a, **k) + 1e-4)
    assert probes.values_of("numbers") != before
