from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from harness import flip

from litmus.errors import BadInput
from litmus.reports import extra
from litmus.reports.figures import Series, shorten, thin
from litmus.reports.html import figure, show_duration, show_number, tag
from litmus.reports.images import find_contrast, is_image, to_picture
from litmus.reports.page import Content, write_page
from litmus.reports.report import build_report

VOID = {"meta", "link", "img", "br", "hr", "input"}
INLINE = {"path", "rect"}


class Outline(HTMLParser):
    """Checks that elements nest, and collects what a screen reader would need."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[int] = []
        self.images: list[dict[str, str | None]] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "img":
            self.images.append(attributes)
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
        if tag == "a":
            self.links.append(str(attributes["href"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(hopper_run: Path, vanilla_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    missing = tmp_path_factory.mktemp("none") / "gone"
    return build_report([hopper_run, vanilla_run, missing], quiet=True).to_html()


def _outline(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    return outline


def test_elements_nest_and_anchors_lead_somewhere_once(page: str) -> None:
    outline = _outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)


def test_headings_go_down_one_level_at_a_time_and_images_have_words(page: str) -> None:
    outline = _outline(page)
    assert outline.headings.count(1) == 1
    for before, after in zip(outline.headings, outline.headings[1:], strict=False):
        assert after <= before + 1
    assert all(len(str(image["alt"])) > 10 for image in outline.images)


def test_the_page_names_nothing_outside_itself(page: str) -> None:
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"https?://|//[a-z]+\.|url\(", without_namespace)
    assert all(str(i["src"]).startswith("data:image/") for i in _outline(page).images)


def test_runs_that_cannot_be_read_are_shown_as_such(page: str) -> None:
    assert "gone" in page
    assert "does not exist" in page
    assert "1 run could not be read" in page


def test_an_evaluator_without_probing_states_is_no_hindrance(page: str) -> None:
    assert "has no probing states and reads the policy&#x27;s parameters" in page
    assert 'id="predictions-vanilla"' in page


def test_the_data_of_every_chart_is_there_and_is_json(page: str) -> None:
    found = re.search(r'id="litmus-data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found[1])
    assert set(re.findall(r'data-chart="([^"]+)"', page)) == set(data)
    assert {"learning-Hopper-v5", "predictions-hopper", "behaviour-hopper"} <= set(data)


def test_a_task_without_a_renderer_is_shown_as_bars(cartpole_run: Path) -> None:
    page = build_report([cartpole_run], quiet=True).to_html()
    assert "litmus has no renderer for it" in page
    assert "pole speed (rad/s)" in page
    assert "<img" not in page


def test_without_a_gl_library_all_the_rest_still_appears(
    hopper_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "no-such-library")
    report = build_report([hopper_run], quiet=True)
    note = report.details[0].rendering_note
    assert note is not None
    assert "no GL library works here" in note
    assert "\n" not in note
    page = report.to_html()
    assert "no GL library works here" in page
    for part in ("Probing action", "Predicted against measured", "One episode"):
        assert part in page


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (("metrics.jsonl",), "metrics.jsonl is missing"),
        (("policy.safetensors", "checkpoints"), "no checkpoint that can be used"),
        (("history",), "history of policies cannot be shown"),
        (("provenance.json",), "provenance.json"),
        (("evaluator.safetensors",), "evaluator cannot be shown"),
    ],
)
def test_a_damaged_run_gives_a_page_that_says_so(
    copy_of_cartpole: Path, damage: tuple[str, ...], words: str
) -> None:
    for name in damage:
        path = copy_of_cartpole / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = sorted(copy_of_cartpole.rglob("*"))
    assert words in build_report([copy_of_cartpole], quiet=True).to_html()
    assert sorted(copy_of_cartpole.rglob("*")) == before  # a report writes nothing into a run


def test_damaged_bytes_in_the_history_are_noticed(copy_of_cartpole: Path) -> None:
    rows = copy_of_cartpole / "history" / "rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), 5))
    assert "is damaged" in build_report([copy_of_cartpole], quiet=True).to_html()


def test_names_and_values_from_a_run_cannot_become_markup(copy_of_cartpole: Path) -> None:
    evil = copy_of_cartpole.with_name("<img src=x onerror=alert(1)>")
    copy_of_cartpole.rename(evil)
    provenance = json.loads((evil / "provenance.json").read_text())
    provenance["command"] = ["</script><script>alert(2)</script>", '"><b>']
    (evil / "provenance.json").write_text(json.dumps(provenance))
    page = build_report([evil], quiet=True).to_html()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "</script><script>alert" not in page
    _outline(page)


def test_nothing_that_can_be_shown_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        build_report([tmp_path / "a"])
    with pytest.raises(BadInput, match="none of these"):
        build_report([tmp_path / "a", tmp_path / "b"])


def test_figures_are_written_as_files(cartpole_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = build_report([cartpole_run], quiet=True).write_figures(tmp_path / "figures")
    names = {path.name for path in written}
    assert {"learning-CartPole-v1-steps.png", "learning-CartPole-v1-time.svg"} <= names
    assert {"importance-cartpole.png", "predictions-cartpole.svg"} <= names
    assert all(path.stat().st_size > 500 for path in written)


def test_a_missing_extra_is_one_line_that_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extra.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'litmus-rl\[report\]'"):
        extra.require_packages("PIL", "matplotlib")


def test_numbers_that_are_not_finite_are_gaps() -> None:
    assert shorten([1.0, np.nan, np.inf, 0.1234567]) == [1, None, None, 0.12346]
    described = Series("a", [1, 2], [np.nan, 3.0]).to_json()
    assert described["y"] == [None, 3]


def test_a_long_series_keeps_its_ends() -> None:
    places = thin(10_000, 600)
    assert len(places) <= 600
    assert (places[0], places[-1]) == (0, 9_999)
    assert thin(5, 600).tolist() == [0, 1, 2, 3, 4]


def test_images_are_told_from_vectors_and_stretched() -> None:
    assert is_image((28, 28))
    assert is_image((3, 32, 32))
    assert is_image((84, 84, 1))
    assert not is_image((17,))
    assert not is_image((4, 84, 84))
    picture = to_picture(np.arange(12.0).reshape(1, 3, 4))
    assert picture.shape == (3, 4)
    assert (picture.min(), picture.max()) == (0, 255)
    assert to_picture(np.zeros((3, 8, 8))).shape == (8, 8, 3)


def test_a_stray_pixel_does_not_hide_an_image() -> None:
    pixels = np.zeros((20, 20))
    pixels[5:15, 5:15] = 1.0
    pixels[0, 0], pixels[19, 19] = 50.0, -50.0
    picture = to_picture(pixels, find_contrast(pixels))
    assert (picture[5:15, 5:15] == 255).all()
    assert (picture[1:5] == 0).all()
    one_bright = np.eye(16)[:1].reshape(4, 4)
    assert to_picture(one_bright, find_contrast(one_bright)).max() == 255


def test_markup_helpers_escape() -> None:
    assert tag("p", "x", title='"<') == '<p title="&quot;&lt;">x</p>'
    assert figure(None) == ""
    assert show_number(None) == "–"
    assert show_number(1234.5) == "1,234"
    assert show_number(0.001) == "1.0e-03"
    assert show_duration(59) == "59 s"
    assert show_duration(3725) == "1 h 2 min"


def test_an_empty_page_is_still_a_page() -> None:
    page = write_page(Content("Nothing", "", "", [], []))
    _outline(page)
    assert "connect-src" not in page
    assert "connect-src &#x27;self&#x27;" in write_page(
        Content("Nothing", "", "", [], []), version="1"
    )
