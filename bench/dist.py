#!/usr/bin/env python3
"""Two builds of the program against the null server: processor seconds of the same loads in turn.

    bench/dist.py --before PROGRAM --after PROGRAM --testbed PROGRAM --out bench/runs/… [--rounds 5] FILE…

The programs change places in each round. Prints the median of the paired ratios after/before for
each file. Processor time depends less than wall time on what else the machine does.
"""

import argparse
import csv
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile


def load(program, file, url):
    command = [program, "load", file, "--index", "bench", "--to", url, "--quiet", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as state:
        done = subprocess.run([*command, "--state", state], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(done.stdout)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return report["docs_read"], round(report["docs_read"] / report["docs_per_second"], 3), round(cpu_s, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("before", "after", "testbed", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    server = subprocess.Popen([args.testbed, "null", "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip()
    ratios = {}
    with open(args.out, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["round", "file", "build", "docs", "wall_s", "cpu_s"])
        for number in range(args.rounds):
            for file in args.files:
                cpu_s = {}
                for build in ("before", "after") if number % 2 == 0 else ("after", "before"):
                    docs, wall_s, cpu_s[build] = load(getattr(args, build), file, url)
                    table.writerow([number, pathlib.Path(file).name, build, docs, wall_s, cpu_s[build]])
                    out.flush()
                ratios.setdefault(file, []).append(cpu_s["after"] / cpu_s["before"])
    server.stdin.close()
    server.wait()
    for file, all_ratios in ratios.items():
        print(f"{pathlib.Path(file).name}: {statistics.median(all_ratios):.3f} ({min(all_ratios):.3f} to {max(all_ratios):.3f})")


if __name__ == "__main__":
    main()
