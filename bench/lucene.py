#!/usr/bin/env python3
"""The index writer `inrush-lucene` beside real servers.

    python3 bench/lucene.py measure LINES MAPPING 5 OUT.tsv   # processor time, in turn
    python3 bench/lucene.py equal LINES MAPPING SERVER        # the same index as the server's? May have SETTINGS too
    python3 bench/lucene.py fuzz SERVER SEED SECONDS [TYPES]  # the same, of random mappings and documents; mostly of these types
    python3 bench/lucene.py limits SERVER                     # the same, of documents at the limits and beyond
    python3 bench/lucene.py dates SERVER SEED ROUNDS          # the same dates of random texts and formats?
    python3 bench/lucene.py words SEED COUNT SERVER           # the same words of random texts?
    python3 bench/lucene.py texts FOLDER SERVER               # the same words of the texts of bench/lucene_texts.py?
    python3 bench/lucene.py tokens SERVER SEED ROUNDS         # the same tokens by random analysers as `_analyze`?
    python3 bench/lucene.py chains SERVER SEED COUNT          # the same tokens by random chains as Lucene's own parts?
    python3 bench/lucene.py bake LINES MAPPING SERVER         # into an empty snapshot, and restored
    python3 bench/lucene.py queries SERVER SEED COUNT [TYPES] # the same answers to random searches?

SERVER is a product and a version, such as `opensearch-3.6.0`. INRUSH_LUCENE is the folder with the programs
`lucene-build`, `lucene-bake`, `lucene-dates`, `lucene-tokens` and `lucene-words`, which are examples of the crate.
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
import urllib.request

import lucene_dates
import lucene_documents as documents
import lucene_joins as joins
import lucene_mappings as mappings
import lucene_new as new
import lucene_tokens
import lucene_values as values
import servers
from lucene_queries import Fields, answer, difference, search
from servers import Server, request

PROGRAMS = pathlib.Path(os.environ.get("INRUSH_LUCENE", "target/release/examples"))
CRATE = pathlib.Path(os.environ.get("INRUSH_LUCENE_CRATE", pathlib.Path(__file__).parent.parent / "crates/inrush-lucene"))
# The most lines: their numbers are ids.
NO_IDS_AGAIN = 1 << 40
# The share of fuzz rounds with lucene_values.py.
NARROW = 0.2
# The share of those whose index ignores malformed values.
MALFORMED = 0.1
# The share of those that keep less of documents than their text.
SOURCES = 0.2
SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}


def flat_settings(value, name="index"):
    """Settings by their full names."""
    if not isinstance(value, dict):
        return {name: value}
    return {key: inner for part, below in value.items() for key, inner in flat_settings(below, f"{name}.{part}").items()}


def ask(url, method="GET", body=None):
    """As `request`, and shows what a server says of an error."""
    try:
        return request(url, method, body)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {url}: {error.code} {error.read().decode()[:1000]}") from error


def not_built(node):
    """Types that are built for some versions of OpenSearch only, if this is another one."""
    is_newest = node.version.startswith(("3.6", "3.8"))
    built = {"geo_shape": is_newest, "flat_object": is_newest or node.version.startswith("2.19"), "wildcard": node.version >= "3.6"}
    return [kind for kind, built in built.items() if not built or node.product != "opensearch"]


def has_extras(node):
    """Whether it has the types and parts of analysers that are in modules."""
    return node.version >= "3" and node.has_module("analysis-common")


class Node(Server):
    """A server, and the Java programs that look at its index."""

    def __init__(self, name, heap_mib=1024):
        self.product, self.version = name.split("-")
        super().__init__(self.product, self.version, heap_mib, settings=["path.repo: /var/tmp"])
        root = next(path for path in self.home.iterdir() if path.is_dir())
        newest = (21, 99) if self.product == "opensearch" and self.version >= "3" or self.version >= "9" else (17, 21)
        java = servers.java(*newest) / "bin"
        mappings.EXTRAS, mappings.NOT_BUILT = has_extras(self), not_built(self)
        joins.KNOWN = self.has_module("parent-join")
        self.settings = SETTINGS | {"analysis": mappings.analysis(self.product == "opensearch")}
        # Ids, instead of the numbers of lines, and threads that build.
        self.names, self.threads = None, 1
        self.lucene = next((root / "lib").glob("lucene-core-*.jar")).name[len("lucene-core-"):-len(".jar")]
        self.classes = self.home / "classes"
        path = f"{self.classes}:{root}/lib/*"
        sources = sorted((CRATE / "tests/java").glob("*.java"))
        subprocess.run([java / "javac", "-cp", path, "-d", self.classes, *sources], check=True)
        self.java = [java / "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path]

    def program(self, name, arguments):
        """Runs one of the Java programs; returns whether all was well, and its output."""
        if not hasattr(self, "programs") or self.programs.poll() is not None:
            self.programs = subprocess.Popen([*self.java, "Programs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.stdin.write("\t".join(map(str, [name, *arguments])).encode() + b"\n")
        self.programs.stdin.flush()
        result, size = self.programs.stdout.readline().split()
        return result == b"ok", self.programs.stdout.read(int(size)).decode(errors="replace")

    def stop(self):
        if hasattr(self, "programs"):
            self.programs.stdin.close()
            self.programs.wait()
        super().stop()

    def keeps_less(self):
        """Whether a `_source` with less than the document is built for it."""
        return self.name.startswith(("opensearch-3.6", "opensearch-3.7", "opensearch-3.8", "elasticsearch-8.19", "elasticsearch-9.4", "elasticsearch-9.5"))

    def writes_as_java_19(self):
        """Whether it writes decimals with the fewest digits. Java before 19, on which Elasticsearch 8 runs here, has one more of some."""
        return self.version >= ("3" if self.product == "opensearch" else "9")

    def ignores_malformed(self):
        """Whether the setting of that name is built for it."""
        return self.product == "opensearch" and self.version >= "3.6" or self.product == "elasticsearch" and self.version.startswith("8.19")

    def has_module(self, name):
        node = next(iter(request(f"{self.url}/_nodes/plugins")["nodes"].values()))
        return any(module["name"] == name for module in node["modules"])

    def bulk(self, body):
        link = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=600)
        link.request("POST", "/i/_bulk", body, {"Content-Type": "application/x-ndjson"})
        return json.loads(link.getresponse().read())["items"]

    def identity(self, number):
        """The id of a number, which is also a routing value."""
        return self.names[number % len(self.names)] if self.names else str(number)

    def index(self, lines, mapping, ids=NO_IDS_AGAIN):
        """Indexes lines with their numbers modulo `ids` as ids, or with ids that the server makes; returns the folder and why lines were refused.

        Routing values are the numbers modulo 7, if the mapping needs some.
        """
        every, but = "_routing" in mapping, joins.unrouted(mapping)
        ask(f"{self.url}/i", "PUT", {"mappings": mapping, "settings": self.settings})
        refused, body, size, first = {}, [], 0, 0

        def send():
            for place, item in enumerate(self.bulk(b"".join(body)), first):
                if "error" in item["index"]:
                    error = item["index"]["error"]
                    refused[place] = f"{error['reason']} / {error.get('caused_by', {}).get('reason')}"
            body.clear()

        for number, line in enumerate(lines.open("rb")):
            action = {"_id": self.identity(number % ids)} if ids else {}
            if every or but and (number + 1) % but:
                action["routing"] = self.identity(number % 7)
            body += [json.dumps({"index": action}).encode() + b"\n", line]
            size += len(line)
            if size > 4 << 20:
                send()
                size, first = 0, number + 1
        if body:
            send()
        ask(f"{self.url}/i/_forcemerge?max_num_segments=1", "POST")
        ask(f"{self.url}/i/_flush?force=true", "POST")
        uuid = ask(f"{self.url}/_cat/indices/i?format=json&h=uuid")[0]["uuid"]
        return next(self.home.glob(f"*/data/**/indices/{uuid}/0/index")), refused

    def build(self, lines, mapping, folder, ids=NO_IDS_AGAIN, memory=1 << 30):
        refused, grown = folder / "refused", folder / "grown.json"
        grown.unlink(missing_ok=True)
        shutil.rmtree(folder / "index", ignore_errors=True)
        (folder / "index").mkdir(parents=True)
        (folder / "mapping.json").write_text(json.dumps(mapping))
        (folder / "settings.json").write_text(json.dumps(flat_settings(self.settings)))
        pairs = [f"settings={folder}/settings.json", f"ids={ids}", f"memory={memory}", f"lucene={self.lucene}", f"{self.product}={self.version}", f"refused={refused}", f"grown={grown}"]
        pairs += [f"threads={self.threads}", *routing(mapping)]
        if self.names:
            (folder / "names.json").write_text(json.dumps(self.names))
            pairs += [f"names={folder}/names.json"]
        run = subprocess.run([PROGRAMS / "lucene-build", folder / "mapping.json", lines, folder / "index", *pairs], stderr=subprocess.PIPE, text=True)
        if run.returncode:
            raise SystemExit(f"lucene-build: {run.stderr}\n{json.dumps(mapping)}")
        return folder / "index", {int(line.split("\t")[0]): line.split("\t", 1)[1] for line in refused.read_text().split("\n")[:-1]}

    def as_shown(self, mapping, grown):
        """A mapping as the server shows it, after it was given what it has `grown` to, if it has."""
        ask(f"{self.url}/shown", "PUT", {"mappings": mapping, "settings": self.settings})
        try:
            if grown:
                ask(f"{self.url}/shown/_mapping", "PUT", grown)
            return ask(f"{self.url}/shown/_mapping")["shown"]["mappings"]
        finally:
            ask(f"{self.url}/shown", "DELETE")

    def without_unsupported(self, lines, mapping, folder):
        """The lines that the index writer knows, and how many others there are."""
        _, refused = self.build(lines, mapping, folder)
        unsupported = {number for number, reason in refused.items() if "needs a server" in reason}
        known = folder / "known"
        with known.open("wb") as file:
            file.writelines(line for number, line in enumerate(lines.open("rb")) if number not in unsupported)
        return known, len(unsupported)

    def differences(self, lines, mapping, folder, ids=NO_IDS_AGAIN, memory=1 << 30):
        """What differs between the server's index and the one that is built here, and how many lines are not compared.

        With less `memory` it has several segments. Where ids come again, documents are deleted, and only the others are compared.
        """
        # A bake reads the mapping of its target, too.
        shown = self.as_shown(mapping, None)
        lines, unsupported = self.without_unsupported(lines, shown, folder)
        theirs, refused = self.index(lines, mapping, ids)
        their_mapping = ask(f"{self.url}/i/_mapping")["i"]["mappings"]
        try:
            shutil.copytree(theirs, folder / "theirs", ignore=shutil.ignore_patterns("write.lock"))
        finally:
            ask(f"{self.url}/i", "DELETE")
        ours, ours_refused = self.build(lines, shown, folder, ids, memory)
        texts = lines.read_text(errors="replace").split("\n")[:-1]
        found = [
            f"refused by {'the server' if number in refused else 'us'}: {refused.get(number) or ours_refused.get(number)} {texts[number][:1000]}"
            for number in sorted(refused.keys() ^ ours_refused.keys())
        ]
        grown = folder / "grown.json"
        our_mapping = self.as_shown(mapping, json.loads(grown.read_text()) if grown.exists() else None)
        if their_mapping != our_mapping:
            found.append(f"mappings: {difference(their_mapping, our_mapping)}")
        if found or len(refused) == len(texts):
            return found, unsupported
        programs, skipped, theirs = [("Check", [ours])], ["_seq_no"], folder / "theirs"
        if "_source" in shown:
            skipped.append("_recovery_source")
        if ids < NO_IDS_AGAIN:
            # A document of the server that took the place of another one has a higher version.
            skipped += ["_version", "__soft_deletes"]
            programs += [("Merge", [theirs, folder / "theirs-merged"])]
            theirs = folder / "theirs-merged"
        if memory < 1 << 30 or ids < NO_IDS_AGAIN:
            programs += [("Merge", [ours, folder / "ours-merged"])]
            ours = folder / "ours-merged"
        for program, arguments in [*programs, ("Compare", [theirs, ours, *skipped])]:
            is_well, output = self.program(program, arguments)
            # The server keeps what it wrote of documents that Lucene refused, at least the names of their fields.
            has_deletions = "the server has deletions" in output
            if program == "Compare" and (has_deletions or not is_well and refused):
                if not refused:
                    return [*found, "the server has deletions, and refused nothing"], unsupported
                taken = folder / "taken"
                for copy in folder.glob("theirs*"):
                    shutil.rmtree(copy)
                shutil.rmtree(folder / "ours-merged", ignore_errors=True)
                with lines.open("rb") as all_lines, taken.open("wb") as file:
                    file.writelines(line for number, line in enumerate(all_lines) if number not in refused)
                again, _ = self.differences(taken, mapping, folder, ids, memory)
                return found + again, unsupported
            if not is_well:
                found += [line for line in output.splitlines() if re.search(r"DIFF|FAIL|rror|xcept|\tat ", line)]
        return found, unsupported


def routing(mapping):
    """What `lucene-build` and `lucene-bake` hear of routing values."""
    but = joins.unrouted(mapping)
    return ["routing=7"] if "_routing" in mapping else ["routing=7", f"unrouted={but}"] if but else []


def equal(lines, mapping, server, settings=None):
    with Node(server) as node, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        if settings:
            node.settings |= json.loads(pathlib.Path(settings).read_text())
        found, unsupported = node.differences(pathlib.Path(lines), json.loads(pathlib.Path(mapping).read_text()), pathlib.Path(folder))
    print("\n".join(found) or "equal", f"({unsupported} lines are not supported)")
    sys.exit(bool(found))


def parts(node, dice, found):
    """Analysers and normalizers of random parts under the names of others, as far as they are known here."""
    names = [name for name in found["analyzer"] if name.startswith("own")]
    with subprocess.Popen([PROGRAMS / "lucene-tokens"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        for name in names:
            while True:
                made = lucene_tokens.analysis(dice, 1)
                asked = {"settings": flat_settings({"analysis": made}), "analyzer": "a0", "lucene": [*map(int, node.lucene.split("."))], "texts": []}
                print(json.dumps(asked), file=program.stdin, flush=True)
                if json.loads(program.stdout.readline()) == []:
                    break
            for kind in ("tokenizer", "filter", "char_filter"):
                found[kind] = found.get(kind, {}) | {f"{name}_{part}": definition for part, definition in made[kind].items()}
            rename = lambda parts, kind: [f"{name}_{part}" if part in made[kind] else part for part in parts]
            analyzer = made["analyzer"]["a0"]
            for key, kind in (("filter", "filter"), ("char_filter", "char_filter")):
                if key in analyzer:
                    analyzer[key] = rename(analyzer[key], kind)
            if "tokenizer" in analyzer:
                analyzer["tokenizer"] = rename([analyzer["tokenizer"]], "tokenizer")[0]
            found["analyzer"][name] = analyzer
    for name in found["normalizer"]:
        found["normalizer"][name] = {"type": "custom", "filter": dice.choices(lucene_tokens.NORMALIZING, k=dice.choice([1, 2, 6]))}
    return found


def fuzz_round(node, seed):
    """Compares the index of a random mapping and random documents; returns what was made, how many lines are not supported, and what differs."""
    mappings.EXTRAS, mappings.NOT_BUILT = has_extras(node), not_built(node)
    mappings.BOOLEANS = node.product == "elasticsearch" and node.ignores_malformed()
    dice = random.Random(seed)
    narrow = dice.random() < NARROW
    fields, kind = values.mapping(dice, node.product == "opensearch") if narrow else (mappings.mapping(dice, node.product == "opensearch"), None)
    dice_of_joins = random.Random(f"joins {seed}")
    if not narrow and joins.KNOWN and dice_of_joins.random() < joins.SHARE:
        joins.add(dice_of_joins, fields)
    # Older servers sort no documents with nested objects.
    old = node.product == "opensearch" and node.version < "3.3" and '"nested"' in json.dumps(fields)
    plain = SETTINGS | {"analysis": mappings.random_analysis(random.Random(seed), node.product == "opensearch")}
    dice_of_parts = random.Random(f"parts {seed}")
    if mappings.EXTRAS and node.product == "opensearch" and dice_of_parts.random() < 0.6:
        plain |= {"max_ngram_diff": 50, "max_shingle_diff": 9, "analysis": parts(node, dice_of_parts, plain["analysis"])}
    node.settings = plain if old else plain | mappings.sort(random.Random(seed), fields)
    dice_of_settings = random.Random(f"settings {seed}")
    if node.ignores_malformed() and dice_of_settings.random() < MALFORMED:
        node.settings = node.settings | {"mapping": node.settings.get("mapping", {}) | {"ignore_malformed": True}}
    if dice.random() < 0.1:
        fields["_routing"] = {"required": True}
    dice_of_new = random.Random(f"new {seed}")
    has_new = not narrow and dice_of_new.random() < 0.5
    if has_new:
        new.parameters(dice_of_new, fields, node.product == "opensearch")
        if dice_of_new.random() < 0.15:
            node.settings = node.settings | new.limit(dice_of_new, fields)
    dice_of_source = random.Random(f"source {seed}")
    if node.keeps_less() and dice_of_source.random() < SOURCES:
        fields["_source"] = mappings.source(dice_of_source, fields, node.writes_as_java_19())
    density = documents.densities(dice, fields, {})
    # Beyond 65,536 documents the formats have further blocks.
    count = dice.choices([1, 30, 300, 1000, 5000, 15_000, 70_000], [7, 7, 20, 56, 8, 1.7, 0.3])[0]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        lines = pathlib.Path(folder) / "lines"
        with lines.open("w") as file:
            for _ in range(count):
                made = values.document(dice, fields, kind) if narrow else documents.document(dice, fields, density)
                if has_new:
                    new.add(dice_of_new, made)
                file.write(documents.written(dice, made) + "\n")
        # Some of them in several segments, or with ids that come again.
        memory = dice.choice([1 << 30, 1 << 30, 1 << 16 if count <= 1000 else 1 << 22, 1 << 20])
        ids = max(1, int(count * dice.choice([0.3, 0.9]))) if dice.random() < 0.2 else NO_IDS_AGAIN
        node.names = documents.identities(dice, min(count, ids)) if dice.random() < 0.3 else None
        # With several threads the order of documents is not that of the lines, which counts for one id and new fields.
        fixed = fields.get("dynamic") in ("strict", "false", False) and '"dynamic": "true"' not in json.dumps(fields)
        node.threads = dice.choice([1, 2]) if memory < 1 << 30 and ids == NO_IDS_AGAIN and fixed and not has_new else 1
        found, unsupported = node.differences(lines, fields, pathlib.Path(folder), ids, memory)
        named, threads, node.names, node.threads = node.names is not None, node.threads, None, 1
    made = {"seed": seed, "documents": count, "memory": memory, "ids": ids, "named": named, "threads": threads, "sort": node.settings.get("sort"), "mapping": fields, "analysis": node.settings["analysis"]}
    return made, unsupported, found


def typed(fields):
    """The types of the fields of a mapping, with those of multi-fields."""
    for field in fields.values():
        if "type" in field:
            yield field["type"]
        for below in ("properties", "fields"):
            yield from typed(field.get(below, {}))


def fuzz_on(node, seed, seconds, types=""):
    """Compares random rounds for so long; returns how many rounds and documents there were, how many are not supported, and how many rounds differ."""
    rounds, lines_all, left_out, bad, skipped, by_type = 0, 0, 0, 0, 0, {}
    plain = [*mappings.KINDS]
    mappings.often(types.split(",") if types else [])
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until and bad < 4:
        try:
            made, unsupported, found = fuzz_round(node, seed)
        except SystemExit as refused:
            # A mapping or an index sort that is not built for this version.
            if "Unsupported {" not in str(refused):
                raise
            seed, skipped = seed + 1, skipped + 1
            continue
        if found:
            bad += 1
            print(*(line[:800] for line in found[:25]), json.dumps(made), sep="\n  ", flush=True)
        seed, rounds, lines_all, left_out = seed + 1, rounds + 1, lines_all + made["documents"], left_out + unsupported
        for kind in {*typed(made["mapping"]["properties"])}:
            by_type[kind] = by_type.get(kind, 0) + made["documents"] - unsupported
    mappings.KINDS[:] = plain
    print(*(f"{kind}\t{count}" for kind, count in sorted(by_type.items())), sep="\n")
    print(f"{rounds} rounds, {lines_all} documents, {left_out} not supported, {bad} rounds differ, {skipped} mappings not built, next seed {seed}", flush=True)
    return rounds, lines_all, left_out, bad


def fuzz(server, seed, seconds, types=""):
    with Node(server) as node:
        *_, bad = fuzz_on(node, int(seed), seconds, types)
    sys.exit(bool(bad))


def limits(server):
    lines, fields = [line for line in documents.limits() if line], documents.LIMITS_MAPPING
    if server.startswith("opensearch"):
        lines, fields = lines + documents.flat_limits(), fields | {"properties": fields["properties"] | documents.FLAT_LIMITS}
    with Node(server) as node, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        file = pathlib.Path(folder) / "lines"
        file.write_bytes(b"".join(line + b"\n" for line in lines))
        found, unsupported = node.differences(file, fields, pathlib.Path(folder))
    print("\n".join(found) or "equal", f"({len(lines)} documents, {unsupported} not supported)")
    sys.exit(bool(found))


def dates(server, seed, rounds):
    bad = 0
    with Node(server) as node:
        for compared, found in lucene_dates.rounds(node, PROGRAMS / "lucene-dates", int(seed), int(rounds)):
            bad += len(found)
            print(compared, *(f"{format!r} {text!r}: ours {ours}, theirs {theirs}" for format, text, ours, theirs in found[:25]), sep="\n  ", flush=True)
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


def tokens(program, analyzer, texts):
    """The tokens of texts, a line each: words, and where they are in units of UTF-16."""
    lines = "".join(" ".join(f"{ord(c):x}" for c in text) + "\n" for text in texts)
    return subprocess.run([*program, analyzer], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def compare_words(node, texts):
    """How many tokens the analysers make of texts, and what differs; both with Lucene's own."""
    count, found = 0, []
    for analyzer in ("standard", "simple", "whitespace"):
        theirs, ours = tokens([*node.java, "Words"], analyzer, texts), tokens([PROGRAMS / "lucene-words"], analyzer, texts)
        found += [f"{analyzer}: {text!r}: {a!r} {b!r}" for text, a, b in zip(texts, theirs, ours, strict=True) if a != b]
        count += sum(line.count("\x1f") for line in theirs)
    return count, found


