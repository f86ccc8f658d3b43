#!/usr/bin/env python3
"""How fast `inrush bake --engine native` builds an index, and with how much memory.

    python3 bench/build.py OUT.tsv ROUNDS MAPPING FILE... [-- FLAG...]

Each round bakes the files into one shard of a new node of OpenSearch 3.6.0, which idles meanwhile and
restores without a limit. OUT gets the documents, the time of the step `load` (from the first document read until the files of the
index are on disk) and of the whole bake, the processor time of `inrush` and of the node, the most
memory that `inrush` had resident, and bytes and number of the segments. FLAGs go to `inrush bake`.
INRUSH is the program, by default a release build. NODE_DATA is a folder for the data of the node, by
default beside its program.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))
SAMPLE_S = 0.5


class Memory(threading.Thread):
    """Samples the memory of a process; the kernel keeps the most of all of it, not of its own pages."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.status, self.own_kib, self.all_kib = pathlib.Path(f"/proc/{pid}/status"), 0, 0
        self.start()

    def run(self):
        while True:
            try:
                found = dict(line.split(":", 1) for line in self.status.read_text().splitlines())
            except OSError:
                return
            if "VmHWM" in found:
                self.own_kib = max(self.own_kib, int(found["RssAnon"].split()[0]))
                self.all_kib = max(self.all_kib, int(found["VmHWM"].split()[0]))
            time.sleep(SAMPLE_S)


def bake(node, mapping, files, flags, folder):
    command = [INRUSH, "bake", *files, "--index", "i", "--mapping", mapping, "--shards", "1", "--replicas", "0", "--to", node.url, "--quiet", "--json"]
    command += ["--engine", "native", "--repository-path", folder / "repository", *flags]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    before, start = node.cpu_seconds(), time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    memory = Memory(process.pid)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status:
        raise SystemExit(f"inrush: status {status}\n{text.decode()}")
    report = json.loads(text)
    steps = {step["step"]: step["seconds"] for step in report["bake"]["steps"]}
    docs = request(f"{node.url}/i/_count")["count"]
    segments = [int(segment["size"]) for segment in request(f"{node.url}/_cat/segments/i?format=json&bytes=b&h=size")]
    return {
        "docs": docs,
        "build_s": f"{steps['load']:.2f}",
        "docs_per_s": round(docs / steps["load"]),
        "wall_s": f"{wall:.2f}",
        "inrush_processor_s": f"{used.ru_utime + used.ru_stime:.2f}",
        "node_processor_s": f"{node.cpu_seconds() - before:.2f}",
        "own_mib": memory.own_kib >> 10,
        "resident_mib": max(memory.all_kib, used.ru_maxrss) >> 10,
        "bytes": sum(segments),
        "segments": len(segments),
    }


def main():
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    given, flags = sys.argv[1:], []
    if "--" in given:
        flags = given[given.index("--") + 1:]
        given = given[:given.index("--")]
    out, rounds, mapping, *files = given
    mapping = os.path.abspath(mapping)
    files = [os.path.abspath(file) for file in files]
    with open(out, "a") as table:
        for number in range(1, int(rounds) + 1):
            with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                # The node runs as another user, and writes to the repository.
                folder = pathlib.Path(folder)
                folder.chmod(0o755)
                repository = folder / "repository"
                repository.mkdir()
                repository.chmod(0o777)
                settings = [f"path.repo: {repository}", "indices.recovery.max_bytes_per_sec: -1"]
                if "NODE_DATA" in os.environ:
                    data = tempfile.mkdtemp(dir=os.environ["NODE_DATA"])
                    os.chmod(data, 0o777)
                    settings.append(f"path.data: {data}")
                with Server("opensearch", "3.6.0", 1024, settings=settings) as node:
                    row = {"round": number, **bake(node, mapping, files, flags, folder)}
                if "NODE_DATA" in os.environ:
                    shutil.rmtree(data)
            if table.tell() == 0:
                print(*row, sep="\t", file=table, flush=True)
            print(*row.values(), sep="\t", file=table, flush=True)
            print(*row.values(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
