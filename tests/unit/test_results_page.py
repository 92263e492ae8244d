"""docs/results.md is written from results/*.json, and says what they say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from litmus.analysis.comparison import OVERALL, Cell, Comparison

ROOT = Path(__file__).parents[2]
SEEDS = tuple(range(100, 106))


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_results", ROOT / "docs/make_results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_cell(algorithm: str, return_: float, steps: int = 500) -> Cell:
    return Cell("Hopper-v5", algorithm, steps, SEEDS, (return_,) * 6, (2.0,) * 6 if steps else ())


def test_ours_stands_beside_what_it_must_beat(maker: ModuleType, tmp_path: Path) -> None:
    cells = [make_cell("pssvf", 30.0), make_cell("sb3-ars", 20.0)]
    cells += [make_cell("random", 1.0, steps=0), make_cell("untrained", 2.0, steps=0)]
    results = Comparison(tuple(cells)).to_json()
    results["Hopper-v5"]["pssvf"] |= {
        "paper": [2969.0, 165.0],
        "steps_to_paper": {"100": 400, "101": None, "102": 300},
    }
    results[OVERALL] = {"scored_tasks": ["Hopper-v5"], "interquartile_mean": {"pssvf": {}}}
    (tmp_path / "results").mkdir()
    (tmp_path / "results/control.json").write_text(json.dumps(results))
    page = "# A\n<!-- results/control.json -->\nold\n<!-- end -->\n<!-- results/no.json -->\n"
    written = maker.write_page(f"{page}<!-- end -->\nrest\n", tmp_path)
    assert (
        "| Hopper-v5 | 500 | 6 | 30.0 ± 0.00 | 2.00 ± 0.00 | 1.00 ± 0.00 | 20.0 ± 0.00 |" in written
    )
    assert "| 2,969 ± 165 | yes (p = 0.016) |" in written
    assert "| Hopper-v5 | 2,969 | 400 | 2 of 3 |" in written
    assert "untrained policy on 1 of 1 task" in written
    assert "old" not in written
    assert "Not measured yet; the command is `litmus experiment no" in written
    assert written.endswith("rest\n")
    assert maker.write_page(written, tmp_path) == written


def test_algorithms_of_the_paper_stand_beside_its_figures(
    maker: ModuleType, tmp_path: Path
) -> None:
    cells = [make_cell("pssvf", 30.0), make_cell("pssvf-paper", 20.0), make_cell("ars", 10.0)]
    results = Comparison(tuple(cells)).to_json()
    curve = {"steps": [0, 500], "returns": [1.0, 30.0]}
    results["Hopper-v5"]["pssvf"]["curves"] = {"100": curve, "101": curve}
    (tmp_path / "results").mkdir()
    (tmp_path / "docs/images").mkdir(parents=True)
    (tmp_path / "results/learning_curves.json").write_text(json.dumps(results))
    (tmp_path / "docs/results.md").write_text("<!-- results/learning_curves.json -->\n<!-- end -->")
    maker.main(tmp_path)
    written = (tmp_path / "docs/results.md").read_text()
    row = "| Hopper-v5 | 500 | 30.0 ± 0.00 (6) | 20.0 ± 0.00 (6) | 2,969 ± 165 | 10.0 ± 0.00 (6) |"
    assert f"{row} 2,340 ± 199 | – | 1,634 ± 1,036 |" in written
    picture = (tmp_path / "docs/images/learning_curves.svg").read_text()
    assert "Hopper-v5" in picture
    assert "ARS" not in picture  # it has no curve


def test_a_file_that_has_no_more_than_its_statistics_will_do(maker: ModuleType) -> None:
    told = Comparison((make_cell("pssvf", 30.0),)).to_json()["Hopper-v5"]["pssvf"]
    for name in ("untrained", "p_untrained", "last"):
        del told[name]
    written = maker.write_results({"Hopper-v5": {"pssvf": told}})
    assert "| Hopper-v5 | 500 | 6 | 30.0 ± 0.00 | – |" in written


def test_the_page_is_up_to_date(maker: ModuleType) -> None:
    page = (ROOT / "docs/results.md").read_text()
    assert maker.write_page(page, ROOT) == page, "run docs/make_results.py"
