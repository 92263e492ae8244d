"""`make bench`: prints the table and writes benchmarks/latest.json.

Each row gives seconds, the limit measured beside it in the same run, and limit / seconds; where
another library is named, its time stands in the limit's place. Then how
the cost grows with probing states, policy width, round size and workers.
"""

from __future__ import annotations

import argparse
import json
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import baselines, growth, rows
from litmus.runs.provenance import describe_process

OUT = Path(__file__).parent / "latest.json"


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the rows only, not the growth")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to write")
    options = parser.parse_args()
    console = Console()
    table = Table("what", "seconds", "limit", "limit / seconds", title="against the hardware")
    measured = []
    for row in chain(rows.measure_rows(), baselines.measure_baselines()):
        measured.append(row)
        if "skipped" in row:
            console.print(f"{row['name']}: skipped, {row['skipped']}")
            continue
        table.add_row(
            row["name"],
            f"{row['seconds']:.6f}",
            f"{row['limit_seconds']:.6f}",
            f"{row['ratio']:.2f}",
        )
        console.print(f"{row['name']}: {row['ratio']:.2f}")
    console.print(table)
    result = {"rows": measured, "provenance": describe_process()}
    if not options.quick:
        result["growth"] = growth.measure_growth()
        for name, points in result["growth"].items():
            grown = Table(name, "seconds", title=f"growth with {name}")
            for point in points:
                grown.add_row(str(point["value"]), f"{point['seconds']:.5f}")
            console.print(grown)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    console.print(f"written to {options.out}")


if __name__ == "__main__":
    main()
