"""Action heads: what a network's outputs mean in a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from toys import Walk

from litmus.errors import BadInput
from litmus.policies.actions import ActionHead, actions_from_json, actions_to_json
from litmus.policies.networks import Squash
from litmus.tasks.base import ContinuousActions, DiscreteActions
from litmus.tasks.control import ControlTask

BOUNDED = ContinuousActions((-2.0, 0.0), (4.0, 1.0))
outputs = st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=2)


@given(outputs)
def test_bounded_actions_stay_within_their_bounds(values: list[float]) -> None:
    head = ActionHead("deterministic", BOUNDED)
    action = head.squash(np.array(values, np.float32))
    assert (action >= np.array(BOUNDED.low)).all()
    assert (action <= np.array(BOUNDED.high)).all()


@given(outputs)
def test_unbounded_actions_are_the_outputs(values: list[float]) -> None:
    head = ActionHead("deterministic", ContinuousActions((-np.inf,) * 2, (np.inf,) * 2))
    given_outputs = np.array(values, np.float32)
    assert np.array_equal(head.squash(given_outputs.copy()), given_outputs)


@given(outputs)
def test_class_probabilities_are_positive_and_sum_to_one(values: list[float]) -> None:
    probabilities = ActionHead("categorical", DiscreteActions(2)).squash(np.array(values, "f4"))
    assert (probabilities >= 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)


def test_outputs_of_zero_are_the_middle_of_the_range() -> None:
    action = ActionHead("deterministic", BOUNDED).squash(np.zeros(2, np.float32))
    assert action.tolist() == [1.0, 0.5]


def test_choices_follow_their_probabilities() -> None:
    head = ActionHead("categorical", DiscreteActions(3))
    generator = np.random.default_rng(0)
    probabilities = np.array([0.2, 0.5, 0.3], np.float32)
    drawn = np.bincount([head.choose(probabilities, generator) for _ in range(6000)], minlength=3)
    chi_square = np.sum((drawn - 6000 * probabilities) ** 2 / (6000 * probabilities))
    assert chi_square < 13.8  # the 99.9 % point of two degrees of freedom


def test_gaussian_actions_have_the_mean_and_spread_they_say_relative_to_the_range() -> None:
    wide = ContinuousActions((-100.0,), (100.0,))
    head = ActionHead("gaussian", wide)
    generator = np.random.default_rng(0)
    parameters = np.array([5.0, -3.0], np.float32)  # mean, log-std
    drawn = [float(head.choose(parameters, generator)[0]) for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(5.0, abs=0.15)
    assert np.std(drawn) == pytest.approx(np.exp(-3.0) * 100, rel=0.03)


def test_gaussian_actions_are_clipped_to_the_bounds() -> None:
    head = ActionHead("gaussian", BOUNDED)
    generator = np.random.default_rng(0)
    drawn = np.array([head.choose(np.array([4, 1, 0, 0], "f4"), generator) for _ in range(200)])
    assert (drawn <= np.array(BOUNDED.high)).all()
    assert (drawn.max(axis=0) == np.array(BOUNDED.high)).all()


@pytest.mark.parametrize(
    ("distribution", "actions", "fitting"),
    [
        ("gaussian", DiscreteActions(2), "categorical"),
        ("deterministic", DiscreteActions(2), "categorical"),
        ("categorical", BOUNDED, "use distribution=.deterministic. or distribution=.gaussian."),
    ],
)
def test_a_distribution_that_does_not_fit_the_task_is_bad_input(
    distribution, actions, fitting: str
) -> None:
    with pytest.raises(BadInput, match=fitting):
        ActionHead.for_task(distribution, actions)


@pytest.mark.parametrize(
    "actions",
    [
        BOUNDED,
        DiscreteActions(4),
        DiscreteActions(4, start=-2),
        ContinuousActions((-1.0,) * 4, (1.0,) * 4, (2, 2), "float64"),
        ContinuousActions((-1.0,), (1.0,), ()),
        ContinuousActions((-np.inf, 0.0), (np.inf, np.inf)),
    ],
)
def test_actions_survive_json(actions) -> None:
    import json

    text = json.dumps(actions_to_json(actions), allow_nan=False)
    assert actions_from_json(json.loads(text)) == actions


ends = st.floats(-1e6, 1e6) | st.floats(-1, 1)


@given(ends, ends, st.lists(st.floats(-1e4, 1e4, width=32), min_size=3, max_size=3))
def test_no_action_leaves_the_only_bound_nor_any_of_two(
    one: float, other: float, values: list[float]
) -> None:
    """Bounds in float64, which float32 rounds: inwards."""
    low, high = sorted((one, other))
    actions = ContinuousActions((low, -np.inf, low), (np.inf, high, high))
    head = ActionHead("deterministic", actions)
    outputs = np.array(values, np.float32)
    in_torch = Squash(head)(torch.from_numpy(outputs.copy())).double().numpy()
    for found in (head.squash(outputs.copy()).astype(np.float64), in_torch):
        assert found[0] >= low
        assert found[1] <= high
        if np.nextafter(np.float32(low), np.float32(np.inf)) < high:  # a float32 lies between
            assert low <= found[2] <= high


def test_one_bound_leaves_the_other_side_open() -> None:
    head = ActionHead("deterministic", ContinuousActions((2.0, -np.inf), (np.inf, 2.0)))
    large = head.squash(np.array([[100, -100], [-100, 100]], np.float32))
    np.testing.assert_allclose(large, [[102, -98], [2, 2]])


SPACES = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=5),
    spaces.Discrete(2, start=-1),
    spaces.Box(-1, 1, (2,)),
    spaces.Box(-2, 2, (2, 3)),
    spaces.Box(-1, 1, ()),
    spaces.Box(0.1, 0.7, (2,), np.float64),
    spaces.Box(-1, 1, (2,), np.float16),
    spaces.Box(0, np.inf, (2,)),
    spaces.Box(np.array([-np.inf, 0.3]), np.array([-0.1, 0.9]), dtype=np.float64),
]


class Space(Walk):
    def __init__(self, space: spaces.Space[Any]) -> None:
        super().__init__()
        self.action_space = space


@pytest.mark.parametrize("kind", ["auto", "gaussian"])
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("size", [0.1, 1e3])
def test_an_action_is_what_step_takes(space: Any, kind: Any, size: float) -> None:
    if isinstance(space, spaces.Discrete) and kind == "gaussian":
        kind = "categorical"
    head = ActionHead.for_task(kind, ControlTask(Space(space), "own").actions)
    head = ActionHead(head.distribution, actions_from_json(actions_to_json(head.actions)))
    generator = np.random.default_rng(0)
    for _ in range(50):
        parameters = head.squash(size * generator.normal(size=head.size).astype(np.float32))
        for action in (head.choose(parameters, generator), head.choose_likeliest(parameters)):
            assert space.contains(action), action
            assert type(action) is int or action.dtype == space.dtype


def test_what_policies_can_differ_by_does_not_depend_on_how_many_choices_there_are() -> None:
    """Nor on actions that have only one value."""
    for count in (2, 4):
        assert ActionHead.for_task("auto", DiscreteActions(count)).most_alike == 1
    assert ActionHead.for_task("auto", DiscreteActions(100)).most_alike == pytest.approx(0.2)
    mixed = ContinuousActions((-1.0, 0.5, 0.5, 0.5), (1.0, 0.5, 0.5, 0.5))
    assert ActionHead.for_task("auto", mixed).most_alike == pytest.approx(0.5)
    plain = ContinuousActions((-1.0, 0.0), (1.0, np.inf))
    assert ActionHead.for_task("auto", plain).most_alike == 1


def test_the_likeliest_action() -> None:
    choices = ActionHead("categorical", DiscreteActions(3, start=5))
    assert choices.choose_likeliest(np.array([0.2, 0.5, 0.3], np.float32)) == 6
    gaussian = ActionHead("gaussian", ContinuousActions((-1.0,) * 4, (1.0,) * 4, (2, 2)))
    parameters = np.arange(8, dtype=np.float32)
    assert gaussian.choose_likeliest(parameters).tolist() == [[0, 1], [2, 3]]


def test_descriptions_from_before_actions_had_shapes_can_be_read() -> None:
    assert actions_from_json({"count": 3}) == DiscreteActions(3)
    assert actions_from_json({"low": [None], "high": [1]}) == ContinuousActions((-np.inf,), (1.0,))
