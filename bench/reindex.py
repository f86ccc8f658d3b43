#!/usr/bin/env python3
"""Copying an index between clusters: `inrush load URL/index` against the target's
reindex-from-remote.

Loads documents into an index of the source. Then copies it in rounds, each way once a round in a
shuffled order, into a fresh index of the target after the merges of the last one have ended.
`reindex` is the request with the server's defaults; `reindex-tuned` has larger pages and no
refreshes, as guides advise. The time ends when searches find all documents. After the last round
`inrush verify` compares the copies with the source. Appends to the CSV file, so that an interrupted
run can continue.

    bench/reindex.py --data lines.ndjson --mapping lines.json --docs 500000 --out bench/runs/… [--rounds 7]
"""

import argparse
import csv
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, free_port, request
from tuner import alone, binary, settle

WAYS = ["inrush", "reindex", "reindex-tuned"]
FIELDS = ["time", "round", "way", "docs", "bytes", "seconds", "docs_per_s", "client_cpu_s", "source_cpu_s", "target_cpu_s"]


class Bench:
    def __init__(self, args, source, target):
        self.args, self.source, self.target = args, source, target
        self.mapping = json.loads(pathlib.Path(args.mapping).read_text())
        self.out = pathlib.Path(args.out)
        self.rows = []
        if self.out.exists():
            self.rows = list(csv.DictReader(self.out.open()))
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def fill(self):
        """The index that is copied."""
        with tempfile.NamedTemporaryFile("w", suffix=".ndjson", delete=False) as file, open(self.args.data) as data:
            file.writelines(itertools.islice(data, self.args.docs))
        command = [binary("inrush"), "load", file.name, "--index", "old", "--id-from", "position", "--mapping", self.args.mapping, "--shards",
                   str(self.args.shards), "--replicas", "0", "--to", self.source.url, "--quiet", "--json"]
        report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        os.unlink(file.name)
        request(f"{self.source.url}/old/_forcemerge?max_num_segments=5", "POST")
        self.docs, self.bytes = report["docs_indexed"], report["bytes_read"]
        request(f"{self.source.url}/old/_flush", "POST")
        # The server updates the size of its store every 10 s.
        time.sleep(11)
        stored = request(f"{self.source.url}/old/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"]
        print(f"{self.docs} documents, {self.bytes / 1e6:.0f} MB of JSON, {stored / 1e6:.0f} MB in {self.source.name}", flush=True)

    def copy(self, way):
        name = f"copy-{way}"
        if self.target_has(name):
            request(f"{self.target.url}/{name}", "DELETE")
        settle(self.target.url)
        settings = {"number_of_shards": self.args.shards, "number_of_replicas": 0}
        if way == "reindex-tuned":
            settings["refresh_interval"] = "-1"
        request(f"{self.target.url}/{name}", "PUT", {"settings": settings, "mappings": self.mapping.get("mappings", self.mapping)})
        cpu = (self.source.cpu_seconds(), self.target.cpu_seconds(), os.times())
        started = time.monotonic()
        if way == "inrush":
            command = [binary("inrush"), "load", f"{self.source.url}/old", "--index", name, "--to", self.target.url, "--quiet", "--json"]
            report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            if report["verified"]["state"] != "yes":
                raise SystemExit(f"not verified: {report['verified']}")
        else:
            source = {"remote": {"host": self.source.url}, "index": "old"}
            if way == "reindex-tuned":
                source["size"] = 5000
            reply = request(f"{self.target.url}/_reindex?refresh=true", "POST", {"source": source, "dest": {"index": name}})
            if reply["failures"]:
                raise SystemExit(f"failures: {reply['failures'][:3]}")
        seconds = time.monotonic() - started
        docs = request(f"{self.target.url}/{name}/_count")["count"]
        if docs != self.docs:
            raise SystemExit(f"{way}: {docs} documents arrived of {self.docs}")
        times = os.times()
        client = times.children_user + times.children_system - cpu[2].children_user - cpu[2].children_system
        return {
            "docs": docs, "bytes": self.bytes, "seconds": round(seconds, 3), "docs_per_s": round(docs / seconds),
            "client_cpu_s": round(client, 2), "source_cpu_s": round(self.source.cpu_seconds() - cpu[0], 2),
            "target_cpu_s": round(self.target.cpu_seconds() - cpu[1], 2),
        }

    def target_has(self, name):
        return name in request(f"{self.target.url}/_all/_settings/index.uuid")

    def run(self, number, way):
        if any(row["round"] == str(number) and row["way"] == way for row in self.rows):
            return
        with alone(self.args.lock):
            row = {"time": time.strftime("%H:%M:%S"), "round": number, "way": way, **self.copy(way)}
        self.rows.append({key: str(value) for key, value in row.items()})
        with self.out.open("a") as file:
            csv.DictWriter(file, FIELDS).writerow(row)
        print(row, flush=True)

    def verify(self, way):
        command = [binary("inrush"), "verify", f"{self.source.url}/old", "--index", f"copy-{way}", "--to", self.target.url, "--quiet", "--json"]
        report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        print(f"{way}: {report['result']}, {report['docs_compared']} ids and contents compared", flush=True)

    def summary(self):
        # Round 0 warms both servers up.
        for way in WAYS:
            rates = [float(row["docs_per_s"]) for row in self.rows if row["way"] == way and row["round"] != "0"]
            if rates:
                print(f"{way:14} {statistics.median(rates):9.0f} documents/s in the median of {len(rates)}, {min(rates):.0f} to {max(rates):.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="NDJSON")
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--docs", type=int, default=500_000)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--source", default="elasticsearch:7.17.29")
    parser.add_argument("--target", default="opensearch:3.6.0")
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lock", help="a file to lock during each run")
    args = parser.parse_args()
    (source, source_version), (target, target_version) = args.source.split(":"), args.target.split(":")
    port = free_port()
    allowed = "whitelist" if target == "elasticsearch" else "allowlist"
    with Server(source, source_version, args.heap_mib, port=port) as old, \
            Server(target, target_version, args.heap_mib, settings=[f"reindex.remote.{allowed}: [\"127.0.0.1:{port}\"]"]) as new:
        bench = Bench(args, old, new)
        bench.fill()
        for number in range(args.rounds + 1):
            ways = WAYS[:]
            random.Random(number).shuffle(ways)
            for way in ways:
                bench.run(number, way)
        for way in WAYS:
            if bench.target_has(f"copy-{way}"):
                bench.verify(way)
        bench.summary()


if __name__ == "__main__":
    main()
