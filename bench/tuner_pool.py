#!/usr/bin/env python3
"""Series of bench/tuner.py, each and together: the tuner as a part of the best fixed cell, round by
round.

Each file's best cell is chosen on its own even rounds, for each column. Files that differ only in
`-again` are one group. Prints of each group and of all the median of the rounds with its 95 %
interval, and the same of the odd rounds alone.

    bench/tuner_pool.py bench/runs/2026-11-23-tuner/opensearch-lines.csv …
"""

import csv
import pathlib
import sys

from tuner import ratios, said


def compared(path):
    with open(path) as file:
        return {(int(row["round"]), row["cell"]): row for row in csv.DictReader(file) if row["phase"] == "compare"}


def main(paths):
    groups = {}
    for path in paths:
        groups.setdefault(pathlib.Path(path).stem.removesuffix("-again"), []).append(compared(path))
    autos = sorted({cell for files in groups.values() for rows in files for _, cell in rows if cell.startswith("auto")})
    # Another build is also compared with this one.
    against = [(auto, None) for auto in autos] + [("auto-beside", "auto")] * ("auto-beside" in autos)
    for field in ["mb_per_s", "searchable_mb_per_s", "steady_mb_per_s"]:
        for auto, given in against:
            together = []
            for name, files in groups.items():
                found = [ratios(rows, field, auto, given) for rows in files]
                pairs = [pair for _, pairs in found for pair in pairs]
                together += pairs
                if pairs:
                    print(f"{field} {name}: {auto} / {', then '.join(top for top, pairs in found if pairs)}: {said(pairs)}")
            if len(groups) > 1 and together:
                print(f"{field} together: {auto} / {given or 'the best'}: {said(together)}")


if __name__ == "__main__":
    main(sys.argv[1:])
