"""What the components of well-known tasks' states and actions are called, with their units."""

from __future__ import annotations

from litmus.presets import base_name

_SWIMMER = ["front angle", "first joint", "second joint"]
_HOPPER = ["height", "torso angle", "thigh", "leg", "foot"]
_WALKER = [
    "height",
    "torso angle",
    "right thigh",
    "right leg",
    "right foot",
    "left thigh",
    "left leg",
    "left foot",
]
_CHEETAH = [
    "height",
    "torso angle",
    "back thigh",
    "back shin",
    "back foot",
    "front thigh",
    "front shin",
    "front foot",
]
_ANT_JOINTS = [
    "front left hip",
    "front left ankle",
    "front right hip",
    "front right ankle",
    "back left hip",
    "back left ankle",
    "back right hip",
    "back right ankle",
]


def _angles(names: list[str]) -> list[str]:
    return [f"{name} (m)" if name == "height" else f"{name} (rad)" for name in names]


def _speeds(names: list[str], *linear: str) -> list[str]:
    """Velocities: first the linear ones, then one for each angle."""
    angular = [f"{name} speed (rad/s)" for name in names if name != "height"]
    return [f"{name} (m/s)" for name in linear] + angular


_STATES: dict[str, list[str]] = {
    "Swimmer": [*_angles(_SWIMMER), *_speeds(_SWIMMER, "x speed", "y speed")],
    "Hopper": [*_angles(_HOPPER), *_speeds(_HOPPER, "x speed", "z speed")],
    "Walker2d": [*_angles(_WALKER), *_speeds(_WALKER, "x speed", "z speed")],
    "HalfCheetah": [*_angles(_CHEETAH), *_speeds(_CHEETAH, "x speed", "z speed")],
    "Ant": [
        "height (m)",
        *(f"orientation {axis}" for axis in "wxyz"),
        *_angles(_ANT_JOINTS),
        *(f"{axis} speed (m/s)" for axis in "xyz"),
        *(f"{axis} turning (rad/s)" for axis in "xyz"),
        *_speeds(_ANT_JOINTS),
    ],
    "InvertedDoublePendulum": [
        "cart (m)",
        "sin lower angle",
        "sin upper angle",
        "cos lower angle",
        "cos upper angle",
        "cart speed (m/s)",
        "lower speed (rad/s)",
        "upper speed (rad/s)",
    ],
    "InvertedPendulum": ["cart (m)", "pole (rad)", "cart speed (m/s)", "pole speed (rad/s)"],
    "CartPole": ["cart (m)", "cart speed (m/s)", "pole (rad)", "pole speed (rad/s)"],
    "Pendulum": ["cos angle", "sin angle", "speed (rad/s)"],
    "Acrobot": [
        "cos first angle",
        "sin first angle",
        "cos second angle",
        "sin second angle",
        "first speed (rad/s)",
        "second speed (rad/s)",
    ],
    "MountainCar": ["position", "speed"],
    "MountainCarContinuous": ["position", "speed"],
}

_FORCES = {"Ant": "contact force", "InvertedDoublePendulum": "constraint force"}
"""What follows the named components, as many as the version has."""

_ACTIONS: dict[str, list[str]] = {
    "Swimmer": ["first joint torque", "second joint torque"],
    "Hopper": ["thigh torque", "leg torque", "foot torque"],
    "Walker2d": [f"{name} torque" for name in _WALKER[2:]],
    "HalfCheetah": [f"{name} torque" for name in _CHEETAH[2:]],
    # The ant's motors start with the back right leg.
    "Ant": [f"{name} torque" for name in (*_ANT_JOINTS[6:], *_ANT_JOINTS[:6])],
    "InvertedDoublePendulum": ["force on the cart"],
    "InvertedPendulum": ["force on the cart"],
    "CartPole": ["push left", "push right"],
    "Pendulum": ["torque"],
    "Acrobot": ["torque −1", "no torque", "torque +1"],
    "MountainCar": ["left", "none", "right"],
    "MountainCarContinuous": ["force"],
}


def name_state_components(task: str, count: int) -> list[str]:
    """One name a component; those without one are numbered."""
    known = _STATES.get(base_name(task), [])[:count]
    rest = _FORCES.get(base_name(task))
    if rest is not None:
        known = known + [f"{rest} {i}" for i in range(count - len(known))]
    return known + [f"component {i}" for i in range(len(known), count)]


def name_action_components(task: str, count: int, distribution: str) -> list[str]:
    known = _ACTIONS.get(base_name(task), [])
    if distribution == "gaussian":
        half = count // 2
        means = known if len(known) == half else [f"action {i}" for i in range(half)]
        return [f"{name}, mean" for name in means] + [f"{name}, log σ" for name in means]
    if len(known) == count:
        suffix = ", probability" if distribution == "categorical" else ""
        return [name + suffix for name in known]
    what = "choice" if distribution == "categorical" else "action"
    return [f"{what} {i}" for i in range(count)]
