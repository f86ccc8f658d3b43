#!/usr/bin/env python3
"""The Python package and the bulk helpers of opensearch-py, with the same documents and server.

Runs in the environment that `scripts/python.sh build` makes, with release builds:

    INRUSH_PYTHON_PROFILE=release scripts/python.sh build && cargo build --release -p inrush-testbed
    ~/.cache/inrush/venv/bin/python bench/python.py flights-3m.parquet                         # the null server
    ~/.cache/inrush/venv/bin/python bench/python.py flights-3m.parquet --to http://localhost:9200 --rows 500000

Cases take turns in five rounds; each run is a process of its own. The raw seconds go to
bench/runs/, the medians to stdout. With --to the first round warms the server up and is not
counted, and the clock stops when all documents are searchable. Helpers get fewer documents
(--helper-rows), because they are slow; documents a second are compared.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

CLONE = Path(__file__).parent.parent
INDEX = "bench-python"

# Name: way, input, the helper's settings.
CASES = {
    "inrush.load table": ("inrush", "table", {}),
    "inrush.load dicts": ("inrush", "dicts", {}),
    "streaming_bulk 500": ("streaming_bulk", "dicts", {"chunk_size": 500}),
    "streaming_bulk 2000": ("streaming_bulk", "dicts", {"chunk_size": 2000}),
    "streaming_bulk 10000": ("streaming_bulk", "dicts", {"chunk_size": 10000}),
    "parallel_bulk 4x500": ("parallel_bulk", "dicts", {"thread_count": 4, "chunk_size": 500}),
    "parallel_bulk 4x2000": ("parallel_bulk", "dicts", {"thread_count": 4, "chunk_size": 2000}),
    "parallel_bulk 8x2000": ("parallel_bulk", "dicts", {"thread_count": 8, "chunk_size": 2000, "queue_size": 8}),
    "parallel_bulk 2x10000": ("parallel_bulk", "dicts", {"thread_count": 2, "chunk_size": 10000}),
}


def one(case: str, parquet: str, rows: int, url: str, searchable: bool) -> dict[str, float]:
    """One run, in this process: reading the file into memory is not part of it."""
    import pyarrow.parquet as pq

    how, what, settings = CASES[case]
    table = pq.read_table(parquet).slice(0, rows)
    # Helpers need dicts. They are made of the table before the clock starts.
    documents = None if what == "table" else table.to_pylist()
    client = None
    if how != "inrush":
        import opensearchpy
        from opensearchpy import helpers

        client = opensearchpy.OpenSearch(url, timeout=120, pool_maxsize=16)
    import inrush

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    cpu_before, began = cpu(), time.perf_counter()
    if how == "inrush":
        report = inrush.load(table if what == "table" else documents, INDEX, url, progress=False, no_verify=not searchable)
        assert report.ok and report.docs_indexed == table.num_rows, report
    else:
        actions = ({"_index": INDEX, "_source": document} for document in documents)
        done = 0
        for ok, _ in getattr(helpers, how)(client, actions, **settings):
            done += ok
        assert done == table.num_rows, done
        if searchable:
            client.indices.refresh(index=INDEX)
    seconds = time.perf_counter() - began
    return {"docs": table.num_rows, "seconds": seconds, "cpu_seconds": cpu() - cpu_before}


def ask(url: str, method: str, path: str) -> None:
    try:
        urllib.request.urlopen(urllib.request.Request(f"{url}/{path}", method=method), timeout=60).read()
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parquet", help="3,000,000 flights: `npm pack vega-datasets`, package/data/flights-3m.parquet")
    parser.add_argument("--to", help="a real server instead of the null server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--helper-rows", type=int, default=300_000, help="with --to: as many as --rows")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one, args.parquet, args.rows, args.to, os.environ["SEARCHABLE"] == "1")))
        return

    cases = [case for case in CASES if args.only in case]
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path.home() / ".cache/inrush/target"))
    out = CLONE / "bench/runs" / f"{datetime.date.today()}-python/{'null' if args.to is None else 'server'}.csv"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=CLONE, capture_output=True, text=True).stdout.strip()
    rates: dict[str, list[float]] = {case: [] for case in cases}
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = not out.exists()
    with out.open("a", newline="") as file:
        rows = csv.writer(file)
        if fresh:
            rows.writerow(["date", "commit", "case", "docs", "seconds", "client_cpu_seconds", "docs_per_second"])
        for number in range(args.rounds + (args.to is not None)):
            for case in cases:
                server, url = None, args.to
                if url is None:
                    server = subprocess.Popen(
                        [target / "release/inrush-testbed", "null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                    )
                    url = server.stdout.readline().strip()
                else:
                    ask(url, "DELETE", INDEX)
                    ask(url, "PUT", INDEX)
                few = args.to is None and not case.startswith("inrush")
                done = subprocess.run(
                    [sys.executable, __file__, args.parquet, "--one", case, "--to", url, "--rows", str(args.helper_rows if few else args.rows)],
                    env={**os.environ, "SEARCHABLE": str(int(args.to is not None))},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                if server is not None:
                    server.stdin.close()
                    server.wait()
                result = json.loads(done.stdout.splitlines()[-1])
                rate = result["docs"] / result["seconds"]
                warming = args.to is not None and number == 0
                print(f"{'warming up' if warming else f'round {number}'}: {case}: {rate:,.0f} docs/s", file=sys.stderr)
                if not warming:
                    rates[case].append(rate)
                    now = datetime.datetime.now().isoformat(timespec="seconds")
                    rows.writerow(
                        [now, commit, case, result["docs"], f"{result['seconds']:.3f}", f"{result['cpu_seconds']:.3f}", f"{rate:.0f}"]
                    )
                    file.flush()
    best = max((statistics.median(rates[case]) for case in cases if not case.startswith("inrush")), default=None)
    for case in cases:
        median = statistics.median(rates[case])
        times = "" if best is None else f"  {median / best:.1f} x the best helper"
        print(f"{case:24} {median:>12,.0f} docs/s{times}")


if __name__ == "__main__":
    main()
