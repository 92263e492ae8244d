"""The section of a fitted evaluator on the page of a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import litmus
from litmus.analysis.records import read_records
from litmus.errors import BadInput
from litmus.reports.judged import judge_runs
from litmus.reports.report import build_report


@pytest.fixture(scope="module")
def evaluator(cartpole_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("judge") / "judge.safetensors"
    litmus.fit(cartpole_run, out=out, visits=2, policies=60, quiet=True, device="cpu")
    return out


def test_the_page_shows_the_card_scores_and_comparisons(
    evaluator: Path, cartpole_run: Path
) -> None:
    report = build_report([cartpole_run], judge=evaluator, quiet=True)
    page = report.to_html()
    for words in ("The evaluator&#x27;s card", "other times of the one lineage", "90% interval"):
        assert words in page, words
    drawn = {figure.id: figure for figure in report.content.figures}
    cloud = drawn["judged-held-out"].views[0].panels[0].series[0]
    sample = json.loads(evaluator.with_suffix(".json").read_text())["options"]["card"]
    assert (
        list(cloud.y) == sample["held_out"]["other times of the one lineage"]["sample"]["predicted"]
    )
    assert "judged-scores" in drawn


def test_a_damaged_policy_is_named_and_the_others_are_judged(
    evaluator: Path, cartpole_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(cartpole_run, tmp_path / "broken")
    (tmp_path / "broken/policy.safetensors").write_bytes(b"nothing")
    report = build_report([cartpole_run, tmp_path / "broken"], judge=evaluator, quiet=True)
    page = report.to_html()
    assert "What could not be judged" in page
    assert "judged-scores" in {figure.id for figure in report.content.figures}
    with pytest.raises(BadInput, match="broken"):
        judge_runs(evaluator, read_records([tmp_path / "broken"]))


def test_what_cannot_judge_these_runs_is_named(
    evaluator: Path, cartpole_run: Path, hopper_run: Path
) -> None:
    with pytest.raises(BadInput, match="no run is one of that task"):
        build_report([hopper_run], judge=evaluator, quiet=True)
    with pytest.raises(BadInput, match="not an evaluator that was fitted"):
        build_report([cartpole_run], judge=cartpole_run, quiet=True)


def test_policies_are_asked_in_as_many_states_as_is_said(cartpole_run: Path) -> None:
    """As far as episodes are long enough: each visitor's share."""
    for count, visits in ((2, 3), (7, 3), (8, 1)):
        options = {"probing_states": count, "visits": visits, "policies": 40}
        judge = litmus.fit(cartpole_run, quiet=True, device="cpu", **options)
        assert len(judge.probing_states) == count
