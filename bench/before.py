#!/usr/bin/env python3
"""Two builds of inrush in turn, as whole processes: wall seconds, processor seconds, peak memory.

    python3 bench/before.py BEFORE NOW OUT.csv CASE… [--rounds N] [--testbed FILE]

BEFORE and NOW are programs. A case is a name, `=`, and the arguments after `inrush load`, of which
`{to}` is the address of a null server of its own (FILE null). Each round runs all cases, the builds
in turn, and the first build changes from round to round. A table of the ratios NOW / BEFORE, pair by
pair, is printed at the end: the median, and the least and the greatest.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time


def null_server(testbed):
    server = subprocess.Popen([testbed, "null", "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return server, server.stdout.readline().strip()


def run(program, arguments):
    begun = time.monotonic()
    process = subprocess.Popen([program, "load", *arguments, "--quiet", "--json"], stdout=subprocess.PIPE, text=True)
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    if status or report["status"] != "complete":
        raise SystemExit(f"{program} {arguments}: {status} {report}")
    return report["docs_indexed"], wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "now", "out"):
        parser.add_argument(name)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--testbed")
    options = parser.parse_args()
    cases = {name: arguments.split() for name, _, arguments in (case.partition("=") for case in options.cases)}
    rows = []
    for number in range(options.rounds + 1):
        for case, arguments in cases.items():
            builds = [("before", options.before), ("now", options.now)]
            for build, program in builds if number % 2 else reversed(builds):
                server, to = null_server(options.testbed) if "{to}" in arguments else (None, "")
                docs, wall, cpu, peak = run(program, [argument.replace("{to}", to) for argument in arguments])
                if server:
                    server.kill()
                    server.wait()
                # The first round warms up.
                if number:
                    rows.append({"case": case, "round": number, "build": build, "docs": docs, "wall_s": f"{wall:.3f}", "cpu_s": f"{cpu:.3f}", "peak_kib": peak})
                    print(",".join(map(str, rows[-1].values())), file=sys.stderr)
    with open(options.out, "w") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    print("| case | wall | processor | peak memory |\n|---|---|---|---|")
    for case in cases:
        cells = []
        for figure in ("wall_s", "cpu_s", "peak_kib"):
            of = {build: [float(row[figure]) for row in rows if (row["case"], row["build"]) == (case, build)] for build in ("before", "now")}
            ratios = [now / before for before, now in zip(of["before"], of["now"], strict=True)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"| {case} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