def words(seed, count, server):
    source = (CRATE / "src/analysis/classes.rs").read_text()
    ranges = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"\(0x([0-9a-f]+), 0x([0-9a-f]+), 0x", source)]
    dice = random.Random(int(seed))
    texts = ["".join(chr(c) for c in random_text(dice, ranges) if not 0xD800 <= c <= 0xDFFF) for _ in range(int(count))]
    with Node(server) as node:
        all_tokens, found = compare_words(node, texts)
    print("\n".join(found[:10]), f"{count} texts, {all_tokens} tokens, {len(found)} differ")
    sys.exit(bool(found))


def texts(folder, server):
    bad = 0
    with Node(server) as node:
        for file in sorted(pathlib.Path(folder).iterdir()):
            lines = [json.loads(line) for line in file.open()]
            count, found = compare_words(node, lines)
            bad += len(found)
            print(f"{file.name}\t{len(lines)} texts\t{sum(map(len, lines))} characters\t{count} tokens\t{len(found)} differ", *found[:5], sep="\n  ", flush=True)
    sys.exit(bool(bad))


def random_tokens(server, seed, rounds):
    sums, refused, bad = [0, 0, 0], {}, 0
    with Node(server) as node:
        lucene = [*map(int, node.lucene.split("."))]
        for compared, of, tokens, found, refusals in lucene_tokens.rounds(node.url, PROGRAMS / "lucene-tokens", lucene, int(seed), int(rounds)):
            sums = [total + new for total, new in zip(sums, (compared, of, tokens))]
            bad += len(found)
            for part in refusals:
                refused[part] = refused.get(part, 0) + 1
            print(*found[:5], sep="\n  ", flush=True)
    print(f"{sums[0]} of {sums[1]} analysers compared, {sums[2]} tokens, {bad} differ")
    print(*(f"{count} times refused: {part}" for part, count in sorted(refused.items())), sep="\n")
    sys.exit(bool(bad))


