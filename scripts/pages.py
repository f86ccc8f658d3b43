#!/usr/bin/env python3
"""Runs the commands of the pages: README.md, COMPARE.md and docs/, without the decisions.

    scripts/pages.py [--inrush FILE] [PAGE…]     INRUSH or `inrush` of the PATH by default
    scripts/pages.py --check [PAGE…]             compares the flags, and runs no command

Each page runs in a folder of its own, which has the files that pages name (scripts/pages/), against
a local OpenSearch node, a second one as the source of copies, a broker of Kafka and a web server.
Only addresses are replaced. A fence of `sh` is a script; in a fence of `console` each line after
`$ ` is a command, and the lines below it are its output: `…` stands for any characters, a line
`...` for any lines. A file stands in a fence below a line with nothing but its name in backticks.
Words after the language of a fence change how it runs:

    exits=3            the exit status (of a fence of sh: of its last command)
    until=TEXT         the command runs until TEXT is in its output; then it is interrupted
    tested=FILE        the test in FILE runs this command, with servers that are not here
    not-run=REASON     the command cannot be run here

The flags of all commands are compared with the help of the program, of those that are not run, too.
Each page is found in three steps from README.md, the ten tasks of docs/README.md among them. The
exit status is 1 if a command fails, a page names a flag that does not exist, or cannot be found.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/pages"))

import prepare  # noqa: E402

LIMIT_S = 120
# Fences that hold commands, and those that hold none.
SHELL = {"sh", "console"}
OTHER = {"csv", "ini", "json", "python", "rust", "sql", "text", "toml", "yaml", "yml"}
# Links from README.md to any page, at most.
STEPS = 3
LINK = re.compile(r"\]\(([^)\s#]+)")
MARKS = {"exits", "until", "tested", "not-run"}
# A command of this program. Those of other programs have their own flags.
OWN = re.compile(r"(?:^|[\s|;&(])inrush ([a-z][a-z-]*)(.*)")


@dataclass
class Block:
    page: str
    line: int
    language: str
    marks: dict[str, str]
    body: str
    name: str | None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """The commands one by one, with continued lines joined and without bodies of heredocs."""
        found, ends, joined = [], None, ""
        for line in self.body.splitlines():
            if ends:
                ends = None if line == ends else ends
                continue
            if self.language == "console":
                if not re.match(r"[$>] ", line):
                    continue
                line = line[2:]
            if not joined and (not line.strip() or line.lstrip().startswith("#")):
                continue
            heredoc = re.search(r"<<-?'?(\w+)'?", line)
            ends = heredoc and heredoc[1]
            joined += line
            if joined.endswith("\\"):
                joined = joined[:-1] + " "
                continue
            found.append(joined)
            joined = ""
        return found


def blocks_of(page: str) -> list[Block]:
    blocks, before, fence, opening = [], "", None, ""
    lines: list[str] = []
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        marker = re.match(r"(\s*)(`{3,})(.*)", line)
        if fence is None and marker:
            fence, opening, began, lines = marker[2], marker[3].strip(), number, []
            indent = len(marker[1])
        elif fence is not None and line.strip() == fence:
            language, _, rest = opening.partition(" ")
            marks = dict(re.findall(r"([\w-]+)=(.*?)(?=\s+[\w-]+=|$)", rest))
            name = re.fullmatch(r"`([\w./-]+)`", before.strip())
            blocks.append(Block(page, began, language, marks, "\n".join(lines) + "\n", name and name[1]))
            fence, before = None, ""
        elif fence is not None:
            lines.append(line[indent:])
        if fence is None and line.strip() and not marker:
            before = line
    return blocks


@dataclass
class Places:
    """What stands for the addresses of the pages."""

    inrush: str
    work: pathlib.Path
    url: str = ""
    old: str = ""
    broker: str = ""
    web: str = ""
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def replace(self, command: str) -> str:
        for told, meant in (
            (r"https?://(?:old|from)(?::9200)?(?=[/ '\"\n]|$)", self.old),
            (r"https?://(?:search|new|a|b|localhost)(?::9200)(?=[/ '\",\n?]|$)", self.url),
            (r"kafka://(?:broker1,broker2|broker(?::9092)?|localhost:9092)/", f"kafka://{self.broker}/"),
            (r"https://host/", f"{self.web}/"),
            (r"/mnt/shared", str(self.work / "shared")),
            # Targets take long, so they only have to exist.
            (r"(?m)^make ([\w-]+)", rf"make -C {ROOT} --dry-run \1 >/dev/null"),
            (r"(?<![\w.~/])/(data|state)\b", rf"{self.work}/\1"),
        ):
            command = re.sub(told, meant, command)
        return command

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{pathlib.Path(self.inrush).parent}:{os.environ['PATH']}",
            "INRUSH_NODE_ROOT": str(self.work / "node"),
            "XDG_STATE_HOME": str(self.work / "state"),
        }

    def start(self, wants: set[str]) -> None:
        """Starts the servers that the pages want, all at once."""
        started = []
        if "node" in wants:
            started.append(self.node("default", "--repository-path", str(self.work / "shared")))
        if "old" in wants:
            started.append(self.node("old", "--heap", "512m"))
        if "broker" in wants:
            self.broker = self.kafka()
        for name, process in started:
            url, _ = process.communicate(timeout=600)
            if process.returncode:
                raise SystemExit(f"pages: the node {name} does not start")
            self.url, self.old = (url.strip(), self.old) if name == "default" else (self.url, url.strip())
        if self.old:
            prepare.indices(self.old)
        if self.broker:
            prepare.topics(self.broker)
        handler = functools.partial(Quiet, directory=str(self.work / "web"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.closing.callback(server.shutdown)
        self.web = f"http://127.0.0.1:{server.server_port}"

    def node(self, name: str, *arguments: str) -> tuple[str, subprocess.Popen[str]]:
        stop = [self.inrush, "node", "stop", "--clean", "--name", name]
        self.closing.callback(subprocess.run, stop, env=self.environment(), capture_output=True)
        # Nodes that start at the same time would choose the same one.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        start = [self.inrush, "node", "start", "--name", name, "--port", str(port), *arguments]
        return name, subprocess.Popen(start, env=self.environment(), stdout=subprocess.PIPE, text=True)

    def kafka(self) -> str:
        command = [ROOT / "scripts/kafka.sh", self.work / "kafka"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # The script ends the broker when its input is closed.
        self.closing.callback(process.wait, 60)
        self.closing.callback(process.stdin.close)
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("pages: the broker does not start")
        return address

    def empty(self) -> None:
        """Deletes all indices, so that no page depends on another one."""
        if not self.url:
            return
        with urllib.request.urlopen(f"{self.url}/_cat/indices?h=index&expand_wildcards=all", timeout=60) as reply:
            names = [name for name in reply.read().decode().split() if not name.startswith(".")]
        if names:
            request = urllib.request.Request(f"{self.url}/{','.join(names)}", method="DELETE")
            urllib.request.urlopen(request, timeout=60).close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def wants_of(blocks: list[Block]) -> set[str]:
    """The servers that these blocks need."""
    run = "\n".join(block.body for block in blocks if is_run(block))
    wants = {"node"} if "inrush" in run else set()
    wants |= {"old"} if re.search(r"https?://(old|from)\b", run) else set()
    wants |= {"broker"} if "kafka://" in run else set()
    return wants


def is_run(block: Block) -> bool:
    return block.language in SHELL and not {"tested", "not-run"} & block.marks.keys()


def stopped_after(process: subprocess.Popen[str], text: str) -> str:
    """Reads until the output has the text, and interrupts the process."""
    seen = ""
    for line in process.stdout:
        seen += line
        if text in seen:
            os.killpg(process.pid, signal.SIGINT)
            break
    return seen + process.stdout.read()


def run(places: Places, script: str, folder: pathlib.Path, until: str | None = None) -> tuple[int, str]:
    """The exit status of a script, and its output."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", places.replace(script)],
            cwd=folder,
            env=places.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if until else output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            said = stopped_after(process, until) if until else ""
            process.wait()
        finally:
            timer.cancel()
        output.seek(0)
        return process.returncode, said + output.read()


