"""The report in a real browser, opened from disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import DEADLINE, run_litmus, train_tiny, wait_until
from tiny_images import OPTIONS, write_set

import litmus
from litmus.analysis.comparison import Cell, Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import read_record
from litmus.reports.comparison import ComparisonReport
from litmus.reports.report import build_report

WIDTHS = (390, 1280)


@pytest.fixture(scope="module")
def report(small_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(small_runs).write(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(1000 * DEADLINE)
    opened.goto(report.as_uri())
    yield opened
    opened.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_from_disk_without_errors_or_requests(
    browser: Any,
    report: Path,
    width: int,
    scheme: str,
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector("[data-chart] svg path")
    assert errors == []
    outside = [url for url in requests if not url.startswith("data:")]
    assert outside == [report.as_uri()]
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, "the page scrolls sideways"
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_an_experiment_does_as_well(
    browser: Any, small_runs: list[Path], tmp_path: Path, width: int
) -> None:
    records = [read_record(path) for path in small_runs]
    groups = [Group(r.name, "Hopper-v5", "pssvf", (r,)) for r in records]
    cells = [Cell("Hopper-v5", g.label, 400, (0,), tuple(g.finals), (-9.0,)) for g in groups]
    ComparisonReport("A test", Comparison(tuple(cells)), groups).write(tmp_path)
    page = browser.new_page(viewport={"width": width, "height": 844})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("#learning-Hopper-v5 svg path")
    page.wait_for_selector("#profile svg path")
    assert errors == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_an_experiment_on_images_shows_them(
    browser: Any, tmp_path: Path, width: int
) -> None:
    options = {**OPTIONS, "preset": "tuned", "data": str(write_set(tmp_path / "set"))}
    run = litmus.train("pssvf", out=tmp_path / "run", quiet=True, **options)
    group = Group("tuned", "images", "pssvf", (read_record(run.path),))
    cell = Cell("images", "tuned", 24, (0,), tuple(group.finals))
    ComparisonReport("A test", Comparison((cell,)), [group]).write(tmp_path / "out")
    page = browser.new_page(viewport={"width": width, "height": 844})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto((tmp_path / "out/report.html").as_uri())
    page.wait_for_selector("#loss-images svg path")
    drawn = "[...document.querySelectorAll('#probing-images img')].map(one => one.naturalWidth > 0)"
    assert page.evaluate(drawn) == [True] * (1 + 2)
    assert errors == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_every_chart_is_drawn(page: Any) -> None:
    page.wait_for_selector("[data-chart] svg")
    bare = page.evaluate(
        "[...document.querySelectorAll('[data-chart]')]"
        ".filter(c => !c.querySelector('svg path, svg circle')).map(c => c.dataset.chart)"
    )
    assert bare == []


def test_a_curve_answers_the_mouse(page: Any) -> None:
    chart = page.locator("#learning-Hopper-v5 [data-chart]")
    chart.scroll_into_view_if_needed()
    tip = chart.locator(".tip")
    assert tip.is_hidden()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip.wait_for(state="visible")
    middle = tip.inner_text()
    assert "environment steps" in middle
    assert any(character.isdigit() for character in middle)
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "t => document.querySelector('.tip:not([hidden])').innerText !== t", arg=middle
    )
    page.mouse.move(box["x"] + 10, box["y"] - 40)
    tip.wait_for(state="hidden")


def test_a_curve_answers_the_keyboard(page: Any) -> None:
    chart = page.locator("#learning-Hopper-v5 [data-chart]")
    chart.focus()
    page.keyboard.press("End")
    assert "environment steps" in chart.locator("[aria-live]").inner_text()
    last = chart.locator(".tip").inner_text()
    page.keyboard.press("ArrowLeft")
    assert chart.locator(".tip").inner_text() != last
    page.keyboard.press("Escape")
    assert chart.locator(".tip").is_hidden()


def test_steps_and_time_can_be_chosen(page: Any) -> None:
    figure = page.locator("#learning-Hopper-v5")
    figure.get_by_role("button", name="time").click()
    assert "training time (s)" in figure.locator("svg").text_content()


def test_a_series_can_be_switched_off(page: Any) -> None:
    figure = page.locator("figure[id^=training-]").first
    before = figure.locator("svg path").count()
    button = figure.locator(".legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator("svg path").count() < before


def test_numbers_can_be_read_as_a_table(page: Any) -> None:
    figure = page.locator("#learning-Hopper-v5")
    figure.locator("details.numbers summary").click()
    figure.locator("table").wait_for()
    assert figure.locator("tbody tr").count() >= 3


def test_an_animation_plays_and_can_be_stopped(page: Any) -> None:
    require_animations(page)
    animation = page.locator("img[data-animation]").nth(2)
    animation.scroll_into_view_if_needed()
    first = animation.screenshot()
    wait_until(lambda: animation.screenshot() != first)
    page.get_by_role("button", name="Pause animations").first.click()

    def is_still() -> bool:
        pictures = set()
        for _ in range(4):
            pictures.add(animation.screenshot())
            page.wait_for_timeout(200)
        return len(pictures) == 1

    wait_until(is_still)
    assert animation.get_attribute("src") != animation.get_attribute("data-animation")


def require_animations(page: Any) -> None:
    if not page.locator("img[data-animation]").count():
        pytest.skip("no GL library here, so nothing was rendered")


def test_a_reader_who_wants_no_motion_gets_stills(browser: Any, report: Path) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.goto(report.as_uri())
    require_animations(page)
    for image in page.locator("img[data-animation]").all():
        assert image.get_attribute("src") != image.get_attribute("data-animation")
    page.close()


def test_headings_images_and_figures_have_words_for_screen_readers(page: Any) -> None:
    assert page.locator("h1").count() == 1
    assert page.get_by_role("heading", name="What the evaluator knows").count() == 1
    wordless = page.evaluate(
        "[...document.querySelectorAll('img')].filter(i => !i.alt).length"
        " + [...document.querySelectorAll('[data-chart]')]"
        ".filter(c => !c.getAttribute('aria-label')).length"
        " + [...document.querySelectorAll('figure')]"
        ".filter(f => !f.querySelector('figcaption p')).length"
        " + [...document.querySelectorAll('button')].filter(b => !b.textContent.trim()).length"
    )
    assert wordless == 0


def test_everything_can_be_reached_by_keyboard(page: Any) -> None:
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.className || document.activeElement.tagName")
        )
    assert "skip" in reached
    assert "chart" in reached


@pytest.fixture(scope="module")
def image_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Squares, and pictures that are half as wide again as they are high."""
    folder = tmp_path_factory.mktemp("images")
    tasks = {"grid": "toys:ToyImageGrid-v0", "matrix": "toys:ToyMatrixWalk-v0"}
    runs = [train_tiny(folder / name, task=task).path for name, task in tasks.items()]
    return build_report(runs, quiet=True).write(folder / "report.html")


