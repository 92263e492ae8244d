"""Algorithm 1: what an update touches and what it leaves alone."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from litmus.algorithms import ALGORITHMS, read_config, rounds
from litmus.algorithms.base import Resources
from litmus.algorithms.beginnings import FINAL_EPISODES, FINALISTS
from litmus.algorithms.lengths import Lengths
from litmus.errors import RunFailed
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Setting
from litmus.rollouts.serial import SerialCollector
from litmus.runs.checkpoint import split_tree
from litmus.tasks import make_task_spec
from litmus.tasks.base import TaskSpec

TARGET = TaskSpec("toys:TargetTask")
IMAGES = make_task_spec("litmus.experiments.toys:ImageGrid", {})
NAMES = ["pssvf", "vanilla-pssvf"]


def make(name: str, spec: TaskSpec = TARGET, **options):
    task = spec.build()
    architecture = MlpArchitecture(
        task.state_shape, ActionHead.for_task("auto", task.actions), hidden=(4,)
    )
    values = {"task": "target", "round_size": 2, "steps": 1000}
    if options.get("evaluator") != "gaussian-process":
        values["evaluator_hidden"] = [16]
    config = read_config(name, {**values, **options})
    collector = SerialCollector(Setting(spec, architecture, config.seed))
    device = torch.device("cpu")
    return ALGORITHMS[name].load()(
        Resources(config, spec, architecture, collector, device, cores=1, folder=Path())
    )


def copy_parameters(evaluator) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in evaluator.parameters()]


def test_rounds_grow_where_episodes_are_short() -> None:
    """An episode of the target task is one step."""
    algorithm = make("pssvf", round_size=2, round_steps=5, max_round_size=4)
    sizes = [algorithm.iterate().episodes for _ in range(3)]
    assert sizes == [2, 4, 4]
    assert make("pssvf", round_size=2, round_steps=3).iterate().episodes == 2


def test_noise_that_cannot_change_as_much_as_it_should_does_not_grow_without_end() -> None:
    process = {"evaluator": "gaussian-process", "policy_step": 0.1}
    algorithm = make("pssvf", noise=0.1, noise_change=10.0, **process)
    for _ in range(40):
        algorithm.iterate()
    assert 50 < algorithm.plan.noise <= 100


@pytest.mark.parametrize("noise", [1e-4, 30.0])
def test_noise_follows_what_it_changes(noise: float) -> None:
    """Wherever it began; where it shall fall, what it changes falls."""
    process = {"evaluator": "gaussian-process", "policy_step": 0.1, "round_size": 64}
    for decay in (0.0, 5.0):
        algorithm = make("pssvf", noise=noise, noise_change=0.2, noise_decay=decay, **process)
        found = []
        for number in range(40):
            algorithm.iterate()
            found.append(algorithm.learning.noise_change * math.sqrt(1 + number / (decay or 1e9)))
        assert np.mean(found[20:]) == pytest.approx(0.2, rel=0.1)
        following = algorithm.plan.noise
        assert algorithm.iterate().metrics["noise"] == following
    constant = make("pssvf", noise=noise, **process)
    assert "noise" not in constant.iterate().metrics
    assert constant.plan.noise == noise


@pytest.mark.parametrize("evaluator", ["fingerprint", "gaussian-process"])
def test_noise_falls_to_its_last_share_by_the_end_of_the_run(
    evaluator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before three tenths of it, nor in runs that are short; an episode of the target task is
    one step."""
    options = {"evaluator": evaluator, "policy_step": 0.1, "round_size": 10, "overlap": False}
    for least_steps in (20, 100):
        monkeypatch.setattr(rounds, "LEAST_STEPS", least_steps)
        algorithm = make("pssvf", noise=0.1, final_noise=0.25, steps=100, **options)
        found = [algorithm.iterate().metrics["noise"] for _ in range(12)]  # it goes on beyond 100
        if least_steps == 100:
            assert found == [0.1] * 12
            continue
        assert found[:4] == [0.1] * 4
        assert found[8] == pytest.approx(0.1 * 0.25 ** (5 / 7))
        assert found[10:] == pytest.approx([0.025] * 2)


def test_the_policys_step_is_in_units_of_the_noise_and_falls() -> None:
    """Whatever the number of updates, parameters or policies in a round."""
    for options in ({}, {"policy_updates": 3}, {"round_turns": 7}, {"round_size": 5}):
        algorithm = make("pssvf", policy_step=2.0, policy_step_decay=1.0, noise=0.03, **options)
        turns = options.get("round_turns") or algorithm.config.round_size
        for number in range(3):
            algorithm.iterate()
            (group,) = algorithm.learning.theta_optimizer.param_groups
            moved = group["lr"] * turns * algorithm.config.policy_updates
            length = moved * np.sqrt(algorithm.theta.numel())
            assert 0.8 * length == pytest.approx(2.0 * 0.03 / np.sqrt(1 + number))


