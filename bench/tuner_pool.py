#!/usr/bin/env python3
"""What several series of bench/tuner.py say together: `auto` as a part of the best fixed cell, round by round.

Each file's best cell is chosen on its own even rounds. Prints the median of each group of files (those that differ in nothing but `-again`) and of all,
with the 95 % interval, and the same of the odd rounds alone.

    bench/tuner_pool.py bench/runs/2026-11-23-tuner-opensearch-lines.csv …
"""

import csv
import pathlib
import statistics
import sys

from tuner import interval


def ratios(path, field, cell="auto"):
    rows = {}
    for row in csv.DictReader(open(path)):
        if row["phase"] == "compare":
            rows[int(row["round"]), row["cell"]] = float(row[field])
    cells = {cell for _, cell in rows}
    rounds = [n for n in sorted({n for n, _ in rows}) if all((n, cell) in rows for cell in cells)]
    fixed = sorted(cell for cell in cells if not cell.startswith("auto"))
    top = max(fixed, key=lambda cell: statistics.median(rows[n, cell] for n in rounds if n % 2 == 0))
    return [(n, rows[n, cell] / rows[n, top]) for n in rounds]


def said(pairs):
    odd = [ratio for n, ratio in pairs if n % 2]
    return "%d rounds %.3f (%.3f to %.3f)" % (len(pairs), *interval([ratio for _, ratio in pairs])) + ", odd ones %.3f (%.3f to %.3f)" % interval(odd)


def main(paths):
    groups = {}
    for path in paths:
        groups.setdefault(pathlib.Path(path).stem.removesuffix("-again"), []).append(path)
    for field in ["mb_per_s", "searchable_mb_per_s", "steady_mb_per_s"]:
        together = []
        for name, files in groups.items():
            pairs = [pair for path in files for pair in ratios(path, field)]
            together += pairs
            print(f"{field} {name}: {said(pairs)}")
        print(f"{field} together: {said(together)}")


if __name__ == "__main__":
    main(sys.argv[1:])
