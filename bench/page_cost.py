#!/usr/bin/env python3
"""What the live page costs a load: the same load without it, and with it open in two browsers and
its metrics scraped each second.

    bench/page_cost.py [--lines 20000000] [--rounds 9] [--bin FOLDER]

The server is the null server of the testbed. The plan is fixed, because the plans that a tuner
finds differ by 10 % of time and 20 MiB from run to run. Loader and server run on the first processor, viewers
and this script on the second one, since viewers have a machine of their own; `--shared` lets all of
them use both. The server is stopped until both browsers show the page, so that they see the whole
load. A round is one run of each, the order changes from round to round, and the round before the
first warms up. The time of a load is the time from its first document to its last answer.

Writes bench/runs/DATE-page-cost/: loads.csv (a row a run) and README.md. Needs Node, npm and
Chromium, which scripts/install-tools.sh installs.
"""

import argparse
import csv
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from machine import field
from servers import CACHE, request

ROOT = pathlib.Path(__file__).parent.parent
BROWSER = ROOT / "crates/inrush-page/tests/browser"
LINES_OF_FILE = 2_000_000
VIEWERS = 2
WAYS = ["without", "with"]
PLAN = ["--batch-bytes", "2MiB", "--in-flight", "4"]
FIELDS = ["date", "commit", "processors", "round", "way", "lines", "load_s", "docs_per_s", "cpu_s", "peak_kib", "scrapes", "points", "viewers"]


def folder_of_modules():
    """The packages of the browser tests, as their lock file says."""
    modules = CACHE / "browser"
    modules.mkdir(parents=True, exist_ok=True)
    lock = BROWSER / "package-lock.json"
    if not (modules / "node_modules").exists() or (modules / lock.name).read_bytes() != lock.read_bytes():
        for name in ("package.json", lock.name):
            shutil.copy(BROWSER / name, modules)
        subprocess.run(["npm", "ci", "--prefix", modules, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], check=True)
    return modules / "node_modules"


def lines_file():
    """2,000,000 log lines, the file of bench/null.sh."""
    path = CACHE / "bench" / "lines.ndjson"
    if not path.exists() or path.stat().st_size == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as out:
            subprocess.run([sys.executable, ROOT / "bench/data.py", "lines", str(LINES_OF_FILE)], stdout=out, check=True)
    return path