def test_an_average_of_theta_is_handed_over_while_rounds_perturb_the_newest() -> None:
    algorithm = make("pssvf", policy_average=2.0, policy_step=2.0, overlap=False)
    thetas = []
    for _ in range(4):
        algorithm.iterate()
        thetas.append(algorithm.theta.detach().double().numpy().copy())
        assert np.array_equal(algorithm.plan.flat_params, algorithm.theta.detach().numpy())
    # The weights that the recursion gives: products of rising factorials, about n².
    weights = np.array([(n + 1) * (n + 2) for n in range(4)], dtype=float)
    expected = np.average(thetas, axis=0, weights=weights)
    np.testing.assert_allclose(algorithm.flat_params, expected, rtol=1e-5, atol=1e-7)
    algorithm.go_back(center := algorithm.center)
    assert np.array_equal(algorithm.theta.detach().numpy(), center["theta"].numpy())


def test_going_back_restores_theta_and_normaliser_and_makes_smaller_steps() -> None:
    algorithm = make("pssvf", policy_step=2.0, overlap=False)
    algorithm.iterate()
    center, theta = algorithm.center, algorithm.flat_params
    normalizer, following = algorithm.normalizer, algorithm.plan
    (group,) = algorithm.learning.theta_optimizer.param_groups
    rate = group["lr"]
    algorithm.iterate()
    assert not np.array_equal(algorithm.flat_params, theta)
    algorithm.go_back(center)
    assert np.array_equal(algorithm.flat_params, theta)
    assert np.array_equal(algorithm.normalizer.mean, normalizer.mean)
    assert np.array_equal(algorithm.plan.flat_params, following.flat_params)
    assert algorithm.plan.number == following.number + 1
    algorithm.iterate()
    assert group["lr"] < rate


def test_how_long_episodes_must_be_is_not_asked_anew_for_another_theta() -> None:
    algorithm = make("pssvf", evaluator="gaussian-process", policy_step=1.0, overlap=False)
    algorithm.iterate()
    lengths, center = algorithm.learning.lengths, algorithm.center
    lengths.cut, lengths.whole_steps = 256, 16_000
    algorithm.go_back(center)
    assert algorithm.plan.most_steps == 256


@pytest.mark.parametrize("evaluator", ["fingerprint", "gaussian-process"])
@pytest.mark.parametrize("overlap", [False, True])
def test_learning_begins_with_the_best_policy_near_several_untrained_ones(
    evaluator: str, overlap: bool
) -> None:
    """Untrained policies are perturbed in turn, finalists run as they are, then θ begins to move,
    with steps as at first."""
    process = {"evaluator": evaluator, "policy_step": 2.0, "policy_step_decay": 1.0}
    options = {**process, "overlap": overlap, "policy_average": 2.0, "round_size": 5}
    algorithm, plans = make("pssvf", beginnings=3, **options), []
    alone = make("pssvf", **options)
    while algorithm.is_beginning:
        plans.append(algorithm.plan)
        measured = algorithm.iterate()
        assert measured.metrics == {}  # nothing was learned
        assert np.array_equal(algorithm.theta.detach().numpy(), algorithm.flat_params)
    untrained, finals = plans[:3], plans[3:]
    assert [(plan.size, plan.noise) for plan in untrained] == [(5, algorithm.config.noise)] * 3
    assert [(plan.size, plan.noise) for plan in finals] == [(FINAL_EPISODES, 0.0)] * FINALISTS
    assert np.array_equal(untrained[0].flat_params, alone.plan.flat_params)
    before, met = ({plan.flat_params.tobytes() for plan in some} for some in (untrained, finals))
    assert (len(before), len(met), len(before & met)) == (3, FINALISTS, 1)
    assert algorithm.flat_params.tobytes() in met
    assert [plan.number for plan in plans] == list(range(3 + FINALISTS))
    assert (algorithm.plan.number, algorithm.plan.size) == (len(plans), 5)
    assert algorithm.plan.noise > 0
    pace, first = algorithm._find_pace(len(plans)), alone._find_pace(0)
    assert pace.policy_step == first.policy_step
    begun = algorithm.flat_params
    assert algorithm.iterate().metrics
    assert not np.array_equal(algorithm.flat_params, begun)


