#!/usr/bin/env python3
"""The tuner against a grid of fixed settings on a real server.

Screens a grid of batch bytes x requests in flight with short runs. Then compares its best three
cells and `auto` in rounds of one run each, in a shuffled order. The best fixed cell is chosen on
the even rounds and compared on the odd ones, because the maximum of many noisy cells flatters
itself. Fixed cells get the memory that they need and send plain JSON, as a script would. `auto` has
the default memory, and chooses encoding and compression, too. Every run goes into a fresh index
after the merges of the last one have ended. Appends to the CSV file, so that an interrupted run can
continue.

    bench/tuner.py --server opensearch:3.6.0 --data lines.ndjson --mapping lines.json --out bench/runs/… [--rounds 10]
"""

import argparse
import contextlib
import csv
import fcntl
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import CACHE, Server, request

BYTES = ["128KiB", "512KiB", "2MiB", "8MiB", "32MiB"]
IN_FLIGHT = [1, 2, 4, 8, 16]
PLAIN = ["--encoding", "json", "--compression", "none"]
FIELDS = ["time", "phase", "round", "cell", "docs", "bytes", "seconds", "refresh_s", "mb_per_s", "searchable_mb_per_s", "steady_mb_per_s", "client_cpu_s", "server_cpu_s",
          "rejected_items", "plan"]


def binary(name):
    return os.environ.get("CARGO_TARGET_DIR", str(CACHE / "target")) + "/release/" + name


def settle(url):
    """Waits until no merge runs, so that a run does not pay for the one before."""
    for _ in range(600):
        stats = request(f"{url}/_stats/merge,flush")
        if stats["_all"]["total"].get("merge", {}).get("current", 0) == 0:
            return
        time.sleep(0.2)


@contextlib.contextmanager
def alone(path):
    """Holds a lock on that file, so that other work on the machine can take turns with the
    rounds."""
    if path is None:
        yield
        return
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Bench:
    def __init__(self, args, server):
        self.args, self.server = args, server
        self.to = server.url
        self.out = pathlib.Path(args.out)
        self.done = {}
        if self.out.exists():
            for row in csv.DictReader(self.out.open()):
                self.done.setdefault((row["phase"], int(row["round"]), row["cell"]), row)
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def load(self, cell, files, trace=None):
        try:
            request(f"{self.server.url}/bench", "DELETE")
        except OSError:
            pass
        settle(self.server.url)
        size, _, in_flight = cell.partition("x")
        fixed = [] if cell.startswith("auto") else ["--batch-bytes", size, "--in-flight", in_flight]
        flags = fixed if cell in ("auto", "auto-beside") else [*fixed, *PLAIN]
        # The largest cells of the grid need more than the default, which `auto` has.
        memory = [] if cell.startswith("auto") else ["--memory", "1GiB"]
        cpu = self.server.cpu_seconds()
        command = [self.args.beside if cell == "auto-beside" else binary("inrush"), "load", *files, "--index", "bench", "--mapping", self.args.mapping, "--shards", str(self.args.shards),
                   "--replicas", "0", "--to", self.to, "--quiet", "--json", "--no-verify", *memory, *flags]
        if trace and self.args.traces and cell.startswith("auto"):
            command += ["--trace", f"{self.args.traces}/{trace}.ndjson"]
        if self.args.client_cpus:
            command = ["taskset", "-c", self.args.client_cpus, *command]
        progress = []
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started = time.monotonic()
        while child.poll() is None:
            # Documents indexed by then, for the rate after the first seconds.
            time.sleep(0.5)
            try:
                stats = request(f"{self.server.url}/bench/_stats/indexing?filter_path=_all.primaries.indexing.index_total")
                progress.append((time.monotonic() - started, stats["_all"]["primaries"]["indexing"]["index_total"]))
            except (OSError, KeyError):
                continue
        out, err = child.communicate()
        if child.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(command)}\nended with {child.returncode}: {err.decode()}")
        usage = os.times()
        report = json.loads(out)
        # A thread that writes a segment holds its request for seconds, at the end of a load or just
        # before. Until all is searchable that work is done in either case.
        began = time.monotonic()
        request(f"{self.server.url}/bench/_refresh", "POST")
        refresh = time.monotonic() - began
        per_doc = report["bytes_read"] / max(1, report["docs_read"])
        late = [point for point in progress if point[0] >= self.args.skip]
        steady = ""
        if len(late) >= 4:
            steady = round((late[-1][1] - late[0][1]) * per_doc / (late[-1][0] - late[0][0]) / 1e6, 3)
        seconds = report["docs_read"] / report["docs_per_second"]
        return {
            "docs": report["docs_read"], "bytes": report["bytes_read"], "seconds": round(seconds, 3), "refresh_s": round(refresh, 3),
            "searchable_mb_per_s": round(report["bytes_read"] / (seconds + refresh) / 1e6, 3),
            "mb_per_s": round(report["bytes_read"] / seconds / 1e6, 3), "steady_mb_per_s": steady,
            "client_cpu_s": round(usage.children_user + usage.children_system, 2),
            "server_cpu_s": round(self.server.cpu_seconds() - cpu, 2), "rejected_items": report["rejected_items"],
            "plan": f"{report['plan']['batch_bytes']}x{report['plan']['in_flight']}",
        }

    def run(self, phase, number, cell, files):
        key = (phase, number, cell)
        if key not in self.done:
            before = os.times()
            row = self.load(cell, files, f"{phase}-{number}-{cell}")
            row["client_cpu_s"] = round(row["client_cpu_s"] - before.children_user - before.children_system, 2)
            row |= {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "phase": phase, "round": number, "cell": cell}
            with self.out.open("a") as file:
                csv.DictWriter(file, FIELDS).writerow(row)
            print(phase, number, cell, row["mb_per_s"], "MB/s, steady", row["steady_mb_per_s"], "plan", row["plan"], flush=True)
            self.done[key] = row
        return self.done[key]


