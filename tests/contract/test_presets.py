"""Every preset makes an algorithm that can be built, on every kind of task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from litmus.algorithms import ALGORITHMS
from litmus.algorithms.base import Resources
from litmus.cli import main
from litmus.config import OF_STEPS
from litmus.errors import spell_option
from litmus.presets import PRESETS
from litmus.rollouts.base import Setting
from litmus.rollouts.serial import SerialCollector
from litmus.tasks import make_task_spec
from litmus.tasks.names import base_name
from litmus.training.api import make_config
from litmus.training.setup import design_policy

TASKS = [
    "Swimmer-v5",
    "Ant-v5",
    "InvertedDoublePendulum-v4",
    "CartPole-v1",
    "toys:ToyMatrixWalk-v0",
]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_preset_can_be_built(algorithm: str, preset: str, task: str) -> None:
    if (algorithm, task) == ("ddpg", "CartPole-v1"):
        pytest.skip("it has discrete actions")
    config = make_config(algorithm, {"task": task}, preset)
    spec = make_task_spec(task)
    architecture = design_policy(config, spec)
    collector = SerialCollector(Setting(spec, architecture, config.seed))
    device = torch.device("cpu")
    built = ALGORITHMS[algorithm].load()(
        Resources(config, spec, architecture, collector, device, cores=1, folder=Path())
    )
    assert built.flat_params.shape == (architecture.num_params,)
    collector.close()


def test_the_papers_preset_is_the_papers_schedule() -> None:
    """Faccio et al. 2022: one episode, then five updates of each kind; 200 states; 256 × 256."""
    config = make_config("pssvf", {"task": "Swimmer-v5"}, "paper")
    assert (config.round_size, config.overlap) == (1, False)
    assert (config.policy_updates, config.evaluator_updates, config.batch_size) == (5, 5, 16)
    assert (config.policy_lr, config.evaluator_lr, config.noise) == (2e-6, 5e-3, 0.05)
    assert config.architecture_options == {"hidden": (256, 256), "activation": "tanh"}
    assert config.evaluator_options == {
        "evaluator_hidden": (256, 256),
        "probing_states": 200,
        "probing_low": 0.0,
        "probing_high": 1.0,
        "probing_lr": 0.0,
        "probing_settled": 0.0,
        "probing_averaged": 0.0,
        "probing_average_until": 1.0,
        "probing_decay": 0.0,
        "probing_smoothing": 0,
        "probing_bounds": (),
        "probing_temperature": 1.0,
        "evaluator_activation": "relu",
        "evaluator_unit_actions": False,
    }
    assert (config.buffer_size, config.recency) == (10_000, 1.1)
    assert (config.steps, config.evaluate_every, config.evaluate_episodes) == (
        3_000_000,
        10_000,
        10,
    )


def test_the_paper_says_otherwise_for_two_bodies() -> None:
    ant = make_config("pssvf", {"task": "Ant-v5"}, "paper")
    pendulum = make_config("pssvf", {"task": "InvertedDoublePendulum-v4"}, "paper")
    assert (ant.noise, ant.steps) == (0.01, 3_000_000)
    assert (pendulum.noise, pendulum.steps) == (0.05, 300_000)


def test_the_papers_ddpg_is_spinning_ups() -> None:
    """Faccio et al. 2022, appendix 'RL Implementation': 50 updates of each kind per 50 steps."""
    config = make_config("ddpg", {"task": "Ant-v5"}, "paper")
    assert config.architecture_options == {"hidden": (256, 256), "activation": "relu"}
    assert (config.critic_hidden, config.batch_size) == ((256, 256), 128)
    assert (config.policy_lr, config.critic_lr, config.noise) == (1e-3, 1e-3, 0.1)
    assert (config.update_every, config.updates, config.buffer_size) == (50, 50, 100_000)
    assert (config.start_steps, config.update_after) == (10_000, 1_000)
    assert (config.discount, config.polyak) == (0.99, 0.995)
    assert (config.normalize_observations, config.survival_bonus) == (False, "keep")
    assert config.steps == 3_000_000


@pytest.mark.parametrize("task", TASKS)
def test_the_default_is_the_same_for_every_task(task: str) -> None:
    def describe(task: str) -> dict[str, Any]:
        return {**make_config("pssvf", {"task": task}).to_dict(), "task": ""}

    assert describe(task) == describe("Swimmer-v5")


DEVIATIONS = Path(__file__).parents[2] / "docs/deviations.md"


def test_the_docs_say_what_the_default_changes() -> None:
    """Option, paper's value, our value: every difference, and no other."""
    paper, ours = (
        make_config("pssvf", {"task": "Swimmer-v5"}, name).to_dict()
        for name in ("paper", "default")
    )
    rows = re.findall(
        r"^\| `--([a-z-]+)` \| (.*?) \| (.*?) \|", DEVIATIONS.read_text(), re.MULTILINE
    )
    expected = {
        (name.replace("_", "-"), show(paper[name]), show(ours[name]))
        for name in paper.keys() & ours.keys()
        if paper[name] != ours[name]
    }
    assert {row for row in rows if row[1] != row[2]} == expected
    assert all(show(ours[row[0].replace("-", "_")]) == row[2] for row in rows)


def show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def test_who_gives_a_learning_rate_goes_without_the_step_of_the_preset() -> None:
    task = {"task": "Swimmer-v5"}
    assert make_config("pssvf", task, "network").policy_step > 0
    assert make_config("pssvf", {**task, "policy_lr": 1e-4}, "network").policy_step == 0
    both = {**task, "policy_lr": 1e-4, "policy_step": 2.0}
    assert make_config("pssvf", both, "network").policy_step == 2


def test_who_chooses_another_evaluator_gets_values_that_fit_it() -> None:
    chosen = make_config("pssvf", {"task": "Swimmer-v5", "evaluator": "fingerprint"})
    assert chosen == make_config("pssvf", {"task": "Swimmer-v5"}, "network")
    assert chosen.evaluator != make_config("pssvf", {"task": "Swimmer-v5"}).evaluator


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("Hopper-v5", "Hopper"),
        ("my_package:Hopper-v0", "Hopper"),
        ("my_package:space/Hopper-v12", "space/Hopper"),
        ("target", "target"),
        ("my_package:Hopper", "my_package:Hopper"),  # a class of one's own is no MuJoCo body
    ],
)
def test_a_preset_knows_a_task_by_its_base_name(task: str, name: str) -> None:
    assert base_name(task) == name


def test_help_leaves_out_what_the_preset_would_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for preset in ("default", "network"):
        with pytest.raises(SystemExit):
            main(["train", "pssvf", "--preset", preset, "--help"])
        shown.append(capsys.readouterr().out)
    assert "--noise-change" in shown[0]
    assert "--noise-change" not in shown[1]
    for name in map(spell_option, OF_STEPS):
        assert name not in re.split(r"[\s,]+", shown[0])
        assert name in re.split(r"[\s,]+", shown[1])
