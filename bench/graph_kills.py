#!/usr/bin/env python3
"""Loads with `--graph end` whose program or node is killed at a random moment, on a real server.

    python3 bench/graph_kills.py VECTORS.npy ROWS SERVER ROUNDS SEED OUT.csv

Of three rounds, one kills the node with SIGKILL and starts it again while the load goes on; the
others kill the load, which is then resumed, in every second of them after `inrush recover`. Then
options, settings, documents and a search must be as wanted, without a lease. Needs numpy. INRUSH is
the program. The status is 1 if a round is not as wanted.
"""

import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers
from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))


class Mortal(Server):
    """A node that can be killed and started again with the same data."""

    def __init__(self, *arguments):
        started = []

        class Recorder(subprocess.Popen):
            def __init__(self, command, **how):
                started.append((command, how))
                super().__init__(command, **how)

        servers.subprocess.Popen, plain = Recorder, subprocess.Popen
        try:
            super().__init__(*arguments)
        finally:
            servers.subprocess.Popen = plain
        self.started = next(pair for pair in started if "cwd" in pair[1])

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def revive(self):
        command, how = self.started
        self.process, self.processes = subprocess.Popen(command, **how), []
        self._wait()


def phase(url, index):
    """What the load was doing, by its traces in the cluster."""
    try:
        mapping = request(f"{url}/{index}/_mapping")[index]["mappings"]
        waits = "inrush_graph" in mapping.get("_meta", {})
        merges = any("forcemerge" in task["action"] for node in request(f"{url}/_tasks?actions=*forcemerge*")["nodes"].values() for task in node["tasks"].values())
        return "merging" if merges else "loading" if waits else "after"
    except OSError:
        return "before"


def problems(url, index, vectors, rows, wanted):
    found = []
    request(f"{url}/{index}/_refresh", "POST")
    if (count := request(f"{url}/{index}/_count")["count"]) != rows:
        found.append(f"{count} documents")
    mapping = request(f"{url}/{index}/_mapping")[index]["mappings"]
    if "inrush_graph" in mapping.get("_meta", {}):
        found.append("the note is left")
    if (options := mapping["properties"]["v"].get("index_options", {}).get("type")) != wanted:
        found.append(f"index_options {options}")
    settings = request(f"{url}/{index}/_settings?flat_settings=true")[index]["settings"]
    if "index.refresh_interval" in settings:
        found.append("refresh_interval is left")
    try:
        if leases := request(f"{url}/inrush-guard/_count")["count"]:
            found.append(f"{leases} leases")
    except OSError:
        pass
    for row in range(0, rows, rows // 20):
        knn = {"field": "v", "query_vector": vectors[row].tolist(), "k": 3, "num_candidates": 200}
        hits = request(f"{url}/{index}/_search", "POST", {"knn": knn, "_source": ["n"]})["hits"]["hits"]
        if row not in [hit["_source"]["n"] for hit in hits]:
            found.append(f"row {row} is not found")
    return found


def main():
    if len(sys.argv) != 7:
        raise SystemExit(__doc__)
    file, rows, server, rounds, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
    dice, vectors = random.Random(seed), numpy.load(file, mmap_mode="r")[:rows]
    product, version = server.split("-", 1)
    failed, lines = 0, []
    with tempfile.TemporaryDirectory() as folder, Mortal(product, version, 2048) as node:
        folder = pathlib.Path(folder)
        numpy.save(folder / "v.npy", vectors)
        wanted = "int8_hnsw"
        field = {"type": "dense_vector", "dims": vectors.shape[1], "similarity": "cosine", "index_options": {"type": wanted}}
        (folder / "mapping.json").write_text(json.dumps({"properties": {"n": {"type": "integer"}, "v": field}}))
        (folder / "docs.ndjson").write_text("".join(f'{{"n":{n}}}\n' for n in range(rows)))
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        whole = 0.0
        for number in range(rounds + 1):
            index = f"graph-{number}"
            load = [
                INRUSH, "load", folder / "docs.ndjson", "--vectors", f"v={folder / 'v.npy'}", "--mapping", folder / "mapping.json", "--id-from", "position",
                "--shards", "1", "--replicas", "0", "--index", index, "--graph", "end", "--to", node.url, "--quiet"]
            log = open(folder / "log", "ab")
            run = lambda command: subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode
            begun = time.monotonic()
            if not number:
                assert run(load) == 0, (folder / "log").read_text()
                whole = time.monotonic() - begun
                assert not (found := problems(node.url, index, vectors, rows, wanted)), found
                continue
            running = subprocess.Popen(load, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            time.sleep(dice.uniform(0.2, whole * 1.1))
            at, killed = phase(node.url, index), ["node", "load", "load"][number % 3]
            if killed == "node":
                node.kill()
                node.revive()
                statuses = [running.wait()]
            else:
                running.kill()
                running.wait()
                recovers = [[INRUSH, "recover", "--force", "--to", node.url]] if number % 2 else []
                statuses = [run(command) for command in [*recovers, [*load, "--resume"]]]
                # A load that was killed before its first checkpoint begins anew: `--resume` says so.
                if statuses[-1] == 2 and at in ("before", "loading"):
                    statuses.append(run(load))
            found = problems(node.url, index, vectors, rows, wanted)
            # A load that was killed behind its end cannot be resumed.
            is_bad = bool(found) or statuses[-1] not in ([0, 2] if at == "after" else [0])
            failed += is_bad
            lines.append({"round": number, "killed": killed, "at_s": f"{time.monotonic() - begun:.1f}", "phase": at, "statuses": " ".join(map(str, statuses)), "problems": "; ".join(found)})
            print(*lines[-1].values(), sep=",", flush=True)
            if is_bad:
                print((folder / "log").read_text()[-3000:], flush=True)
            request(f"{node.url}/{index}", "DELETE")
    with open(out, "w", newline="") as target:
        writer = csv.DictWriter(target, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