def interval(ratios, draws=10000):
    """Median of paired ratios with its 95 % interval by bootstrap."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(draws))
    return statistics.median(ratios), medians[int(draws * 0.025)], medians[int(draws * 0.975)]


def ratios(rows, field, auto, top=None):
    """The fixed cell that is best on the even rounds, or `top`, and the ratio of `auto` to it:
    (round, ratio).

    `rows` are by round and cell. A row without the field gives no ratio.
    """
    values = {key: float(row[field]) for key, row in rows.items() if row[field] not in ("", None)}
    fixed = sorted({cell for _, cell in values if not cell.startswith("auto")})
    on_even = {cell: [value for (n, other), value in values.items() if other == cell and n % 2 == 0] for cell in fixed}
    top = top or max((cell for cell in fixed if on_even[cell]), key=lambda cell: statistics.median(on_even[cell]), default=None)
    return top, [(n, values[n, auto] / values[n, top]) for n in sorted({n for n, _ in values}) if (n, auto) in values and (n, top) in values]


def said(pairs):
    """Number, median and interval of all rounds and of the odd ones. Of four and fewer: lowest and
    highest."""
    def one(values):
        low, high = interval(values)[1:] if len(values) > 4 else (min(values), max(values))
        return "%.3f (%.3f to %.3f)" % (statistics.median(values), low, high)

    odd = [ratio for n, ratio in pairs if n % 2]
    return f"{len(pairs)} rounds {one([ratio for _, ratio in pairs])}" + (f", odd ones {one(odd)}" if odd else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=1, help="times that the file is loaded in a compared run")
    parser.add_argument("--screen-data", help="a shorter file for the grid")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--skip", type=float, default=10.0, help="seconds before the steady state")
    parser.add_argument("--lock", help="a file to lock during each round, for machines that others use too")
    parser.add_argument("--auto-plain", action="store_true", help="also compare `auto` without its choice of encoding and compression")
    parser.add_argument("--beside", metavar="BINARY", help="another build of inrush, of which `auto` is compared as well")
    parser.add_argument("--cells", help="compare these cells instead of the best three of the grid, as in 2MiBx4,8MiBx4")
    parser.add_argument("--traces", help="a folder for the traces of what chose by itself")
    parser.add_argument("--client-cpus")
    parser.add_argument("--server-cpus")
    parser.add_argument("--proxy", help='options of the testbed\'s proxy between client and server, as in --proxy="--delay-ms 100 --mbit 100"')
    args = parser.parse_args()
    product, version = args.server.split(":")
    with Server(product, version, args.heap_mib, args.server_cpus) as server:
        bench = Bench(args, server)
        files = [args.data] * args.repeat
        with alone(args.lock):
            for _ in range(2):
                bench.load("2MiBx4", files)
        proxy = None
        if args.proxy is not None:
            command = [binary("inrush-testbed"), "proxy", "--to", server.url, *args.proxy.split()]
            proxy = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            bench.to = proxy.stdout.readline().strip()
        cells = [f"{size}x{n}" for size, n in itertools.product(BYTES, IN_FLIGHT)]
        random.Random(7).shuffle(cells)
        for first in range(0, 0 if args.cells else len(cells), 5):
            with alone(args.lock):
                for cell in cells[first : first + 5]:
                    bench.run("screen", 0, cell, [args.screen_data or args.data])
        rate = lambda row: float(row["mb_per_s"])
        best = args.cells.split(",") if args.cells else sorted(cells, key=lambda cell: -rate(bench.done["screen", 0, cell]))[:3]
        autos = ["auto"] + ["auto-plain"] * args.auto_plain + ["auto-beside"] * bool(args.beside)
        for number in range(args.rounds):
            order = [*best, *autos]
            random.Random(number).shuffle(order)
            with alone(args.lock):
                for cell in order:
                    bench.run("compare", number, cell, files)
        if proxy:
            proxy.stdin.close()
            proxy.wait()

    compared = {(n, cell): row for (phase, n, cell), row in bench.done.items() if phase == "compare" and n < args.rounds and cell in [*best, *autos]}

    def report(field, what):
        for auto in autos:
            top, pairs = ratios(compared, field, auto)
            if pairs:
                print(f"{what}: best fixed cell (by even rounds) {top}; {auto} / best: {said(pairs)}")

    report("mb_per_s", "whole run")
    report("searchable_mb_per_s", "until all is searchable")
    report("steady_mb_per_s", f"after {args.skip:g} s")


if __name__ == "__main__":
    main()
