#!/usr/bin/env python3
"""The work of a live node for an index: `inrush load` into it against `inrush bake` beside it.

Builder and live node are pinned to processors of their own. Each round runs every way once, in a
shuffled order. A probe searches another index of the live node every 20 ms the whole time. Prints
medians and ratios to the load. Appends to the CSV file, so that an interrupted run can continue.

    bench/bake.py --server opensearch:3.6.0 --data lines.ndjson --mapping bench/lines.mapping.json --label lines --out bench/runs/…

Ways:
    idle       only the probe, as long as a load takes
    neighbour  the same while another program keeps the builder's processors busy, so that the
               machine's part of a slower search can be told from the bake's
    load       `inrush load` into the live node
    bake-warm  on a builder that has built before
    bake-cold  on a builder that is started for it; its start counts
    native     `inrush bake --engine native`, on the builder's processors

`live_busy_s`: the live node counts as working in a tenth of a second in which it uses more than a
fifth of a processor above its idle use.
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request
from tuner import alone, binary, settle

FIELDS = ["time", "label", "round", "way", "docs", "wall_s", "live_cpu_s", "live_busy_s", "builder_cpu_s", "client_cpu_s", "total_cpu_s", "searches",
          "search_p50_ms", "search_p99_ms", "search_max_ms", "first_search_ms", "restore_s"]
WAYS = ["idle", "neighbour", "load", "bake-warm", "bake-cold", "native"]
SEARCH_EVERY_S = 0.02
LOOK_EVERY_S = 0.1
BUSY = 0.2


class Probe:
    """Searches an index without writes at fixed times, and samples the processor time of the live
    node."""

    def __init__(self, server):
        self.server, self.latencies, self.samples = server, [], []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.search), threading.Thread(target=self.watch)]

    def search(self):
        due = time.monotonic()
        while not self.ended.is_set():
            due += SEARCH_EVERY_S
            time.sleep(max(0.0, due - time.monotonic()))
            term = f"t{random.randrange(1000)}"
            request(f"{self.server.url}/probe/_search?request_cache=false", "POST", {"query": {"term": {"tag": term}}})
            # From its due time: the wait for the search before it counts.
            self.latencies.append((time.monotonic() - due) * 1000)

    def watch(self):
        while not self.ended.is_set():
            self.samples.append((time.monotonic(), self.server.cpu_seconds()))
            time.sleep(LOOK_EVERY_S)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def rates(self):
        """Processors in use between two samples, with the time between them."""
        pairs = zip(self.samples, self.samples[1:])
        return [((c2 - c1) / (t2 - t1), t2 - t1) for (t1, c1), (t2, c2) in pairs]

    def quantile(self, share):
        ordered = sorted(self.latencies)
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else None


class Bench:
    def __init__(self, args, live, builder, shared):
        self.args, self.live, self.builder, self.shared = args, live, builder, shared
        self.out = pathlib.Path(args.out)
        # The time that the probe runs alone, and its cost for the live node.
        self.idle_s, self.idle_rate = 20.0, 0.0
        self.done = set()
        if self.out.exists():
            self.done = {(row["label"], int(row["round"]), row["way"]) for row in csv.DictReader(self.out.open())}
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def prepare(self):
        """An index for the probe's searches."""
        url = self.live.url
        request(f"{url}/probe", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "mappings": {"properties": {"tag": {"type": "keyword"}}}})
        body = "".join(f'{{"index":{{}}}}\n{{"tag":"t{n % 1000}","n":{n}}}\n' for n in range(50_000))
        subprocess.run(["curl", "-sf", "-o", "/dev/null", "-H", "content-type: application/x-ndjson", "--data-binary", "@-", f"{url}/probe/_bulk?refresh=true"],
                       input=body.encode(), check=True)
        request(f"{url}/probe/_forcemerge?max_num_segments=1", "POST")

    def command(self, way, state):
        common = [self.args.data, "--index", "bench", "--mapping", self.args.mapping, "--shards", str(self.args.shards), "--replicas", "0", "--to", self.live.url,
                  "--quiet", "--json", "--state", state]
        client = ["taskset", "-c", self.args.client_cpus] if self.args.client_cpus else []
        if way == "load":
            return [*client, binary("inrush"), "load", *common]
        if way == "native":
            return [*client, binary("inrush"), "bake", *common, "--repository-path", str(self.shared), "--engine", "native", *self.args.bake_flags.split()]
        return [*client, binary("inrush"), "bake", *common, "--repository-path", str(self.shared), "--builder", self.builder.url, *self.args.bake_flags.split()]

    def once(self, way):
        for index in ["bench"]:
            try:
                request(f"{self.live.url}/{index}", "DELETE")
            except OSError:
                pass
        settle(self.live.url)
        cold = None
        if way == "bake-cold":
            # From its start to its end.
            warm, cold = self.builder, self.fresh_builder()
            self.builder = cold
        live, builder, client = self.live.cpu_seconds(), 0.0 if cold else self.builder.cpu_seconds(), children_seconds()
        started = time.monotonic()
        row = {"docs": 0, "restore_s": None, "first_search_ms": None}
        with Probe(self.live) as probe:
            if way == "idle":
                time.sleep(self.idle_s)
            elif way == "neighbour":
                with occupied(self.args.builder_cpus):
                    time.sleep(self.idle_s)
            else:
                with tempfile.TemporaryDirectory() as state:
                    child = subprocess.run(self.command(way, state), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                # 3: a few documents do not fit the mapping in either way.
                if child.returncode not in (0, 3):
                    raise SystemExit(f"{way} ended with {child.returncode}: {child.stderr.decode()}{child.stdout.decode()}")
                report = json.loads(child.stdout)
                row["docs"] = report["docs_read"]
                steps = report.get("bake", {}).get("steps", [])
                row["restore_s"] = next((round(step["seconds"], 2) for step in steps if step["step"] == "restore"), None)
                begun = time.monotonic()
                request(f"{self.live.url}/bench/_search", "POST", {"query": {"match_all": {}}})
                row["first_search_ms"] = round((time.monotonic() - begun) * 1000, 2)
        wall = time.monotonic() - started
        live = self.live.cpu_seconds() - live
        builder = self.builder.cpu_seconds() - builder
        client = children_seconds() - client
        if cold:
            cold.stop()
            self.builder = warm
        rates = probe.rates()
        if way == "idle":
            builder = 0.0
            self.idle_rate = statistics.median(rate for rate, _ in rates)
        elif way == "load":
            self.idle_s = wall
        busy = sum(seconds for rate, seconds in rates if rate > self.idle_rate + BUSY)
        # The probe's own share is no work on the index.
        own = max(0.0, live - self.idle_rate * wall)
        builder = builder if way.startswith("bake") else 0.0
        client = 0.0 if way in ("idle", "neighbour") else client
        return row | {
            "wall_s": round(wall, 2), "live_cpu_s": round(own, 2), "live_busy_s": round(busy, 2), "builder_cpu_s": round(builder, 2), "client_cpu_s": round(client, 2),
            "total_cpu_s": round(own + builder + client, 2), "searches": len(probe.latencies), "search_p50_ms": probe.quantile(0.5),
            "search_p99_ms": probe.quantile(0.99), "search_max_ms": probe.quantile(1.0),
        }

    def fresh_builder(self):
        product, version = self.args.server.split(":")
        return Server(product, version, self.args.heap_mib, self.args.builder_cpus, settings=path_repo(self.shared))

    def run(self, number, way):
        if (self.args.label, number, way) in self.done:
            return
        row = self.once(way) | {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "label": self.args.label, "round": number, "way": way}
        with self.out.open("a") as file:
            csv.DictWriter(file, FIELDS).writerow(row)
        print(self.args.label, number, way, {key: row[key] for key in FIELDS[5:]}, flush=True)


@contextlib.contextmanager
def occupied(cpus):
    """Keeps the processors busy."""
    spins = [subprocess.Popen(["taskset", "-c", cpus, sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for spin in spins:
            spin.kill()
            spin.wait()


def path_repo(shared):
    return [f"path.repo: [{json.dumps(str(shared))}]"]


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def summary(out, label):
    rows = [row for row in csv.DictReader(out.open()) if row["label"] == label]

    def median(way, field):
        found = [float(row[field]) for row in rows if row["way"] == way and row[field]]
        return statistics.median(found) if found else None

    fields = ["wall_s", "live_cpu_s", "live_busy_s", "builder_cpu_s", "client_cpu_s", "total_cpu_s", "search_p50_ms", "search_p99_ms", "search_max_ms", "first_search_ms"]
    print("| way | " + " | ".join(fields) + " |")
    for way in WAYS:
        print(f"| {way} | " + " | ".join("" if median(way, f) is None else f"{median(way, f):.2f}" for f in fields) + " |")
    for way in ["bake-warm", "bake-cold", "native"]:
        for field in ["live_cpu_s", "live_busy_s", "total_cpu_s"]:
            load, bake = median("load", field), median(way, field)
            if load and bake is not None:
                print(f"{way}: {field} is {bake / load:.3f} of load's" + (f" (1/{load / bake:.0f})" if bake else ""))
    idle, neighbour = median("idle", "search_p99_ms"), median("neighbour", "search_p99_ms")
    for way in WAYS[1:]:
        p99 = median(way, "search_p99_ms")
        if idle and p99:
            print(f"{way}: p99 of searches is {p99 / idle:.2f} of idle" + (f", {p99 / neighbour:.2f} of neighbour" if neighbour else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--label", required=True, help="names this shape in the CSV file")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--live-cpus", default="1")
    parser.add_argument("--builder-cpus", default="0")
    parser.add_argument("--client-cpus", default="0", help="processors of inrush itself; empty: all")
    parser.add_argument("--bake-flags", default="", help="further flags of the bake, as in '--unthrottle --force-merge 1'")
    parser.add_argument("--warm-ups", type=int, default=3, help="loads into either node before the first round")
    parser.add_argument("--lock", help="a file to lock during each round, for machines that others use too")
    args = parser.parse_args()
    product, version = args.server.split(":")
    shared = pathlib.Path(tempfile.mkdtemp(prefix="inrush-bench-shared-", dir="/var/tmp"))
    os.chmod(shared, 0o777)
    live = builder = None
    try:
        live = Server(product, version, args.heap_mib, args.live_cpus, settings=path_repo(shared))
        builder = Server(product, version, args.heap_mib, args.builder_cpus, settings=path_repo(shared))
        bench = Bench(args, live, builder, shared)
        with alone(args.lock):
            bench.prepare()
            for _ in range(args.warm_ups):
                # A bake warms the builder, a load warms the live node.
                bench.once("load")
                bench.once("bake-warm")
                if "native" in args.ways:
                    bench.once("native")
            bench.once("idle")
        for number in range(args.rounds):
            order = args.ways.split(",")
            random.Random(number).shuffle(order)
            with alone(args.lock):
                for way in order:
                    bench.run(number, way)
        summary(bench.out, args.label)
    finally:
        for server in [live, builder]:
            if server:
                server.stop()
        shutil.rmtree(shared, ignore_errors=True)


if __name__ == "__main__":
    main()
