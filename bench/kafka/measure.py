#!/usr/bin/env python3
"""Topics of Kafka: one series of measurements. `series.sh` has the series with their sizes.

    bench/kafka/measure.py SERIES --out bench/runs/… [--docs N] [--rounds N] [--partitions N]

    null         the client alone: a topic without and with compression, records without keys, and a file
    null-others  the same against other ways from a topic into a cluster
    server       a topic and the same documents from a file into a real server, to searchable
    server-others  the same against other ways
    memory       200 partitions against the null server
    coalesce     many changes of few keys, with and without a window
    fetch        keys that are looked up in Postgres
    avro         Avro with a schema registry
    away         the server is gone for --seconds

A round has one run of each case, in a shuffled order; the first round warms up and is not written.
A run is a group of its own, which reads the topic from its beginning. `first_s` and `last_s` are
the times at which the server had the first and the last document; the other ways do not end, so
they are stopped then. Appends to the CSV file, and prints medians, and ratios paired by rounds.
"""

import argparse
import csv
import json
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "peers"))
from broker import Broker, avro_events, changes, events
from run import Null
from servers import CACHE, Server, request
from services import Postgres, Registry
from sinks import FILE, INRUSH, Sink, installed, topic
from timed import Timed
from tools import release
from tuner import interval, settle

FIELDS = ["time", "commit", "series", "round", "case", "partitions", "docs", "arrived", "seconds", "first_s", "last_s", "searchable_s", "docs_per_s", "client_cpu_s",
          "cpu_s_per_million", "peak_mib", "anonymous_mib", "server_cpu_s", "broker_cpu_s", "exit", "superseded", "deleted_docs", "deleted_share", "note"]
INDEX = "events"
MAPPING = json.loads((pathlib.Path(__file__).parent / "events.mapping.json").read_text())


class Real(Server):
    """A real node, whose index is made again for each run."""

    def __init__(self, named):
        product, _, version = named.partition(":")
        super().__init__(product, version, 2048)

    def fresh(self):
        try:
            request(f"{self.url}/{INDEX}", "DELETE")
        except OSError:
            pass
        settle(self.url)
        request(f"{self.url}/{INDEX}", "PUT", {"settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}}, "mappings": MAPPING})

    def docs(self):
        path = "_all.primaries.indexing.index_total"
        return request(f"{self.url}/{INDEX}/_stats/indexing?filter_path={path}").get("_all", {}).get("primaries", {}).get("indexing", {}).get("index_total", 0)

    def searchable(self):
        request(f"{self.url}/{INDEX}/_refresh", "POST")

    def end(self):
        """Documents, and deleted ones in the segments."""
        docs = request(f"{self.url}/{INDEX}/_stats/docs")["_all"]["primaries"]["docs"]
        return docs["count"], docs["deleted"]


class Counting(Null):
    """The null server; a new one for each run."""

    def docs(self):
        return request(f"{self.url}/_null/stats")["docs"]

    def searchable(self):
        pass

    def end(self):
        return self.docs(), 0


class Bench:
    def __init__(self, args, broker):
        self.args, self.broker, self.rows, self.runs = args, broker, [], 0
        self.commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True).stdout.strip()
        self.out = pathlib.Path(args.out)
        if not self.out.exists():
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def topic(self, name, records, compression="none", partitions=None):
        self.broker.create(name, partitions or self.args.partitions)
        self.broker.fill(name, records, compression)
        return name

    def run(self, number, case, sink, topic, server, docs, **more):
        """One run. `docs`: those that are waited for, or None."""
        self.runs += 1
        command = sink.command(self.broker.address, topic, f"bench-{self.runs}", server.url, INDEX, str(self.args.data))
        server_cpu, broker_cpu = server.cpu_seconds(), self.broker.cpu_seconds()
        before = server.docs()
        run = Timed(command, lambda: server.docs() - before, docs, sink.is_endless)
        began = time.monotonic()
        server.searchable()
        searchable = (run.last_s if sink.is_endless and run.last_s else run.seconds) + time.monotonic() - began
        arrived, deleted = server.end()
        report = json.loads(run.out) if run.out.startswith("{") else {}
        read = docs or report.get("docs_read", 0)
        end = searchable if isinstance(server, Real) else run.last_s or run.seconds
        good = run.exit in (0, -15, 143) and (not docs or arrived >= docs)
        row = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S"), "commit": self.commit, "series": self.args.series, "round": number, "case": case,
            "partitions": more.get("partitions", self.args.partitions), "docs": read, "arrived": arrived, "seconds": round(run.seconds, 3), "first_s": rounded(run.first_s), "last_s": rounded(run.last_s),
            "searchable_s": round(searchable, 3), "docs_per_s": round(read / end), "client_cpu_s": round(run.cpu_s, 2), "cpu_s_per_million": round(run.cpu_s / max(1, read) * 1e6, 3),
            "peak_mib": round(run.peak_kib / 1024), "anonymous_mib": round(run.anonymous_kib / 1024), "server_cpu_s": round(server.cpu_seconds() - server_cpu, 2),
            "broker_cpu_s": round(self.broker.cpu_seconds() - broker_cpu, 2), "exit": run.exit, "superseded": report.get("docs_superseded", ""), "deleted_docs": deleted,
            "deleted_share": round(deleted / max(1, arrived + deleted), 4), "note": "" if good else " ".join((run.errors or run.out).split())[-300:],
        }
        print("warming up" if number == 0 else f"round {number}", case, f"{row['docs_per_s']:,} docs/s,", f"{row['cpu_s_per_million']} CPU s a million,", f"{row['peak_mib']} MiB",
              row["note"], flush=True)
        if number:
            self.write(row)
        return run

    def write(self, row):
        self.rows.append(row)
        with self.out.open("a") as file:
            csv.DictWriter(file, FIELDS).writerow(row)

    def rounds(self, cases, server=None, docs=None, **more):
        """`cases`: name, sink, topic. Without a server each run has a null server of its own."""
        for number in range(self.args.rounds + 1):
            for case, sink, name in random.Random(number).sample(cases, len(cases)):
                if server:
                    server.fresh()
                    self.run(number, case, sink, name, server, docs, **more)
                    settle(server.url)
                else:
                    with Counting() as null:
                        self.run(number, case, sink, name, null, docs, **more)
        self.table([case for case, *_ in cases], "searchable_s" if server else "seconds")

    def table(self, cases, field):
        """Medians, and the times of the first case divided by those of each other one."""
        of = {case: [row for row in self.rows if row["case"] == case] for case in cases}
        print("\n| case | docs/s | CPU s a million | peak, MiB | its time / that of the first case |\n|---|---|---|---|---|")
        for case, rows in of.items():
            if not rows:
                continue
            ratios = [row[field] / base[field] for row, base in zip(rows, of[cases[0]])]
            middle = {name: statistics.median(row[name] for row in rows) for name in ("docs_per_s", "cpu_s_per_million", "peak_mib")}
            print(f"| {case} | {middle['docs_per_s']:,.0f} | {middle['cpu_s_per_million']:.2f} | {middle['peak_mib']:.0f} | {'%.2f (%.2f to %.2f)' % interval(ratios)} |")


