#!/usr/bin/env python3
"""An index of a server to a file, by inrush and by elasticdump, in turn.

    python3 bench/export.py PRODUCT VERSION LINES ROUNDS OUT.csv

LINES are those of `bench/data.py lines-numbered`. Each round, after one to warm up, writes the index
as NDJSON with both programs and as Parquet with inrush. At the end `inrush verify` compares
100,000 ids of each file with the index. INRUSH and ELASTICDUMP are the programs.
"""

import csv
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request

INRUSH = os.environ.get("INRUSH", os.path.expanduser("~/.cache/inrush/target/release/inrush"))
ELASTICDUMP = os.environ.get("ELASTICDUMP", "elasticdump")


def measured(command, env):
    """Wall and processor seconds, and peak memory in KiB, of a command."""
    begun = time.monotonic()
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss


def main():
    product, version, lines, rounds, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Server(product, version) as node, open(out, "w", newline="") as file:
        env = {**os.environ, "XDG_STATE_HOME": f"{folder}/state"}
        inrush = lambda *arguments: subprocess.run([INRUSH, *arguments], env=env, check=True, stdin=subprocess.DEVNULL)
        old = f"{node.url}/old"
        inrush("load", lines, "--index", "old", "--id", "n", "--to", node.url, "--quiet")
        docs = request(f"{old}/_count")["count"]
        files = {name: f"{folder}/{name}" for name in ("inrush.ndjson", "elasticdump.ndjson", "inrush.parquet")}
        commands = {
            "inrush.ndjson": [INRUSH, "convert", old, files["inrush.ndjson"], "--quiet"],
            "elasticdump.ndjson": [ELASTICDUMP, f"--input={old}", f"--output={files['elasticdump.ndjson']}",
                                   "--sourceOnly", "--limit=10000", "--overwrite", "--quiet"],
            "inrush.parquet": [INRUSH, "convert", old, files["inrush.parquet"], "--quiet"],
        }
        rows = csv.writer(file)
        rows.writerow(["round", "output", "docs", "wall_s", "cpu_s", "peak_kib", "node_cpu_s", "bytes"])
        taken = {}
        for number in range(int(rounds) + 1):
            names = list(commands) if number % 2 == 0 else list(commands)[::-1]
            for name in names:
                pathlib.Path(files[name]).unlink(missing_ok=True)
                before = node.cpu_seconds()
                wall, cpu, peak = measured(commands[name], env)
                row = [number, name, docs, f"{wall:.2f}", f"{cpu:.2f}", peak, f"{node.cpu_seconds() - before:.1f}", os.path.getsize(files[name])]
                print(*row, flush=True)
                if number > 0:
                    rows.writerow(row)
                    file.flush()
                    taken.setdefault(name, []).append((wall, cpu, peak))
        for name, figures in taken.items():
            print(name, *(f"{statistics.median(column):.1f}" for column in zip(*figures)))
        for name, path in files.items():
            print(name, flush=True)
            inrush("verify", path, "--index", "old", "--id", "n", "--sample", "100000", "--to", node.url)


main()
