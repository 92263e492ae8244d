"""A Ray cluster changes nothing but where the work is done, and survives the loss of a node.

The cluster is real: two `ray start` processes on this machine.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from subprocess import Popen

import pytest
from harness import assert_one_line, assert_same_result, count_lines, tiny, train_tiny, wait_until
from ray_nodes import Nodes

import litmus
from litmus.cli import main
from litmus.errors import BadInput
from litmus.experiments import ray_executor as ray_executor_module
from litmus.experiments.conduct import Sweep
from litmus.experiments.display import SilentSweepDisplay
from litmus.experiments.executors import LocalExecutor
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.plan import Choices
from litmus.experiments.ray_executor import ray_executor
from litmus.native.library import find_library
from litmus.rollouts import cluster
from litmus.rollouts.cluster import describe_software, digest_source, find_differences
from litmus.training.interrupts import InterruptFlag

pytest.importorskip("ray", reason="the tests of clusters need ray: pip install 'litmus-rl[ray]'")

SLOW = "toys:ToySlowWalk-v0"
OPTIONS = {**tiny("pssvf"), "checkpoint_seconds": 0}


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    yield made
    made.close()


def make_grid(seeds: int, steps: int) -> Grid:
    return Grid(
        title="A test",
        tasks=(SLOW,),
        variants=(Variant("pssvf", "pssvf", "small"),),
        seeds=tuple(range(seeds)),
        steps=lambda task: steps,
        options=OPTIONS,
    )


def compare_with_local(root: Path, seeds: int, steps: int) -> None:
    """Every run is what the local executor makes of it."""
    here = root.parent / "local"
    jobs = make_grid(seeds, steps).plan("test", Choices()).jobs
    sweep = Sweep(here, jobs, LocalExecutor(here, 2), SilentSweepDisplay(), InterruptFlag())
    sweep.conduct()
    assert sweep.failures == {}
    for job in jobs:
        assert_same_result(root / job.folder, here / job.folder)


@pytest.mark.slow
def test_a_sweep_survives_the_loss_of_a_node(
    nodes: Nodes, tmp_path: Path, litmus_process: Callable[..., Popen[str]]
) -> None:
    """Nodes see the experiment's folder: a run that was lost goes on from its last checkpoint."""
    nodes.start()
    nodes.start()
    described = {"tasks": [SLOW], "seeds": 3, "steps": 800, "preset": "small", "options": OPTIONS}
    (tmp_path / "mine.json").write_text(json.dumps(described))
    command = ("experiment", "mine.json", "--out", "out", "--executor", "ray")
    process = litmus_process(*command, "--ray-address", nodes.address)
    runs = [tmp_path / f"out/runs/{SLOW}/pssvf/seed-{seed}" for seed in range(3)]
    begun = [run / "metrics.jsonl" for run in runs[:2]]  # one on each node
    wait_until(lambda: all(count_lines(path) > 10 for path in begun), process)
    nodes.kill(1)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert "went away" in err
    assert "it goes on elsewhere" in err
    resumed = [len(litmus.Run(run).provenance.get("resumed", [])) for run in runs]
    assert sorted(resumed) == [0, 0, 1]
    compare_with_local(tmp_path / "out", 3, 800)
    assert main([*command[:1], str(tmp_path / "mine.json"), *command[2:]]) == 0  # trains nothing


@pytest.mark.slow
def test_where_nodes_do_not_see_the_folder_runs_travel(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_executor_module, "SECONDS_BETWEEN_COPIES", 0.2)
    monkeypatch.setattr(ray_executor_module, "SECONDS_BETWEEN_LOOKS", 0.2)
    nodes.start()
    nodes.start()
    root = tmp_path / "out"
    root.mkdir()
    jobs = make_grid(3, 800).plan("test", Choices()).jobs
    with ray_executor(root, None, nodes.address) as executor:
        executor.mark = "nothing"  # what they would see if they saw the folder
        sweep = Sweep(root, jobs, executor, SilentSweepDisplay(), InterruptFlag())
        killed = []

        def kill_when_begun() -> list[str]:
            copies = [count_lines(root / job.folder / "metrics.jsonl") for job in jobs]
            if not killed and sum(lines > 10 for lines in copies) == 2:
                nodes.kill(1)
                killed.append(time.monotonic())
            return []

        monkeypatch.setattr(executor, "tell_news", kill_when_begun)
        sweep.conduct()
    assert killed
    assert sweep.failures == {}
    resumed = [len(litmus.Run(root / job.folder).provenance.get("resumed", [])) for job in jobs]
    assert sorted(resumed) == [0, 0, 1]
    compare_with_local(root, 3, 800)


