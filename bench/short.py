#!/usr/bin/env python3
"""Short loads on a real server: the first and the second of a length, against fixed settings.

For each length, the number of lines is what the first cell loads in that time. A round has, in a
shuffled order, one load of each fixed cell, and a pair: a load with an empty state folder
(`first`), and one that begins with what the first learned (`second`). With `--before BINARY` that
build is loaded as `before`. With `--wrong` a round also has `wrong`, which begins with a plan of
another cluster (option `learned`). Every load goes into a fresh index of the same name, after the
merges of the last one have ended. The best fixed cell is chosen on the even rounds. Fixed cells get
the memory that they need and send plain JSON, as a script would. Appends to the CSV file, so that
an interrupted run can continue. `--faults REJECTED` puts the testbed's proxy between, which rejects
that percentage of the documents by chance; documents get ids then, and are counted. `--proxy` makes
the way longer or narrower.

    bench/short.py --server opensearch:3.6.0 --data lines.ndjson --mapping bench/lines.mapping.json --out bench/runs/…
"""

import argparse
import csv
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request
from tuner import PLAIN, alone, binary, ratios, said, settle

FIELDS = ["time", "length_s", "round", "cell", "docs", "bytes", "seconds", "whole_s", "mb_per_s", "whole_mb_per_s", "docs_per_s", "rejected_items", "missing", "start", "outcome", "plan"]
# Far from the best plan of most clusters: that of a cluster far away and with many threads.
WRONG = {
    "plan": {"batch_bytes": 256 << 10, "batch_docs": 4294967295, "in_flight": 128}, "bytes_per_second": 4e8, "wall_seconds": 0.08,
    "doc_bytes": 158, "rejected": 0.0, "unloaded": {"wall_seconds": 0.07, "body_bytes": 262144, "fixed": 0.9}, "seconds": 60,
}


def head(source, lines, path):
    """The first lines of a file, repeated if it has fewer."""
    left = lines
    with path.open("wb") as out:
        while left > 0:
            with open(source, "rb") as file:
                for line in file:
                    out.write(line)
                    left -= 1
                    if left == 0:
                        break
    return path


