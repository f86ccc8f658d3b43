#!/usr/bin/env python3
"""The index writer `inrush-lucene` beside real servers.

    python3 bench/lucene.py measure LINES MAPPING 5 OUT.tsv   # processor time, in turn
    python3 bench/lucene.py equal LINES MAPPING SERVER        # the same index as the server's?
    python3 bench/lucene.py fuzz SERVER SEED SECONDS          # the same, of random mappings and documents
    python3 bench/lucene.py words SEED COUNT SERVER           # the same words of random texts?
    python3 bench/lucene.py bake LINES MAPPING SERVER         # into an empty snapshot, and restored

SERVER is a product and a version, such as `opensearch-3.6.0`. INRUSH_LUCENE is the folder with the programs
`lucene-build`, `lucene-bake` and `lucene-words`, which are examples of the crate.
"""

import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error

import servers
from servers import Server, request

PROGRAMS = pathlib.Path(os.environ.get("INRUSH_LUCENE", "target/release/examples"))
CRATE = pathlib.Path(os.environ.get("INRUSH_LUCENE_CRATE", pathlib.Path(__file__).parent.parent / "crates/inrush-lucene"))
SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}


def ask(url, method="GET", body=None):
    """As `request`, and shows what a server says of an error."""
    try:
        return request(url, method, body)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {url}: {error.code} {error.read().decode()[:1000]}") from error


class Node(Server):
    """A server, and the Java programs that look at its index."""

    def __init__(self, name, heap_mib=1024):
        self.product, self.version = name.split("-")
        super().__init__(self.product, self.version, heap_mib)
        root = next(path for path in self.home.iterdir() if path.is_dir())
        newest = (21, 99) if self.product == "opensearch" and self.version >= "3" or self.version >= "9" else (17, 21)
        java = servers.java(*newest) / "bin"
        self.lucene = next((root / "lib").glob("lucene-core-*.jar")).name[len("lucene-core-"):-len(".jar")]
        self.classes = self.home / "classes"
        path = f"{self.classes}:{root}/lib/*"
        sources = sorted((CRATE / "tests/java").glob("*.java"))
        subprocess.run([java / "javac", "-cp", path, "-d", self.classes, *sources], check=True)
        self.java = [java / "java", "-cp", path]

    def bulk(self, body):
        link = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=600)
        link.request("POST", "/i/_bulk", body, {"Content-Type": "application/x-ndjson"})
        return json.loads(link.getresponse().read())["items"]

    def index(self, lines, mapping):
        """Indexes lines with their numbers as ids; returns the folder and why lines were refused."""
        ask(f"{self.url}/i", "PUT", {"mappings": mapping, "settings": SETTINGS})
        refused, body, size = {}, [], 0

        def send():
            for item in self.bulk(b"".join(body)):
                if "error" in item["index"]:
                    error = item["index"]["error"]
                    refused[int(item["index"]["_id"])] = f"{error['reason']} / {error.get('caused_by', {}).get('reason')}"
            body.clear()

        for number, line in enumerate(lines.open("rb")):
            body += [b'{"index":{"_id":"%d"}}\n' % number, line]
            size += len(line)
            if size > 4 << 20:
                send()
                size = 0
        if body:
            send()
        ask(f"{self.url}/i/_forcemerge?max_num_segments=1", "POST")
        ask(f"{self.url}/i/_flush?force=true", "POST")
        uuid = ask(f"{self.url}/_cat/indices/i?format=json&h=uuid")[0]["uuid"]
        return next(self.home.glob(f"*/data/**/indices/{uuid}/0/index")), refused

    def build(self, lines, mapping, folder):
        refused = folder / "refused"
        (folder / "index").mkdir(parents=True)
        (folder / "mapping.json").write_text(json.dumps(mapping))
        pairs = ["ids=number", f"lucene={self.lucene}", f"{self.product}={self.version}", f"refused={refused}"]
        subprocess.run([PROGRAMS / "lucene-build", folder / "mapping.json", lines, folder / "index", *pairs], check=True, stderr=subprocess.PIPE)
        return folder / "index", dict((int(a), b) for a, b in (line.split("\t", 1) for line in refused.read_text().splitlines()))

    def differences(self, lines, mapping, folder):
        """What differs between the server's index and the one that is built here."""
        theirs, refused = self.index(lines, mapping)
        try:
            shutil.copytree(theirs, folder / "theirs", ignore=shutil.ignore_patterns("write.lock"))
        finally:
            ask(f"{self.url}/i", "DELETE")
        ours, ours_refused = self.build(lines, mapping, folder)
        texts = lines.read_text().splitlines()
        found = [
            f"refused by {'the server' if number in refused else 'us'}: {refused.get(number) or ours_refused.get(number)} {texts[number][:200]}"
            for number in sorted(refused.keys() ^ ours_refused.keys())
        ]
        if found or len(refused) == len(texts):
            return found
        for program, folders in (("Check", [ours]), ("Compare", [folder / "theirs", ours, "_seq_no", "_primary_term", "_version"])):
            run = subprocess.run([*self.java, program, *folders], capture_output=True, text=True)
            if run.returncode:
                found += [line for line in (run.stdout + run.stderr).splitlines() if re.search(r"DIFF|FAIL|rror|xcept|\tat ", line)]
        return found


