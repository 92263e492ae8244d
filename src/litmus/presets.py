"""Named configurations. Each value carries its source; a preset may depend on the task.

Precedence: a field's default < preset < configuration file < option on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from litmus.config import SOLVED_FOR
from litmus.errors import BadInput, suggest
from litmus.tasks.known_images import IMAGE_SETS
from litmus.tasks.mujoco import Body
from litmus.tasks.names import find_body

Values = dict[str, Any]

GIVES_WAY = {"policy_step": "policy_lr"}
"""What a preset says of the first is not meant for those who say the second themselves."""


@dataclass(frozen=True)
class Preset:
    summary: str
    values: Callable[[str, str], Values]
    """From (algorithm, task) to configuration values."""
    without_process: str | None = None
    """Which preset has the values for those who choose another evaluator than this one's."""


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise BadInput(f"unknown preset '{name}'{suggest(name, PRESETS)}")
    return PRESETS[name]


def _paper(algorithm: str, task: str) -> Values:
    """Faccio et al. 2022, appendix 'RL Implementation', and the text where it says otherwise."""
    if task in IMAGE_SETS:
        return _paper_images()
    values: Values = {
        "steps": 3_000_000,
        "hidden": (256, 256),
        "activation": "tanh",
        "evaluator_hidden": (256, 256),
        "evaluator_activation": "relu",
        "batch_size": 16,
        "policy_lr": 2e-6,
        "evaluator_lr": 5e-3,
        "noise": 0.05,
        "policy_updates": 5,
        "evaluator_updates": 5,
        "buffer_size": 10_000,
        "recency": 1.1,
        "normalize_observations": True,
        "survival_bonus": "auto",
        "round_size": 1,  # 'every episode'
        "overlap": False,  # Algorithm 1 is sequential
        "evaluate_every": 10_000,  # appendix 'Main experiments on MuJoCo'
        "evaluate_episodes": 10,
    }
    body = find_body(task)
    if body is not None:
        values |= body.paper
    if algorithm == "ars":
        directions, top_directions, noise = (body or Body).ars
        values |= {"directions": directions, "top_directions": top_directions, "noise": noise}
        values["step_size"] = 0.01  # the best for every task
    if algorithm == "ddpg":
        values |= _paper_ddpg()
    if algorithm == "pssvf":
        values |= {"probing_states": 200, "probing_low": 0.0, "probing_high": 1.0}
        values["evaluator_unit_actions"] = False
    if algorithm == "vanilla-pssvf":
        # Appendix 'Comparison to vanilla PSSVF': 64×64 policies and no weighted sampling; the
        # learning rate and noise are those that fingerprinting gets in the same comparison.
        values |= {"hidden": (64, 64), "recency": 0.0, "policy_lr": 1e-4, "noise": 0.1}
    return values


def _paper_ddpg() -> Values:
    """The same appendix; what it leaves open is Spinning Up's, which it used."""
    return {
        "activation": "relu",
        "critic_hidden": (256, 256),
        "batch_size": 128,
        "policy_lr": 1e-3,
        "critic_lr": 1e-3,
        "noise": 0.1,
        "buffer_size": 100_000,
        "discount": 0.99,
        "polyak": 0.995,
        "start_steps": 10_000,
        "update_after": 1_000,
        "update_every": 50,
        "updates": 50,
        "normalize_observations": False,
        "survival_bonus": "keep",
    }


def _paper_images() -> Values:
    """Faccio et al. 2022, appendix 'MNIST Implementation'."""
    return {
        "steps": 100_000,  # interactions: the length of its curves
        "architecture": "cnn",
        "channels": (4, 8),
        "kernel_size": 3,
        "convolution_scale": 1.0,
        "paired_filters": False,
        "env_kwargs": {"images_per_episode": 1024},
        "shared_start": False,
        "round_size": 1,
        "overlap": False,
        "noise": 0.05,
        "evaluator_hidden": (64, 64),
        "evaluator_activation": "relu",
        "probing_states": 10,  # and 50
        "probing_low": -0.5,
        "probing_high": 0.5,
        "policy_lr": 1e-6,
        "evaluator_lr": 1e-3,
        "policy_updates": 1,
        "evaluator_updates": 5,
        "batches": "mixed",
        "batch_size": 4,
        "buffer_size": 1000,
        "recency": 0.8,
        "standardize_returns": False,
        "evaluate_every": 2500,
        "evaluate_episodes": 10,
        "history_rounds": 1000,  # all of them would be 20 GB
    }


def _tuned_images() -> Values:
    """What lifts the paper's values: docs/mnist.md tells what each change is worth."""
    return _paper_images() | {
        # The returns of a round differ by the policies alone, not by the images, and the evaluator
        # learns from these differences.
        "round_size": 32,
        "shared_start": True,
        "batches": "rounds",
        "batch_size": 32,
        "buffer_size": 1024,
        "standardize_returns": True,
        # Noise in the convolutions hides what the linear layer does.
        "noise": 0.02,
        "convolution_scale": 0.1,
        # Of filters drawn alone, some networks see next to nothing.
        "paired_filters": True,
        "probing_lr": 1e-2,
        # Digits that can be read, found sooner.
        "probing_smoothing": 2,
        # One turn of updates per round.
        "round_turns": 1,
        "evaluator_updates": 20,
        "policy_updates": 8,
        "evaluator_lr": 3e-3,
        # Steps that fall, and an average: late steps undo what was found.
        "policy_step": 2.8,
        "policy_step_decay": 20.0,
        "policy_average": 3.0,
        "recency_unit": "round",
        "history_rounds": 64,
    }


