#!/usr/bin/env python3
"""Which files of github.com/nst/JSONTestSuite inrush and real servers accept: the tables of
docs/json.md.

Each file is the value of one field that is stored and not indexed (`{"v":CONTENTS}`, because
servers need objects). It goes to each server as one document, and through `inrush load --validate`
to the null server. Needs release builds of inrush and inrush-testbed.

    bench/json_suite.py JSONTestSuite        # prints the tables of "What servers accept"
"""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import CACHE, Server, request

SERVERS = [("opensearch", "3.6.0"), ("opensearch", "2.19.6"), ("elasticsearch", "8.19.21"), ("elasticsearch", "7.17.29")]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", CACHE / "target")) / "release"
MAPPING = {"mappings": {"properties": {"v": {"type": "object", "enabled": False}}}}
KINDS = {"y": "valid (`y_`)", "n": "invalid (`n_`)", "i": "left open by RFC 8259 (`i_`)"}


def taken_by_server(url, number, body):
    asked = urllib.request.Request(f"{url}/json/_doc/{number}", data=body, method="PUT", headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return "accepted" if reply.status < 300 else f"status {reply.status}"
    except urllib.error.HTTPError as error:
        error.read()
        return "refused" if error.code == 400 else f"status {error.code}"
    except (http.client.HTTPException, OSError):
        return "no answer"


def taken_by(product, version, bodies):
    """The verdict of a server on each body. A server that dies of a body is started again."""
    found = []
    while len(found) < len(bodies):
        with Server(product, version, 1024) as server:
            request(f"{server.url}/json", "PUT", MAPPING)
            while len(found) < len(bodies):
                found.append(taken_by_server(server.url, len(found), bodies[len(found)]))
                if found[-1] == "no answer":
                    print(f"{product} {version}: no answer to document {len(found) - 1}", file=sys.stderr)
                    try:
                        request(server.url)
                    except OSError:
                        found[-1] = "the node dies"
                        break
    return found


def taken_by_us(url, body):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one.json"
        path.write_bytes(b"[" + body + b"]")
        command = [TARGET / "inrush", "load", path, "--format", "json", "--validate", "--index", "json", "--to", url, "--no-verify", "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{path.name}: {done.returncode}: {done.stderr.decode()}")
        return "accepted" if done.returncode == 0 and json.loads(done.stdout)["docs_created"] == 1 else "refused"


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("[yni]_*.json"))
    bodies = [b'{"v":' + path.read_bytes() + b"}" for path in files]
    verdicts = {}
    null = subprocess.Popen([TARGET / "inrush-testbed", "null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = null.stdout.readline().strip()
    verdicts["inrush --validate"] = [taken_by_us(url, body) for body in bodies]
    null.stdin.close()
    null.wait()
    for product, version in SERVERS:
        name = f"{'OpenSearch' if product == 'opensearch' else 'Elasticsearch'} {version}"
        verdicts[name] = taken_by(product, version, bodies)
    who = list(verdicts)

    print(f"| accepted of | {' | '.join(who)} |\n|---|{'---|' * len(who)}")
    for kind, title in KINDS.items():
        of_kind = [n for n, path in enumerate(files) if path.name.startswith(kind)]
        counts = [f"{sum(verdicts[one][n] == 'accepted' for n in of_kind)} of {len(of_kind)}" for one in who]
        print(f"| {title} | {' | '.join(counts)} |")
    print("\nFiles on which they differ from the standard or from each other:\n")
    print(f"| file | {' | '.join(who)} |\n|---|{'---|' * len(who)}")
    for n, path in enumerate(files):
        found = [verdicts[one][n] for one in who]
        right = {"y": "accepted", "n": "refused"}.get(path.name[0], found[0])
        if len(set(found)) > 1 or found[0] != right:
            print(f"| `{path.stem}` | {' | '.join(found)} |")


if __name__ == "__main__":
    main()
