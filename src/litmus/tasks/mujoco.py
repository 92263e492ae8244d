"""All that litmus knows of each of Gymnasium's MuJoCo bodies: one record per body.

Nothing is imported for it, MuJoCo least of all. What is done with the facts is elsewhere:
`names.py` (components), `coordinates.py` (an observation back into the simulator),
`lean_mujoco.py` (fast episodes), `presets.py` and the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from litmus.tasks.components import Components
from litmus.tasks.loops import UNLIMITED, Bound, Loop, Part


@dataclass(frozen=True)
class View:
    """Where the camera stands; it follows the body, so that nothing runs out of the picture."""

    distance: float
    height: float
    elevation: float
    azimuth: float = 90.0
    follows: bool = True


@dataclass(frozen=True, kw_only=True)
class Body:
    """One MuJoCo body. Observations are positions, velocities and forces, in this order."""

    left_out: tuple[str, ...] = ()
    """Leading positions that the observation leaves out unless it is asked for them."""
    positions: tuple[str, ...] = ()
    velocities: tuple[str, ...] = ()
    forces: tuple[str, tuple[int, ...]] = ("", (0,))
    """What they are called, and how many a version may have."""
    actions: tuple[str, ...] = ()

    quaternion_at: int | None = None
    """Where an orientation begins among the simulator's positions."""
    has_sines: bool = False
    """The first position is observed as it is, the others as their sines, then their cosines."""
    lowest_tip: float | None = None
    """The environment ends an episode where the first site is not above this, in metres."""

    survival_bonus_removed: str = ""
    """Why 'auto' removes the survival bonus; empty where it stays."""
    loop: Loop | None = None
    """How its episodes can be run without Gymnasium in between; None: not at all."""
    view: View | None = None
    """None: its states are not drawn."""

    paper: Mapping[str, float] = field(default_factory=dict)
    """Where the paper's configuration for this body differs from the one for the others."""
    ars: tuple[int, int, float] = (8, 4, 0.05)
    """Directions, top directions and noise of ARS: the best of the paper's grid."""

    @property
    def components(self) -> Components:
        states = self.positions + self.velocities
        return Components(states, self.actions, self.left_out, *self.forces)


def _in_radians(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} (rad)" for name in names)


def _per_second(names: tuple[str, ...], linear: str = "") -> tuple[str, ...]:
    """Velocities: first the linear ones, one for each letter, then one for each angle."""
    speeds = tuple(f"{axis} speed (m/s)" for axis in linear)
    return speeds + tuple(f"{name} speed (rad/s)" for name in names)


def _torques(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} torque" for name in names)


_SWIMMER = ("front angle", "first joint", "second joint")
_HOPPER = ("torso angle", "thigh", "leg", "foot")
_WALKER = ("torso angle", *(f"{s} {part}" for s in ("right", "left") for part in _HOPPER[1:]))
_CHEETAH = (
    "torso angle",
    *(f"{end} {part}" for end in ("back", "front") for part in ("thigh", "shin", "foot")),
)
_ANT = tuple(
    f"{end} {side} {joint}"
    for end in ("front", "back")
    for side in ("left", "right")
    for joint in ("hip", "ankle")
)

_X, _VELOCITY = Part("qpos", 0, 1), Part("qvel")
_CLIPPED_VELOCITY = Part("qvel", within=(-10.0, 10.0))
_IS_FINITE = (Bound("qpos", within=UNLIMITED), Bound("qvel", within=UNLIMITED))
_POSTURE = (
    Bound("qpos", 1, 2, within="_healthy_z_range"),
    Bound("qpos", 2, 3, within="_healthy_angle_range"),
)
_SEES_FORCES = "_include_cfrc_ext_in_observation"