def random_chains(server, seed, count):
    compared, tokens, bad = 0, 0, 0
    with Node(server) as node:
        for known, more, found in lucene_tokens.chains(node.java, PROGRAMS / "lucene-tokens", [*map(int, node.lucene.split("."))], int(seed), int(count)):
            compared, tokens, bad = compared + known, tokens + more, bad + bool(found)
            print(*found[:1], sep="\n", end="\n" if found else "", flush=True)
    print(f"{compared} of {count} chains compared, {tokens} tokens, {bad} differ")
    sys.exit(bool(bad))


def restore_built(node, lines, fields, index, *pairs):
    """Builds an index into the snapshot of an empty one, and restores it."""
    url, repository = node.url, node.home / "repository"
    (node.home / "mapping.json").write_text(json.dumps(fields))
    (node.home / "settings.json").write_text(json.dumps(flat_settings(node.settings)))
    ask(f"{url}/{index}", "PUT", {"mappings": fields, "settings": node.settings})
    ask(f"{url}/_snapshot/r", "PUT", {"type": "fs", "settings": {"location": str(repository), "compress": False}})
    ask(f"{url}/_snapshot/r/empty?wait_for_completion=true", "PUT", {"indices": index, "include_global_state": False})
    ask(f"{url}/{index}", "DELETE")
    shard = next(repository.glob("**/indices/*/0"))
    subprocess.run(
        [PROGRAMS / "lucene-bake", node.home / "mapping.json", lines, shard, repository / "scratch", node.product, node.version, f"settings={node.home}/settings.json", *pairs], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["chmod", "-R", "a+rwX", repository], check=True)
    ask(f"{url}/_snapshot/r/empty/_restore?wait_for_completion=true", "POST", {"indices": index, "include_global_state": False})
    ask(f"{url}/_snapshot/r/empty", "DELETE")
    ask(f"{url}/_snapshot/r", "DELETE")
    shutil.rmtree(repository)


