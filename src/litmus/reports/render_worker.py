"""The process that renders: `python -m litmus.reports.render_worker JOB_DIRECTORY`.

A process of its own, because the GL library is chosen by an environment variable before MuJoCo is
imported, and because a broken driver may end the process that asks it. It reads `job.json` and
`arrays.npz`, writes `result.json` and the pictures. Torch is not imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from litmus.policies.architecture import architecture_from_json
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.coordinates import Coordinates, ImpossibleState, find_coordinates
from litmus.tasks.gymnasium_registry import make_environment
from litmus.tasks.mujoco import Body, View
from litmus.tasks.names import find_body

GL_WORKS = "gl-works"
"""This file says that the library is fine: if something fails after it, that is something else."""

Picture = NDArray[np.uint8]

WIDTH, HEIGHT = 280, 210
FRAMES = 20
SECONDS = 1.6
STRIP_FRAMES = 6
QUALITY = 72
SKY = (238, 240, 243)
FLOOR = (0.92, 0.92, 0.92, 1.0)
ROLLS = ("nothing", "first", "policy")
DEEPEST_CONTACT = 0.1  # metres: more is not a touch, but a body inside the floor


class Stage:
    """An environment that can be put into any state, and a camera."""

    def __init__(self, task: str, policy: ActingPolicy, env_kwargs: dict[str, Any]) -> None:
        body = find_body(task)
        assert body is not None
        assert body.view is not None
        self.body: Body = body
        self.view: View = body.view
        environment: Any = make_environment(task, env_kwargs=env_kwargs).unwrapped
        environment.reset(seed=0)
        self.environment = environment
        self.policy = policy
        self.model, self.data = environment.model, environment.data
        soften_scenery(self.model)
        self.has_sky = SKYBOX in self.model.tex_type
        self.renderer = mujoco.Renderer(self.model, HEIGHT, WIDTH)
        self.camera = mujoco.MjvCamera()
        self.steps_per_frame = max(1, round(SECONDS / FRAMES / float(environment.dt)))

    @property
    def milliseconds_per_frame(self) -> int:
        step = float(self.environment.dt)
        return round(1000 * self.steps_per_frame * step)

    def place(self, coordinates: Coordinates) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.environment.set_state(coordinates.qpos, coordinates.qvel)

    def find_problem(self) -> str | None:
        """Why the environment would not be in the state it was just put into."""
        depth = -min((contact.dist for contact in self.data.contact), default=0.0)
        if depth > DEEPEST_CONTACT:
            return f"a body is {depth:.2f} m inside the floor or another body"
        if not getattr(self.environment, "is_healthy", True):
            return "the environment ends an episode here (it calls the state unhealthy)"
        if self.body.lowest_tip is not None:
            tip = float(self.data.site_xpos[0][2])
            if tip <= self.body.lowest_tip:
                return f"the environment ends an episode here (the tip is at {tip:.2f} m)"
        return None

    def take_picture(self) -> Picture:
        self.camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        x, y, z = self.data.subtree_com[1] if self.view.follows else (0.0, 0.0, 0.0)
        # A body in the air is followed upwards; below, the floor stays where it is.
        self.camera.lookat[:] = x, y, max(self.view.height, z - 0.1)
        self.camera.distance = self.view.distance
        self.camera.elevation, self.camera.azimuth = self.view.elevation, self.view.azimuth
        self.renderer.update_scene(self.data, self.camera)
        # What takes most of a software renderer's time and shows least.
        for flag in (mujoco.mjtRndFlag.mjRND_REFLECTION, mujoco.mjtRndFlag.mjRND_HAZE):
            self.renderer.scene.flags[flag] = 0
        picture = np.array(self.renderer.render())
        if not self.has_sky:
            picture[(picture == 0).all(axis=2)] = SKY
        return picture

    def roll(self, start: Coordinates, kind: str) -> tuple[list[Picture], bool]:
        """Pictures of what follows from `start`, and whether the simulation stayed finite."""
        self.place(start)
        nothing = np.zeros(self.environment.action_space.shape, dtype=np.float32)
        observation = self.environment._get_obs()
        pictures = [self.take_picture()]
        is_first = True
        while len(pictures) < FRAMES:
            for _ in range(self.steps_per_frame):
                acts = kind == "policy" or (kind == "first" and is_first)
                action = self.policy.act(observation) if acts else nothing
                is_first = False
                observation = self.environment.step(action)[0]
                if not np.isfinite(observation).all() or self.data.warning[BAD_QACC].number:
                    return pictures, False
            pictures.append(self.take_picture())
        return pictures, True


SKYBOX = int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)
BAD_QACC = int(mujoco.mjtWarning.mjWARN_BADQACC)


def soften_scenery(model: Any) -> None:
    """Pale floor and sky: the body is what to look at, and calm pictures are small files."""
    for texture in range(model.ntex):
        start, size = model.tex_adr[texture], model.tex_height[texture] * model.tex_width[texture]
        channels = model.tex_nchannel[texture]
        pixels = model.tex_data[start : start + size * channels].reshape(-1, channels)
        if model.tex_type[texture] == SKYBOX:
            pixels[:, :3] = SKY
        elif model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D:
            shade = pixels[:, :3].mean(axis=1, keepdims=True) / 255
            pixels[:, :3] = np.round(np.array([206, 210, 216]) + shade * [24, 23, 21])
    is_floor = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    materials = model.geom_matid[is_floor]
    model.geom_rgba[is_floor] = FLOOR
    model.mat_rgba[materials[materials >= 0]] = FLOOR
    model.mat_reflectance[:] = model.mat_specular[:] = 0
    if not model.nlight:
        model.vis.headlight.ambient[:] = 0.45
        model.vis.headlight.diffuse[:] = 0.55
    model.vis.quality.shadowsize = 0
    model.vis.quality.offsamples = 4


def render_state(
    stage: Stage, state: NDArray[np.float64], nearest: NDArray[np.float64] | None, stem: Path
) -> dict[str, Any]:
    """Pictures of one probing state; of the nearest visited state too, where there is a problem."""
    start: Coordinates | None = None
    try:
        start = find_coordinates(stage.body, state)
        stage.place(start)
        problem = stage.find_problem()
    except ImpossibleState as error:
        problem = str(error)
    result: dict[str, Any] = {"can_be_set": start is not None, "rolls": {}}
    if start is None and nearest is not None:
        start = find_coordinates(stage.body, nearest)
    if start is not None:
        for kind in ROLLS:
            pictures, stayed_finite = stage.roll(start, kind)
            if not stayed_finite and problem is None:
                problem = "the simulation diverges from here"
            name = f"{stem.name}-{kind}"
            write_animation(stem.with_name(f"{name}.webp"), pictures, stage.milliseconds_per_frame)
            write_strip(stem.with_name(f"{name}-strip.webp"), pictures)
            write_still(stem.with_name(f"{name}-still.webp"), pictures[0])
            result["rolls"][kind] = name
    result["problem"] = problem
    if problem is not None and nearest is not None:
        stage.place(find_coordinates(stage.body, nearest))
        write_still(stem.with_name(f"{stem.name}-nearest.webp"), stage.take_picture())
        result["nearest"] = f"{stem.name}-nearest"
    return result


def write_animation(path: Path, pictures: list[Picture], milliseconds: int) -> None:
    first, *others = [Image.fromarray(picture) for picture in pictures]
    durations = [milliseconds] * len(pictures)
    durations[-1] += 700  # a pause before it starts again
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        quality=QUALITY,
        method=2,
    )


def write_strip(path: Path, pictures: list[Picture]) -> None:
    """A few stills side by side, in the order of time."""
    chosen = np.linspace(0, len(pictures) - 1, min(STRIP_FRAMES, len(pictures))).round().astype(int)
    stills = [Image.fromarray(pictures[i]).resize((WIDTH // 2, HEIGHT // 2)) for i in chosen]
    strip = Image.new("RGB", (len(stills) * WIDTH // 2, HEIGHT // 2))
    for place, still in enumerate(stills):
        strip.paste(still, (place * WIDTH // 2, 0))
    strip.save(path, quality=QUALITY, method=4)


def write_still(path: Path, picture: Picture) -> None:
    Image.fromarray(picture).save(path, quality=QUALITY, method=4)


def main() -> None:
    directory = Path(sys.argv[1])
    job = json.loads((directory / "job.json").read_text())
    arrays = np.load(directory / "arrays.npz", allow_pickle=False)
    policy = ActingPolicy(
        architecture_from_json(job["architecture"]),
        arrays["flat_params"],
        Normalizer(arrays["mean"], arrays["std"]),
        np.random.default_rng(0),
    )
    stage = Stage(job["task"], policy, job["env_kwargs"])
    (directory / GL_WORKS).touch()
    nearest = arrays["nearest"] if "nearest" in arrays.files else None
    results = [
        render_state(
            stage, state, None if nearest is None else nearest[number], directory / str(number)
        )
        for number, state in enumerate(arrays["states"])
    ]
    (directory / "result.json").write_text(
        json.dumps({"states": results, "milliseconds": stage.milliseconds_per_frame * FRAMES})
    )


if __name__ == "__main__":
    main()