BODIES: dict[str, Body] = {
    "Swimmer": Body(
        left_out=("x (m)", "y (m)"),
        positions=_in_radians(_SWIMMER),
        velocities=_per_second(_SWIMMER, "xy"),
        actions=_torques(_SWIMMER[1:]),
        loop=Loop("swimmer_v{}:SwimmerEnv", (Part("qpos", 2), _VELOCITY), "speed", (_X,)),
        view=View(3.6, 0.0, -62.0),
    ),
    "Hopper": Body(
        left_out=("x (m)",),
        positions=("height (m)", *_in_radians(_HOPPER)),
        velocities=_per_second(_HOPPER, "xz"),
        actions=_torques(_HOPPER[1:]),
        survival_bonus_removed="as in the paper",
        loop=Loop(
            "hopper_v{}:HopperEnv",
            (Part("qpos", 1), _CLIPPED_VELOCITY),
            "speed",
            (_X,),
            (
                *_POSTURE,
                Bound("qpos", 2, within="_healthy_state_range"),
                Bound("qvel", within="_healthy_state_range"),
            ),
            v4_pays_when_fallen=True,
        ),
        view=View(2.7, 0.72, -8.0),
    ),
    "Walker2d": Body(
        left_out=("x (m)",),
        positions=("height (m)", *_in_radians(_WALKER)),
        velocities=_per_second(_WALKER, "xz"),
        actions=_torques(_WALKER[1:]),
        survival_bonus_removed="as in the paper",
        loop=Loop(
            "walker2d_v{}:Walker2dEnv",
            (Part("qpos", 1), _CLIPPED_VELOCITY),
            "speed",
            (_X,),
            _POSTURE,
            v4_pays_when_fallen=True,
        ),
        view=View(3.0, 0.75, -8.0),
        ars=(8, 8, 0.05),
    ),
    "HalfCheetah": Body(
        left_out=("x (m)",),
        positions=("height (m)", *_in_radians(_CHEETAH)),
        velocities=_per_second(_CHEETAH, "xz"),
        actions=_torques(_CHEETAH[1:]),
        loop=Loop("half_cheetah_v{}:HalfCheetahEnv", (Part("qpos", 1), _VELOCITY), "speed", (_X,)),
        view=View(2.9, 0.35, -10.0),
    ),
    "Ant": Body(
        left_out=("x (m)", "y (m)"),
        positions=(
            "height (m)",
            *(f"orientation {axis}" for axis in "wxyz"),
            *_in_radians(_ANT),
        ),
        velocities=(
            *_per_second((), "xyz"),
            *(f"{axis} turning (rad/s)" for axis in "xyz"),
            *_per_second(_ANT),
        ),
        forces=("contact force", (0, 78, 84)),
        actions=_torques((*_ANT[6:], *_ANT[:6])),  # the motors start with the back right leg
        quaternion_at=3,
        survival_bonus_removed="as in the paper",
        loop=Loop(
            "ant_v{}:AntEnv",
            (
                Part("qpos", 2),
                _VELOCITY,
                # Row 0 of the forces is the world's.
                Part("cfrc_ext", 6, within="_contact_force_range", if_asked=_SEES_FORCES),
            ),
            "torso's speed",
            (Part("xpos", 0, 1, of="_main_body"), Part("cfrc_ext")),
            (Bound("qpos", 2, 3, within="_healthy_z_range", is_closed=True), *_IS_FINITE),
            versions=(5,),
        ),
        view=View(4.0, 0.3, -28.0, 115.0),
        paper={"noise": 0.01},  # 'we use less noise'; the value is not stated, this one works
        ars=(32, 16, 0.01),
    ),
    "Humanoid": Body(
        survival_bonus_removed="as in ARS (Mania et al. 2018)",
        loop=Loop(
            "humanoid_v{}:HumanoidEnv",
            (
                Part("qpos", 2),
                _VELOCITY,
                Part("cinert", 10, if_asked="_include_cinert_in_observation"),
                Part("cvel", 6, if_asked="_include_cvel_in_observation"),
                Part("qfrc_actuator", 6, if_asked="_include_qfrc_actuator_in_observation"),
                Part("cfrc_ext", 6, if_asked=_SEES_FORCES),
            ),
            "mass's speed",
            (Part("xipos"), Part("cfrc_ext")),
            (Bound("qpos", 2, 3, within="_healthy_z_range"),),
            versions=(5,),
        ),
    ),
    "InvertedDoublePendulum": Body(
        positions=(
            "cart (m)",
            "sin lower angle",
            "sin upper angle",
            "cos lower angle",
            "cos upper angle",
        ),
        velocities=("cart speed (m/s)", "lower speed (rad/s)", "upper speed (rad/s)"),
        forces=("constraint force", (1, 3)),
        actions=("force on the cart",),
        has_sines=True,
        lowest_tip=1.0,
        # It reports a survival bonus too, but that *is* the goal: 'auto' keeps it.
        loop=Loop(
            "inverted_double_pendulum_v{}:InvertedDoublePendulumEnv",
            (
                Part("qpos", 0, 1),
                Part("qpos", 1, bend="sin"),
                Part("qpos", 1, bend="cos"),
                _CLIPPED_VELOCITY,
                Part("qfrc_constraint", 0, 1, within=(-10.0, 10.0)),
            ),
            "upright tip",
            (Part("site_xpos", 0, 3), Part("qvel", 1, 3)),
            (Bound("site_xpos", 2, 3, within=(1.0, math.inf)),),
            versions=(5,),
        ),
        view=View(3.5, 0.3, -5.0, follows=False),
        paper={"steps": 300_000},
        ars=(8, 8, 0.025),
    ),
    "InvertedPendulum": Body(
        positions=("cart (m)", "pole (rad)"),
        velocities=("cart speed (m/s)", "pole speed (rad/s)"),
        actions=("force on the cart",),
        loop=Loop(
            "inverted_pendulum_v{}:InvertedPendulumEnv",
            (Part("qpos"), _VELOCITY),
            "standing",
            (),
            (Bound("qpos", 1, 2, within=(-0.2, 0.2), is_closed=True), *_IS_FINITE),
            versions=(5,),
        ),
    ),
    "Reacher": Body(
        loop=Loop(
            "reacher_v{}:ReacherEnv",
            (
                Part("qpos", 0, 2, bend="cos"),
                Part("qpos", 0, 2, bend="sin"),
                Part("qpos", 2),
                Part("qvel", 0, 2),
                Part("xpos", 0, 2, of="fingertip", minus="target"),
            ),
            "reaching",
            (Part("xpos", of="fingertip", minus="target"),),
            versions=(5,),
        ),
    ),
    "Pusher": Body(
        loop=Loop(
            "pusher_v{}:PusherEnv",
            (
                Part("qpos", 0, 7),
                Part("qvel", 0, 7),
                *(Part("xpos", of=name) for name in ("tips_arm", "object", "goal")),
            ),
            "pushing",
            (Part("xpos", of="object", minus="tips_arm"), Part("xpos", of="object", minus="goal")),
            versions=(5,),
        ),
    ),
}