TEXTS = (
    "the quick brown fox GET /index.html HTTP/1.1 l’été Ünïcödé 東京 ひら カタカナ 한국어 ภาษาไทย 👩‍👩‍👧 a_b 3.14 1,000 can't x:y _ - "
    "שלום \u200d e\u0301 İ ſ Straße ΣΊΣΥΦΟΣ"
).split(" ")
NUMBERS = ("long", "integer", "short", "byte", "double", "float")
KINDS = ["keyword", "keyword", "text", "text", "date", "date", "ip", "boolean", *NUMBERS]
FORMATS = ["yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "epoch_second", "yyyy/MM/dd||epoch_millis", "strict_date_optional_time||epoch_second", "yyyy-MM-dd'T'HH:mm:ss.SSS"]
ODD = ["", "x", "-1", 5, -3.75, True, False, "true", "1.5", "1e3", "2024-01-01", "::", "999999999999", 1e300, "0", 2**63 - 1, "-0", -0.0, 1.7976931348623157e308, 10**29]


def leaf(dice, opensearch, nested=False):
    """A field with some of the parameters that its type has."""
    kind = dice.choice(KINDS)
    field = {"type": kind}

    def maybe(share, name, value):
        if dice.random() < share:
            field[name] = value

    if kind == "keyword":
        maybe(0.3, "ignore_above", dice.choice([3, 10, 256]) if opensearch else 100_000)
        maybe(0.2, "normalizer", "lowercase")
        maybe(0.2, "null_value", "NULL")
    if kind == "text":
        maybe(0.3, "norms", False)
        maybe(0.1, "index", False)
    else:
        maybe(0.15, "doc_values", False)
        maybe(0.15, "index", False)
    if kind in NUMBERS:
        maybe(0.2, "coerce", False)
        maybe(0.2, "null_value", 7)
    if opensearch and kind in (*NUMBERS, "date", "ip"):
        maybe(0.3, "ignore_malformed", True)
    if kind == "date":
        maybe(0.4, "format", dice.choice(FORMATS))
    if kind == "ip":
        maybe(0.2, "null_value", "::1")
    if kind == "boolean":
        maybe(0.2, "null_value", True)
    if not nested and dice.random() < 0.3:
        more = {name: leaf(dice, opensearch, True) for name in dice.sample(["raw", "x", "num"], dice.randrange(1, 3))}
        # The servers read a second number off what the first one made of the text.
        field["fields"] = {name: part for name, part in more.items() if part["type"] not in NUMBERS or kind not in NUMBERS}
        numbers = [name for name, part in field["fields"].items() if part["type"] in NUMBERS]
        for name in numbers[1:]:
            del field["fields"][name]
    return field


def mapping(dice, opensearch, depth=0):
    fields = {}
    for number in range(dice.randrange(2, 7)):
        if depth < 2 and dice.random() < 0.2:
            fields[f"o{number}"] = mapping(dice, opensearch, depth + 1)
        elif dice.random() < 0.05:
            fields[f"off{number}"] = {"type": "object", "enabled": False}
        else:
            fields[f"f{number}" if dice.random() < 0.8 else "@timestamp"] = leaf(dice, opensearch)
    if depth and dice.random() < 0.7:
        return {"properties": fields}
    return {"dynamic": dice.choice(["strict", "false"]), "properties": fields}


def date(dice):
    seconds = dice.randrange(2_000_000_000)
    formats = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S.123", "%Y-%m-%dT%H:%M:%S.1234567+02:00", "%Y-%m", "%Y-%m-%dT%H"]
    return dice.choice([seconds, seconds * 1000, str(seconds), *(time.strftime(text, time.gmtime(seconds)) for text in formats)])


def address(dice):
    a, b, c = (dice.randrange(256) for _ in range(3))
    if dice.random() < 0.1:
        return dice.choice([f"10.0.0.{a % 9}", "::ffff:1.2.3.4", "01.2.3.4", "1.2.3"])
    return dice.choice([f"{a}.1.{b}.{c}", f"2001:db8::{a:x}{b:02x}"])


def text(dice, short):
    if dice.random() < 0.97:
        return " ".join(dice.choice(TEXTS) for _ in range(dice.choice([1, 1, 2, 5, 12, 40])))
    return dice.choice(["", " ", "a" * 300, "A" * 33_000 if short else "b" * 600, 42, 1.0, True])


def scalar(dice, field):
    kind, chance = field["type"], dice.random()
    if chance < 0.07:
        return None if chance < 0.04 else dice.choice(ODD)
    if kind in ("keyword", "text"):
        return text(dice, kind == "text" or field.get("ignore_above", 1000) < 1000)
    values = {
        "long": lambda: [dice.randrange(-(2**63), 2**63), dice.randrange(1000), 5, 1704063600000 + 1000 * dice.randrange(9999)],
        "integer": lambda: [dice.randrange(-(2**31), 2**31), dice.randrange(50), 100 * dice.randrange(99), "17", 3.9],
        "short": lambda: [dice.randrange(-32768, 32800)],
        "byte": lambda: [dice.randrange(-128, 130)],
        "date": lambda: [date(dice)],
        "ip": lambda: [address(dice)],
        "boolean": lambda: [True, False, "true", "false"],
    }
    decimal = lambda: [dice.uniform(-1e6, 1e6), dice.randrange(100), round(dice.uniform(0, 100), 2), "12.5", 0.1, 1e-30, -2.5]
    return dice.choice(values.get(kind, decimal)())


def document(dice, fields, density):
    found = {}
    for name, field in fields["properties"].items():
        if dice.random() > density[name]:
            continue
        if field.get("enabled") is False:
            found[name] = dice.choice([1, {"a": [1, {"b": None}]}, "x", []])
            continue
        one = (lambda: document(dice, field, density)) if "properties" in field else (lambda: scalar(dice, field))
        found[name] = one() if dice.random() < 0.85 else [one() for _ in range(dice.randrange(4))]
    if dice.random() < 0.003:
        found["unknown"] = {"a": [1, 2]}
    return found


def densities(dice, fields, into):
    """How many documents have each field."""
    for name, field in fields["properties"].items():
        into[name] = dice.choice([1, 1, 0.9, 0.5, 0.02])
        if "properties" in field:
            densities(dice, field, into)
    return into


def equal(lines, mapping, server):
    with Node(server) as node, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        found = node.differences(pathlib.Path(lines), json.loads(pathlib.Path(mapping).read_text()), pathlib.Path(folder))
    print("\n".join(found) or "equal")
    sys.exit(bool(found))


def fuzz(server, seed, seconds):
    seed, rounds, documents, bad = int(seed), 0, 0, 0
    with Node(server) as node:
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until and bad < 4:
            dice = random.Random(seed)
            fields = mapping(dice, node.product == "opensearch")
            density = densities(dice, fields, {})
            count = dice.choice([1, 30, 3000, 3000, 15000])
            with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                lines = pathlib.Path(folder) / "lines"
                with lines.open("w") as file:
                    for _ in range(count):
                        file.write(json.dumps(document(dice, fields, density), ensure_ascii=dice.random() < 0.2) + "\n")
                found = node.differences(lines, fields, pathlib.Path(folder))
            if found:
                bad += 1
                print(f"seed {seed}, {count} documents:", *found[:10], sep="\n  ", flush=True)
            seed, rounds, documents = seed + 1, rounds + 1, documents + count
    print(f"{rounds} rounds, {documents} documents, {bad} differ, next seed {seed}")
    sys.exit(bool(bad))


def random_text(dice, ranges):
    special = [0x20, 0x61, 0x41, 0x31, 0x27, 0x22, 0x2E, 0x2C, 0x3A, 0x5F, 0x200D, 0xFE0F, 0xFE0E, 0x20E3, 0x1F469, 0x1F3FB, 0x1F1EB]
    special += [0xE0067, 0xE007F, 0x5D0, 0x30A2, 0x3042, 0x6771, 0xE01, 0xAC00, 0xAD, 0x308, 0xFF11, 0x130, 0x23, 0x1F3F4]
    pool = dice.sample(special, 6)
    for _ in range(dice.choice([3, 6, 12, 40, 600]) if dice.random() < 0.05 else dice.randrange(1, 14)):
        kind = dice.random()
        if kind < 0.75:
            yield dice.choice(pool)
        elif kind < 0.95:
            yield dice.randint(*dice.choice(ranges))
        else:
            yield dice.choice([dice.randrange(0x20, 0xD7FF), dice.randrange(0x10000, 0x1FFFF)])


def words(seed, count, server):
    source = (CRATE / "src/analysis/classes.rs").read_text()
    ranges = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"\(0x([0-9a-f]+), 0x([0-9a-f]+), 0x", source)]
    dice = random.Random(int(seed))
    texts = "".join(" ".join(f"{c:x}" for c in random_text(dice, ranges)) + "\n" for _ in range(int(count)))
    with Node(server) as node:
        theirs = subprocess.run([*node.java, "Words"], input=texts, capture_output=True, text=True, check=True).stdout
    ours = subprocess.run([PROGRAMS / "lucene-words"], input=texts, capture_output=True, text=True, check=True).stdout
    found = [(text, a, b) for text, a, b in zip(texts.split("\n"), theirs.split("\n"), ours.split("\n"), strict=True) if a != b]
    for text, a, b in found[:10]:
        print(text, a.replace("\x1f", "|"), b.replace("\x1f", "|"))
    print(f"{count} texts, {len(found)} differ")
    sys.exit(bool(found))


