#!/usr/bin/env python3
"""SMILE against JSON and `auto`, on a real server at equal settings.

For each batch size: rounds of one run each of json, smile and auto, in a shuffled order, each into
a fresh index after the merges of the last one have ended. Every encoding is warmed up first,
because a server compiles the parser that it uses. Prints the median of the paired ratios with its
95 % interval (bootstrap); auto is compared with the better of the two by median. Appends to the CSV
file, so that an interrupted run can continue.

    bench/encoding.py --server opensearch:3.6.0 --data lines.ndjson --mapping bench/lines.mapping.json --out bench/runs/… [--rounds 10]
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
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request
from tuner import alone, binary, interval, settle

DOCS = [100, 500, 1000, 2000, 5000, 10000, 20000]
ENCODINGS = ["json", "smile", "auto"]
FIELDS = ["time", "docs_per_batch", "round", "encoding", "docs", "bytes", "seconds", "docs_per_s", "bytes_sent", "store_bytes", "client_cpu_s",
          "server_cpu_s", "rejected_items", "ended_as", "why"]


class Bench:
    def __init__(self, args, server):
        self.args, self.server = args, server
        self.out = pathlib.Path(args.out)
        self.done = {}
        if self.out.exists():
            for row in csv.DictReader(self.out.open()):
                self.done[int(row["docs_per_batch"]), int(row["round"]), row["encoding"]] = row
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def load(self, docs, encoding, repeat):
        try:
            request(f"{self.server.url}/bench", "DELETE")
        except OSError:
            pass
        settle(self.server.url)
        args = self.args
        # Only the documents bound a request, so it has as many in either encoding. More bytes would
        # be read ahead, in the encoding of that moment.
        command = [binary("inrush"), "load", *[args.data] * repeat, "--index", "bench", "--mapping", args.mapping, "--shards", str(args.shards),
                   "--replicas", "0", "--to", self.server.url, "--quiet", "--json", "--no-verify", "--leave-settings", "--memory", "2GiB",
                   "--batch-bytes", args.batch_bytes, "--batch-docs", str(docs), "--in-flight", str(args.in_flight), "--encoding", encoding,
                   "--compression", "none"]
        server_cpu = self.server.cpu_seconds()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr.decode()}")
        report = json.loads(done.stdout)
        request(f"{self.server.url}/bench/_flush", "POST")
        stats = request(f"{self.server.url}/bench/_stats/store")
        return {
            "docs": report["docs_read"], "bytes": report["bytes_read"], "seconds": round(report["docs_read"] / report["docs_per_second"], 3),
            "docs_per_s": round(report["docs_per_second"]), "bytes_sent": report["bytes_sent"],
            "store_bytes": stats["_all"]["primaries"]["store"]["size_in_bytes"],
            "client_cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
            "server_cpu_s": round(self.server.cpu_seconds() - server_cpu, 2), "rejected_items": report["rejected_items"],
            "ended_as": report["plan"]["encoding"], "why": report["plan"]["wire_why"],
        }

    def run(self, docs, number, encoding):
        key = (docs, number, encoding)
        if key not in self.done:
            row = self.load(docs, encoding, self.args.repeat)
            row |= {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "docs_per_batch": docs, "round": number, "encoding": encoding}
            with self.out.open("a") as file:
                csv.DictWriter(file, FIELDS).writerow(row)
            print(docs, number, encoding, row["docs_per_s"], "docs/s", row["ended_as"], flush=True)
            self.done[key] = row
        return self.done[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=1, help="times that the file is loaded in a run")
    parser.add_argument("--docs", type=int, nargs="*", default=DOCS, help="documents in one request")
    parser.add_argument("--encodings", nargs="*", default=ENCODINGS, choices=ENCODINGS, help="auto compares nothing in a load of less than a minute")
    parser.add_argument("--batch-bytes", default="4MiB", help="more than the documents of the largest batch have; 20,000 log lines have 2.9 MiB")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--lock", help="a file to lock during each round, for machines that others use too")
    parser.add_argument("--server-cpus")
    args = parser.parse_args()
    product, version = args.server.split(":")
    with Server(product, version, args.heap_mib, args.server_cpus) as server:
        bench = Bench(args, server)
        with alone(args.lock):
            for encoding in ["json", "smile", "json", "smile"]:
                bench.load(5000, encoding, 1)
        for number in range(args.rounds):
            sizes = random.Random(number).sample(args.docs, len(args.docs))
            for docs in sizes:
                order = random.Random(f"{number} {docs}").sample(args.encodings, len(args.encodings))
                with alone(args.lock):
                    for encoding in order:
                        bench.run(docs, number, encoding)

    for docs in args.docs:
        rate = {encoding: [float(bench.done[docs, n, encoding]["docs_per_s"]) for n in range(args.rounds)] for encoding in args.encodings}
        print(docs, "documents a batch, docs/s:", ", ".join(f"{encoding} {statistics.median(rates):,.0f}" for encoding, rates in rate.items()))
        ratio = lambda way, base: "%.3f (%.3f to %.3f)" % interval([a / b for a, b in zip(rate[way], rate[base])])
        fixed = [encoding for encoding in ["json", "smile"] if encoding in rate]
        if len(fixed) == 2:
            print("  smile / json:", ratio("smile", "json"))
        if "auto" in rate and fixed:
            better = max(fixed, key=lambda encoding: statistics.median(rate[encoding]))
            print(f"  auto / {better}:", ratio("auto", better))


if __name__ == "__main__":
    main()
