"""`litmus.fit`: an evaluator for policies of any lineage, from zoos and runs.

1. Every policy is asked in states that some of them visit.
2. Lineages are divided into parts; for each part evaluators learn from all others, one for each
   length and noise of the kernel, and are asked about the lineages left out and about some policies
   of those that they learn from.
3. The left-out lineages say which length and noise to take, and how wide intervals must be
   (`evaluators/calibration.py`).
4. An evaluator learns from everything. Its card tells what the others got right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.evaluators.calibration import Calibration, LeftOut, calibrate
from litmus.evaluators.kernel import KernelEvaluator
from litmus.judging.card import (
    ALGORITHMS,
    ARCHITECTURES,
    KNOWN,
    LINEAGES,
    TIMES,
    Answers,
    describe,
)
from litmus.judging.data import FitData, read_fit_data
from litmus.judging.kernels import (
    CANDIDATES,
    Asked,
    Candidate,
    Judged,
    Places,
    Solver,
    ask_everyone,
)
from litmus.judging.progress import FitProgress, Tell
from litmus.judging.remeasure import remeasure
from litmus.judging.settings import FEWEST_POLICIES, FitSettings
from litmus.judging.subjects import check_out
from litmus.judging.visits import find_states
from litmus.option_list import build_settings
from litmus.runs.directory import as_bad_input
from litmus.runs.provenance import describe_process
from litmus.runs.zoo import Source
from litmus.seeding import Stream, make_generator
from litmus.training.setup import choose_device

HELD_OUT_SHARE = 0.1
"""Of the policies of known lineages, in each part."""
FEWEST_IN_GROUP = 8
"""Fewer say nothing about an architecture or an algorithm."""
MOST_GROUPS = 3
BLOCKS = 5
"""That the history of a single lineage is cut into, in the place of lineages."""


@dataclass
class Part:
    """What each candidate said of policies that it did not learn from."""

    lineages: tuple[str, ...]
    left_out: Places
    known: Places
    return_mean: float
    return_std: float
    about_left_out: list[Judged]
    about_known: list[Judged]

    def errors(self, data: FitData, number: int) -> NDArray[np.float64]:  # [left out]
        said = self.return_mean + self.return_std * self.about_left_out[number].means
        return np.asarray(said - data.returns[self.left_out])


def fit(
    paths: Sequence[Source] | Source,
    *,
    out: Path | str | None = None,
    device: str = "auto",
    quiet: bool = False,
    **options: Any,
) -> KernelEvaluator:
    """Fit an evaluator to every policy in zoos and runs, and say how far it can be trusted.

    `options` are those of `litmus fit`, with underscores. With `out`, a file that ends in
    .safetensors, it is saved there, its card in the JSON beside it; `litmus.load_evaluator` reads
    it again.
    """
    settings = build_settings(FitSettings, options)
    listed = [paths] if isinstance(paths, Source) else list(paths)
    if not listed:
        raise BadInput("nothing to fit to: name zoos or runs")
    target = None if out is None else check_out(out)
    place = choose_device(device)
    data = read_fit_data(listed, settings.policies, place)
    if len(data.policies) < FEWEST_POLICIES:
        raise BadInput(
            f"{len(data.policies)} policies are too few to learn from; at least {FEWEST_POLICIES}"
        )
    if not data.returns.std() > 0:
        raise BadInput("all policies earned the same: there is nothing to tell apart")
    progress = FitProgress(quiet)
    try:
        evaluator = _fit(data, settings, progress)
    finally:
        progress.close()
    if target is not None:
        with as_bad_input(target):
            evaluator.save(target)
    return evaluator


def _fit(data: FitData, settings: FitSettings, tell: Tell) -> KernelEvaluator:
    folds = divide(data, settings)
    others = list(_list_other_groups(data))
    total = len(folds) + len(others) + 3
    if settings.remeasure:
        data = remeasure(data, settings.remeasure, settings.seed, tell)
    tell("visiting states", 0, total)
    probing = find_states(data, settings)
    tell("asking every policy", 1, total)
    asked = ask_everyone(data, probing)
    parts = []
    for number, lineages in enumerate(folds):
        tell(f"leaving out part {number + 1} of {len(folds)}", 2 + number, total)
        parts.append(ask_about(asked, number, lineages, settings))
    chosen = choose_candidate(data, parts)
    candidate = CANDIDATES[chosen]
    calibration = calibrate(list_left_out(data, parts, chosen))
    answers = {
        LINEAGES if data.can_leave_lineages_out else TIMES: answer_left_out(data, parts),
        KNOWN: answer_known(data, parts, chosen, calibration),
    }
    for number, (kind, name, places) in enumerate(others):
        tell(f"leaving out {name}", 2 + len(folds) + number, total)
        solver = Solver(asked, np.setdiff1d(np.arange(len(data.returns)), places))
        asked_about = data.trusted(places)
        if not len(asked_about):
            continue
        said = solver.judge([solver.solve(candidate)], asked_about)[0]
        found = _answer(name, data, asked_about, said, solver.mean, solver.std, calibration)
        answers.setdefault(kind, []).append(found)
    tell("learning from all", total - 1, total)
    final = Solver(asked, np.arange(len(data.returns))).solve(candidate)
    final.calibrate(calibration)
    final.card = write_card(data, settings, candidate, calibration, answers)
    return final.cpu()


def divide(data: FitData, settings: FitSettings) -> list[tuple[str, ...]]:
    """Lineages into parts, by chance."""
    names = data.lineage_names
    order = make_generator(settings.seed, Stream.FIT, 1).permutation(len(names))
    count = min(settings.folds, len(names))
    if not data.can_leave_lineages_out:
        return [(f"block {number}",) for number in range(BLOCKS)]
    return [tuple(names[place] for place in order[part::count]) for part in range(count)]


def find_places(data: FitData, lineages: Sequence[str]) -> Places:
    """Policies of these lineages; of a single one, or of one beside which there are next to none,
    the blocks of its history stand for lineages."""
    if data.can_leave_lineages_out:
        return np.flatnonzero(np.isin(data.lineages, list(lineages)))
    blocks = np.arange(len(data.returns)) * BLOCKS // len(data.returns)
    return np.flatnonzero(np.isin(blocks, [int(name.split()[1]) for name in lineages]))


def ask_about(asked: Asked, number: int, lineages: tuple[str, ...], settings: FitSettings) -> Part:
    data = asked.data
    inside = find_places(data, lineages)
    left_out = data.trusted(inside)
    rest = np.setdiff1d(np.arange(len(data.returns)), inside)
    generator = make_generator(settings.seed, Stream.FIT, 2 + number)
    trusted = data.trusted(generator.permutation(rest))
    known = np.sort(trusted[: max(1, int(HELD_OUT_SHARE * len(trusted)))])
    solver = Solver(asked, np.setdiff1d(rest, known))
    solved = [solver.solve(candidate) for candidate in CANDIDATES]
    said = (solver.judge(solved, places) for places in (left_out, known))
    return Part(lineages, left_out, known, solver.mean, solver.std, *said)


def choose_candidate(data: FitData, parts: Sequence[Part]) -> int:
    """Whose error on left-out lineages, each counting alike, is smallest."""
    errors = []
    for number in range(len(CANDIDATES)):
        of_lineages = [
            float(np.mean(part.errors(data, number)[inside] ** 2))
            for part in parts
            for _, inside in _by_lineage(data, part)
        ]
        errors.append(float(np.mean(of_lineages)))
    return int(np.argmin(errors))


def list_left_out(data: FitData, parts: Sequence[Part], number: int) -> list[LeftOut]:
    found = []
    for part in parts:
        said, errors = part.about_left_out[number], part.errors(data, number) / part.return_std
        found += [
            LeftOut(errors[inside], said.spreads[inside], said.distances[inside])
            for _, inside in _by_lineage(data, part)
        ]
    return found


def answer_left_out(data: FitData, parts: Sequence[Part]) -> list[Answers]:
    """Of each lineage, with a kernel and intervals chosen by the other parts alone."""
    answers = []
    for part in parts:
        rest = [other for other in parts if other is not part]
        number = choose_candidate(data, rest)
        calibration = calibrate(list_left_out(data, rest, number))
        whole = _answer(
            "",
            data,
            part.left_out,
            part.about_left_out[number],
            part.return_mean,
            part.return_std,
            calibration,
        )
        for lineage, inside in _by_lineage(data, part):
            fields = ("measured", "predicted", "low", "high", "distances")
            kept = {name: getattr(whole, name)[inside] for name in fields}
            answers.append(replace(whole, group=lineage, **kept))
    return answers


def answer_known(
    data: FitData, parts: Sequence[Part], number: int, calibration: Calibration
) -> list[Answers]:
    """Of policies held out of the lineages that each part learned from."""
    return [
        _answer(
            f"part {place + 1}",
            data,
            part.known,
            part.about_known[number],
            part.return_mean,
            part.return_std,
            calibration,
        )
        for place, part in enumerate(parts)
    ]


def _answer(
    group: str,
    data: FitData,
    places: Places,
    said: Judged,
    mean: float,
    std: float,
    calibration: Calibration,
) -> Answers:
    predicted = mean + std * said.means
    width = std * calibration.widths(said.spreads, said.distances)
    return Answers(
        group, data.returns[places], predicted, predicted - width, predicted + width, said.distances
    )


def _by_lineage(data: FitData, part: Part) -> Iterator[tuple[str, Places]]:
    """The left-out lineages of a part, and where their policies are among those left out."""
    if not data.can_leave_lineages_out:
        yield part.lineages[0], np.arange(len(part.left_out))
        return
    names = data.lineages[part.left_out]
    for lineage in part.lineages:
        yield lineage, np.flatnonzero(names == lineage)


def _list_other_groups(data: FitData) -> Iterator[tuple[str, str, Places]]:
    """Architectures and algorithms that can be left out: kind, name, policies."""
    for kind, labels in ((ARCHITECTURES, data.architectures), (ALGORITHMS, data.algorithms)):
        names = sorted(set(labels.tolist()))
        found = 0
        for name in names:
            places = np.flatnonzero(labels == name)
            rest = len(labels) - len(places)
            if len(names) < 2 or len(places) < FEWEST_IN_GROUP or rest < FEWEST_POLICIES:
                continue
            if found < MOST_GROUPS:
                found += 1
                yield kind, name, places


def write_card(
    data: FitData,
    settings: FitSettings,
    candidate: Candidate,
    calibration: Calibration,
    answers: dict[str, list[Answers]],
) -> dict[str, Any]:
    def count(labels: NDArray[np.str_]) -> dict[str, int]:
        names, counts = np.unique(labels, return_counts=True)
        return dict(zip(names.tolist(), counts.tolist(), strict=True))

    return {
        "task": data.task.to_json(),
        "predicts": "return",
        "policies": len(data.returns),
        "lineages": count(data.lineages),
        "architectures": count(data.architectures),
        "algorithms": count(data.algorithms),
        "returns": {
            "mean": float(data.returns.mean()),
            "std": float(data.returns.std()),
            "least": float(data.returns.min()),
            "most": float(data.returns.max()),
        },
        "episode_spread": data.episode_spread,
        "intervals_hold_for_other_lineages": data.can_leave_lineages_out,
        "settings": {**asdict(settings), "kernel": asdict(candidate)},
        "calibration": {
            "floor": calibration.floor,
            "slope": calibration.slope,
            "quantile": calibration.quantile,
        },
        "held_out": {kind: describe(groups) for kind, groups in answers.items()},
        "provenance": describe_process(),
    }