def test_where_parts_of_episodes_are_enough_only_finalists_run_whole_ones() -> None:
    options = {"evaluator": "gaussian-process", "policy_step": 1.0, "overlap": False}
    algorithm = make("pssvf", beginnings=3, round_size=5, **options)
    algorithm.iterate()
    lengths = algorithm.learning.lengths
    lengths.cut, lengths.whole_steps = 256, 16_000
    algorithm.iterate()
    assert algorithm.beginnings.is_looking
    assert algorithm.plan.most_steps == 256
    algorithm.plan = replace(algorithm.plan, most_steps=None)  # a step is all that there is
    algorithm.iterate()
    assert not algorithm.beginnings.is_looking
    assert algorithm.plan.most_steps is None


def test_beginnings_are_compared_by_what_cut_episodes_would_have_earned(monkeypatch) -> None:
    options = {"evaluator": "gaussian-process", "policy_step": 1.0, "overlap": False}
    algorithm = make("pssvf", beginnings=2, round_size=5, **options)
    monkeypatch.setattr(Lengths, "find_returns", lambda *_: np.arange(5.0))
    algorithm.iterate()
    assert algorithm.beginnings.earned.tolist() == [4.0, 3.0, 2.0, 1.0, 2.0]


def test_observations_are_normalised_by_what_the_first_round_and_learning_saw() -> None:
    """Where other untrained policies lead tells nothing of what the task is like."""
    algorithm, seen = make("pssvf", beginnings=3, round_size=5, overlap=False), []
    while algorithm.is_beginning:
        algorithm.iterate()
        seen.append(algorithm.running_normalizer.count)
    assert seen == [5, 5, *(5 + FINAL_EPISODES * met for met in range(FINALISTS + 1))]


def test_no_finalist_decides_alone_how_observations_are_normalised() -> None:
    """Whoever stays for long would: all others would see the world as it does."""
    task = make_task_spec("Pendulum-v1")  # 200 steps per episode
    options = {"steps": 100_000, "round_size": 2, "overlap": False}
    algorithm, seen = make("pssvf", task, beginnings=2, **options), []
    while algorithm.is_beginning:
        algorithm.iterate()
        seen.append(algorithm.running_normalizer.count)
    assert FINAL_EPISODES > 2
    assert seen == [400, *(400 * (1 + met) for met in range(FINALISTS + 1))]


def test_the_first_round_is_learned_from_where_there_is_no_room_for_another_beginning() -> None:
    options = {"steps": 10, "round_size": 2, "overlap": False}  # an episode is one step
    short, alone = make("pssvf", beginnings=9, **options), make("pssvf", **options)
    assert short.iterate().metrics == alone.iterate().metrics != {}
    assert np.array_equal(short.flat_params, alone.flat_params)


def test_probing_states_settle_sooner_than_the_rest_of_the_evaluator() -> None:
    algorithm = make("pssvf", probing_lr=1e-2, evaluator_lr=1e-3, probing_settled=0.5)
    steps = algorithm.config.steps
    states, rates = algorithm.evaluator.probing_states, []
    while algorithm.steps < 0.5 * steps:
        algorithm.iterate()
        lrs = [one["lr"] for one in algorithm.learning.evaluator_optimizer.param_groups]
        rates.append((algorithm.steps, *lrs))
    assert [of_states for _, of_states, _ in rates] == pytest.approx(
        [1e-2 * (1 + math.cos(math.pi * min(1, 2 * at / steps))) / 2 for at, _, _ in rates]
    )
    assert {other for _, _, other in rates} == {1e-3}
    assert rates[-1][1] == 0
    settled, head = states.detach().clone(), list(algorithm.evaluator.parameters())[-1]
    before = head.detach().clone()
    algorithm.iterate()
    assert torch.equal(states, settled)
    assert not torch.equal(head, before)


def test_probing_states_fade_where_nothing_speaks_for_them() -> None:
    sizes = []
    for decay in (0.0, 1.0):
        algorithm = make("pssvf", probing_decay=decay, probing_lr=1e-2, evaluator_lr=1e-6)
        for _ in range(20):
            algorithm.iterate()
        sizes.append(float(algorithm.evaluator.probing_states.detach().abs().mean()))
    assert sizes[1] < 0.5 * sizes[0]


@pytest.mark.parametrize("smoothing", [0, 2])
def test_probing_states_stay_within_bounds_that_are_in_the_environments_units(
    smoothing: int,
) -> None:
    options = {"probing_lr": 0.1, "probing_smoothing": smoothing}
    bounded = make("pssvf", IMAGES, probing_bounds=(0.1, 0.6), **options)
    free = make("pssvf", IMAGES, **options)
    for _ in range(5):
        bounded.iterate()
        free.iterate()
    seen = bounded.evaluator.probing_observations
    assert float(seen.min()) == pytest.approx(0.1, abs=1e-5)
    assert float(seen.max()) == pytest.approx(0.6, abs=1e-5)
    assert float(free.evaluator.probing_observations.min()) < 0


