#!/usr/bin/env python3
"""Compression on a slow link: loads through the testbed's proxy, with `auto` and as plain JSON in
turn.

    bench/link.py --server opensearch:3.6.0 --data lines.ndjson --docs 500000 --mapping bench/lines.mapping.json --mbit 20 --out bench/runs/… [--rounds 5]

Each run goes into a fresh index. Appends to the CSV file. `chosen_after_s` is the time at which the
load took gzip, in seconds after its first line of log.
"""

import argparse
import csv
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request
from tuner import binary, settle

WAYS = {"auto": [], "json": ["--encoding", "json", "--compression", "none"]}
FIELDS = ["time", "mbit", "delay_ms", "round", "way", "docs", "bytes", "bytes_sent", "seconds", "docs_per_s", "chosen_after_s", "ended_as"]


def load(server, to, file, mapping, way):
    try:
        request(f"{server.url}/bench", "DELETE")
    except OSError:
        pass
    settle(server.url)
    command = [binary("inrush"), "load", file, "--index", "bench", "--mapping", mapping, "--shards", "1", "--replicas", "0", "--to", to, "--json",
               "--no-verify", "--leave-settings", "-v", "--log-json", *WAYS[way]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    logs = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    at = lambda log: datetime.fromisoformat(log["timestamp"].replace("Z", "+00:00")).timestamp()
    message = lambda log: log.get("message") or log.get("fields", {}).get("message", "")
    chosen = [at(log) - at(logs[0]) for log in logs if "gzip" in message(log) and "brought" in message(log)]
    return {
        "docs": report["docs_read"], "bytes": report["bytes_read"], "bytes_sent": report.get("bytes_sent", ""),
        "seconds": round(report["docs_read"] / report["docs_per_second"], 3), "docs_per_s": round(report["docs_per_second"]),
        "chosen_after_s": round(chosen[0], 2) if chosen else "", "ended_as": f"{report['plan']['encoding']} {report['plan']['compression']}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--docs", type=int, default=500_000)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--mbit", type=int, default=20)
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    product, version = args.server.split(":")
    out = pathlib.Path(args.out)
    fresh = not out.exists()
    rates = {way: [] for way in WAYS}
    with Server(product, version, 2048) as server, out.open("a") as csv_file, tempfile.NamedTemporaryFile("w", suffix=".ndjson") as part:
        with open(args.data) as data:
            part.writelines(itertools.islice(data, args.docs))
        part.flush()
        rows = csv.DictWriter(csv_file, FIELDS)
        if fresh:
            rows.writeheader()
        command = [binary("inrush-testbed"), "proxy", "--to", server.url, "--mbit", str(args.mbit), "--delay-ms", str(args.delay_ms)]
        proxy = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        to = proxy.stdout.readline().strip()
        # The server is warmed up without the link.
        load(server, server.url, part.name, args.mapping, "json")
        for number in range(1, args.rounds + 1):
            for way in random.Random(number).sample(sorted(WAYS), len(WAYS)):
                row = load(server, to, part.name, args.mapping, way)
                row |= {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "mbit": args.mbit, "delay_ms": args.delay_ms, "round": number, "way": way}
                rows.writerow(row)
                csv_file.flush()
                rates[way].append(row["docs_per_s"])
                print(number, way, row["docs_per_s"], "docs/s, gzip after", row["chosen_after_s"], "s", flush=True)
        proxy.stdin.close()
        proxy.wait()
    ratios = [auto / plain for auto, plain in zip(rates["auto"], rates["json"])]
    print(f"auto / json: median {statistics.median(ratios):.2f} of {len(ratios)} rounds ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
