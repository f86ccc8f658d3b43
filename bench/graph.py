#!/usr/bin/env python3
"""`--graph end` beside `--graph load` and a merge: seconds until merged and searchable, and recall.

    python3 bench/graph.py VECTORS.npy SERVER ROUNDS OUT.csv [INDEX_OPTIONS]

SERVER is a product and a version, such as elasticsearch-8.19.21. Row i becomes a document with `n` =
i and the vector `v`, in one shard without replicas. INDEX_OPTIONS is JSON; the default is the
server's. Rounds run both ways in turn on one warmed node. Each way ends with one segment: the load
with `--graph end` merges by itself, the other is followed by a merge. Recall is the share of the 10
nearest of 200 rows that a search with 100 candidates finds; the nearest are computed from the file.
Needs numpy. INRUSH is the program.
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

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))
QUERIES, NEAREST, CANDIDATES = 200, 10, 100


def recall(url, vectors, asked, nearest):
    found = 0
    for row, expected in zip(asked, nearest):
        knn = {"field": "v", "query_vector": vectors[row].tolist(), "k": NEAREST, "num_candidates": CANDIDATES}
        hits = request(f"{url}/graph/_search", "POST", {"size": NEAREST, "knn": knn, "_source": ["n"]})["hits"]["hits"]
        found += len(set(expected) & {hit["_source"]["n"] for hit in hits})
    return found / (NEAREST * len(asked))


def main():
    if not 5 <= len(sys.argv) <= 6:
        raise SystemExit(__doc__)
    file, server, rounds, out = sys.argv[1:5]
    vectors = numpy.load(file, mmap_mode="r")
    docs, dims = vectors.shape
    asked = numpy.random.default_rng(2).choice(docs, QUERIES, replace=False)
    directions = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = numpy.argsort(-(directions[asked] @ directions.T), axis=1)[:, :NEAREST].tolist()
    product, version = server.split("-", 1)
    field = {"type": "dense_vector", "dims": dims, "similarity": "cosine"}
    if len(sys.argv) > 5:
        field["index_options"] = json.loads(sys.argv[5])
    rows = []
    with tempfile.TemporaryDirectory() as folder, Server(product, version, 4096) as node:
        folder = pathlib.Path(folder)
        (folder / "mapping.json").write_text(json.dumps({"properties": {"n": {"type": "integer"}, "v": field}}))
        (folder / "docs.ndjson").write_text("".join(f'{{"n":{n}}}\n' for n in range(docs)))
        for number in range(int(rounds) + 1):
            for way in ["load", "end"] if number % 2 else ["end", "load"]:
                # Warms up with a part.
                limit = ["--limit", str(docs // 10)] if not number else []
                before, begun = node.cpu_seconds(), time.monotonic()
                load = [
                    INRUSH, "load", folder / "docs.ndjson", "--vectors", f"v={file}", "--mapping", folder / "mapping.json", "--shards", "1",
                    "--replicas", "0", "--index", "graph", "--graph", way, "--to", node.url, "--quiet", *limit]
                subprocess.run(load, check=True, env={**os.environ, "XDG_STATE_HOME": str(folder)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                loaded = time.monotonic() - begun
                if way == "load":
                    request(f"{node.url}/graph/_forcemerge?max_num_segments=1", "POST")
                request(f"{node.url}/graph/_refresh", "POST")
                wall, cpu = time.monotonic() - begun, node.cpu_seconds() - before
                segments = len(request(f"{node.url}/_cat/segments/graph?format=json"))
                row = {"server": server, "round": number, "way": way, "docs": docs, "dims": dims, "load_s": f"{loaded:.1f}", "wall_s": f"{wall:.1f}"}
                row |= {"node_cpu_s": f"{cpu:.1f}", "segments": segments, "recall": "" if limit else f"{recall(node.url, vectors, asked, nearest):.4f}"}
                request(f"{node.url}/graph", "DELETE")
                print(*row.values(), sep=",", flush=True)
                if number:
                    rows.append(row)
    with open(out, "w", newline="") as target:
        writer = csv.DictWriter(target, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    of = {way: [row for row in rows if row["way"] == way] for way in ("load", "end")}
    print("| way | until merged, s | node, processor s | recall |\n|---|---|---|---|")
    for way in of:
        print(f"| {way} | {' | '.join(str(statistics.median(float(row[figure]) for row in of[way])) for figure in ('wall_s', 'node_cpu_s', 'recall'))} |")
    for figure in ("wall_s", "node_cpu_s"):
        ratios = [float(end[figure]) / float(load[figure]) for load, end in zip(of["load"], of["end"], strict=True)]
        print(f"{figure}: end / load {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
