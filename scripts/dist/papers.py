#!/usr/bin/env python3
"""The papers of the artefacts, from the lock file and the sources of the crates.

    papers.py sbom PACKAGE FEATURES TARGET         a bill of materials, CycloneDX 1.6
    papers.py licences PACKAGE FEATURES TARGET     licences of all crates and of the C libraries in them
    papers.py provenance FOLDER                    how the files of SHA256SUMS were built: in-toto, SLSA 1.0

All print to stdout. FEATURES: with commas, or "". SOURCE_DATE_EPOCH is the time in them.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of several licences to choose from, the first of these is taken.
PREFERRED = ["Apache-2.0", "MIT", "BSD-3-Clause", "Zlib", "Unlicense", "CC0-1.0"]
FILES = re.compile(r"(?i)^(licen[cs]e|copying|notice|copyright|unlicense)[^/]*$")
# The words in the name of a file that stand for one licence.
WORDS = {"Apache-2.0": "apache", "MIT": "mit", "BSD-3-Clause": "bsd", "Zlib": "zlib", "Unlicense": "unlicense", "CC0-1.0": "cc0"}


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def when():
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Crates:
    """The crates that a program is linked from."""

    def __init__(self, package, features, target):
        metadata = json.loads(run("cargo", "metadata", "--locked", "--all-features", "--format-version", "1"))
        self.packages = {(p["name"], p["version"]): p for p in metadata["packages"]}
        lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
        self.checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
        self.edges = {}
        tree = ["cargo", "tree", "--locked", "--package", package, "--features", features, "--target", target, "--prefix", "depth", "--format", "|{p}"]
        self._read(run(*tree, "--edges", "normal,no-proc-macro"))
        self.root = next(iter(self.edges))
        # The sources of a C library are a dependency of a build script.
        for line in run(*tree, "--edges", "normal,build").splitlines():
            key = self._key(line.partition("|")[2])
            if key[0].endswith("-src"):
                self.edges.setdefault(key, set())

    def _key(self, text):
        name, version = text.split()[:2]
        return name, version.removeprefix("v")

    def _read(self, tree):
        above = []
        for line in tree.splitlines():
            depth, _, text = line.partition("|")
            key, depth = self._key(text), int(depth)
            self.edges.setdefault(key, set())
            del above[depth:]
            if above:
                self.edges[above[-1]].add(key)
            above.append(key)

    def __iter__(self):
        return iter(sorted(self.edges))

    def is_own(self, key):
        return self.packages[key]["source"] is None


def purl(key):
    return f"pkg:cargo/{key[0]}@{key[1]}"


def component(crates, key):
    package = crates.packages[key]
    entry = {"type": "library", "bom-ref": purl(key), "name": key[0], "version": key[1], "purl": purl(key)}
    if crates.checksums.get(key):
        entry["hashes"] = [{"alg": "SHA-256", "content": crates.checksums[key]}]
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    # The version of the C library in a crate stands behind the plus sign.
    if "+" in key[1] and (key[0].endswith("-sys") or key[0].endswith("-src")):
        entry["properties"] = [{"name": "inrush:contains", "value": key[1].partition("+")[2]}]
    return entry


def sbom(crates):
    root = component(crates, crates.root) | {"type": "application"}
    body = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"timestamp": when(), "component": root},
        "components": [component(crates, key) for key in crates if key != crates.root],
        "dependencies": [{"ref": purl(key), "dependsOn": sorted(map(purl, crates.edges[key]))} for key in crates],
    }
    # The same contents have the same number.
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{number}"} | body, indent=1) + "\n"


def chosen(expression):
    """The licences of an expression, of which one alternative is taken."""
    if expression is None:
        return []
    names = re.findall(r"[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?", expression.replace("/", " OR "))
    names = [name for name in names if name not in ("OR", "AND")]
    if "AND" in expression.split():
        return names
    return [next((name for name in PREFERRED if name in names), names[0])]


def texts(folder, licences):
    """The files of the chosen licences below the folder of a crate."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and FILES.match(path.name) and len(path.relative_to(folder).parts) <= 4]
    found = [path for path in found if path.suffix.lower() not in (".rs", ".c", ".h", ".py", ".in", ".html", ".json")]
    others = [word for name, word in WORDS.items() if name not in licences]
    wanted = [word for name, word in WORDS.items() if name in licences]

    def is_of_another(path):
        name = path.name.lower()
        return any(word in name for word in others) and not any(word in name for word in wanted)

    return [path for path in found if not is_of_another(path)]


def licences(crates):
    users, without = {}, []
    for key in crates:
        package = crates.packages[key]
        folder = pathlib.Path(package["manifest_path"]).parent
        # Of our own crates, the licence of parts that come from others.
        files = texts(folder / "src", []) if crates.is_own(key) else texts(folder, chosen(package["license"]))
        for path in files:
            text = "\n".join(line.rstrip() for line in path.read_text(errors="replace").strip().splitlines())
            # Copies of one text differ in their white space.
            users.setdefault(" ".join(text.split()), (text, []))[1].append(" ".join(key))
        if not files and not crates.is_own(key):
            without.append(f"{' '.join(key)}: {package['license']}, {', '.join(package['authors']) or 'authors not named'}")
    lines = ["Third-party software in inrush, and its licences.", ""]
    lines += ["These crates come without a file of their licence:", *sorted(without), ""] if without else []
    for text, names in sorted(users.values(), key=lambda entry: (-len(entry[1]), entry[1])):
        lines += ["=" * 80, "Used by: " + ", ".join(sorted(set(names))), "=" * 80, "", text, ""]
    return "\n".join(lines)


def provenance(folder):
    def digest(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()

    sums = [line.split(maxsplit=1) for line in (folder / "SHA256SUMS").read_text().splitlines()]
    commit = os.environ.get("INRUSH_COMMIT", "")
    lock = {"uri": "Cargo.lock", "digest": {"sha256": digest(ROOT / "Cargo.lock")}}
    source = {"uri": "git+" + os.environ.get("INRUSH_REPOSITORY", "."), "digest": {"gitCommit": commit}}
    tools = {name: run(name, "--version").strip() for name in ("rustc", "cargo")}
    requirements = (ROOT / "scripts/dist/requirements.txt").read_text().splitlines()
    tools |= dict(line.split("==") for line in requirements if "==" in line)
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": value}} for value, name in sums],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make dist",
                "externalParameters": {"command": "make dist", "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "0")},
                "internalParameters": {"tools": tools},
                "resolvedDependencies": [source, lock],
            },
            "runDetails": {"builder": {"id": os.environ.get("INRUSH_BUILDER", "local")}},
        },
    }
    return json.dumps(statement, indent=1) + "\n"


def main(arguments):
    match arguments:
        case ["provenance", folder]:
            print(provenance(pathlib.Path(folder)), end="")
        case ["sbom" | "licences" as paper, package, features, target]:
            crates = Crates(package, features, target)
            print(sbom(crates) if paper == "sbom" else licences(crates), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
