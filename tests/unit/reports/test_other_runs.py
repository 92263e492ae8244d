"""Reports of runs that are not like ours: other algorithms, evaluators, tasks and states."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from harness import GONE, train_tiny

from litmus.reports.report import Report, build_report
from litmus.runs.final import compute_final_return, describe_final_return

OWN_ALGORITHM: dict[str, Any] = {
    "algorithm": "own_classes:RandomSearch",
    **dict.fromkeys(("evaluator", "round_size", "evaluator_hidden", "probing_states"), GONE),
}
OWN_EVALUATOR: dict[str, Any] = {
    "evaluator": "own_classes:LineEvaluator",
    **dict.fromkeys(("evaluator_hidden", "probing_states"), GONE),
}
LEARNING, PROBING, KNOWLEDGE, BEHAVIOUR, CONFIGURATION = (
    "Learning",
    "Probing states",
    "What the evaluator knows",
    "Behaviour",
    "Configuration and provenance",
)


def report(path: Path, **options: Any) -> Report:
    train_tiny(path, **options)
    return build_report([path], quiet=True)


def read_text(page: str) -> str:
    """What a reader sees."""
    page = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def titles(made: Report) -> list[str]:
    return [title for _, title, _ in made.content.sections]


def test_an_algorithm_without_evaluator_or_rounds(tmp_path: Path) -> None:
    made = report(tmp_path / "search", **OWN_ALGORITHM)
    assert titles(made) == [LEARNING, BEHAVIOUR, CONFIGURATION]
    assert made.details[0].notes == []
    text = read_text(made.to_html())
    assert "Run search was trained without an evaluator." in text
    assert "RandomSearch on ToyWalk-v0" in text
    for word in (" V ", "robing", "ingerprint", "ρ", "cannot be shown", "erturb"):
        assert word not in text.partition("Configuration and provenance What is needed")[0]


def test_what_stands_in_the_place_of_a_damaged_policy_is_said(tmp_path: Path) -> None:
    train_tiny(tmp_path / "run")
    (tmp_path / "run/policy.safetensors").unlink()
    made = build_report([tmp_path / "run"], quiet=True)
    assert "What could not be read or shown" in made.to_html()
    assert any("policy.safetensors" in one for one in made.details[0].notes)


def test_an_evaluator_without_probing_states(tmp_path: Path) -> None:
    made = report(tmp_path / "line", **OWN_EVALUATOR)
    assert titles(made) == [LEARNING, KNOWLEDGE, BEHAVIOUR, CONFIGURATION]
    assert made.details[0].notes == []
    text = read_text(made.to_html())
    assert "The evaluator of run line has no probing states." in text
    assert "reads the policy's parameters" not in text  # that is another evaluator
    assert "What the policy observes and does, step by step." in text
    assert "Predicted against measured" in text


def test_a_task_without_single_steps(tmp_path: Path) -> None:
    made = report(tmp_path / "target", task="toys:TargetTask")
    assert titles(made) == [LEARNING, PROBING, KNOWLEDGE, CONFIGURATION]
    assert made.details[0].notes == []
    text = read_text(made.to_html())
    assert "No episode of run target is shown: its task gives no single steps." in text
    assert "could not be read or shown" not in text


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("runs") / "grid"
    return report(path, task="toys:ToyImageGrid-v0", steps=200, evaluate_every=50)


def test_states_that_are_images_are_shown_as_images(grid: Report) -> None:
    page = grid.to_html()
    assert page.count('width="8" height="8" class="picture pixels"') == 1 + 12  # use, frames
    assert page.count('width="224" height="224" class="picture"') == 3  # states
    text = read_text(page)
    assert "Which pixels V depends on" in text
    assert "What the policy saw" in text
    assert "standard deviations to each side" not in text  # there are no bars of a state
    assert "litmus has no renderer" not in text


def test_the_report_shows_the_number_that_training_printed(grid: Report) -> None:
    record = grid.records[0]
    final = compute_final_return(record.events)
    assert record.final_return == final
    printed = describe_final_return(record.events)
    assert f"final return {final:.1f}" in printed
    assert f"a return of {final:.2f}" in grid.content.title
    assert "last tenth of them in a run with fewer than 200" in read_text(grid.to_html())


def test_a_run_without_evaluations_says_so(tmp_path: Path) -> None:
    made = report(tmp_path / "blind", evaluate_every=0)
    text = read_text(made.to_html())
    assert "has not been evaluated yet" in made.content.title
    assert "No evaluation has been written yet, so there is no curve." in text
    assert "untrained policy earned" not in text


@pytest.mark.parametrize(
    "riddle", ["answer", "its word", "promise", "listens", "climb", "taken apart", "matter"]
)
def test_the_page_speaks_plainly(grid: Report, riddle: str) -> None:
    assert riddle not in read_text(grid.to_html())