class Browsers:
    """Two browsers that open what they are told to, and say what they have seen."""

    def __init__(self, on):
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        if not chromium:
            raise SystemExit("there is no Chromium; run scripts/install-tools.sh")
        environment = {**os.environ, "INRUSH_NODE_MODULES": str(folder_of_modules()), "INRUSH_CHROMIUM": chromium}
        command = [*on, "node", str(BROWSER / "viewers.mjs"), str(VIEWERS)]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, word, url=""):
        self.process.stdin.write(f"{word} {url}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("the browsers ended")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)


class Scraper(threading.Thread):
    """Asks for the metrics each second, as a Prometheus does."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.scrapes, self.viewers, self.ending = url, 0, 0, threading.Event()

    def run(self):
        while not self.ending.wait(1):
            try:
                with urllib.request.urlopen(f"{self.url}metrics", timeout=5) as reply:
                    text = reply.read().decode()
            except OSError:
                return
            self.scrapes += 1
            self.viewers = max(self.viewers, viewers(text))


def viewers(metrics):
    line = next(line for line in metrics.splitlines() if line.startswith("inrush_page_viewers "))
    return int(float(line.split()[1]))


def page_of(load):
    for line in load.stderr:
        if line.startswith("live page: "):
            return line.removeprefix("live page: ").strip()
    raise SystemExit("the load did not tell the address of its page")


def run(way, files, lines, programs, on, browsers):
    server = subprocess.Popen([*on, f"{programs}/inrush-testbed", "null", "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    scraper = None
    try:
        url = server.stdout.readline().strip()
        # The load waits for its first answer until the viewers are there.
        server.send_signal(signal.SIGSTOP)
        command = [*on, f"{programs}/inrush", "load", *files, "--index", "bench", "--to", url, *PLAN, "--json"]
        command += ["--page"] if way == "with" else []
        load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if way == "with":
            page = page_of(load)
            browsers.ask("open", page)
            scraper = Scraper(page)
            scraper.start()
        # What started so far is done, in both ways.
        time.sleep(1)
        server.send_signal(signal.SIGCONT)
        out, _ = load.stdout.read(), load.stderr.read()
        _, status, used = os.wait4(load.pid, 0)
        load.returncode = os.waitstatus_to_exitcode(status)
        if load.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {load.returncode}: {out}")
        report, counted = json.loads(out), request(f"{url}/_null/stats")["docs"]
        assert report["docs_read"] == report["docs_indexed"] == counted == lines, (report, counted)
        row = {"way": way, "lines": lines, "load_s": round(lines / report["docs_per_second"], 4), "docs_per_s": round(report["docs_per_second"]),
               "cpu_s": round(used.ru_utime + used.ru_stime, 3), "peak_kib": used.ru_maxrss}
        if scraper:
            scraper.ending.set()
            seen = browsers.ask("seen")
            row |= {"scrapes": scraper.scrapes, "points": min(seen["points"]), "viewers": scraper.viewers}
            assert scraper.viewers == VIEWERS and seen["settled"] == [lines] * VIEWERS, (scraper.viewers, seen)
        return row
    finally:
        server.send_signal(signal.SIGCONT)
        server.stdin.close()
        server.wait(60)


def middle(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def page(rows, args, out, started):
    of = {way: [row for row in rows if row["way"] == way] for way in WAYS}
    pairs = list(zip(of["without"], of["with"]))
    longer = [(b["load_s"] / a["load_s"] - 1) * 100 for a, b in pairs]
    busier = [(b["cpu_s"] / a["cpu_s"] - 1) * 100 for a, b in pairs]
    more = [(b["peak_kib"] - a["peak_kib"]) / 1024 for a, b in pairs]
    figures = {
        "time of the load, s": ([row["load_s"] for row in of["without"]], [row["load_s"] for row in of["with"]], middle(longer, "+.2f") + " %"),
        "processor time of the loader, s": ([row["cpu_s"] for row in of["without"]], [row["cpu_s"] for row in of["with"]], middle(busier, "+.2f") + " %"),
        "peak memory of the loader, MiB": ([row["peak_kib"] / 1024 for row in of["without"]], [row["peak_kib"] / 1024 for row in of["with"]], middle(more, "+.1f") + " MiB"),
    }
    table = "\n".join(f"| {name} | {middle(a, '.2f')} | {middle(b, '.2f')} | {difference} |" for name, (a, b, difference) in figures.items())
    machine = f"{os.cpu_count()} x {field('/proc/cpuinfo', 'model name')}, {int(field('/proc/meminfo', 'MemTotal').split()[0]) / (1 << 20):.0f} GiB, Linux {os.uname().release}"
    where = "All programs share the processors." if args.shared else "Loader and null server run on one processor, browsers and scraper on the other one."
    (out / "README.md").write_text(f"""# What the live page costs a load, {started[:10]}

`bench/page_cost.py` at commit {rows[0]["commit"]}: `inrush load` of {args.lines:,} log lines into the null server, without a page, and with `--page`
open in {VIEWERS} browsers and `/metrics` scraped each second. {where}
{args.rounds} rounds, paired, in changing order, after one that warms up, with `{" ".join(PLAN)}`. Medians, and the range.
Machine: {machine}. Raw data: `loads.csv`.

| | without | with page and scraper | difference, paired |
|---|---|---|---|
{table}

Each browser saw {min(row["points"] for row in of["with"])} to {max(row["points"] for row in of["with"])} updates of a load, and at its end the number of documents of the report;
the metrics were read {min(row["scrapes"] for row in of["with"])} to {max(row["scrapes"] for row in of["with"])} times. Wanted: at most 1 % of time, and at most 10 MiB.
""")
    print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=20_000_000, help=f"a multiple of {LINES_OF_FILE:,}")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--bin", default=os.environ.get("CARGO_TARGET_DIR", str(CACHE / "target")) + "/release", help="folder with inrush and inrush-testbed")
    parser.add_argument("--shared", action="store_true", help="loader, server and viewers share the processors")
    parser.add_argument("--out", help="folder; default: bench/runs/DATE-page-cost")
    args = parser.parse_args()
    if args.lines % LINES_OF_FILE or args.lines <= 0:
        raise SystemExit(f"--lines has to be a multiple of {LINES_OF_FILE}")
    files = [str(lines_file())] * (args.lines // LINES_OF_FILE)
    load_on, view_on = ([], []) if args.shared else (["taskset", "--cpu-list", "0"], ["taskset", "--cpu-list", "1"])
    if not args.shared:
        os.sched_setaffinity(0, {1})
    started = time.strftime("%Y-%m-%dT%H:%M:%S")
    out = pathlib.Path(args.out).resolve() if args.out else ROOT / f"bench/runs/{started[:10]}-page-cost{'-shared' if args.shared else ''}"
    out.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()
    rows = []
    with tempfile.TemporaryDirectory() as folder, Browsers(view_on) as browsers, (out / "loads.csv").open("w") as csv_file:
        os.chdir(folder)
        writer = csv.DictWriter(csv_file, FIELDS)
        writer.writeheader()
        for number in range(args.rounds + 1):
            for way in WAYS if number % 2 else WAYS[::-1]:
                row = run(way, files, args.lines, args.bin, load_on, browsers)
                row |= {"date": time.strftime("%Y-%m-%dT%H:%M:%S"), "commit": commit, "processors": "shared" if args.shared else "apart", "round": number}
                writer.writerow(row)
                csv_file.flush()
                print(f"round {number} of {args.rounds}, {way}: {row['load_s']:.2f} s, {row['cpu_s']:.2f} s of processor, {row['peak_kib'] / 1024:.0f} MiB", flush=True)
                rows += [row] if number else []
    page(rows, args, out, started)


if __name__ == "__main__":
    main()
