"""What the experiments on images share: which sets they are for, and what a result of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from litmus.errors import BadInput, suggest
from litmus.experiments.plan import Choices
from litmus.policies.population import FlatPopulation
from litmus.runs.run import Run
from litmus.tasks import find_task
from litmus.tasks.classification import ClassificationTask
from litmus.tasks.image_sets import describe_place, look_for, read_image_set
from litmus.tasks.known_images import IMAGE_SETS

Entry = dict[str, Any]


def check_image_sets(experiment: str, tasks: Sequence[str], choices: Choices) -> tuple[str, ...]:
    """Where the sets lie, in words; BadInput where a task is no set of images, or one whose files
    cannot be found or read."""
    for task in tasks:
        if task not in IMAGE_SETS:
            hint = suggest(task, IMAGE_SETS)
            raise BadInput(f"{experiment} is for sets of images, and '{task}' is none{hint}")
        if choices.may_download or look_for(task, choices.data) is not None:
            read_image_set(task, choices.data)
    return tuple(describe_place(task, choices.data) for task in dict.fromkeys(tasks))


def measure_accuracy(run: Run) -> float:
    """From 0 to 1, of the run's policy on all images that it was evaluated on."""
    import torch

    task, policy = find_task(run.config).build(), run.policy
    if not isinstance(task, ClassificationTask):
        raise BadInput(f"{run.path} was not trained on a set of images")
    rows = policy.flat_params.unsqueeze(0)
    population = FlatPopulation(policy.architecture, rows, policy.normalizer)
    with torch.no_grad():
        return task.measure_all_held_out(population)[0].return_ / 100


def summarize(
    accuracies: Sequence[float],
    interactions: int,
    provenances: Sequence[Mapping[str, Any]],
    **more: Any,
) -> Entry:
    """Mean and standard deviation over seeds; `provenances`: of the process that did each, of which
    the first is told whole, and of the others what code they were."""
    commits = list(dict.fromkeys(one.get("commit") for one in provenances))
    spread = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None
    return {
        "mean": float(np.mean(accuracies)),
        "std": spread,
        "seeds": [float(one) for one in accuracies],
        "interactions": interactions,
        **more,
        "provenance": {**provenances[0], "commits": commits},
    }