def bake(lines, mapping, server):
    with Node(server, heap_mib=512) as node:
        url, repository = node.url, node.home / "repository"
        fields = json.loads(pathlib.Path(mapping).read_text())
        ask(f"{url}/i", "PUT", {"mappings": fields, "settings": SETTINGS})
        ask(f"{url}/_snapshot/r", "PUT", {"type": "fs", "settings": {"location": str(repository), "compress": False}})
        ask(f"{url}/_snapshot/r/empty?wait_for_completion=true", "PUT", {"indices": "i", "include_global_state": False})
        ask(f"{url}/i", "DELETE")
        shard = next(repository.glob("**/indices/*/0"))
        subprocess.run([PROGRAMS / "lucene-bake", mapping, lines, shard, repository / "scratch", node.product, node.version], check=True)
        subprocess.run(["chmod", "-R", "a+rwX", repository], check=True)
        ask(f"{url}/_snapshot/r/empty/_restore?wait_for_completion=true", "POST", {"indices": "i", "include_global_state": False})
        count = ask(f"{url}/i/_count")["count"]
        one = ask(f"{url}/i/_search", "POST", {"size": 1})["hits"]["hits"][0]["_id"]
        ask(f"{url}/i/_update/{one}?refresh=true", "POST", {"doc": {}, "detect_noop": False})
        ask(f"{url}/i/_forcemerge?max_num_segments=1", "POST")
        print(f"{count} documents restored, {ask(f'{url}/i/_count')['count']} after an update and a merge")


