"""What the offline experiment on images comes to: a table, a figure and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.statistics import Estimate, Floats, standard_deviation, summarize_mean
from litmus.counts import say_count
from litmus.experiments.image_results import summarize
from litmus.experiments.offline import choose_records
from litmus.files import to_text, write_bytes
from litmus.reports.comparison_table import show_interval, show_mean, write_markdown_table
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.html import note, paragraph, show_number, table, tag
from litmus.reports.page import Content, write_page
from litmus.reports.plots import write_figures
from litmus.reports.provenance import list_origins
from litmus.reports.sections import Sections
from litmus.reports.words import write_glossary

CHOICES = {
    "validation": ("validation_accuracy", "best on validation images"),
    "familiarity": ("distance", "by familiarity alone, without labels"),
}
PAPER = {"mnist": 65.0}
"""Per cent of the test images."""
HEAD = (
    *("Task", "Preset", "Step that is taken", "Test accuracy, mean ± sd", "95% interval"),
    *("Worst CNN", "Median step", "V predicts", "Measured", "Paper"),
)
OF_SEEDS = (
    *("Seed", "Best on validation", "By familiarity", "CNNs that V knew", "Thrown away"),
    "Best accuracy that V knew",
)
WORDS = (
    (
        "Fresh CNN",
        "A network as it is drawn at random, which then climbs V. What is measured on its way is "
        "shown here and tells neither of them anything.",
    ),
    (
        "Best on validation images",
        "Of the steps that are looked at, the one at which the CNN answers most validation images "
        "rightly. The accuracy that is told is that on test images, which choose nothing.",
    ),
    (
        "By familiarity alone",
        "The step at which the CNN is most like what V learned from, after the one at which it was "
        "least: it needs no labels at all.",
    ),
    (
        "Distance from what V knows",
        "How far the CNN's answers to the probing images are from those of the CNNs that V learned "
        "from, in their standard deviations.",
    ),
)


@dataclass(frozen=True)
class Climbs:
    """All seeds of a task and preset."""

    task: str
    preset: str
    seeds: Sequence[Mapping[str, Any]]
    """What each left in its result."""

    def gather(self, name: str) -> Floats:  # [records, CNNs of all seeds]
        return np.concatenate([np.asarray(one["curve"][name], float) for one in self.seeds], axis=1)

    @cached_property
    def steps(self) -> Floats:
        return np.asarray(self.seeds[0]["curve"]["steps"], float)

    def choose(self, choice: str) -> list[int]:
        """The record that is taken of each CNN of all seeds."""
        by = CHOICES[choice][0]
        return [place for one in self.seeds for place in choose_records(one["curve"], by)]

    def read(self, name: str, choice: str) -> Floats:
        """A value of each CNN at the step that is taken of it."""
        taken = self.choose(choice)
        return self.gather(name)[taken, np.arange(len(taken))]

    def accuracies(self, choice: str) -> list[float]:
        """Per cent of the test images, the mean over the CNNs of each seed."""
        return [100 * float(np.mean(one[f"chosen_by_{choice}"])) for one in self.seeds]

    def accuracy(self, choice: str) -> Estimate:
        return summarize_mean(self.accuracies(choice))

    def to_json(self) -> dict[str, Any]:
        """From 0 to 1; `mean`, `std` and `seeds` are by validation."""
        return summarize(
            [value / 100 for value in self.accuracies("validation")],
            int(self.seeds[0]["kept"]),
            [one["provenance"] for one in self.seeds],
            worst=min(min(one["chosen_by_validation"]) for one in self.seeds),
            fresh=[one["chosen_by_validation"] for one in self.seeds],
            by_familiarity=[value / 100 for value in self.accuracies("familiarity")],
            median_steps={name: self.find_median_step(name) for name in CHOICES},
            highest_accuracy_seen=max(float(one["highest_accuracy_seen"]) for one in self.seeds),
        )

    def find_median_step(self, choice: str) -> float:
        return float(np.median(self.steps[self.choose(choice)]))

    def write_rows(self) -> list[list[str]]:
        """One for each way to choose the step."""
        rows = []
        for choice, (_, words) in CHOICES.items():
            found, values = self.accuracy(choice), self.accuracies(choice)
            rows.append(
                [
                    *(self.task, self.preset, words),
                    f"{show_mean(found.value, standard_deviation(values))}%",
                    "–" if len(values) == 1 else show_interval(found),
                    f"{show_number(100 * float(self.read('test_accuracy', choice).min()))}%",
                    f"{self.find_median_step(choice):g}",
                    show_number(float(self.read("predicted", choice).mean())),
                    show_number(float(self.read("test_return", choice).mean())),
                    f"{show_number(PAPER[self.task])}%" if self.task in PAPER else "–",
                ]
            )
        return rows

    def write_seeds(self) -> list[list[str]]:
        columns = zip(
            self.seeds, self.accuracies("validation"), self.accuracies("familiarity"), strict=True
        )
        return [
            [
                str(one["settings"]["seed"]),
                f"{show_number(validation)}%",
                f"{show_number(familiarity)}%",
                f"{one['kept']:,}",
                f"{one['thrown_away']:,}",
                f"{show_number(100 * one['highest_accuracy_seen'])}%",
            ]
            for one, validation, familiarity in columns
        ]

    def say(self) -> str:
        """In one sentence."""
        validation, familiarity = (self.accuracy(choice).value for choice in CHOICES)
        known = max(float(one["highest_accuracy_seen"]) for one in self.seeds)
        beside = f" (the paper: {PAPER[self.task]:g}%)" if self.task in PAPER else ""
        return (
            f"{self.task}, {self.preset}: V knew only CNNs of at most {100 * known:.1f}%. Fresh "
            f"ones that climb it reach {validation:.1f}% of the test images{beside} at the step "
            f"that is best on validation images, and {familiarity:.1f}% at the one that is chosen "
            "by familiarity alone."
        )

    def say_errors(self) -> str:
        """How far V's predictions are off on the way."""
        gaps = (self.gather("predicted") - self.gather("test_return")).mean(axis=1)
        places = np.unique(np.linspace(0, len(gaps) - 1, 5).round().astype(int))[1:]
        told = ", ".join(f"{gaps[place]:+.2f} at step {self.steps[place]:.0f}" for place in places)
        return f"{self.task}, {self.preset}: what V predicts, less what is measured, is {told}."

    def draw(self) -> Chart:
        def line(title: str, name: str, color: int, scale: float = 1) -> Series:
            values = scale * self.gather(name)
            low, high = np.quantile(values, [0.1, 0.9], axis=1)
            return Series(title, self.steps, values.mean(axis=1), low, high, color=color)

        accuracy = [line("fresh CNNs, mean", "test_accuracy", 0, 100)]
        for color, (choice, (_, words)) in zip((1, 3), CHOICES.items(), strict=True):
            steps, reached = self.steps[self.choose(choice)], self.read("test_accuracy", choice)
            accuracy.append(Series(words, steps, 100 * reached, kind="points", color=color))
        if self.task in PAPER:
            ends = [self.steps[0], self.steps[-1]]
            accuracy.append(
                Series(f"the paper: {PAPER[self.task]:g}%", ends, [PAPER[self.task]] * 2, color=7)
            )
        panels = [
            Panel("test accuracy (%)", accuracy),
            Panel(
                "−cross-entropy",
                [line("predicted by V", "predicted", 0), line("measured", "test_return", 1)],
            ),
            Panel("distance from what V knows", [line("standard deviations", "distance", 2)]),
        ]
        at_most = self.seeds[0]["settings"]["most_accuracy"]
        return Chart(
            f"climb-{self.task}-{self.preset}",
            f"{self.task}, {self.preset}: fresh CNNs climb a frozen V",
            f"V learned from CNNs with at most {100 * at_most:g}% accuracy. Above: accuracy, and "
            "for each CNN the step that is taken of it. In the middle: what V predicts and what is "
            "measured on test images. Below: how unfamiliar the CNNs are to V. Bands hold the "
            "middle 80% of all CNNs of all seeds.",
            [View("steps", "gradient steps", panels)],
            is_tall=True,
        )


