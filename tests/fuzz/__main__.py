"""`python -m fuzz`, from the folder of the tests: exit code 1 where anything went wrong."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from fuzz.batches import Plan, run_cases
from fuzz.cases import WRONG, FileCases, Outcome, run_case, summarise
from fuzz.policy_files import make_files
from fuzz.runs import make_runs

NAMES = {
    "files": "damaged runs",
    "lines": "malformed command lines",
    "policies": "damaged or hostile policy files",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="damaged runs [10000]")
    parser.add_argument("--lines", type=int, default=500, help="malformed command lines [500]")
    parser.add_argument("--policies", type=int, default=10_000, help="policy files [10000]")
    parser.add_argument("--seed", type=int, default=0, help="another draws others [0]")
    parser.add_argument(
        "--only", type=int, help="this case alone: of another kind, with the others 0"
    )
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = FileCases.prepare(options.seed, make_runs(folder), folder)
        (folder / "expected.json").write_text(json.dumps(files.expected))
        (folder / "policies").mkdir()
        make_files(folder / "policies")
        for kind in NAMES:
            plan, count = Plan(kind, options.seed, folder), getattr(options, kind)
            if options.only is not None and count:
                print(run_case(plan.make_case(folder), options.only))
                return 0
            wrong += run_all(plan, count)
    return 1 if wrong else 0


def run_all(plan: Plan, count: int) -> int:
    outcomes: list[Outcome] = []
    for outcome in run_cases(plan, count):
        outcomes.append(outcome)
        if outcome.kind == WRONG:
            print(f"case {outcome.number}: {outcome.what}\n    {outcome.why[-1500:]}", flush=True)
    print(f"{count:,} {NAMES[plan.kind]}: {summarise(outcomes)}", flush=True)
    return sum(outcome.kind == WRONG for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
