"""A video of the first measured episode, drawn by the environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_one_line, train_tiny

from litmus.cli import main

image = pytest.importorskip("PIL.Image", reason="the videos need Pillow")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path: Path = train_tiny(tmp_path / "run", task="toys:DrawnWalk", steps=8).path
    return path


def film(run: Path, file: str, *words: str) -> int:
    return main(
        ["evaluate", str(run), "--episodes", "2", "--workers", "0", "--video", file, *words]
    )


def test_the_video_shows_every_step_of_the_first_episode(
    run: Path, tmp_path: Path, capsys: Any
) -> None:
    import litmus

    assert film(run, "walk.webp") == 0
    shown = capsys.readouterr().out
    expected = litmus.evaluate(run, episodes=2, workers=0).returns[0]
    assert f"walk.webp (the first episode, 0.5 s, return {expected:.1f})" in shown
    video = image.open(tmp_path / "walk.webp")
    assert (video.n_frames, video.size) == (5, (48, 32))  # before each of four steps, and after
    shades = []
    for frame in range(video.n_frames):
        video.seek(frame)
        shades.append(video.convert("RGB").getpixel((5, 5))[0])
    assert shades == pytest.approx([0, 50, 100, 150, 200], abs=8)


def test_mujoco_is_drawn_without_a_screen(tmp_path: Path, capsys: Any) -> None:
    hopper = train_tiny(tmp_path / "hopper", task="Hopper-v5", steps=8, evaluate_every=0)
    if film(hopper.path, "hopper.webp") != 0:
        assert_one_line(capsys.readouterr().err, "no video could be made")
        pytest.skip("no GL library works here")
    video = image.open(tmp_path / "hopper.webp")
    colours = np.unique(np.asarray(video.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colours) > 50  # not a blank picture


def test_mp4(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    assert film(run, "walk.mp4") == 0
    assert (tmp_path / "walk.mp4").read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("task", "file", "words"),
    [
        ("toys:DrawnWalk", "walk.gif", "--video takes a file that ends in .webp or .mp4"),
        ("toys:DrawnWalk", "nowhere/walk.webp", "cannot write to nowhere/walk.webp"),
        ("toys:DrawnWalk", "folder.webp", "cannot write to folder.webp"),
        ("toys:Walk", "walk.webp", "no option 'render_mode'"),
        ("toys:TargetTask", "walk.webp", "no video could be made: task 'toys:TargetTask'"),
        ("toys:UndrawnWalk", "walk.webp", "draws no pictures"),
    ],
)
def test_what_cannot_be_filmed_is_told_in_one_line(
    task: str, file: str, words: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "folder.webp").mkdir()
    run = train_tiny(tmp_path / "run", task=task, steps=8)
    before = sorted(tmp_path.rglob("*"))
    assert film(run.path, file) == 2
    assert_one_line(capsys.readouterr().err, words)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "module", "words"),
    [
        ("walk.mp4", "imageio_ffmpeg", "pip install imageio-ffmpeg"),
        ("walk.webp", "PIL", "pip install 'litmus-rl[report]'"),
    ],
)
def test_a_package_that_is_missing_is_named_before_an_episode_is_run(
    file: str, module: str, words: str, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == module else find(name)
    )
    assert film(run, file) == 2
    shown = capsys.readouterr()
    assert_one_line(shown.err, words)
    assert shown.out == ""
