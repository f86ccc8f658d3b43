#!/usr/bin/env python3
"""Checks the prose of pages and comments against the house rules, and the links between pages.

    scripts/prose.py [FILE…]        without a file: every page and script of the repository

It reports lines of prose above 100 columns, words that hide the actor or the noun, links to pages,
headings and files that do not exist, names of raw data that are not in bench/runs/, and runs
without a folder, a README.md or a line of the index. Tables, code and lines that hold nothing but a
link may be wider. Pages that are read from the beginning to
the end have at most 120 columns in tables, too, and at most 1,500 words: all but those of the
reference and the benchmarks. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

COLUMNS = 100
TABLE_COLUMNS = 120
PAGE_WORDS = 1500
ROOT = pathlib.Path(__file__).resolve().parent.parent

# A pattern, and the word to use instead.
BANNED = [
    (r"\bwhoever\b", "name the actor"),
    (r"\bwhomever\b", "name the actor"),
    (r"\bsomebody\b", "name the actor"),
    (r"\bsomeone\b", "name the actor"),
    (r"\bnobody\b", "name the actor"),
    (r"\bso many\b", "give the number or name the quantity"),
    (r"\b(?:of|by) ours\b", "name the owner"),
    (r"\bwhat (?:is|was|are|were|has|had)\b(?![^.]*\?)", "use the noun"),
    (r"\bunder way\b", "in flight, running"),
]

# Pages that are left as they are: raw output of runs, and texts that others own.
LEFT_OUT = re.compile(
    r"^(bench/runs/(?!README)|ARCHITECTURE\.md$|python/hadoop/|python/tests/|docs/options\.md$)"
)
# Reference and benchmarks: pages in which a reader looks something up. Other pages are guides.
GUIDES = re.compile(r"^(README|COMPARE|docs/.*)\.md$")
LOOKED_UP = re.compile(
    r"^docs/(decisions/|benchmarks|bake/measured|encoding|tuner/|sources/|"
    r"(options|report|errors|privileges|dead-letters|page|segments|formats|json)\.md$)"
)
PAGES = re.compile(r"\.md$")
SCRIPTS = re.compile(r"(^Makefile$|^\.ci/|\.sh$|^scripts/|^bench/.*\.py$|^fuzz/fuzz_targets/)")
NAMES_PAGES = re.compile(r"\.(rs|py|toml|sh)$|^Makefile$")
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
MENTION = re.compile(r"\bdocs/[\w/-]+\.md\b")
RAW = re.compile(r"\bbench/runs/[\w./-]*\w|`(\d{4}-\d\d-\d\d-[\w-]+/[\w./-]*\w)`")
# Runs that were packed: the archive of a month.
PACKED = re.compile(r"\d{4}-\d\d\.tar\.xz")


def tracked() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def anchor(heading: str) -> str:
    """The anchor that a heading gets on GitHub."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose_of_page(text: str) -> list[tuple[int, str, bool]]:
    """Line number, line, and whether the line may be wide, without fenced code."""
    lines, fence = [], None
    for number, line in enumerate(text.splitlines(), 1):
        marker = re.match(r"\s*(```+|~~~+)", line)
        if marker:
            fence = None if fence else marker[1]
            continue
        if fence:
            continue
        wide = line.startswith("|") or bool(re.fullmatch(r"\s*(?:[-*] )?!?\[[^\]]*\]\([^)]*\)[.,]?", line))
        lines.append((number, line, wide))
    return lines


def prose_of_script(name: str, text: str) -> list[tuple[int, str, bool]]:
    """Comments of a script, and of Python the docstrings."""
    lines, docstring = [], False
    mark = "//" if name.endswith(".rs") else "#"
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        quotes = bare.count('"""') if name.endswith(".py") else 0
        if quotes and (docstring or bare.startswith(('"""', 'r"""'))):
            docstring ^= quotes % 2 == 1
            lines.append((number, line, False))
        elif docstring:
            lines.append((number, line, bare.startswith("bench/") or line.startswith("    ")))
        elif bare.startswith(mark) and not bare.startswith("#!"):
            lines.append((number, line, False))
        elif name == "Makefile" and "##" in line:
            lines.append((number, line[line.index("##") :], False))
    return lines


