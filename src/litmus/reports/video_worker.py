"""The process that draws an episode: `python -m litmus.reports.video_worker JOB_DIRECTORY`.

It reads `job.json` and `arrays.npz`, writes the video and `result.json`, or `problem.txt`. Torch is
not imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, one_line
from litmus.policies.architecture import architecture_from_json
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import ActingPolicy, draw_episode
from litmus.seeding import Stream
from litmus.tasks.base import FloatArray, TaskSpec
from litmus.tasks.control import ControlTask

MOST_FRAMES_PER_SECOND = 25
MOST_FRAMES = 750
WIDEST = 480
QUALITY = 75

Picture = NDArray[np.uint8]


class Camera:
    """A policy that has its picture taken before it acts."""

    def __init__(self, environment: Any, policy: ActingPolicy) -> None:
        self.environment, self.policy = environment, policy
        rate = float(environment.metadata.get("render_fps") or 30)
        self.every = max(1, round(rate / MOST_FRAMES_PER_SECOND))
        self.frames_per_second = rate / self.every
        self.pictures: list[Picture] = []
        self.steps = 0

    def act(self, observation: FloatArray) -> Any:
        if self.steps % self.every == 0:
            self.take_picture()
        self.steps += 1
        return self.policy.act(observation)

    def take_picture(self) -> None:
        picture = self.environment.render()
        if not isinstance(picture, np.ndarray) or picture.ndim != 3:
            raise BadInput("the environment draws no pictures (render_mode 'rgb_array')")
        self.pictures.append(picture.astype(np.uint8, copy=True))


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    try:
        draw(folder, job)
    except BadInput as error:
        (folder / "is-final").touch()  # another GL library would not help
        (folder / "problem.txt").write_text(error.message)
        sys.exit(1)
    except Exception as error:
        (folder / "problem.txt").write_text(one_line(error))
        sys.exit(1)


def draw(folder: Path, job: dict[str, Any]) -> None:
    arrays = np.load(folder / "arrays.npz", allow_pickle=False)
    arguments = dict(job["arguments"])
    if "env_kwargs" not in arguments:
        raise BadInput("the task is no Gymnasium environment: it draws no pictures")
    arguments["env_kwargs"] = {**arguments["env_kwargs"], "render_mode": "rgb_array"}
    task = TaskSpec(job["task"], arguments).build()
    if not isinstance(task, ControlTask):
        raise BadInput("the task is no Gymnasium environment: it draws no pictures")
    normalizer = Normalizer(arrays["mean"], arrays["std"])
    setting = Setting(
        TaskSpec(job["task"], arguments), architecture_from_json(job["architecture"]), job["seed"]
    )
    request = Request(arrays["flat_params"], normalizer, 0.0, Stream.MEASUREMENT, (0,))
    drawn = draw_episode(setting, request, 0)
    policy = ActingPolicy(setting.architecture, drawn.flat_params, normalizer, drawn.generator)
    camera, return_, is_whole = Camera(task.environment, policy), 0.0, True
    for step in task.step_through(camera.act, drawn.seed):
        return_ += step.reward
        if len(camera.pictures) == MOST_FRAMES:
            is_whole = False
            break
    camera.take_picture()
    write_video(folder / f"video{job['suffix']}", camera.pictures, camera.frames_per_second)
    seconds = len(camera.pictures) / camera.frames_per_second
    told = {"seconds": seconds, "return": return_, "is_whole": is_whole}
    (folder / "result.json").write_text(json.dumps(told))


def write_video(path: Path, pictures: list[Picture], frames_per_second: float) -> None:
    if path.suffix == ".mp4":
        import imageio_ffmpeg

        height, width = pictures[0].shape[:2]
        writer = imageio_ffmpeg.write_frames(
            str(path), (width, height), fps=frames_per_second, macro_block_size=2
        )
        writer.send(None)  # it is a generator: this starts it
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
        writer.close()
        return
    from PIL import Image

    images = [Image.fromarray(picture) for picture in pictures]
    for image in images:
        image.thumbnail((WIDEST, WIDEST))
    duration = round(1000 / frames_per_second)
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=duration,
        loop=0,
        quality=QUALITY,
        method=1,
    )


if __name__ == "__main__":
    main()