def rounded(seconds):
    return "" if seconds is None else round(seconds, 3)


def written(path, records):
    with path.open("w") as file:
        file.writelines(value + "\n" for _, value in records)


def null(bench, args):
    cases = [("inrush", INRUSH, bench.topic("plain", events(args.docs)))]
    cases += [(f"inrush, {name}", INRUSH, bench.topic(name, events(args.docs), name)) for name in ("lz4", "zstd")]
    cases.append(("inrush, no keys", INRUSH, bench.topic("keyless", events(args.docs, False))))
    written(args.data / "plain.ndjson", events(args.docs))
    cases.append((FILE.name, FILE, "plain"))
    bench.rounds(cases, docs=args.docs)


def null_others(bench, args):
    name = bench.topic("plain", events(args.docs))
    bench.rounds([(sink.name, sink, name) for sink in (INRUSH, *others())], docs=args.docs)


def server(bench, args):
    name = bench.topic("plain", events(args.docs))
    written(args.data / "plain.ndjson", events(args.docs))
    with Real(args.server) as real:
        bench.rounds([(sink.name, sink, name) for sink in (FILE, INRUSH)], real, args.docs)


def server_others(bench, args):
    name = bench.topic("plain", events(args.docs))
    with Real(args.server) as real:
        bench.rounds([(sink.name, sink, name) for sink in (INRUSH, *others())], real, args.docs)


def others():
    found = installed()
    if not found:
        raise SystemExit("no other programs are here; run bench/kafka/install.sh")
    return found


def memory(bench, args):
    bench.topic("wide", events(args.docs), partitions=200)
    bench.topic("wide-zstd", events(args.docs), "zstd", partitions=200)
    bench.rounds([("inrush, 200 partitions", INRUSH, "wide"), ("inrush, 200 partitions, zstd", INRUSH, "wide-zstd")], docs=args.docs, partitions=200)


