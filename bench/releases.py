#!/usr/bin/env python3
"""Native indices beside one release after another.

    bench/releases.py OUT.tsv SEED SECONDS SERVER…    # such as elasticsearch-9.3.8

For each server: its version of Lucene; rounds, documents, those not supported and rounds that differ of
`lucene.py fuzz` with all types, and again mostly with the newer ones; a bake by `inrush bake --engine
native`, searched beside an index that `inrush load` made of the same lines. Appends a row; what differs
is in OUT.tsv.txt. INRUSH is the program, INRUSH_LUCENE as in lucene.py.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import lucene
from servers import request

RANGES = "integer_range,long_range,float_range,double_range,date_range,ip_range"
NEWER = f"completion,{RANGES},binary,keyword"
# Of OpenSearch 3, whose servers for tests have these modules.
NEWER_OF_MODULES = f"{NEWER},search_as_you_type,rank_feature,rank_features,wildcard"
DOCS = 20_000
MAPPING = {"properties": {
    "n": {"type": "long"}, "text": {"type": "text", "fields": {"raw": {"type": "keyword"}}}, "tag": {"type": "keyword"},
    "at": {"type": "date"}, "ip": {"type": "ip"}, "price": {"type": "double"}, "where": {"type": "geo_point"},
    "parts": {"type": "nested", "properties": {"name": {"type": "keyword"}, "size": {"type": "integer"}}},
}}
SEARCHES = [
    {"term": {"tag": "t3"}}, {"match": {"text": "words 79190"}}, {"match_phrase": {"text": "some words 15838"}}, {"range": {"n": {"gte": 100, "lt": 250}}},
    {"range": {"at": {"gte": "2024-01-27"}}}, {"term": {"ip": "10.0.3.0/24"}}, {"prefix": {"text.raw": "some words 79"}}, {"ids": {"values": ["i1", "i77", "none"]}},
    {"range": {"price": {"gt": 99.5}}}, {"geo_distance": {"distance": "200km", "where": {"lat": 10, "lon": 20}}},
    {"nested": {"path": "parts", "query": {"bool": {"filter": [{"term": {"parts.name": "p2"}}, {"term": {"parts.size": 4}}]}}}},
]


def line(n):
    return {
        "id": f"i{n}", "n": n, "text": f"some words {n * 7919}", "tag": f"t{n % 7}", "at": f"2024-01-{1 + n % 28:02}T00:00:00Z", "ip": f"10.0.{n % 256}.{n % 250}",
        "price": n % 1000 / 10, "where": {"lat": n % 90, "lon": n % 170}, "parts": [{"name": f"p{n % 5}", "size": n % 9}, {"name": "q", "size": 1}],
    }


def hits(url, index, query):
    found = request(f"{url}/{index}/_search", "POST", {"query": query, "size": 100, "track_total_hits": True, "sort": ["n"]})["hits"]
    return found["total"]["value"], [(hit["_id"], hit["_source"]) for hit in found["hits"]]


def bake(node):
    """How many documents a restored index has, and in how many searches it differs from a loaded one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        shared = folder / "shared"
        shared.mkdir()
        for open_to_all in (folder, shared):
            open_to_all.chmod(0o777)
        (folder / "mapping.json").write_text(json.dumps({"mappings": MAPPING}))
        (folder / "lines.ndjson").write_text("".join(json.dumps(line(n)) + "\n" for n in range(DOCS)))
        common = [folder / "lines.ndjson", "--mapping", folder / "mapping.json", "--id", "id", "--to", node.url]
        for index, mode in (("loaded", ["load"]), ("baked", ["bake", "--engine", "native", "--repository-path", shared])):
            command = [os.environ["INRUSH"], mode[0], *common, "--index", index, *mode[1:]]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
            if run.returncode:
                print(*mode, run.stdout)
                return f"{mode[0]} failed"
            request(f"{node.url}/{index}/_refresh", "POST")
        differ = sum(hits(node.url, "loaded", query) != hits(node.url, "baked", query) for query in SEARCHES)
        request(f"{node.url}/baked/_update/i7?refresh=true", "POST", {"doc": {"tag": "new"}})
        request(f"{node.url}/baked/_forcemerge?max_num_segments=1", "POST")
        after = hits(node.url, "baked", {"term": {"tag": "new"}})[0]
        count = request(f"{node.url}/baked/_count")["count"]
        return f"{count} restored, {differ} of {len(SEARCHES)} searches differ, {after} found after an update and a merge"


def tried(function, *arguments):
    """What it returns, or that it failed; why is printed."""
    try:
        return function(*arguments)
    except (Exception, SystemExit):
        print(traceback.format_exc())
        return "failed"


def release(server, seed, seconds):
    newer = NEWER_OF_MODULES if server >= "opensearch-3" else NEWER
    with lucene.Node(server) as node:
        baked = tried(bake, node)
        for index in ("loaded", "baked"):
            tried(request, f"{node.url}/{index}", "DELETE")
        plain, newest = tried(lucene.fuzz_on, node, seed, seconds), tried(lucene.fuzz_on, node, seed + 5000, seconds, newer)
        return server, node.lucene, *(found if isinstance(found, str) else " ".join(map(str, found)) for found in (plain, newest)), baked


def main():
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    out, seed, seconds, *servers = sys.argv[1:]
    for server in servers:
        with open(f"{out}.txt", "a") as file, contextlib.redirect_stdout(file):
            print(f"# {server}")
            row = tried(release, server, int(seed), float(seconds))
        row = row if isinstance(row, tuple) else (server, row)
        with open(out, "a") as file:
            print(*row, sep="\t", file=file)
        print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
