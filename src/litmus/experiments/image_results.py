"""results/mnist.json: what the experiments on images came to, each under its own name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from litmus.errors import BadInput, suggest
from litmus.files import read_json, write_bytes
from litmus.policies.population import FlatPopulation
from litmus.runs.run import Run
from litmus.tasks import find_task
from litmus.tasks.classification import ClassificationTask
from litmus.tasks.image_sets import find_folder
from litmus.tasks.known_images import IMAGE_SETS

Entry = dict[str, Any]


def check_image_sets(experiment: str, tasks: Iterable[str], data: str | None) -> None:
    """BadInput where a task is no set of images, or one whose files cannot be found."""
    for task in tasks:
        if task not in IMAGE_SETS:
            hint = suggest(task, IMAGE_SETS)
            raise BadInput(f"{experiment} is for sets of images, and '{task}' is none{hint}")
        find_folder(task, data)


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
    accuracies: Sequence[float], interactions: int, provenance: Mapping[str, Any], **more: Any
) -> Entry:
    """Mean and standard deviation over seeds; `provenance`: of the process that did the first."""
    spread = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None
    return {
        "mean": float(np.mean(accuracies)),
        "std": spread,
        "seeds": [float(one) for one in accuracies],
        "interactions": interactions,
        **more,
        "provenance": dict(provenance),
    }


def add_result(path: Path, experiment: str, preset: str, entry: Mapping[str, Any]) -> None:
    """Put an entry into the file, in the place of an older one; the others stay."""
    known = read_json(path) if path.exists() else {}
    of_experiment = known.get(experiment, {})
    if not isinstance(of_experiment, dict):
        raise BadInput(f"{path} does not hold what litmus writes there")
    known[experiment] = {**of_experiment, preset: dict(entry)}
    text = json.dumps(known, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, text.encode())
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