def coalesce(bench, args):
    """As published: 17,500,000 events that end as 3,800,000 documents."""
    keys = args.docs * 38 // 175
    with Real(args.server) as real:
        for order in ("close", "any"):
            name = bench.topic(order, changes(args.docs, keys, order))
            windows = [("", ())] + [(f" {window}", ("--coalesce", window)) for window in ("0s", "10s", "60s")]
            bench.rounds([(f"{order}{window}", Sink("inrush", topic(*flags)), name) for window, flags in windows], real)


def fetch(bench, args):
    name = bench.topic("keys", ((key, "{}") for key, _ in events(args.docs)))
    with Postgres(args.docs) as database:
        bench.rounds([("inrush, look-ups", Sink("inrush", topic("--fetch", database.look_up())), name), ("inrush, none", INRUSH, name)], docs=args.docs)


def avro(bench, args):
    name, plain = bench.topic("avro", avro_events(args.docs, 1)), bench.topic("plain", events(args.docs))
    with Registry() as registry:
        bench.rounds([("inrush, Avro", Sink("inrush", topic("--schema-registry", registry.url)), name), ("inrush, JSON", INRUSH, plain)], docs=args.docs)


def away(bench, args):
    """Once into a server that stays, and once into one that is away for a while after a third of the records."""
    name = bench.topic("plain", events(args.docs))
    # The log says when the member gets partitions.
    sink = Sink("inrush", topic("--pause-for", f"{args.seconds + 600}s", "--log-level", "info"))
    for outage in [0, args.seconds]:
        run, gone = away_once(bench, args, name, sink, outage)
        points = [(at, count) for at, count, _ in run.samples if count]
        before, after = ([point for point in points if (point[0] < gone) is early] for early in (True, False))
        resident = lambda begin, end: max((kib for at, _, kib in run.samples if begin <= at < end), default=0) / 1024
        note = f"docs/s in each second: {each_second(before)}"
        if outage:
            back = gone + outage
            first = next(at for at, count in after if count > before[-1][1])
            note += (f"; away at {gone:.1f} s; after: {each_second(after)}; first document {first - back:.1f} s after the server is back; "
                     f"anonymous MiB {resident(0, gone):.0f} before, {resident(gone, back):.0f} meanwhile, {resident(back, 1e9):.0f} after")
        note += f"; partitions were assigned {run.errors.count('this member reads')} times"
        print(note)
        bench.write({"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "commit": bench.commit, "series": "away", "round": 1, "case": f"away for {outage} s", "partitions": args.partitions,
                     "docs": args.docs, "arrived": points[-1][1], "seconds": round(run.seconds, 3), "client_cpu_s": round(run.cpu_s, 2), "peak_mib": round(run.peak_kib / 1024),
                     "anonymous_mib": round(run.anonymous_kib / 1024), "exit": run.exit, "note": note})


def away_once(bench, args, name, sink, outage):
    """The run, and when its server went away."""
    gone, ended = [float("inf")], threading.Event()
    with subprocess.Popen([release("inrush-testbed"), "null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()

        def docs():
            try:
                return request(f"{url}/_null/stats")["docs"]
            except OSError:
                return 0

        def leave():
            while docs() < args.docs // 3:
                if ended.wait(0.02):
                    return
            request(f"{url}/_null/away?seconds={outage}", "POST")
            gone[0] = time.monotonic() - began

        began = time.monotonic()
        if outage:
            threading.Thread(target=leave, daemon=True).start()
        run = Timed(sink.command(bench.broker.address, name, f"bench-away-{outage}", url, INDEX, ""), docs, timeout=outage + 900)
        ended.set()
        server.stdin.close()
    if run.exit or (outage and gone[0] > run.seconds):
        raise SystemExit(f"the load ended with status {run.exit}: {run.errors[-500:]}")
    return run, gone[0]


def each_second(points):
    """docs/s in each whole second of points (seconds, docs)."""
    near = lambda at: min(points, key=lambda point: abs(point[0] - at))
    edges = [near(at) for at in range(int(points[0][0]) + 1, int(points[-1][0]) + 1)]
    return " ".join(f"{(right[1] - left[1]) / (right[0] - left[0]):,.0f}" for left, right in zip(edges, edges[1:]))


SERIES = {"null": null, "null-others": null_others, "server": server, "server-others": server_others, "memory": memory, "coalesce": coalesce, "fetch": fetch, "avro": avro, "away": away}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", choices=SERIES)
    parser.add_argument("--out", required=True)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=600, help="away: how long the server is gone")
    parser.add_argument("--server", default="opensearch:3.6.0", help="product:version")
    args = parser.parse_args()
    # So that servers and programs are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args.data = CACHE / "bench/kafka"
    args.data.mkdir(parents=True, exist_ok=True)
    with Broker() as broker:
        SERIES[args.series](Bench(args, broker), args)


if __name__ == "__main__":
    main()
