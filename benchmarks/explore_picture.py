"""The picture of the page of ``privlp explore``: `python -m benchmarks.explore_picture`.

Needs `pip install '.[browser]'` and an installed Chromium; takes a minute.
"""

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import privlp
from benchmarks.measure import ROOT

WIDTH = 1280
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def photographed(page: Path) -> bytes:
    """The whole page in a headless browser, one person taken away, as a PNG."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": WIDTH, "height": 900})
        window.goto(page.as_uri())
        window.wait_for_selector("body[data-ready]")
        window.get_by_role("checkbox", name="take one person away").check()
        window.wait_for_timeout(1000)  # pictures are drawn
        picture: bytes = window.screenshot(full_page=True)
        browser.close()
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        privlp.explore(privlp.examples.kitchen(), page, progress=True)
        picture = Image.open(io.BytesIO(photographed(page))).convert("RGB")
    path = ROOT / "docs" / "results" / "explore.png"
    picture.quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)
    print(path)
