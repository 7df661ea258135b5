"""The page for teaching, in a headless browser: `make test-browser`."""

import io
import json
import shutil

import pytest
from PIL import Image

import privlp
from privlp.explore import grid as grids

pytest.importorskip("bokeh", reason="its JavaScript draws the page")
playwright = pytest.importorskip("playwright.sync_api", reason="it drives the browser")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
PAPER = 794  # A4
WIDTHS = {"phone": (390, 844), "tablet": (1024, 768), "projector": (1600, 900)}
#: What the scripts of the page know: the numbers behind a picture.
SHOWN = "name => Object.values(source[name].data).map(column => [...column])"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "_SHARES", (0.05, 0.2))
        patch.setattr(grids, "_FEWEST", 20)
        lp = privlp.examples.kitchen(people=80)
        privlp.explore(lp, path, not_private=True, eps=(0.5, 10.0), draws=2)
    assert path.stat().st_size < 3e6
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # A container gives the browser no rights for a sandbox of its own; the page is ours.
        started = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser, address):
    """A page at some width, which asks for nothing and reports no error until the end."""
    contexts, faults = [], []

    def open_page(width="projector", scheme="light"):
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        contexts.append(browser.new_context(viewport=size, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on(
            "console",
            lambda said: faults.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: None if asked.url == address else faults.append(asked.url))
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [fault for fault in faults if not fault.startswith("data:")] == []


def test_sliders_move_what_they_should_by_keyboard(opened):
    page = opened()
    data = json.loads(page.locator("#data").text_content())
    answers = page.evaluate(SHOWN, "map-private")
    assert [list(point) for point in zip(*answers, strict=True)] == [
        answer[:2] for answer in data["sizes"][1]["cells"][3]["answers"][0]
    ]
    for name, output, first, moved in (
        ("Privacy", "#eps-out", "ε = 10", "ε = 0.5"),
        ("May miss", "#s-out", "s = 16 (20 %)", "s = 4 (5 %)"),
        ("People", "#n-out", "n = 80", "n = 20"),
    ):
        slider = page.get_by_role("slider", name=name, exact=True)
        assert page.locator(output).text_content() == first
        before = page.locator("#happened").text_content(), page.evaluate(SHOWN, "map-private")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        assert page.locator(output).text_content() == moved
        assert slider.get_attribute("aria-valuetext") == moved
        assert page.locator("#happened").text_content() != before[0]
        assert page.evaluate(SHOWN, "map-private") != before[1]
        page.keyboard.press("ArrowRight")
        assert page.evaluate(SHOWN, "map-private") == before[1]
    page.get_by_role("slider", name="Privacy").press("ArrowLeft")
    assert page.locator("#plan").text_content() == data["sizes"][1]["cells"][2]["advice"]


def test_taking_one_person_away_shows_what_moves(opened):
    page = opened()
    assert page.evaluate(SHOWN, "map-away") == [[], []]
    for key in ("exact, one person away", "private, one person away", "the row that goes"):
        assert not page.get_by_text(key, exact=True).is_visible()
    page.get_by_role("checkbox", name="take one person away").press("Space")
    data = json.loads(page.locator("#data").text_content())
    moved = page.evaluate(SHOWN, "map-exact-away")
    assert [column[0] for column in moved] == data["sizes"][1]["exact"][1][:2]
    assert len(page.evaluate(SHOWN, "map-away")[0]) == 2
    assert page.evaluate(SHOWN, "own")[0]
    assert page.get_by_text("the row that goes").is_visible()
    page.get_by_role("checkbox", name="show private rows").press("Space")
    assert page.evaluate(SHOWN, "lines")[0] == []


def test_pictures_are_told_in_words_and_the_page_says_what_it_is(opened):
    page = opened()
    pictures = page.get_by_role("img").all()
    names = [
        page.locator(f"#{each.get_attribute('aria-labelledby')}").text_content()
        for each in pictures
    ]
    assert len(names) == 3
    assert all(len(name) > 40 for name in names)
    assert page.get_by_role("note").text_content().startswith("Not private.")
    assert page.get_by_role("heading", level=1).is_visible()
    assert page.locator("[aria-live=polite]").count() == 2
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(opened, width):
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
    for box in (each.bounding_box() for each in page.locator(".plot").all()):
        assert box["x"] >= 0
        assert 200 < box["width"] <= WIDTHS[width][0]
        assert box["height"] > 200
    stacked = page.locator("#cost").bounding_box()["x"] < WIDTHS[width][0] / 3
    assert stacked == (width == "phone")


def _shades(place):
    """Lightest, darkest and commonest shade of a picture, from 0, black, to 255, white."""
    with Image.open(io.BytesIO(place.screenshot())) as picture:
        counts = picture.convert("L").histogram()
    seen = [shade for shade, count in enumerate(counts) if count]
    return seen[-1], seen[0], counts.index(max(counts))


def test_the_dark_has_colours_of_its_own(opened):
    page = opened(scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    picture = page.locator("#cost .plot")
    assert page.evaluate(paper) == "rgb(22, 24, 28)"
    light, _, most = _shades(picture)
    assert light > 200
    assert most < 30
    page.emulate_media(color_scheme="light")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    _, dark, most = _shades(picture)
    assert dark < 50
    assert most == 255


@pytest.mark.parametrize("width", WIDTHS)
def test_paper_has_whole_pictures_on_white(opened, width):
    page = opened(width, "dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    assert not page.get_by_role("slider", name="Privacy").is_visible()
    assert page.locator("#eps-out").is_visible()
    pictures = page.locator(".plot canvas:visible").all()
    assert len(pictures) == 3
    for picture in pictures:
        box = picture.bounding_box()
        assert box["x"] + box["width"] <= PAPER
        light, dark, _ = _shades(picture)
        assert light == 255
        assert dark < 50
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator(".plot canvas:visible").count() == 0
