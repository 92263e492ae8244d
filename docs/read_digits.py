"""Can probing images be read as digits? A classifier that has never seen one is asked.

    .venv/bin/litmus experiment mnist-online --preset tuned --probing-states 10 --out EXPERIMENT
    .venv/bin/python docs/read_digits.py EXPERIMENT/runs/mnist/tuned-10/*

It learns from real digits that are turned, moved, scaled, blurred, inverted and under noise, found
where `--task mnist` finds them. For each run and each column of its strip of probing images it
tells how many are read as what the run's policy answers in the end; then the same of the average of
each image over all snapshots till then, and what the policy answers there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from litmus.errors import BadInput
from litmus.reports.probing_images import ProbingImages, read_probing_images
from litmus.runs.run import Run
from litmus.tasks.image_sets import read_image_set

SIDE = 28
BATCHES, BATCH_SIZE = 3_000, 128


def make_reader() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10)),
    )


def distort(digits: Tensor, generator: torch.Generator) -> Tensor:  # [B, 1, SIDE, SIDE]
    """What a probing image may do to a digit; values stay near 0 to 1."""
    count = len(digits)

    def draw(low: float, high: float) -> Tensor:
        return torch.empty(count).uniform_(low, high, generator=generator)

    angle, scale = draw(-0.35, 0.35), draw(0.8, 1.2)
    cosine, sine = angle.cos() / scale, angle.sin() / scale
    rows = [cosine, -sine, draw(-0.25, 0.25), sine, cosine, draw(-0.25, 0.25)]
    places = functional.affine_grid(
        torch.stack(rows, 1).view(count, 2, 3), list(digits.shape), align_corners=False
    )
    seen = functional.grid_sample(digits, places, align_corners=False)
    sharp = draw(0, 1).view(-1, 1, 1, 1)
    seen = sharp * seen + (1 - sharp) * blur(seen)
    seen = torch.where(draw(-1, 1).view(-1, 1, 1, 1) > 0, seen, 1 - seen)
    noise = torch.empty_like(seen).normal_(generator=generator)
    return seen + draw(0, 0.25).view(-1, 1, 1, 1) * (noise + 2 * blur(noise))


def blur(images: Tensor) -> Tensor:
    for _ in range(2):
        images = functional.avg_pool2d(images, 3, 1, 1)
    return images


def standardize(images: Tensor) -> Tensor:
    """Neither brightness nor contrast tells which digit it is."""
    mean, std = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
    return (images - mean) / (std + 1e-6)


def train_reader() -> nn.Module:
    train, test = read_image_set("mnist")
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    reader = make_reader()
    optimizer = torch.optim.Adam(reader.parameters(), 1e-3)
    images, labels = torch.from_numpy(train.images).float(), torch.from_numpy(train.labels).long()
    images = images.view(-1, 1, SIDE, SIDE) / images.max()
    for _ in range(BATCHES):
        places = torch.randint(len(images), (BATCH_SIZE,), generator=generator)
        shown = standardize(distort(images[places], generator))
        loss = functional.cross_entropy(reader(shown), labels[places])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    held_out = torch.from_numpy(test.images).float().view(-1, 1, SIDE, SIDE)
    held_out = held_out[:2_000] / held_out.max()
    with torch.no_grad():
        read = reader(standardize(distort(held_out, generator))).argmax(1).numpy()
    right = (read == test.labels[: len(read)]).mean()
    print(f"{right:.0%} of distorted test digits are read right")
    return reader


def look_into(path: Path) -> ProbingImages:
    probing = read_probing_images(Run(path))
    if probing is None or not probing.choices or probing.final[0].size != SIDE**2:
        raise BadInput(f"{path} is no run on images of {SIDE} × {SIDE} pixels")
    return probing


def average_until(run: Run, steps: float) -> Tensor:
    """Probing images, each the average of its snapshots till then, as the task shows images."""
    taken, images = run.read_probing_snapshots()
    return run.evaluator.to_observations(torch.from_numpy(images[taken <= steps].mean(0)))


def tell(shown: Tensor, answers: Tensor, reader: nn.Module) -> str:
    """How many are read as what is answered, and the reader's probability of that."""
    with torch.no_grad():
        belief = reader(standardize(shown.float().view(-1, 1, SIDE, SIDE))).softmax(1)
    count = int((belief.argmax(1) == answers).sum())
    sure = float(belief[torch.arange(len(answers)), answers].mean())
    return f"{count} of {len(answers)}, {sure:.2f}"


def main(paths: list[Path]) -> None:
    runs = {path: look_into(path) for path in paths}
    reader = train_reader()
    for path, probing in runs.items():
        run = Run(path)
        answers = torch.tensor([int(probing.choices[row].split()[0]) for row in probing.rows])
        print(path.name, "answers", *answers.tolist())
        for column, steps in enumerate(probing.steps):
            read = tell(torch.from_numpy(probing.strip[:, column]), answers, reader)
            average = average_until(run, float(steps))
            with torch.no_grad():
                answered = run.policy(average).argmax(1)
            read_average = tell(average, answered, reader)
            print(f"  {int(steps):>7,} interactions: {read}; averages: {read_average}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("name one run or more, on a set of images")
    try:
        main([Path(one) for one in sys.argv[1:]])
    except (BadInput, OSError) as error:
        sys.exit(str(error))
