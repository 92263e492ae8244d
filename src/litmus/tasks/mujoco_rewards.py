"""What MuJoCo environments pay, computed once per episode from what was recorded in it.

Each formula has the environment's own order of operations, and where numpy rounds a number alone
otherwise than in an array, it takes numbers alone: rewards are the environment's, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.tasks.loop_numbers import Floats
from litmus.tasks.loops import Pays


@dataclass(frozen=True)
class Ran:
    """An episode of T steps."""

    actions: NDArray[np.float32]  # [T, A]
    records: Floats  # [T + 1, R]: before the first step, and after each
    fell: bool
    """Whether the last step is not paid for as one of a body that stands."""


def pay(kind: Pays, bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    """Rewards [T], and the survival bonuses in them: [T], or none at all.

    `bare`: the environment, for its weights.
    """
    return _FORMULAS[kind](bare, ran)


def _pay_speed(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    forward, costs = _find_speed(bare, ran.records[:, 0]), _find_effort(bare, ran.actions)
    if not hasattr(bare, "_healthy_reward"):
        return forward - costs, np.zeros(0)
    bonuses = _find_bonuses(bare._healthy_reward, ran)
    return forward + bonuses - costs, bonuses


def _pay_torso_speed(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    bonuses = _find_bonuses(bare._healthy_reward, ran)
    rewards = _find_speed(bare, ran.records[:, 0]) + bonuses
    forces = np.clip(ran.records[1:, 1:], *bare._contact_force_range)
    contact = bare._contact_cost_weight * np.square(forces).sum(axis=1)
    return rewards - (_find_effort(bare, ran.actions) + contact), bonuses


def _pay_mass_speed(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    mass = bare.model.body_mass
    places = ran.records[:, : 3 * len(mass)].reshape(len(ran.records), -1, 3)
    total = mass.sum()
    x = np.array([(np.einsum("b,bj->j", mass, place) / total)[0] for place in places])
    bonuses = _find_bonuses(bare._healthy_reward, ran)
    rewards = _find_speed(bare, x) + bonuses
    contact = np.square(ran.records[1:, 3 * len(mass) :]).sum(axis=1)
    contact = np.clip(bare._contact_cost_weight * contact, *bare._contact_cost_range)
    controls = ran.actions.astype(np.float64)
    return rewards - (_find_effort(bare, controls) + contact), bonuses


def _pay_standing(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    bonuses = _find_bonuses(1.0, ran)
    return bonuses, bonuses


def _pay_upright_tip(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    x, _, y, lower, upper = ran.records[1:].T
    # A power of one number is rounded otherwise than that of an array.
    away = 0.01 * _square_each(x) + _square_each(y - 2)
    speeds = 1e-3 * _square_each(lower) + 5e-3 * _square_each(upper)
    bonuses = _find_bonuses(bare._healthy_reward, ran)
    return bonuses - away - speeds, bonuses


def _pay_reaching(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    far = -_measure_each(ran.records[1:]) * bare._reward_dist_weight
    effort = -np.square(ran.actions).sum(axis=1) * bare._reward_control_weight
    return far + effort, np.zeros(0)


def _pay_pushing(bare: Any, ran: Ran) -> tuple[Floats, Floats]:
    near = -_measure_each(ran.records[1:, :3]) * bare._reward_near_weight
    far = -_measure_each(ran.records[1:, 3:]) * bare._reward_dist_weight
    effort = -np.square(ran.actions).sum(axis=1) * bare._reward_control_weight
    return far + effort + near, np.zeros(0)


_FORMULAS: dict[Pays, Callable[[Any, Ran], tuple[Floats, Floats]]] = {
    "speed": _pay_speed,
    "torso's speed": _pay_torso_speed,
    "mass's speed": _pay_mass_speed,
    "standing": _pay_standing,
    "upright tip": _pay_upright_tip,
    "reaching": _pay_reaching,
    "pushing": _pay_pushing,
}


def _find_speed(bare: Any, x: Floats) -> Floats:
    speed: Floats = bare._forward_reward_weight * ((x[1:] - x[:-1]) / bare.dt)
    return speed


def _find_effort(bare: Any, actions: NDArray[Any]) -> NDArray[Any]:
    effort: NDArray[Any] = bare._ctrl_cost_weight * np.square(actions).sum(axis=1)
    return effort


def _find_bonuses(bonus: float, ran: Ran) -> Floats:
    bonuses = np.full(len(ran.actions), float(bonus))
    if ran.fell:
        bonuses[-1] = 0.0
    return bonuses


def _square_each(numbers: Floats) -> Floats:
    return np.array([number**2 for number in numbers])


def _measure_each(vectors: Floats) -> Floats:
    """The length of each, as `np.linalg.norm` measures one."""
    return np.sqrt([vector.dot(vector) for vector in vectors])
