#!/usr/bin/env python3
"""Vectors into an index without a graph, by several ways, in turn: documents a second.

    python3 bench/vectors.py PREFIX SERVER ROUNDS OUT.csv WAY…

PREFIX.parquet and PREFIX.ndjson are those of bench/vector_data.py. SERVER is a product and a
version, such as elasticsearch-9.5.3, or PRODUCT-VERSION=URL of a node that runs. A round after one to
warm up runs each way once, in an order that moves by one from round to round. A measurement begins
with the process of the client and ends when all documents can be counted. The index has one shard
and no replica. INRUSH and ESPIPE are the programs.

Ways:
    parquet        `inrush load` of the Parquet file
    parquet-smile  the same with `--encoding smile`
    json           the NDJSON file, numbers as they are: `--leave-settings`, so nothing is packed
    json-packed    the NDJSON file, packed where the server takes it
    espipe         espipe with the NDJSON file
    helper         parallel_bulk of the Python client, four threads, vectors of the Parquet file by
                   pack_dense_vector
    helper-lists   the same with lists of numbers
"""

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
PLUGINS = {"opensearch": ["opensearch-knn"]}
HELPER = """
import sys
import elasticsearch, elasticsearch.helpers, pyarrow.parquet
url, file, packed = sys.argv[1], sys.argv[2], sys.argv[3] == "packed"
client = elasticsearch.Elasticsearch(url, request_timeout=600)
def documents():
    for batch in pyarrow.parquet.ParquetFile(file).iter_batches(1000):
        numbers, titles, column = (batch.column(at) for at in range(3))
        rows = column.flatten().to_numpy().reshape(len(batch), -1)
        for n, title, row in zip(numbers.to_pylist(), titles.to_pylist(), rows):
            yield {"n": n, "title": title, "v": elasticsearch.helpers.pack_dense_vector(row) if packed else row.tolist()}
for ok, item in elasticsearch.helpers.parallel_bulk(client, documents(), index="vectors", thread_count=4, chunk_size=500):
    assert ok, item
"""


def mapping(product, dims):
    if product == "elasticsearch":
        field = {"type": "dense_vector", "dims": dims, "similarity": "l2_norm", "index_options": {"type": "flat"}}
    else:
        field = {"type": "knn_vector", "dimension": dims}
    return {"properties": {"n": {"type": "long"}, "title": {"type": "keyword"}, "v": field}}


def settings():
    """Those of a load, for the ways that leave them alone."""
    return {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "translog.durability": "async"}


def run(way, url, prefix, docs, product, dims, folder):
    request(f"{url}/vectors", "PUT", {"settings": {"index": settings()}, "mappings": mapping(product, dims)})
    load = [INRUSH, "load", "--index", "vectors", "--to", url, "--quiet", "--json"]
    command = {
        "parquet": [*load, f"{prefix}.parquet"],
        "parquet-smile": [*load, f"{prefix}.parquet", "--encoding", "smile"],
        "json": [*load, f"{prefix}.ndjson", "--leave-settings"],
        "json-packed": [*load, f"{prefix}.ndjson"],
        "espipe": [ESPIPE, f"{prefix}.ndjson", f"{url}/vectors"],
        "helper": [sys.executable, "-c", HELPER, url, f"{prefix}.parquet", "packed"],
        "helper-lists": [sys.executable, "-c", HELPER, url, f"{prefix}.parquet", "lists"],
    }[way]
    environment = {**os.environ, "XDG_STATE_HOME": folder}
    begun = time.monotonic()
    client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
    told = client.stdout.read()
    _, status, usage = os.wait4(client.pid, 0)
    assert status == 0, (command, status, told)
    request(f"{url}/vectors/_refresh", "POST")
    found = request(f"{url}/vectors/_count", "POST", {"query": {"exists": {"field": "v"}}})["count"]
    wall = time.monotonic() - begun
    assert found == docs, (way, found, docs)
    size = int(request(f"{url}/_cat/indices/vectors?format=json&bytes=b&h=pri.store.size")[0]["pri.store.size"])
    request(f"{url}/vectors", "DELETE")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, size


def main():
    if len(sys.argv) < 6:
        raise SystemExit(__doc__)
    prefix, server, rounds, out, *ways = sys.argv[1:]
    server, _, running = server.partition("=")
    product, version = server.split("-", 1)
    with open(f"{prefix}.ndjson", "rb") as lines:
        dims = len(json.loads(lines.readline())["v"])
        docs = 1 + sum(1 for _ in lines)
    rows = []
    with tempfile.TemporaryDirectory() as folder, (Running(running) if running else Server(product, version, 4096, plugins=PLUGINS.get(product, ()))) as node:
        for number in range(int(rounds) + 1):
            for way in [ways[(number + at) % len(ways)] for at in range(len(ways))]:
                before = node.cpu_seconds()
                wall, cpu, peak, size = run(way, node.url, prefix, docs, product, dims, folder)
                row = dict(server=server, round=number, way=way, docs=docs, dims=dims, wall_s=f"{wall:.2f}", client_cpu_s=f"{cpu:.2f}")
                row |= dict(node_cpu_s=f"{node.cpu_seconds() - before:.2f}", client_peak_kib=peak, index_bytes=size)
                print(*row.values(), sep=",", flush=True)
                # The first round warms up.
                if number:
                    rows.append(row)
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("| way | documents/s | client, processor s | node, processor s | client, peak MiB |\n|---|---|---|---|---|")
    for way in ways:
        of = [row for row in rows if row["way"] == way]
        rate, client, node_cpu, peak = (
            statistics.median(figure(row) for row in of)
            for figure in (
                lambda row: docs / float(row["wall_s"]), lambda row: float(row["client_cpu_s"]),
                lambda row: float(row["node_cpu_s"]), lambda row: row["client_peak_kib"] / 1024))
        print(f"| {way} | {rate:,.0f} | {client:.1f} | {node_cpu:.1f} | {peak:.0f} |")


class Running:
    """A node that somebody else has started; its processor time is not known."""

    def __init__(self, url):
        self.url = url

    def cpu_seconds(self):
        return 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


if __name__ == "__main__":
    main()