def bake(lines, mapping, server):
    with Node(server, heap_mib=512) as node:
        url = node.url
        restore_built(node, lines, json.loads(pathlib.Path(mapping).read_text()), "i")
        count = ask(f"{url}/i/_count")["count"]
        one = ask(f"{url}/i/_search", "POST", {"size": 1})["hits"]["hits"][0]["_id"]
        ask(f"{url}/i/_update/{one}?refresh=true", "POST", {"doc": {}, "detect_noop": False})
        ask(f"{url}/i/_forcemerge?max_num_segments=1", "POST")
        print(f"{count} documents restored, {ask(f'{url}/i/_count')['count']} after an update and a merge")


def searches(node, bodies, index):
    """The replies to searches, 100 a request."""
    replies = []
    for start in range(0, len(bodies), 100):
        lines = "".join('{"index":"%s"}\n%s\n' % (index, json.dumps(body)) for body in bodies[start:start + 100])
        asked = urllib.request.Request(f"{node.url}/_msearch", lines.encode(), {"Content-Type": "application/x-ndjson"})
        with urllib.request.urlopen(asked, timeout=120) as reply:
            replies += json.loads(reply.read())["responses"]
    return replies


def different_answers(node, bodies, given):
    """Searches with other answers from the index `built` than from `i`; how many had hits, and how many were refused.

    Ids are compared if they were given.
    """
    found, with_hits, errors = [], 0, 0
    for body, theirs, ours in zip(bodies, searches(node, bodies, "i"), searches(node, bodies, "built"), strict=True):
        theirs, ours = answer(theirs, given), answer(ours, given)
        errors += "error" in theirs
        with_hits += bool(theirs.get("hits"))
        where = difference(theirs, ours)
        if where:
            found.append(f"{json.dumps(body)}\n  {where}")
    return found, with_hits, errors


