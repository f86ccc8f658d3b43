#!/usr/bin/env python3
"""Loads with and without the batches by column of Elasticsearch 9.5, in turn.

    python3 bench/columnar.py LINES MAPPING ROUNDS OUT.csv MODE… [--only CLIENT,…]

LINES are those of `bench/data.py lines`. Two nodes run, one with `indices.batch_indexing` and its
Java option. A round after one to warm up runs each client on both nodes, for each MODE of an index:
`standard`, `logsdb`, `columnar`, `logsdb_columnar`. A measurement ends when all documents can be
counted. `index_s` is the time of the shard for indexing, as its statistics say it. INRUSH and ESPIPE
are the programs; `helper` is parallel_bulk of the Python client with four threads.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))
ESPIPE = os.environ.get("ESPIPE", os.path.expanduser("~/.cache/inrush/peers/espipe-0.7.0/bin/espipe"))
HELPER = """
import sys
import elasticsearch, elasticsearch.helpers, orjson
client = elasticsearch.Elasticsearch(sys.argv[1], request_timeout=600)
with open(sys.argv[2], "rb") as lines:
    documents = ({"_op_type": "create", **orjson.loads(line)} for line in lines)
    for ok, item in elasticsearch.helpers.parallel_bulk(client, documents, index="batches", thread_count=4, chunk_size=2000):
        assert ok, item
"""
FLAG = "-Des.batch_indexing_feature_flag_enabled=true"


def run(client, node, lines, docs, mode, mapping, folder):
    index = {"number_of_shards": 1, "number_of_replicas": 0} | ({} if mode == "standard" else {"mode": mode})
    request(f"{node.url}/batches", "PUT", {"settings": {"index": index}, "mappings": mapping})
    command = {
        "inrush": [INRUSH, "load", lines, "--index", "batches", "--to", node.url, "--quiet"],
        "espipe": [ESPIPE, lines, f"{node.url}/batches"],
        "helper": [sys.executable, "-c", HELPER, node.url, lines],
    }[client]
    before, begun = node.cpu_seconds(), time.monotonic()
    subprocess.run(command, check=True, env={**os.environ, "XDG_STATE_HOME": folder}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    request(f"{node.url}/batches/_refresh", "POST")
    found = request(f"{node.url}/batches/_count")["count"]
    wall, cpu = time.monotonic() - begun, node.cpu_seconds() - before
    assert found == docs, (client, found, docs)
    shard = request(f"{node.url}/batches/_stats/indexing,store")["_all"]["primaries"]
    request(f"{node.url}/batches", "DELETE")
    return {
        "wall_s": f"{wall:.2f}", "node_cpu_s": f"{cpu:.2f}", "index_s": shard["indexing"]["index_time_in_millis"] / 1000,
        "index_bytes": shard["store"]["size_in_bytes"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("lines", "mapping", "rounds", "out"):
        parser.add_argument(name)
    parser.add_argument("modes", nargs="+")
    parser.add_argument("--only", default="inrush,espipe,helper")
    options = parser.parse_args()
    clients = options.only.split(",")
    mapping = json.loads(pathlib.Path(options.mapping).read_text())
    mapping = mapping.get("mappings", mapping)
    with open(options.lines, "rb") as lines:
        docs = sum(1 for _ in lines)
    rows = []
    with tempfile.TemporaryDirectory() as folder, \
            Server("elasticsearch", "9.5.3", 2048) as without, \
            Server("elasticsearch", "9.5.3", 2048, settings=["indices.batch_indexing: true"], java_options=[FLAG]) as by_column:
        for number in range(int(options.rounds) + 1):
            nodes = [("no", without), ("yes", by_column)]
            for mode in options.modes:
                for client in clients:
                    for batches, node in nodes if number % 2 else reversed(nodes):
                        row = {"round": number, "mode": mode, "client": client, "batches": batches, "docs": docs}
                        row |= run(client, node, options.lines, docs, mode, mapping, folder)
                        print(*row.values(), sep=",", flush=True)
                        # The first round warms up.
                        if number:
                            rows.append(row)
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("| mode | client | documents/s without | with | ratio | node's processor time | time of the shard |\n|---|---|---|---|---|---|---|")
    for mode in options.modes:
        for client in clients:
            of = {b: [row for row in rows if (row["mode"], row["client"], row["batches"]) == (mode, client, b)] for b in ("no", "yes")}
            rate = {b: statistics.median(docs / float(row["wall_s"]) for row in of[b]) for b in of}
            ratios = [
                statistics.median(float(yes[figure]) / float(no[figure]) for no, yes in zip(of["no"], of["yes"], strict=True))
                for figure in ("wall_s", "node_cpu_s", "index_s")]
            print(f"| {mode} | {client} | {rate['no']:,.0f} | {rate['yes']:,.0f} | {1 / ratios[0]:.2f} | {ratios[1]:.2f} | {ratios[2]:.2f} |")


if __name__ == "__main__":
    main()