def expected(lines: list[str]) -> re.Pattern[str]:
    """A pattern of the output. Several blanks stand for any number above one, as in tables."""
    escaped = lambda line: re.sub(r"(\\ ){2,}", r"\\ {2,}", re.escape(line)).replace("…", ".*?")
    parts = [r"(?:.*\n)*?" if line == "..." else escaped(line) + "\n" for line in lines]
    return re.compile("".join(parts) + r"\s*")


def run_sh(places: Places, block: Block, folder: pathlib.Path) -> str | None:
    """Why the script failed, or None."""
    status, said = run(places, block.body, folder, block.marks.get("until"))
    wanted = int(block.marks.get("exits", 130 if "until" in block.marks else 0))
    return None if status == wanted else f"ended with {status}, not {wanted}\n{said}"


def run_console(places: Places, block: Block, folder: pathlib.Path) -> str | None:
    command, output = "", []
    pairs = []
    for line in [*block.body.splitlines(), "$ "]:
        if line.startswith("$ "):
            pairs += [(command, output)] if command else []
            command, output = line[2:], []
        elif line.startswith("> "):
            command += "\n" + line[2:]
        else:
            output.append(line)
    for number, (command, output) in enumerate(pairs, 1):
        status, said = run(places, command, folder, block.marks.get("until"))
        # Only the last command may have another status.
        last = number == len(pairs)
        wanted = int(block.marks.get("exits", 130 if "until" in block.marks else 0)) if last else 0
        if status != wanted:
            return f"{command}\nended with {status}, not {wanted}\n{said}"
        told = said
        for meant, address in ((places.url, "http://localhost:9200"), (places.old, "http://old:9200")):
            told = told.replace(meant, address) if meant else told
        if output and not expected(output).fullmatch(told):
            return f"{command}\nprinted\n{told}\nnot\n" + "\n".join(output)
    return None