@pytest.mark.slow
def test_episodes_of_one_run_on_a_cluster_are_those_of_this_machine(
    nodes: Nodes, tmp_path: Path, litmus_process: Callable[..., Popen[str]]
) -> None:
    """A node is lost on the way; the run is then resumed without any cluster."""
    nodes.start()
    nodes.start()
    options = {**OPTIONS, "task": SLOW, "steps": 800, "preset": "small", "round_size": 4}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()
             if name not in ("hidden", "evaluator_hidden")]  # fmt: skip
    words += ["--hidden", "8", "--evaluator-hidden", "8", "--out", "run"]
    words += ["--collector", "ray", "--ray-address", nodes.address]
    process = litmus_process("train", "pssvf", *words)
    wait_until(lambda: count_lines(tmp_path / "run/metrics.jsonl") > 10, process)
    nodes.kill(1)
    lines = count_lines(tmp_path / "run/metrics.jsonl")
    wait_until(lambda: count_lines(tmp_path / "run/metrics.jsonl") > lines + 10, process)
    process.terminate()
    _, err = process.communicate()
    assert process.returncode == 130, err
    litmus.resume(tmp_path / "run", collector="local", quiet=True)
    litmus.train("pssvf", out=tmp_path / "here", quiet=True, **options)
    assert_same_result(tmp_path / "run", tmp_path / "here")


@pytest.mark.slow
def test_a_node_with_other_software_is_refused_by_name(nodes: Nodes, tmp_path: Path) -> None:
    if find_library() is None:
        pytest.skip("there are no compiled kernels here that a node could lack")
    nodes.start()
    nodes.start(LITMUS_NATIVE="0")
    (tmp_path / "out").mkdir()
    with ray_executor(tmp_path / "out", None, nodes.address) as executor:
        assert executor.places == 1
        (words,) = executor.tell_news()
        assert "is not used" in words
        assert "compiled kernels none and not there" in words
        assert executor.tell_news() == []
    with pytest.raises(BadInput, match="nodes of the Ray cluster differ"):
        train_tiny(tmp_path / "run", collector="ray", ray_address=nodes.address)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "cannot reach Ray at 127.0.0.1:1"),
        ("here", "--ray-address takes HOST:PORT"),
        ("127.0.0.1:99999", "--ray-address takes HOST:PORT"),
        ("no.such.host.invalid:6379", "cannot reach Ray at no.such.host.invalid:6379"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_one_line(
    address: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = ["--ray-address", address]
    before = sorted(tmp_path.rglob("*"))
    assert main(["experiment", "weighting", "--executor", "ray", *cluster]) == 2
    assert_one_line(capsys.readouterr().err, words)
    train = ["train", "pssvf", "--task", SLOW, "--collector", "ray", *cluster]
    assert main(train) == 2
    assert_one_line(capsys.readouterr().err, words)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "cannot reach Ray at 127.0.0.1:1"),
        ("here", "RAY_ADDRESS takes HOST:PORT"),
    ],
)
def test_the_cluster_that_the_environment_names_is_tried_first(
    address: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert main(["experiment", "weighting", "--executor", "ray"]) == 2
    assert_one_line(capsys.readouterr().err, words)


def test_a_web_server_is_not_taken_for_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"
    try:
        assert main(["experiment", "weighting", "--executor", "ray", "--ray-address", address]) == 2
    finally:
        server.shutdown()
        server.server_close()
    last = capsys.readouterr().err.splitlines()[-1]  # before it, what the server says itself
    assert_one_line(last, f"cannot reach Ray at {address}: what answers there is no Ray")


def test_a_port_that_never_answers_is_not_taken_for_a_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "SECONDS_TO_REACH", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["experiment", "weighting", "--executor", "ray", "--ray-address", address]) == 2
    assert_one_line(capsys.readouterr().err, f"cannot reach Ray at {address}: timed out")


def test_an_address_without_a_cluster_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "pssvf", "--task", SLOW, "--ray-address", "127.0.0.1:1"]) == 2
    assert_one_line(capsys.readouterr().err, "--ray-address is for --collector ray")


def test_software_is_compared_by_what_decides_the_bits() -> None:
    here = describe_software()
    assert find_differences(here, dict(here)) == ""
    assert find_differences(here, {**here, "torch": "1.0"}).startswith("torch 1.0 and not")
    assert find_differences(here, {**here, "litmus": "0"}) == "another litmus"
    assert here["litmus"] == digest_source()
