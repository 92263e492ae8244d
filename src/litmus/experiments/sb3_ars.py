"""ARS as sb3-contrib has it, with its own defaults: what others offer for the same steps.

Its defaults name no policy; it is the linear one, as in its documentation. A job that is stopped
begins again: the library's own files of a training under way are pickles, which nothing here reads.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit, TransformAction

from litmus.analysis.records import RunRecord
from litmus.errors import BadInput
from litmus.experiments.jobs import Standing
from litmus.fields import Values
from litmus.files import read_own_json, write_json
from litmus.reports.extra import require_packages
from litmus.runs.provenance import describe_process
from litmus.seeding import Stream, make_generator
from litmus.tasks import make_task_spec
from litmus.tasks.base import DiscreteActions, StepsThrough
from litmus.tasks.control import ControlTask

SB3_ARS = "sb3-ars"
"""What stands in a table."""
FILE = "evaluations.json"


@dataclass(frozen=True)
class Sb3ArsJob:
    """One training, evaluated where a run of litmus with this seed is."""

    task: str
    folder: str
    seed: int
    steps: int
    evaluate_every: int
    evaluate_episodes: int
    env_kwargs: Values
    max_episode_steps: int | None

    @property
    def name(self) -> str:
        return f"{self.group}, seed {self.seed}"

    @property
    def group(self) -> str:
        return f"{self.task}, {SB3_ARS}"

    def look(self, folder: Path) -> Standing:
        if not (folder / FILE).is_file():
            return Standing("missing")
        known = self._read(folder)
        events = known.get("events") or [{}]
        done, mean = int(events[-1].get("steps", 0)), events[-1].get("mean")
        if known.get("is_finished"):
            return Standing("finished", self.steps, mean)
        return Standing("unfinished", min(done, self.steps), mean)

    def check(self, folder: Path) -> None:
        if self.look(folder).state != "finished":
            require_packages("stable_baselines3", "sb3_contrib", extra="sb3")

    def read_record(self, folder: Path) -> RunRecord | None:
        """As a report shows it; None where it is not finished."""
        known = self._read(folder)
        if not known.get("is_finished"):
            return None
        config = {"algorithm": SB3_ARS, **self._describe()}
        provenance, events = known["provenance"], tuple(known["events"])
        return RunRecord(folder, self.name, None, config, provenance, events)

    def work(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tasks = [self._build_task() for _ in range(2)]
        try:
            _Training(self, folder, *tasks).run()
        finally:
            for task in tasks:
                task.close()

    def write(self, folder: Path, events: list[dict[str, Any]], is_finished: bool) -> None:
        origin = describe_process()
        origin["versions"]["sb3-contrib"] = importlib.metadata.version("sb3-contrib")
        known = {"trained": self._describe(), "is_finished": is_finished, "events": events}
        write_json(folder / FILE, {**known, "provenance": origin})

    def _read(self, folder: Path) -> dict[str, Any]:
        """What was written, by the same job; nothing where it is damaged: then it is done again."""
        try:
            known = read_own_json(folder / FILE)
        except BadInput:
            return {}
        return known if known.get("trained") == self._describe() else {}

    def _describe(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def _build_task(self) -> ControlTask:
        task = make_task_spec(self.task, "keep", self.env_kwargs, self.max_episode_steps).build()
        if not isinstance(task, ControlTask):
            raise BadInput(f"{SB3_ARS} learns in Gymnasium environments: '{self.task}' is none")
        return task


class _Training:
    def __init__(
        self, job: Sb3ArsJob, folder: Path, learned: ControlTask, evaluated: ControlTask
    ) -> None:
        from sb3_contrib import ARS
        from stable_baselines3.common.logger import Logger

        self.job, self.folder, self.evaluated = job, folder, evaluated
        environment, actions = learned.environment, learned.actions
        if job.max_episode_steps is not None:
            environment = TimeLimit(environment, job.max_episode_steps)
        self.first_choice: int | None = None
        if isinstance(actions, DiscreteActions):
            self.first_choice = start = actions.start
            environment = TransformAction(  # its own choices begin with 0
                environment, lambda action: start + int(action), Discrete(actions.count)
            )
        self.model = ARS("LinearPolicy", environment, seed=job.seed)
        self.model.set_logger(Logger(None, []))  # its own leaves a folder of temporary files
        self.events: list[dict[str, Any]] = []

    def run(self) -> None:
        from stable_baselines3.common.callbacks import BaseCallback

        training = self

        class EvaluateIfDue(BaseCallback):
            def _on_rollout_start(self) -> None:  # after an update, and before the first
                training.evaluate_if_due()

            def _on_step(self) -> bool:
                return True

        self.model.learn(self.job.steps, callback=EvaluateIfDue())
        self.evaluate()
        self.job.write(self.folder, self.events, is_finished=True)

    def evaluate_if_due(self) -> None:
        every = self.job.evaluate_every
        last = self.events[-1]["steps"] if self.events else -1
        if last < 0 or (every and self.model.num_timesteps // every != last // every):
            self.evaluate()
            self.job.write(self.folder, self.events, is_finished=False)

    def evaluate(self) -> None:
        first = len(self.events) * self.job.evaluate_episodes
        returns = [self._measure(first + n) for n in range(self.job.evaluate_episodes)]
        finite = [return_ for return_ in returns if np.isfinite(return_)]
        self.events.append(
            {
                "event": "evaluation",
                "steps": int(self.model.num_timesteps),
                "mean": float(np.mean(finite)) if finite else None,
                "returns": finite,
            }
        )

    def _measure(self, index: int) -> float:
        task: StepsThrough = self.evaluated
        generator = make_generator(self.job.seed, Stream.EVALUATION, index)
        steps = task.step_through(self._act, int(generator.integers(2**31)))
        return float(sum(step.reward for step in steps))

    def _act(self, observation: Any) -> Any:
        action, _ = self.model.predict(observation, deterministic=True)
        return action if self.first_choice is None else self.first_choice + int(action)