def _quick_images() -> Values:
    """Minutes on two cores: fewer images and interactions."""
    return _tuned_images() | {
        "steps": 6_000,
        "env_kwargs": {"images_per_episode": 256},
        "round_size": 16,
        "batch_size": 16,
        "evaluator_updates": 16,
        "policy_updates": 16,
        "policy_step": 2.0,
        "policy_step_decay": 0.0,
        "policy_average": 0.0,
        "evaluate_every": 600,
        "evaluate_episodes": 4,
    }


def _rounds(algorithm: str, task: str) -> Values:
    """The paper's networks and updates, collected in parallel."""
    return _paper(algorithm, task) | {
        # Sixteen perturbations of one θ, then 16 × (5 + 5) updates: as many updates per episode,
        # and final returns in the paper's range (docs/results.md).
        "round_size": 16,
        "overlap": True,
    }


def _default(algorithm: str, task: str) -> Values:
    """What learns on tasks that nobody tuned for: docs/presets.md tells each rule and its why."""
    if task in IMAGE_SETS:
        return _tuned_images()
    values = _rounds(algorithm, task)
    if algorithm != "pssvf":
        return values
    return values | {
        "steps": 1_000_000,
        "hidden": (64, 64),
        # The noise follows what it changes: a quarter of half the range of each action.
        "noise": 0.1,
        "noise_change": 0.25,
        # Much noise finds a way to walk, little of it makes the best of that way.
        "final_noise": 0.15,
        # Where rewards come steadily, the beginning of an episode tells enough.
        "cut_steadiness": 0.6,
        "beginnings": 16,
        # Who stands by doing nothing has something to lose.
        "survival_bonus": "idle",
        "overlap": False,
        # V is solved for: no learning rates, and it finds out itself how much is luck.
        "evaluator": SOLVED_FOR,
        "remembered_policies": 256,
        # As normalised observations are: around 0, with a standard deviation of 1.
        "probing_states": 200,
        "probing_low": -1.7,
        "probing_high": 1.7,
        # As far as the noise, in what the policy does.
        "policy_step": 1.0,
        "policy_step_decay": 40.0,
        "selection_share": 0.1,
    }


def _network(algorithm: str, task: str) -> Values:
    """The default's rules for an evaluator that is a network and learns its probing states."""
    values = _default(algorithm, task)
    if task in IMAGE_SETS or algorithm != "pssvf":
        return values
    for one in ("remembered_policies", "noise_change", "final_noise", "cut_steadiness"):
        del values[one]
    return values | {
        "evaluator": "fingerprint",
        # As good as many of them, for a V that learns in steps.
        "beginnings": 1,
        "evaluator_updates": 5,
        "policy_updates": 1,
        "buffer_size": 2000,
        # Returns and actions without their units, and steps that follow from the noise.
        "standardize_returns": True,
        "evaluator_unit_actions": True,
        "evaluator_hidden": (128, 128),
        "evaluator_activation": "tanh",
        "evaluator_lr": 1e-3,
        "policy_step": 4.0,
        "policy_step_decay": 20.0,
    }


def _small(algorithm: str, task: str) -> Values:
    """For low-dimensional tasks and quick looks: minutes on a laptop."""
    if task in IMAGE_SETS:
        return _quick_images()
    values: Values = {
        "steps": 200_000,
        "hidden": (64, 64),  # the paper's comparison with vanilla PSSVF:
        "policy_lr": 1e-4,  # policy size, learning rate
        "noise": 0.1,  # and noise are from there
        "evaluator_hidden": (64, 64),  # the paper's MNIST evaluator
        "evaluator_lr": 1e-3,  # as well
        "round_size": 8,
        "evaluate_every": 5_000,
        "evaluate_episodes": 10,
    }
    if algorithm == "pssvf":
        values["probing_states"] = 50  # the paper: enough for every task it tried
    if algorithm == "ddpg":
        sizes: Values = {"hidden": (64, 64), "critic_hidden": (64, 64), "start_steps": 1_000}
        values |= _paper_ddpg() | sizes
    return values


PRESETS: dict[str, Preset] = {
    "default": Preset(
        "V solved for, the best measured policy: learns fast, on most tasks", _default, "network"
    ),
    "network": Preset(
        "the default with a network for V, which learns its probing states", _network
    ),
    "paper": Preset("the paper's schedule to the letter: one episode per round", _paper),
    "small": Preset("small networks and larger steps, for quick looks", _small),
    "tuned": Preset(
        "what works best on sets of images; another name of default", _default, "network"
    ),
    "quick": Preset("a few minutes on two cores, on sets of images; elsewhere as small", _small),
}


def preset_values(name: str, algorithm: str, task: str, given: Values | None = None) -> Values:
    """The preset's values for this algorithm and task; some belong to what it does not choose.

    `given`: options that the user gives.
    """
    given, preset = given or {}, find_preset(name)
    values = preset.values(algorithm, task)
    if given.get("evaluator", values.get("evaluator")) != values.get("evaluator"):
        values = PRESETS[preset.without_process or name].values(algorithm, task)
    if values.get("evaluator") == SOLVED_FOR:
        return values
    return {one: value for one, value in values.items() if GIVES_WAY.get(one) not in given}
