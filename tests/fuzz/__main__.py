"""`python -m fuzz`, from the folder of the tests: exit code 1 where anything went wrong."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # for the workers too

import torch

from fuzz.cases import WRONG, Case, FileCases, Outcome, run_case, run_cases, summarise
from fuzz.command_lines import CommandLines
from fuzz.runs import make_runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="damaged runs [10000]")
    parser.add_argument("--lines", type=int, default=500, help="malformed command lines [500]")
    parser.add_argument("--seed", type=int, default=0, help="others draw others [0]")
    parser.add_argument("--only", type=int, help="this case alone, in this process")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = make_runs(folder)
        files = FileCases.prepare(options.seed, runs, folder)
        lines = CommandLines(options.seed, runs["finished"], folder)
        if options.only is not None:
            case: Case = files if options.files else lines
            print(run_case(case, options.only))
            return 0
        wrong = run_all("damaged runs", files, options.files)
        wrong += run_all("malformed command lines", lines, options.lines)
    return 1 if wrong else 0


def run_all(name: str, case: Case, count: int) -> int:
    outcomes: list[Outcome] = []
    for outcome in run_cases(case, range(count)):
        outcomes.append(outcome)
        if outcome.kind == WRONG:
            print(f"case {outcome.number}: {outcome.what}\n    {outcome.why[-1500:]}", flush=True)
    print(f"{count:,} {name}: {summarise(outcomes)}", flush=True)
    return sum(outcome.kind == WRONG for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
