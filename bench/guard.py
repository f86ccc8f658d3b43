#!/usr/bin/env python3
"""The settings guard on and off, to searchable and to green, on a real server.

Loads the same documents into a fresh index with each way in turn, in a shuffled order for every
round, and prints medians and paired ratios. A way is a name of WAYS. Appends to the CSV file, so
that an interrupted run can continue.

    bench/guard.py --server opensearch:3.6.0 --data lines.ndjson --mapping bench/lines.mapping.json --out bench/runs/… [--nodes 2 --shards 2 --replicas 1]
"""

import argparse
import csv
import json
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Cluster, Server, request
from tuner import alone, binary, interval, settle

FIELDS = ["time", "label", "round", "way", "docs", "acknowledged_s", "searchable_s", "green_s", "client_cpu_s", "server_cpu_s", "segments", "changed"]
# The flags and the settings of the index that each way begins with.
WAYS = {
    "on": ([], {}),
    "off": (["--leave-settings"], {}),
    "refresh-1s": (["--leave-settings"], {"refresh_interval": "1s"}),
    "refresh-off": (["--leave-settings"], {"refresh_interval": "-1"}),
    "refresh-60s": (["--leave-settings"], {"refresh_interval": "60s"}),
    # For loads that the guard leaves alone otherwise.
    "request": (["--durability", "request"], {}),
    "async": (["--durability", "async"], {}),
    "async-256": (["--durability", "async", "--memory", "256MiB"], {}),
}


def wait_for(url, condition):
    """Waits for the health of the index."""
    for _ in range(600):
        try:
            if not request(f"{url}/_cluster/health/bench?{condition}&timeout=60s")["timed_out"]:
                return
        except urllib.error.HTTPError as error:
            # The servers answer so when the wait was longer than that.
            if error.code != 408:
                raise
    raise SystemExit(f"the index did not get there: {condition}")


class Bench:
    def __init__(self, args, server):
        self.args, self.server = args, server
        self.out = pathlib.Path(args.out)
        self.done = {}
        if self.out.exists():
            for row in csv.DictReader(self.out.open()):
                self.done[row["label"], int(row["round"]), row["way"]] = row
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def load(self, way, files):
        url = self.server.url
        try:
            request(f"{url}/bench", "DELETE")
        except OSError:
            pass
        settle(url)
        flags, settings = WAYS[way]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"index": settings}, file)
            file.flush()
            command = [binary("inrush"), "load", *files, "--index", "bench", "--mapping", self.args.mapping, "--shards", str(self.args.shards),
                       "--replicas", str(self.args.replicas), "--to", url, "--quiet", "--json", *flags]
            if settings:
                command += ["--settings", file.name]
            cpu = self.server.cpu_seconds()
            started = time.monotonic()
            child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        searchable = time.monotonic() - started
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nended with {child.returncode}: {child.stderr.decode()}")
        report = json.loads(child.stdout)
        if settings:
            request(f"{url}/bench/_settings", "PUT", {"index": {name: None for name in settings}})
        if self.args.replicas and self.args.nodes > 1:
            wait_for(url, "wait_for_status=green&wait_for_no_initializing_shards=true")
            wait_for(url, "wait_for_status=green&wait_for_no_relocating_shards=true")
        green = time.monotonic() - started
        segments = request(f"{url}/bench/_stats/segments")["_all"]["primaries"]["segments"]["count"]
        return {
            "docs": report["docs_read"], "acknowledged_s": round(report["docs_read"] / report["docs_per_second"], 2),
            "searchable_s": round(searchable, 2), "green_s": round(green, 2), "server_cpu_s": round(self.server.cpu_seconds() - cpu, 1),
            "segments": segments, "changed": report["settings"]["restored"],
        }

    def run(self, label, number, way, files):
        if (label, number, way) in self.done:
            return
        before = resource_seconds()
        row = self.load(way, files)
        row |= {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "label": label, "round": number, "way": way,
                "client_cpu_s": round(resource_seconds() - before, 2)}
        with self.out.open("a") as file:
            csv.DictWriter(file, FIELDS).writerow(row)
        print(label, number, way, "searchable", row["searchable_s"], "green", row["green_s"], flush=True)
        self.done[label, number, way] = row


def resource_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--label", required=True, help="names this shape in the CSV file")
    parser.add_argument("--ways", default="on,off")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1, help="times that the file is loaded")
    parser.add_argument("--warm-data", help="a shorter file for the warm-up")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=0)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--node-cpus", nargs="*", help="processors of each node")
    parser.add_argument("--lock", help="a file to lock during each round, for machines that others use too")
    args = parser.parse_args()
    product, version = args.server.split(":")
    ways = args.ways.split(",")
    if args.nodes > 1:
        server = Cluster(product, version, args.nodes, args.heap_mib, args.node_cpus)
    else:
        server = Server(product, version, args.heap_mib, (args.node_cpus or [None])[0])
    with server:
        bench = Bench(args, server)
        with alone(args.lock):
            for _ in range(3):
                bench.load("off", [args.warm_data or args.data])
        for number in range(args.rounds):
            order = list(ways)
            random.Random(number).shuffle(order)
            with alone(args.lock):
                for way in order:
                    bench.run(args.label, number, way, [args.data] * args.repeat)
    base = "off" if "off" in ways else ways[0]
    for field in ["acknowledged_s", "searchable_s", "green_s", "server_cpu_s"]:
        of = {way: [float(bench.done[args.label, n, way][field]) for n in range(args.rounds)] for way in ways}
        for way in ways:
            text = f"{args.label} {field} {way}: median {statistics.median(of[way]):.2f}"
            if way != base and base in of:
                text += f"; {base} / it, paired: " + "%.3f (%.3f to %.3f)" % interval([b / a for a, b in zip(of[way], of[base])])
            print(text)


if __name__ == "__main__":
    main()
