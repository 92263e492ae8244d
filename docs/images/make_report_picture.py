"""Makes docs/images/report.png, the picture of a report in the README, from a run.

    make demo
    .venv/bin/python docs/images/make_report_picture.py demo/swimmer

It needs Chromium and the packages of the extras `report` and `dev`.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from litmus.reports.report import build_report

OUT = Path(__file__).with_name("report.png")
WIDTH, HEIGHT = 1120, 1640  # of each half, as the browser shows it
SHOWN_WIDTH, MARGIN = 776, 16  # of each half in the picture
BACKGROUND = (225, 224, 219)
COLOURS = 256
STARTS = ("body", "#probing-states")
"""Where the halves begin: the top of the page, and the probing states."""


def take_halves(page_path: Path) -> list[Image.Image]:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
        )
        page.goto(page_path.as_uri())
        page.wait_for_selector("[data-chart] svg path")
        halves = []
        for start in STARTS:
            top = page.locator(start).first.evaluate("e => e.getBoundingClientRect().top + scrollY")
            clip = {"x": 0, "y": top, "width": WIDTH, "height": HEIGHT}
            shot = page.screenshot(full_page=True, clip=clip)
            halves.append(Image.open(io.BytesIO(shot)).convert("RGB"))
        browser.close()
    return halves


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        halves = take_halves(build_report(sys.argv[1:]).write(Path(folder) / "report.html"))
    shown_height = round(HEIGHT * SHOWN_WIDTH / WIDTH)
    size = (2 * SHOWN_WIDTH + 3 * MARGIN, shown_height + 2 * MARGIN)
    picture = Image.new("RGB", size, BACKGROUND)
    for place, half in enumerate(halves):
        small = half.resize((SHOWN_WIDTH, shown_height), Image.Resampling.LANCZOS)
        picture.paste(small, (MARGIN + place * (SHOWN_WIDTH + MARGIN), MARGIN))
    picture.quantize(COLOURS, kmeans=2).save(OUT, optimize=True)
    print(OUT)


if __name__ == "__main__":
    main()