def check_prose(name: str, lines: list[tuple[int, str, bool]]) -> list[str]:
    found = []
    for number, line, wide in lines:
        if len(line) > COLUMNS and not wide:
            found.append(f"{name}:{number}: {len(line)} columns")
        spoken = re.sub(r"`[^`]*`", "``", line)
        for pattern, instead in BANNED:
            for match in re.finditer(pattern, spoken, re.IGNORECASE):
                found.append(f"{name}:{number}: “{match[0]}”: {instead}")
    return found


def check_guide(name: str, text: str) -> list[str]:
    found = []
    words = len(text.split())
    if words > PAGE_WORDS:
        found.append(f"{name}: {words} words; move a part to a page of its own")
    for number, line, _ in prose_of_page(text):
        if len(line) > TABLE_COLUMNS:
            found.append(f"{name}:{number}: {len(line)} columns; make a list of the table")
    return found


def check_links(name: str, text: str, anchors: dict[str, set[str]]) -> list[str]:
    found = []
    for number, line, _ in prose_of_page(text):
        for match in LINK.finditer(line):
            target = match[1] or match[2]
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = target.partition("#")
            file = (ROOT / name).parent / path if path else ROOT / name
            if not file.exists():
                found.append(f"{name}:{number}: no such file: {target}")
                continue
            page = str(file.resolve().relative_to(ROOT))
            if fragment and page in anchors and fragment not in anchors[page]:
                found.append(f"{name}:{number}: no such heading: {target}")
    return found


def check_mentions(name: str, text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for match in MENTION.finditer(line):
            if "NNNN" not in match[0] and not (ROOT / match[0]).exists():
                found.append(f"{name}:{number}: no such page: {match[0]}")
        if not name.endswith(".md"):
            continue
        for match in RAW.finditer(line):
            path = match[0] if match[1] is None else f"bench/runs/{match[1]}"
            if "DATE" not in path and not (ROOT / path).exists():
                found.append(f"{name}:{number}: no such raw data: {path}")
    return found


def check_runs() -> list[str]:
    """Each run is a folder with a README.md, or packed, and has a line in the index."""
    runs = ROOT / "bench/runs"
    index, found = (runs / "README.md").read_text(), []
    for entry in sorted(runs.iterdir()):
        if entry.name == "README.md":
            continue
        if not (entry / "README.md").exists() and not PACKED.fullmatch(entry.name):
            found.append(f"bench/runs/{entry.name}: no folder with a README.md (machine, command, results)")
        if f"({entry.name}" not in index:
            found.append(f"bench/runs/README.md: no line for {entry.name}")
    return found


def main() -> int:
    names = tracked()
    wanted = set(sys.argv[1:])
    texts = {}
    for name in names:
        if PAGES.search(name) or SCRIPTS.search(name) or NAMES_PAGES.search(name):
            texts[name] = (ROOT / name).read_text(encoding="utf-8", errors="replace")
    anchors = {}
    for name, text in texts.items():
        if PAGES.search(name):
            headings = (re.match(r"#+ (.*)", line) for _, line, _ in prose_of_page(text))
            anchors[name] = {anchor(heading[1]) for heading in headings if heading}
    found = []
    for name, text in texts.items():
        if wanted and name not in wanted:
            continue
        left_out = LEFT_OUT.search(name) or name == "scripts/prose.py"
        if PAGES.search(name):
            if not left_out:
                found += check_prose(name, prose_of_page(text))
                if GUIDES.match(name) and not LOOKED_UP.match(name):
                    found += check_guide(name, text)
            if not name.startswith("bench/runs/") or name == "bench/runs/README.md":
                found += check_links(name, text, anchors)
        elif SCRIPTS.search(name) and not left_out:
            found += check_prose(name, prose_of_script(name, text))
        if not name.startswith("bench/runs/") and name != "scripts/prose.py":
            found += check_mentions(name, text)
    if not wanted:
        found += check_runs()
    for line in found:
        print(line)
    print(f"prose: {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