def write_file(places: Places, block: Block, folder: pathlib.Path) -> None:
    target = folder / block.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(places.replace(block.body))


def run_page(places: Places, page: str, blocks: list[Block]) -> list[str]:
    folder = places.work / re.sub(r"\W", "-", page)
    shutil.copytree(places.work / "files", folder)
    places.empty()
    for block in blocks:
        if block.name:
            write_file(places, block, folder)
    for block in blocks:
        if is_run(block):
            began = time.monotonic()
            trouble = (run_sh if block.language == "sh" else run_console)(places, block, folder)
            print(f"{time.monotonic() - began:6.1f} s  {block.place}", file=sys.stderr)
            if trouble:
                # Later commands of a page may need this one.
                return [f"{block.place}: {trouble}"]
    return []


@functools.cache
def flags_of(inrush: str, command: str) -> frozenset[str]:
    words = [inrush, command, "--help"] if command else [inrush, "--help"]
    said = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if said.returncode:
        return frozenset()
    below = re.findall(r"^  ([a-z-]+) ", said.stdout.partition("Commands:")[2].partition("\n\n")[0], re.MULTILINE)
    help_text = said.stdout
    for name in below if command else []:
        help_text += subprocess.run([inrush, command, name, "--help"], capture_output=True, text=True).stdout
    return frozenset(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", help_text))


def check(inrush: str, block: Block) -> list[str]:
    """Findings about a block that need no server."""
    found = []
    hidden = not block.language and not re.search(r"^(\$ |inrush |make )", block.body, re.MULTILINE)
    if block.language not in SHELL | OTHER and not hidden:
        found.append(f"{block.place}: a fence of `{block.language}`; use sh, console, or a language without commands")
    found += [f"{block.place}: no such mark: {mark}" for mark in block.marks.keys() - MARKS]
    tested = block.marks.get("tested")
    if tested and not (ROOT / tested).exists():
        found.append(f"{block.place}: no such test: {tested}")
    for command in block.commands() if block.language in SHELL else []:
        for name, rest in OWN.findall(command):
            if name == "from":
                # Flags of another loader.
                continue
            known = flags_of(inrush, name)
            if not known:
                found.append(f"{block.place}: no such command: inrush {name}")
            rest = re.split(r"\s[|;&]\s", rest)[0]
            flags = set(re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", rest))
            found += [f"{block.place}: no such flag of inrush {name}: {flag}" for flag in flags - known if known]
    return found


def unfound(pages: list[str]) -> list[str]:
    """Pages that are more than STEPS links away from README.md, and tasks that are missing."""
    near, edge = {"README.md"}, {"README.md"}
    for _ in range(STEPS):
        links = {(page, link) for page in edge for link in LINK.findall((ROOT / page).read_text())}
        linked = {os.path.normpath(os.path.join(os.path.dirname(page), link)) for page, link in links}
        edge = {page for page in linked - near if page.endswith(".md") and (ROOT / page).is_file()}
        near |= edge
    tasks = (ROOT / "docs/README.md").read_text().partition("## Ten tasks")[2].partition("\n## ")[0]
    found = [f"{page}: more than {STEPS} steps from README.md" for page in pages if page not in near]
    if tasks.count("](") < 10:
        found.append("docs/README.md: fewer than ten tasks")
    return found


def pages() -> list[str]:
    names = [ROOT / "README.md", ROOT / "COMPARE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [str(name.relative_to(ROOT)) for name in names]
    # A decision has the commands of its day.
    return [name for name in names if not name.startswith("docs/decisions/")]


@contextlib.contextmanager
def servers(inrush: str, wants: set[str]) -> Iterator[Places]:
    # The node's user has to reach the folder. A temporary folder of root is often closed to it.
    work = pathlib.Path(tempfile.mkdtemp(prefix="inrush-pages.", dir="/var/tmp"))
    work.chmod(0o755)
    (work / "shared").mkdir()
    (work / "shared").chmod(0o777)
    prepare.shared(work)
    prepare.files(work / "files")
    prepare.parquet(inrush, work / "files")
    places = Places(inrush, work)
    try:
        places.start(wants)
        yield places
    finally:
        places.closing.close()
        shutil.rmtree(work, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the commands of the pages")
    parser.add_argument("--inrush", default=os.environ.get("INRUSH") or shutil.which("inrush"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*")
    arguments = parser.parse_args()
    if not arguments.inrush:
        parser.error("no program inrush: give --inrush FILE")
    inrush = str(pathlib.Path(arguments.inrush).resolve())
    blocks = {page: blocks_of(page) for page in arguments.pages or pages()}
    every = [block for of_page in blocks.values() for block in of_page]
    found = [finding for block in every for finding in check(inrush, block)]
    if not arguments.pages:
        found += unfound(list(blocks))
    if not arguments.check:
        with servers(inrush, set().union(*map(wants_of, blocks.values()))) as places:
            for page, of_page in blocks.items():
                if any(map(is_run, of_page)):
                    found += run_page(places, page, of_page)
    for finding in found:
        print(f"pages: {finding}", file=sys.stderr)
    count = lambda chosen: sum(len(block.commands()) for block in every if block.language in SHELL and chosen(block))
    print(
        f"pages: {len(blocks)} pages, {count(is_run)} commands run, "
        f"{count(lambda block: 'tested' in block.marks)} run by other tests, "
        f"{count(lambda block: 'not-run' in block.marks)} not run, {len(found)} findings",
        file=sys.stderr,
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
