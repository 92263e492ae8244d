"""Command lines that judge policies, with some words wrong."""

from __future__ import annotations

import random

NAMES = ("zoo add", "zoo list", "zoo grow", "fit", "score", "compare", "rank", "improve")
READING = ("--activation", "--output", "--prefix", "--normalizer", "--task", "--env-kwargs")
OPTIONS = {
    "zoo add": ("--episodes", "--task", "--lineage", "--seed", "--workers", *READING),
    "zoo list": ("--json", "--jsn"),
    "zoo grow": ("--noise", "--count", "--episodes", "--from", "--seed"),
    "fit": ("--probing-states", "--visits", "--policies", "--remeasure", "--folds", "--seed"),
    "score": ("--json", *READING),
    "compare": ("--budget", "--error-rate", "--fail-if-worse", "--seed", *READING),
    "rank": ("--budget", "--seed", "--json", *READING),
    "improve": ("--verify", "--steps", "--lr", "--radius", "--seed", *READING),
}
WHOLE = {
    "zoo add": ["new", "whole", "--episodes", "1", "--task", "toys:ToyWalk-v0"],
    "zoo list": ["zoo"],
    "zoo grow": ["zoo", "--from", "whole", "--noise", "0.1", "--count", "2", "--episodes", "1"],
    "fit": ["whole", "--out", "judge.safetensors", "--visits", "1"],
    "score": ["whole", "whole"],
    "compare": ["whole", "whole", "whole", "--budget", "20"],
    "rank": ["whole", "whole", "whole", "--budget", "2"],
    "improve": ["whole", "whole", "--out", "better.safetensors", "--steps", "2"],
}


def make_judging_line(chance: random.Random, odd: list[str]) -> list[str]:
    """`odd`: numbers, names and paths to put where others should be."""
    name = chance.choice(NAMES)
    words = list(WHOLE[name])
    for _ in range(chance.choice((1, 1, 2))):
        how, place = chance.random(), chance.randrange(len(words))
        if how < 0.45:
            words[place] = chance.choice(odd)
        elif how < 0.8:
            words += [chance.choice(OPTIONS[name]), chance.choice(odd)]
        elif how < 0.9 and len(words) > 1:
            words.pop(place)
        else:
            words.insert(place, chance.choice(odd))
    return [*name.split(), *words]
