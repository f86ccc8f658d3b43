#!/usr/bin/env python3
"""Compares documents of other loaders with those of the commands that `inrush from` prints.

    scripts/moving.py [--inrush FILE] [--url URL] [--only REGEX] [LOADER…]

`inrush` is that of --inrush, of the variable INRUSH, or of the PATH. Each command line of
scripts/moving/cases.py runs into one index of a local OpenSearch node, or of the node at URL, and
its translation into another one. Their documents, ids and routing have to be the same. A loader
that is not on the PATH is left out by name. The flags of a loader's own help have to be in the
table of docs/moving/flags.md, and each flag that is translated has to have a case. It prints a line
for each case; the exit status is 1 if a case or a flag is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/moving"))

import cases  # noqa: E402
import gate  # noqa: E402
from cases import Case  # noqa: E402

LIMIT_S = 120
SECRETS = {"INRUSH_PASSWORD", "INRUSH_FROM_PASSWORD", "INRUSH_API_KEY", "INRUSH_FROM_API_KEY"}


class Wrong(Exception):
    """What differs."""


@dataclasses.dataclass
class Places:
    inrush: str
    folder: pathlib.Path
    url: str
    names: dict[str, str]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
        request = urllib.request.Request(f"{self.url}/{path}", data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def run(self, command: list[str] | str, case: Case) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-c", command] if isinstance(command, str) else command
        environment = {
            **{name: value for name, value in os.environ.items() if name not in SECRETS},
            "PATH": f"{pathlib.Path(self.inrush).absolute().parent}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(self.folder / "state"),
            **case.environment,
        }
        with open(self.folder / case.stdin if case.stdin else os.devnull) as stdin:
            return subprocess.run(words, cwd=self.folder, env=environment, stdin=stdin, capture_output=True, text=True, timeout=LIMIT_S)


def fill(places: Places, index: str, documents: list[dict[str, Any]]) -> None:
    """Makes an index with these documents, or none."""
    with contextlib.suppress(urllib.error.HTTPError):
        places.ask("DELETE", index)
    lines = [line for document in documents for line in ({"index": {"_id": document["id"]}}, document)]
    if lines:
        places.ask("POST", f"{index}/_bulk?refresh=true", "".join(json.dumps(line) + "\n" for line in lines))


def found(places: Places, index: str, case: Case, of_loader: bool) -> list[str]:
    """The documents of an index in words that can be compared."""
    try:
        places.ask("POST", f"{index}/_refresh")
        hits = places.ask("POST", f"{index}/_search", {"size": 1000})["hits"]["hits"]
    except urllib.error.HTTPError as error:
        raise Wrong(f"{index} cannot be read: {error}") from error
    words = []
    for hit in hits:
        source = {name: plain(value) for name, value in hit["_source"].items() if name not in case.without}
        if case.empty and of_loader:
            source = {name: value for name, value in source.items() if value != ""}
        words.append(json.dumps([hit["_id"] if case.ids else None, hit.get("_routing"), source], sort_keys=True, ensure_ascii=False))
    return sorted(words)


def plain(value: Any) -> Any:
    """A value with 1 for 1.0, because JavaScript writes no 1.0."""
    if isinstance(value, dict):
        return {name: plain(below) for name, below in value.items()}
    if isinstance(value, list):
        return [plain(below) for below in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def mapping(places: Places, index: str) -> Any:
    (body,) = places.ask("GET", index).values()
    return body["mappings"], body["settings"]["index"]["number_of_shards"]


def compare(places: Places, loader: str, case: Case, at: int) -> None:
    """Runs both.

    Raises:
        Wrong: They do not write the same.
    """
    theirs, ours = f"{loader}-{at}-theirs", f"{loader}-{at}-ours"
    around = [next((word.split("=")[1] for word in case.arguments if word.startswith(flag)), "") for flag in ("--prefix=", "--suffix=")]
    written = [f"{around[0]}{index}{around[1]}" for index in (theirs, ours)]
    for index in written:
        fill(places, index, case.before)
    told = lambda index: [word.replace("{index}", index) for word in arguments(places, case)]
    run = places.run([loader, *told(theirs)], case)
    if run.returncode and not case.loader_fails:
        raise Wrong(f"{loader} {shlex.join(told(theirs))}\nended with {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    translated = places.run([places.inrush, "from", loader, *told(ours)], case)
    if translated.returncode:
        raise Wrong(f"is not translated: {translated.stderr}")
    command = f"{translated.stdout.rstrip()} {shlex.join(case.also)}"
    loaded = places.run(command, case)
    if loaded.returncode != case.exits:
        raise Wrong(f"{command}\nended with {loaded.returncode}, not {case.exits}\n{loaded.stdout[-1000:]}{loaded.stderr[-3000:]}")
    expected, actual = found(places, written[0], case, True), found(places, written[1], case, False)
    if expected != actual:
        only = lambda one, other: "\n  ".join(word for word in one if word not in other)
        raise Wrong(f"{command}\n{len(expected)} and {len(actual)} documents; only of {loader}:\n  {only(expected, actual)}\nonly of inrush:\n  {only(actual, expected)}")
    if not expected:
        raise Wrong(f"{loader} has written no document\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    if case.index_too and mapping(places, theirs) != mapping(places, ours):
        raise Wrong(f"{command}\nmakes {mapping(places, ours)}\nand {loader}   {mapping(places, theirs)}")


def arguments(places: Places, case: Case) -> list[str]:
    words = case.arguments
    for name, value in places.names.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


def table(loader: str) -> dict[str, str]:
    """The flags of a loader in the page of all flags, and what becomes of them."""
    page = (ROOT / "docs/moving/flags.md").read_text()
    part = re.search(rf"\n## {loader} [\d.]+\n(.*?)(?=\n## |\Z)", page, re.S)[1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("| `")]
    return {flag: becomes for flags, _, becomes in rows for flag in re.findall(r"`([^`]+)`", flags)}


def own_flags(loader: str, program: str) -> set[str]:
    """The flags that a loader itself names."""
    if loader == "elasticdump":
        text = pathlib.Path(program).resolve().read_text()
        defaults = re.search(r"const defaults = \{\n(.*?)\n\}\n", text, re.S)[1]
        return {f"--{name}" for name in re.findall(r"^  '?([\w-]+)'?: ", defaults, re.M)} | {"--help", "--version"}
    said = subprocess.run([program, "-h" if loader == "esbulk" else "--help"], capture_output=True, text=True)
    text = said.stdout + said.stderr
    if loader == "esbulk":
        return set(re.findall(r"^  (-[\w-]+)", text, re.M))
    return {flag for line in re.findall(r"^ +(-.*)", text, re.M) for flag in re.findall(r"(?<![\w-])--?[\w-]+", line.split("  ")[0])}


def check_table(loader: str, program: str, all_cases: list[Case]) -> list[str]:
    """Flags that the table lacks, and translated ones without a case."""
    known = table(loader)
    missing = own_flags(loader, program) - known.keys()
    wrong = [f"{loader}: {flag} is not in docs/moving/flags.md" for flag in sorted(missing)]
    seen = {flag for case in all_cases for flag in case.flags.split()}
    wrong += [f"{loader}: {flag} of a case is not in docs/moving/flags.md" for flag in sorted(seen - known.keys())]
    for flag, becomes in known.items():
        is_run = not becomes.startswith(("refused", "a note", "no effect"))
        if is_run and flag not in seen:
            wrong.append(f"{loader}: {flag} has no case")
    return wrong


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def node(inrush: str, work: pathlib.Path) -> Iterator[str]:
    environment = {**os.environ, "INRUSH_NODE_ROOT": str(work / "node")}
    try:
        start = [inrush, "node", "start", "--name", "moving", "--port", str(free_port()), "--heap", "512m"]
        yield subprocess.run(start, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout.strip()
    finally:
        subprocess.run([inrush, "node", "stop", "--clean", "--name", "moving"], env=environment, capture_output=True)


@contextlib.contextmanager
def store(folder: pathlib.Path) -> Iterator[str]:
    """A server of S3 with a bucket `data`, which has the files of the cases."""
    binary = subprocess.run([ROOT / "scripts/s3-server.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    root, sidecar, port = folder / "s3/root", folder / "s3/sidecar", free_port()
    sidecar.mkdir(parents=True)
    shutil.copytree(folder, root / "data", ignore=shutil.ignore_patterns("s3", "node", "state"))
    login = ["--access", "reader", "--secret", "very-secret-indeed"]
    server = subprocess.Popen([binary, *login, "--region", "eu-west-1", "--port", f"127.0.0.1:{port}", "posix", "--sidecar", sidecar, root], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def prepare(places: Places) -> None:
    """What commands name: pipelines, and the index that is copied."""
    for name in ("mark", "named"):
        places.ask("PUT", f"_ingest/pipeline/{name}", json.loads((places.folder / "mark.json").read_text()))
    fill(places, "source", [])
    lines = []
    for hit in cases.hits(cases.DOCUMENTS):
        routing = {name.lstrip("_"): hit[name] for name in ("routing", "_routing") if name in hit}
        lines += [{"index": {"_id": hit["_id"], **routing}}, hit["_source"]]
    places.ask("POST", "source/_bulk?refresh=true", "".join(json.dumps(line) + "\n" for line in lines))


def run_all(places: Places, loaders: dict[str, str], only: str) -> list[str]:
    wrong = []
    for loader, program in loaders.items():
        all_cases = cases.CASES[loader]()
        wrong += [] if only else check_table(loader, program, all_cases)
        for at, case in enumerate(all_cases):
            if not re.search(only, shlex.join(case.arguments)):
                continue
            began, outcome = time.monotonic(), "same"
            try:
                compare(places, loader, case, at)
            except (Wrong, subprocess.TimeoutExpired) as error:
                outcome = "DIFFERS"
                wrong.append(f"{loader} {shlex.join(case.arguments)}")
                print(error, file=sys.stderr, flush=True)
            print(f"{time.monotonic() - began:5.1f} s  {outcome:8}{loader} {shlex.join(case.arguments)}", flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inrush", default=os.environ.get("INRUSH") or shutil.which("inrush"))
    parser.add_argument("--url")
    parser.add_argument("--only", default="", help="run only cases whose arguments match, and do not compare lists of flags")
    parser.add_argument("loaders", nargs="*", default=list(cases.CASES))
    options = parser.parse_args()
    if not options.inrush:
        parser.error("no inrush is here; give --inrush")
    programs = {loader: shutil.which(loader) for loader in options.loaders}
    for loader in [loader for loader, program in programs.items() if program is None]:
        print(f"moving: {loader} is not on the PATH; its cases are left out", file=sys.stderr)
    loaders = {loader: program for loader, program in programs.items() if program}
    if not loaders:
        raise SystemExit("moving: none of the loaders is here")
    with contextlib.ExitStack() as closing:
        folder = pathlib.Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="inrush-moving-")))
        # For root the node runs as another user.
        folder.chmod(0o755)
        cases.files(folder)
        url = options.url or closing.enter_context(node(options.inrush, folder))
        before = closing.enter_context(gate.opened(url, folder))
        names = {
            "url": url,
            "host": url.removeprefix("http://"),
            "gate": before,
            "gate_with_login": before.replace("//", f"//{gate.USER}:{gate.PASSWORD}@"),
            "folder": str(folder),
        }
        if "elasticdump" in loaders:
            names["s3"] = closing.enter_context(store(folder))
        places = Places(options.inrush, folder, url, names)
        prepare(places)
        wrong = run_all(places, loaders, options.only)
    if wrong:
        raise SystemExit("moving: these differ:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
