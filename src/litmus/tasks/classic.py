"""What is known of Gymnasium's classic control tasks."""

from __future__ import annotations

from litmus.tasks.components import Components

_CAR = ("position", "speed")

CLASSIC: dict[str, Components] = {
    "CartPole": Components(
        ("cart (m)", "cart speed (m/s)", "pole (rad)", "pole speed (rad/s)"),
        ("push left", "push right"),
    ),
    "Pendulum": Components(("cos angle", "sin angle", "speed (rad/s)"), ("torque",)),
    "Acrobot": Components(
        (
            "cos first angle",
            "sin first angle",
            "cos second angle",
            "sin second angle",
            "first speed (rad/s)",
            "second speed (rad/s)",
        ),
        ("torque −1", "no torque", "torque +1"),
    ),
    "MountainCar": Components(_CAR, ("left", "none", "right")),
    "MountainCarContinuous": Components(_CAR, ("force",)),
}