def test_neighbouring_pixels_of_a_smooth_probing_image_are_and_learn_alike() -> None:
    roughness = []
    for smoothing in (0, 3):
        algorithm = make("pssvf", IMAGES, probing_smoothing=smoothing)
        before = algorithm.evaluator.probing_states.detach().clone()
        algorithm.iterate()
        moved = algorithm.evaluator.probing_states.detach() - before
        assert moved.abs().max() > 0
        roughness.append([measure_roughness(before), measure_roughness(moved)])
    (start, steps), (smooth_start, smooth_steps) = roughness
    assert smooth_start < 0.5 * start
    assert smooth_steps < 0.5 * steps


def measure_roughness(images: Tensor) -> float:
    """How much neighbours differ, in units of how much pixels do."""
    return float(images.diff(dim=-1).std() / images.std())


FROZEN = 1e-30
"""A learning rate so small that no float changes."""


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_evaluator_stays_frozen_while_the_policy_is_updated(name: str) -> None:
    algorithm = make(name, evaluator_lr=FROZEN)
    before, theta = copy_parameters(algorithm.evaluator), algorithm.flat_params
    algorithm.iterate()
    assert not np.array_equal(algorithm.flat_params, theta)
    for old, new in zip(before, algorithm.evaluator.parameters(), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("name", NAMES)
def test_the_policy_stays_while_the_evaluator_is_updated(name: str) -> None:
    algorithm = make(name, policy_updates=0)
    before, theta = copy_parameters(algorithm.evaluator), algorithm.flat_params
    algorithm.iterate()
    assert np.array_equal(algorithm.flat_params, theta)
    for old, new in zip(before, algorithm.evaluator.parameters(), strict=True):
        assert not torch.equal(old, new)  # the probing states among them


@pytest.mark.parametrize("name", NAMES)
def test_policy_updates_climb_the_evaluator(name: str) -> None:
    algorithm = make(name, evaluator_lr=FROZEN, policy_lr=1e-4)

    def value_now() -> float:
        theta = torch.from_numpy(algorithm.flat_params)
        population = FlatPopulation(algorithm.architecture, theta[None])
        return algorithm.evaluator.value(population).item()

    values = [value_now()]
    for _ in range(5):
        algorithm.iterate()
        values.append(value_now())
    assert values == sorted(values)
    assert values[-1] > values[0]


@pytest.mark.parametrize("overlap", [True, False])
def test_with_overlap_theta_lags_by_exactly_one_round(overlap: bool) -> None:
    algorithm = make("pssvf", overlap=overlap)
    learned = [algorithm.flat_params]
    collected = []
    for _ in range(4):
        collected.append(algorithm.iterate().round.flat_params.copy())
        learned.append(algorithm.flat_params)
    lag = 1 if overlap else 0
    for number, theta in enumerate(collected):
        assert np.array_equal(theta, learned[max(0, number - lag)])


def test_episodes_are_numbered_without_gaps() -> None:
    algorithm = make("pssvf", round_size=3)
    rounds = [algorithm.iterate().round for _ in range(3)]
    assert [r.number for r in rounds] == [0, 1, 2]
    assert [r.first_episode for r in rounds] == [0, 3, 6]


def test_a_state_that_is_loaded_goes_on_as_the_one_that_was_saved() -> None:
    first, second = make("pssvf", buffer_size=3), make("pssvf", buffer_size=3)
    history = [first.iterate().round for _ in range(4)]
    saved = copy.deepcopy(first.state_dict())
    second.evaluator.load_state_dict(copy.deepcopy(first.evaluator.state_dict()))
    second.load_state_dict(saved, history)
    for _ in range(3):
        one, other = first.iterate(), second.iterate()
        assert one.metrics == other.metrics
        assert np.array_equal(one.round.flat_params, other.round.flat_params)
    one, other = (split_tree(each.state_dict()) for each in (first, second))
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()
    for name, tensor in one[1].items():
        assert torch.equal(tensor, other[1][name]), name


def test_learning_that_diverges_stops_with_one_line() -> None:
    algorithm = make("pssvf")
    algorithm.iterate()
    with torch.no_grad():
        algorithm.evaluator.head[-1].weight.fill_(float("inf"))
    with pytest.raises(RunFailed, match="diverged") as caught:
        algorithm.iterate()
    assert "\n" not in str(caught.value)