class Bench:
    def __init__(self, args, server, folder):
        self.args, self.server, self.folder = args, server, folder
        self.to = server.url
        self.done = {}
        self.out = pathlib.Path(args.out)
        if self.out.exists():
            for row in csv.DictReader(self.out.open()):
                self.done[int(float(row["length_s"])), int(row["round"]), row["cell"]] = row
        else:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("w") as file:
                csv.DictWriter(file, FIELDS).writeheader()

    def flags(self, cell, state):
        if cell in ("first", "second", "before"):
            return ["--state", str(state)]
        if cell == "wrong":
            return ["--state", str(state), "--learned", json.dumps(WRONG)]
        size, _, in_flight = cell.partition("x")
        return ["--state", str(state), "--batch-bytes", size, "--in-flight", in_flight, "--memory", "1GiB", *PLAIN]

    def load(self, cell, path, state):
        try:
            request(f"{self.server.url}/bench", "DELETE")
        except OSError:
            pass
        settle(self.server.url)
        program = self.args.before if cell == "before" else binary("inrush")
        ids = ["--id-from", "position"] if self.args.faults is not None else []
        command = [program, "load", str(path), "--index", "bench", "--mapping", self.args.mapping, "--shards", str(self.args.shards), "--replicas", "0",
                   "--to", self.to, "--quiet", "--json", *ids, *self.flags(cell, state)]
        began = time.monotonic()
        ended = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        whole = time.monotonic() - began
        if ended.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(command)}\nended with {ended.returncode}: {ended.stderr.decode()}")
        report = json.loads(ended.stdout)
        seconds = report["docs_read"] / report["docs_per_second"]
        start = report["plan"].get("start") or {}
        count = request(f"{self.server.url}/bench/_count")["count"]
        return {
            "docs": report["docs_read"], "bytes": report["bytes_read"], "seconds": round(seconds, 3), "whole_s": round(whole, 3),
            "mb_per_s": round(report["bytes_read"] / seconds / 1e6, 3), "whole_mb_per_s": round(report["bytes_read"] / whole / 1e6, 3),
            "docs_per_s": round(report["docs_per_second"]), "rejected_items": report["rejected_items"], "missing": report["docs_read"] - count,
            "start": f"{start['batch_bytes']}x{start['in_flight']}" if start else "", "outcome": start.get("outcome") or "",
            "plan": f"{report['plan']['batch_bytes']}x{report['plan']['in_flight']}",
        }

    def run(self, length, number, cell, path, state):
        row = self.load(cell, path, state)
        row |= {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), "length_s": length, "round": number, "cell": cell}
        with self.out.open("a") as file:
            csv.DictWriter(file, FIELDS).writerow(row)
        self.done[length, number, cell] = row
        print(f"{length} s, round {number}: {cell:10} {row['mb_per_s']} MB/s, {row['seconds']} s, began {row['start']} {row['outcome']}, plan {row['plan']}", flush=True)

    def round(self, length, number, path):
        autos = [("first", "second")] + [("before",)] * bool(self.args.before) + [("wrong",)] * self.args.wrong
        order = [*[(cell,) for cell in self.args.cells.split(",")], *autos]
        random.Random(f"{length} {number}").shuffle(order)
        for arms in order:
            if all((length, number, cell) in self.done for cell in arms):
                continue
            state = self.folder / "state"
            shutil.rmtree(state, ignore_errors=True)
            for cell in arms:
                self.run(length, number, cell, path, state)

    def tell(self, length):
        rows = {(number, cell): row for (of, number, cell), row in self.done.items() if of == length and number < self.args.rounds}
        autos = [cell for cell in ("first", "second", "before", "wrong") if any(of == cell for _, of in rows)]
        fixed = {(number, cell): row for (number, cell), row in rows.items() if cell not in autos}
        for field, what in (("mb_per_s", "loading"), ("whole_mb_per_s", "whole process")):
            for auto in autos:
                both = {**fixed, **{(number, "auto"): row for (number, cell), row in rows.items() if cell == auto}}
                top, pairs = ratios(both, field, "auto")
                if pairs:
                    print(f"{length} s, {what}: {auto} / best fixed ({top}): {said(pairs)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version")
    parser.add_argument("--data", required=True)
    parser.add_argument("--mapping", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lengths", default="1,3,10,30", help="seconds of a load")
    parser.add_argument("--lines", type=int, help="load this number of lines instead of lengths")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--cells", default="2MiBx2,2MiBx4,512KiBx8,2MiBx8", help="fixed settings; the first one also says how many lines a length has")
    parser.add_argument("--warm", type=int, default=1_000_000, help="lines of the two loads before, which warm the server up")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--before", metavar="BINARY", help="another build of inrush")
    parser.add_argument("--wrong", action="store_true", help="also begin with a plan of another cluster")
    parser.add_argument("--faults", type=float, metavar="PERCENT", help="documents that the proxy rejects by chance")
    parser.add_argument("--proxy", default="", help='further options of the proxy, as in --proxy="--delay-ms 100 --mbit 100"')
    parser.add_argument("--lock", help="a file to lock during each round, for machines that others use too")
    args = parser.parse_args()
    product, version = args.server.split(":")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Server(product, version, args.heap_mib) as server:
        folder = pathlib.Path(folder)
        bench = Bench(args, server, folder)
        first = args.cells.split(",")[0]
        warm = head(args.data, args.warm, folder / "warm.ndjson")
        with alone(args.lock):
            for _ in range(2):
                rate = bench.load(first, warm, folder / "warm")["docs_per_s"]
        proxy = None
        if args.faults is not None or args.proxy:
            command = [binary("inrush-testbed"), "proxy", "--to", server.url, "--reject-items", str(args.faults or 0), *args.proxy.split()]
            proxy = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            bench.to = proxy.stdout.readline().strip()
            if args.proxy:
                rate = bench.load(first, head(args.data, args.warm // 4, folder / "slow.ndjson"), folder / "warm")["docs_per_s"]
        lengths = [0] if args.lines else [int(length) for length in args.lengths.split(",")]
        for length in lengths:
            path = head(args.data, args.lines or rate * length, folder / f"{length}.ndjson")
            for number in range(args.rounds):
                with alone(args.lock):
                    bench.round(length, number, path)
            bench.tell(length)
        if proxy:
            proxy.stdin.close()
            proxy.wait()


if __name__ == "__main__":
    main()