def write_report(
    title: str, climbs: Sequence[Climbs], missing: Sequence[str], folder: Path
) -> list[Path]:
    """table.md, table.json, report.html and figures/."""
    charts = [one.draw() for one in climbs]
    results: dict[str, dict[str, Any]] = {}
    for one in climbs:
        results.setdefault(one.task, {})[one.preset] = one.to_json()
    texts = {
        "table.md": write_markdown(title, climbs, missing),
        "table.json": to_text(results),
        "report.html": write_page(make_page(title, climbs, missing, charts)),
    }
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
    return [folder / name for name in texts] + write_figures(charts, folder / "figures")


def write_markdown(title: str, climbs: Sequence[Climbs], missing: Sequence[str]) -> str:
    parts = [f"# {title}"]
    parts.append(write_markdown_table(HEAD, [row for one in climbs for row in one.write_rows()]))
    for one in climbs:
        parts += [
            f"{one.say()} {one.say_errors()}",
            write_markdown_table(OF_SEEDS, one.write_seeds()),
        ]
    parts += [f"{word}: {meaning}" for word, meaning in WORDS]
    parts += ["Not in these figures: " + ", ".join(missing) + "."] if missing else []
    parts.append("Made by:\n\n" + "\n".join(list_origins(find_origins(climbs))))
    return "\n\n".join(parts) + "\n"


def make_page(
    title: str, climbs: Sequence[Climbs], missing: Sequence[str], charts: Sequence[Chart]
) -> Content:
    sections = Sections()
    rows = [list(map(escape, row)) for one in climbs for row in one.write_rows()]
    body = table(HEAD, rows, "Fresh CNNs at the step that is taken of each", range(3, len(HEAD)))
    for one in climbs:
        caption = f"{one.task}, {one.preset}: every seed, the mean over its fresh CNNs"
        body += table(OF_SEEDS, one.write_seeds(), caption, range(1, len(OF_SEEDS)))
    body += note(missing, "Not in these figures") if missing else ""
    sections.add("accuracy", "Accuracy", "What fresh CNNs reached on test images.", body)
    drawn = sections.draw(charts, "figures single")
    drawn += "".join(paragraph(one.say_errors(), "small") for one in climbs)
    sections.add("learning", "The climb", "What happened at each gradient step.", drawn)
    made = "".join(
        tag("li", escape(line[2:]), class_="mono") for line in list_origins(find_origins(climbs))
    )
    sections.add("provenance", "Provenance", "What made these figures.", tag("ul", made))
    seeds = sum(len(one.seeds) for one in climbs)
    said = [*(one.say() for one in climbs), f"{say_count(seeds, 'seed')} finished."]
    lead = "".join(paragraph(line, "lead") for line in said)
    return Content(title, lead, "", sections.written, sections.figures, write_glossary(WORDS))


def find_origins(climbs: Sequence[Climbs]) -> list[Mapping[str, Any]]:
    return [seed["provenance"] for one in climbs for seed in one.seeds]
