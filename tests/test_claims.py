"""Every figure on the page of results, and on that of claims, stands on the page that it names."""

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?%?")


def rows():
    """Claim, figure and page of each row whose figure stands on a page of results."""
    for line in (RESULTS / "claims.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        page = re.search(r"\]\((\w+\.md)\)", line)
        if len(cells) == 4 and page:
            yield cells[0].lstrip("| "), cells[1], page[1]


def sentences():
    """What stands before each reference to a page, within its section or its item of a list."""
    text = (RESULTS / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[0]
    for part in re.split(r"^(?:## .*|- )", text, flags=re.MULTILINE)[1:]:
        *pieces, _ = re.split(r"\(\[\w+\]\((\w+\.md)\)", part)
        yield from zip(pieces[::2], pieces[1::2], strict=True)


def missing(figure, text):
    """Numbers of a figure that a text does not hold, but for values of ε."""
    figure = re.sub(r"ε = [\d.]+(?:(?:, | to )[\d.]+)*", "", figure)
    return [number for number in NUMBER.findall(figure) if number not in NUMBER.findall(text)]


def unsigned(text):
    """A difference of -17.7 is said as 17.7 less."""
    return re.sub(r"[-+](?=\d)", " ", text)


def test_rows_are_found():
    assert len(list(rows())) >= 15


@pytest.mark.parametrize(("claim", "figure", "page"), list(rows()))
def test_figures_stand_on_their_page(claim, figure, page):
    assert missing(figure, (RESULTS / page).read_text()) == [], f"{claim}: see {page}"


def test_sentences_of_the_page_of_results_stand_on_the_pages_that_they_name():
    found = list(sentences())
    assert len(found) >= 12
    wrong = [
        (page, missing(figure, unsigned((RESULTS / page).read_text(encoding="utf-8"))))
        for figure, page in found
    ]
    assert [(page, numbers) for page, numbers in wrong if numbers] == []


def test_a_figure_that_does_not_stand_is_found():
    assert missing("cost at ε = 1, 2: 1.25, 0 of 20", "| 1.250 | 0 of 20 |") == ["1.25"]