def queries_on(node, seed, count, types=""):
    """The same answers from an index that the server built, and from one that is built here? Returns how many differ."""
    plain = [*mappings.KINDS]
    mappings.often(types.split(",") if types else [])
    left, bad, with_hits, errors = count, 0, 0, 0
    while left > 0 and bad < 10:
        dice = random.Random(seed)
        fields = mappings.mapping(dice, node.product == "opensearch")
        fields["properties"]["n"] = {"type": "long"}
        has_join = joins.KNOWN and dice.random() < joins.SHARE
        if has_join:
            joins.add(dice, fields)
        density = documents.densities(dice, fields, {}) | {"n": 0, **{name: 1 for name in joins.names(fields)}}
        made = [documents.document(dice, fields, density) | {"n": number} for number in range(3000)]
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            lines = pathlib.Path(folder) / "lines"
            lines.write_text("".join(json.dumps(document) + "\n" for document in made))
            known, _ = node.without_unsupported(lines, fields, pathlib.Path(folder))
            given = has_join or dice.random() < 0.5
            _, theirs = node.index(known, fields, NO_IDS_AGAIN if given else None)
            _, ours = node.build(known, fields, pathlib.Path(folder))
            restore_built(node, known, fields, "built", *routing(fields), *(["ids=number"] if given else []))
        if theirs.keys() != ours.keys():
            bad += 1
            print(f"seed {seed}: only one refuses", {number: theirs.get(number) or ours.get(number) for number in theirs.keys() ^ ours.keys()}, json.dumps(fields))
        ask(f"{node.url}/i,built/_refresh", "POST")
        of = Fields(fields, made)
        bodies = [search(dice, of) for _ in range(min(left, 200))]
        try:
            found, hits, refused = different_answers(node, bodies, given)
        except TimeoutError:
            # A server that loses a reply loses it for its own index, too.
            print(f"seed {seed}: no reply", flush=True)
            found, hits, refused, bodies = [], 0, 0, []
        with_hits, errors, bad, left = with_hits + hits, errors + refused, bad + len(found), left - len(bodies)
        for where in found:
            print(f"seed {seed}: {where}\n  {json.dumps(fields)[:2000]}", flush=True)
        seed += 1
        for index in ("i", "built"):
            ask(f"{node.url}/{index}", "DELETE")
    mappings.KINDS[:] = plain
    print(f"{count} searches, {with_hits} with hits, {errors} refused, {bad} differ, next seed {seed}", flush=True)
    return bad


def queries(server, seed, count, types=""):
    with Node(server) as node:
        bad = queries_on(node, int(seed), int(count), types)
    sys.exit(bool(bad))


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
    commands = {"measure": (measure, 4), "equal": (equal, 3), "fuzz": (fuzz, 3), "limits": (limits, 1), "dates": (dates, 3), "words": (words, 3), "texts": (texts, 2), "tokens": (random_tokens, 3), "chains": (random_chains, 3), "bake": (bake, 3), "queries": (queries, 3)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) - 2 not in (count, count + (command is fuzz or command is queries)):
        raise SystemExit(__doc__)
    command(*sys.argv[2:])