def load(node, lines, mapping):
    """Sends lines over two connections; returns the node's processor time and the time."""
    ask(f"{node.url}/i", "PUT", {"mappings": mapping, "settings": SETTINGS})
    cpu, clock = node.cpu_seconds(), time.monotonic()
    lock = threading.Lock()

    def bodies():
        body, size = [], 0
        for line in open(lines, "rb"):
            body += [b'{"index":{}}\n', line]
            size += len(line)
            if size > 8 << 20:
                yield b"".join(body)
                body, size = [], 0
        if body:
            yield b"".join(body)

    source = bodies()

    def send():
        while True:
            with lock:
                body = next(source, None)
            if body is None:
                return
            assert not any("error" in item["index"] for item in node.bulk(body))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(f"{node.url}/i/_refresh", "POST")
    ask(f"{node.url}/i/_flush", "POST")
    while ask(f"{node.url}/i/_stats/merge")["_all"]["primaries"]["merges"]["current"]:
        time.sleep(0.2)
    size = ask(f"{node.url}/i/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"]
    return node.cpu_seconds() - cpu, time.monotonic() - clock, size


def measure(lines, mapping, rounds, out):
    fields = json.loads(pathlib.Path(mapping).read_text())
    with open(out, "a") as file:

        def note(*row):
            print(*row, sep="\t", file=file, flush=True)
            print(*row, flush=True)

        note("round", "what", "processor_s", "wall_s", "bytes")
        for number in range(1, int(rounds) + 1):
            with Node("opensearch-3.6.0", heap_mib=2048) as node:
                cpu, wall, size = load(node, lines, fields)
            note(number, node.name, f"{cpu:.2f}", f"{wall:.2f}", size)
            with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                subprocess.run([PROGRAMS / "lucene-build", mapping, lines, folder], check=True)
                wall, after = time.monotonic() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir())
            note(number, "inrush-lucene", f"{cpu:.2f}", f"{wall:.2f}", size)


if __name__ == "__main__":
    commands = {"measure": (measure, 4), "equal": (equal, 3), "fuzz": (fuzz, 3), "words": (words, 3), "bake": (bake, 3)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        raise SystemExit(__doc__)
    command(*sys.argv[2:])