@pytest.mark.parametrize("width", WIDTHS)
def test_images_keep_their_proportions_and_fit(browser: Any, image_page: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(image_page.as_uri())
    shapes = page.evaluate(
        "[...document.querySelectorAll('img.picture')].map(i => "
        "[i.naturalWidth / i.naturalHeight, i.clientWidth / i.clientHeight, i.clientWidth])"
    )
    assert {round(natural, 1) for natural, _, _ in shapes} == {1.0, 1.5}
    for natural, shown, wide in shapes:
        assert shown == pytest.approx(natural, rel=0.03)  # whole pixels of the screen
        assert wide > 60
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("img.pixels").first.evaluate("i => getComputedStyle(i).imageRendering") == (
        "pixelated"
    )
    page.close()


def test_probabilities_start_at_the_left_of_their_track(browser: Any, image_page: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 844})
    page.goto(image_page.as_uri())
    offsets = page.evaluate(
        "[...document.querySelectorAll('#probing-states .meter.actions li')]"
        ".filter(l => l.innerText.includes('choice'))"
        ".map(l => l.querySelector('.fill').getBoundingClientRect().left"
        " - l.querySelector('.track').getBoundingClientRect().left)"
    )
    assert len(offsets) == 3 * 4
    assert max(map(abs, offsets)) < 0.5
    page.close()


def test_the_command_writes_the_page_and_prints_its_path(
    small_runs: list[Path],
    tmp_path: Path,
) -> None:
    out = tmp_path / "made" / "page.html"
    done = run_litmus(
        "report", small_runs[0], tmp_path / "gone", "--out", out, env={"MUJOCO_GL": "none"}
    )
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    assert out.stat().st_size < 15e6
    assert "could not be read" in out.read_text()
    assert "Traceback" not in done.stderr
    assert "report  hopper-0: reading the run\n" in done.stderr  # how far it is, in plain lines


@pytest.mark.parametrize("command", ["report", "watch"])
def test_a_path_that_is_no_run_is_one_line_and_exit_code_2(tmp_path: Path, command: str) -> None:
    done = run_litmus(command, tmp_path / "gone")
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "does not exist" in done.stderr
