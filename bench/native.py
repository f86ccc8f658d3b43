#!/usr/bin/env python3
"""`inrush bake --engine native` beside `inrush load`, into one node on the same processors.

    python3 bench/native.py LINES MAPPING ROUNDS OUT.tsv [SERVER [DOCS]]

A round starts a node, warms it with the first 50,000 lines by both ways, and measures both with all
of them: in the order of the round's parity. A measurement begins with the process of `inrush` and
ends when a search finds all documents. OUT gets the time, the processor time of the node and that
of `inrush`. SERVER is a product and a version, by default opensearch-3.6.0. INRUSH is the program,
by default a release build. LINES are those of `bench/data.py lines`.
"""

import itertools
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))
WARM_LINES = 50_000


def measure(node, how, lines, mapping, docs, folder):
    """One load or bake, until a search finds all documents; the index is deleted then."""
    common = [lines, "--index", "i", "--mapping", mapping, "--shards", "1", "--replicas", "0", "--to", node.url, "--quiet"]
    command = {
        "load": [INRUSH, "load", *common],
        "native": [INRUSH, "bake", *common, "--engine", "native", "--repository-path", folder / "repository"],
    }[how]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    node_before, own_before, start = node.cpu_seconds(), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = request(f"{node.url}/i/_search", "POST", {"size": 1, "track_total_hits": True, "query": {"match_all": {}}})
    wall = time.monotonic() - start
    assert found["hits"]["total"]["value"] == docs, found["hits"]["total"]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    node_cpu = node.cpu_seconds() - node_before
    own_cpu = own.ru_utime + own.ru_stime - own_before.ru_utime - own_before.ru_stime
    segments = request(f"{node.url}/_cat/segments/i?format=json&bytes=b&h=size")
    size = sum(int(segment["size"]) for segment in segments)
    request(f"{node.url}/i", "DELETE")
    return wall, node_cpu, own_cpu, size, len(segments)


def main():
    if not 5 <= len(sys.argv) <= 7:
        raise SystemExit(__doc__)
    lines, mapping, rounds, out = (os.path.abspath(path) if number != 2 else path for number, path in enumerate(sys.argv[1:5]))
    product, version = (sys.argv[5] if len(sys.argv) > 5 else "opensearch-3.6.0").split("-")
    docs = int(sys.argv[6]) if len(sys.argv) > 6 else sum(1 for _ in open(lines, "rb"))
    with open(out, "a") as file, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:

        def note(*row):
            print(*row, sep="\t", file=file, flush=True)
            print(*row, sep="\t", flush=True)

        # The node runs as another user, and writes to the repository.
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        repository = folder / "repository"
        repository.mkdir()
        repository.chmod(0o777)
        few = folder / "few.ndjson"
        with open(lines, "rb") as source, few.open("wb") as target:
            target.writelines(itertools.islice(source, WARM_LINES))
        warm = min(WARM_LINES, docs)
        note("round", "how", "wall_s", "node_processor_s", "inrush_processor_s", "bytes", "segments")
        for number in range(1, int(rounds) + 1):
            order = ["load", "native"] if number % 2 else ["native", "load"]
            with Server(product, version, 2048, settings=[f"path.repo: {repository}"]) as node:
                for how in order * 2:
                    measure(node, how, few, mapping, warm, folder)
                for how in order:
                    wall, node_cpu, own_cpu, size, segments = measure(node, how, lines, mapping, docs, folder)
                    note(number, how, f"{wall:.2f}", f"{node_cpu:.2f}", f"{own_cpu:.2f}", size, segments)


if __name__ == "__main__":
    main()
