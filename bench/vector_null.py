#!/usr/bin/env python3
"""Vectors of a Parquet file into a server that counts them: float32 read and sent, MB/s.

    python3 bench/vector_null.py PREFIX ROUNDS OUT.csv

PREFIX.parquet and PREFIX.ndjson are those of bench/vector_data.py. A proxy in front of a node of
Elasticsearch 9.5.3 answers bulk requests into the index itself, without reading the documents, and
passes all else on, so that the load finds a server that takes packed vectors. It shares the
processors with the load. The status of a load is not looked at, because the node has no documents.
INRUSH is the program; the ways are the first four of bench/vectors.py. With INRUSH_BEFORE, another
program, there is one more, the Parquet file by it.
"""

import csv
import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, request
from vectors import INRUSH, mapping, settings

WAYS = {
    "parquet": ["{}.parquet"],
    "parquet, numbers": ["{}.parquet", "--leave-settings"],
    "ndjson": ["{}.ndjson"],
    "ndjson, numbers": ["{}.ndjson", "--leave-settings"],
}
if BEFORE := os.environ.get("INRUSH_BEFORE"):
    WAYS["parquet, before"] = WAYS["parquet"]
ITEM = b'{"index":{"status":201}}'


class Proxy:
    """Answers `_bulk` of the index, and passes the rest on."""

    def __init__(self, node):
        self.node = node.removeprefix("http://")
        self.docs = self.bytes = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        incoming = connection.makefile("rb", buffering=1 << 20)
        buffer = bytearray(1 << 20)
        while line := incoming.readline():
            method, path, _ = line.decode().split(" ", 2)
            headers = {}
            while (header := incoming.readline()) not in (b"\r\n", b""):
                name, _, value = header.decode().partition(":")
                headers[name.lower()] = value.strip()
            left = int(headers.get("content-length", 0))
            if method == "POST" and path.startswith("/vectors/_bulk"):
                lines = size = 0
                while left:
                    got = incoming.readinto(memoryview(buffer)[:min(left, len(buffer))])
                    lines += buffer.count(b"\n", 0, got)
                    size, left = size + got, left - got
                with self.lock:
                    self.docs, self.bytes = self.docs + lines // 2, self.bytes + size
                status, kind = 200, "application/json"
                answer = b'{"took":1,"errors":false,"items":[' + b",".join([ITEM] * (lines // 2)) + b"]}"
            else:
                to = http.client.HTTPConnection(self.node)
                passed = {name: value for name, value in headers.items() if name not in ("host", "content-length", "connection", "accept-encoding")}
                to.request(method, path, incoming.read(left) or None, passed)
                reply = to.getresponse()
                answer, status, kind = reply.read(), reply.status, reply.headers.get("content-type", "text/plain")
                to.close()
            head = f"HTTP/1.1 {status} x\r\nx-elastic-product: Elasticsearch\r\ncontent-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n"
            connection.sendall(head.encode() + (b"" if method == "HEAD" else answer))


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    prefix, rounds, out = sys.argv[1:]
    with open(f"{prefix}.ndjson", "rb") as lines:
        dims = len(json.loads(lines.readline())["v"])
        docs = 1 + sum(1 for _ in lines)
    megabytes = docs * dims * 4 / 1e6
    rows = []
    with tempfile.TemporaryDirectory() as folder, Server("elasticsearch", "9.5.3", 1024) as node:
        proxy = Proxy(node.url)
        for number in range(int(rounds) + 1):
            for way in [list(WAYS)[(number + at) % len(WAYS)] for at in range(len(WAYS))]:
                request(f"{node.url}/vectors", "PUT", {"settings": {"index": settings()}, "mappings": mapping("elasticsearch", dims)})
                proxy.docs = proxy.bytes = 0
                command = [BEFORE if way.endswith("before") else INRUSH, "load", "--index", "vectors", "--to", proxy.url, "--quiet", *(argument.format(prefix) for argument in WAYS[way])]
                begun = time.monotonic()
                client = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": folder})
                _, _, usage = os.wait4(client.pid, 0)
                wall, cpu = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
                assert proxy.docs == docs, (way, proxy.docs)
                request(f"{node.url}/vectors", "DELETE")
                row = {"round": number, "way": way, "docs": docs, "dims": dims, "wall_s": f"{wall:.2f}", "client_cpu_s": f"{cpu:.2f}", "sent_bytes": proxy.bytes}
                print(*row.values(), sep=",", flush=True)
                if number:
                    rows.append(row)
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("| way | float32, MB/s | client, processor s | sent, MB |\n|---|---|---|---|")
    for way in WAYS:
        of = [row for row in rows if row["way"] == way]
        rate = statistics.median(megabytes / float(row["wall_s"]) for row in of)
        cpu = statistics.median(float(row["client_cpu_s"]) for row in of)
        print(f"| {way} | {rate:,.0f} | {cpu:.1f} | {of[0]['sent_bytes'] / 1e6:,.0f} |")


if __name__ == "__main__":
    main()
