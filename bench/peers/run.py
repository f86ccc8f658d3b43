#!/usr/bin/env python3
"""Loaders side by side on one server and the same file.

Screens each tool's settings with a short file: all of them once, the three fastest twice more. Then
compares each tool's defaults and its best setting in rounds, each in a shuffled order, every run
into a fresh index after the merges of the one before have ended. Counts the documents that arrived
on the server. Appends to the CSV file, so that an interrupted run can continue. Prints the tables
of `table.py`.

    bench/peers/install.sh
    bench/peers/run.py --server opensearch:3.6.0 --data lines.ndjson --mapping bench/lines.mapping.json --out bench/runs/… [--rounds 5]

`--server null` measures the clients alone. `--faults` puts the testbed's proxy between: 5 % of the
items are answered with 429, and 1 % of the answers are lost after the server has done the work. The
documents then need a number in `n`, from 0, each once, so that missing documents and duplicates can
be told apart.
"""

import argparse
import csv
import hashlib
import json
import mmap
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from servers import Cluster, Server, request, stat
from table import series, table, taken, whole
from tools import PEERS, for_run, inrush_with, named, release
from tuner import settle

# `client_anon_mib`: the largest of samples of resident memory without pages of files, every 0.1 s.
# `build`: of inrush. The last four only with faults.
FIELDS = ["time", "label", "phase", "round", "tool", "setting", "docs", "arrived", "reported", "seconds", "searchable_s", "green_s", "client_cpu_s", "client_peak_mib",
          "server_cpu_s", "exit", "said", "client_anon_mib", "build", "missing", "twice", "items_rejected", "resets"]
# The settings of inrush during a load of 1 GiB and more into an empty index, for the others, too.
OUR_SETTINGS = {"number_of_replicas": 0, "refresh_interval": "60s", "translog.flush_threshold_size": "1gb", "merge.scheduler.auto_throttle": False}
# A constant of Linux; Python has no name for it.
MAP_LOCKED = 0x2000
# A pseudo setting: the index gets these settings before the tool starts, and loses them at its end.
WITH_OUR_SETTINGS = {"index_settings": "inrush's"}


class Null:
    """A server that only counts."""

    def __init__(self):
        self.process = subprocess.Popen([release("inrush-testbed"), "null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.counted = 0

    def cpu_seconds(self):
        return sum(map(int, stat(pathlib.Path(f"/proc/{self.process.pid}/stat"))[11:13])) / os.sysconf("SC_CLK_TCK")

    def arrived(self):
        now = request(f"{self.url}/_null/stats")["docs"]
        before, self.counted = self.counted, now
        return now - before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    def __init__(self, args, server):
        self.args, self.server = args, server
        self.mapping = json.loads(pathlib.Path(args.mapping).read_text()) if args.mapping else None
        self.settings = json.loads(pathlib.Path(args.settings).read_text()) if args.settings else {}
        self.build = hashlib.sha256(pathlib.Path(release("inrush")).read_bytes()).hexdigest()[:12]
        self.out = pathlib.Path(args.out)
        self.done = {}
        rows = list(csv.DictReader(self.out.open())) if self.out.exists() else []
        for row in rows:
            self.done[row["label"], row["phase"], int(row["round"]), row["tool"], row["setting"]] = row
        self.out.parent.mkdir(parents=True, exist_ok=True)
        # An older file has fewer columns.
        with self.out.open("w") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)

    def fresh(self):
        url = self.server.url
        try:
            request(f"{url}/bench", "DELETE")
        except OSError:
            pass
        settle(url)
        settings = {"number_of_shards": self.args.shards, "number_of_replicas": self.args.replicas, **self.settings}
        body = {"settings": {"index": settings}}
        if self.mapping:
            body["mappings"] = self.mapping.get("mappings", self.mapping)
        request(f"{url}/bench", "PUT", body)

    def our_settings(self):
        """Elasticsearch flushes later by default than inrush would set it; the default stays."""
        found = request(f"{self.server.url}/bench/_settings?include_defaults=true&flat_settings=true")["bench"]
        threshold = {**found.get("defaults", {}), **found["settings"]}.get("index.translog.flush_threshold_size", "")
        later = threshold.endswith("gb") and float(threshold.removesuffix("gb")) >= 1
        return {name: value for name, value in OUR_SETTINGS.items() if not (later and name == "translog.flush_threshold_size")}

    def run(self, phase, number, tool, setting, file, docs):
        name = named(setting)
        key = (self.args.label, phase, number, tool.name, name)
        if key in self.done and phase != "warm-up":
            return self.done[key]
        null = isinstance(self.server, Null)
        # So that the file is in the page cache for every tool.
        if not self.args.hold or file != self.args.data:
            subprocess.run(["cat", file], stdout=subprocess.DEVNULL, check=True)
        if not null:
            self.fresh()
        setting = {name: value for name, value in setting.items() if name not in WITH_OUR_SETTINGS}
        with_ours = name != named(setting)
        if with_ours:
            request(f"{self.server.url}/bench/_settings", "PUT", {"index": self.our_settings()})
        proxy = Faults(self.server.url) if self.args.faults else None
        command = tool.command(proxy.url if proxy else self.server.url, "bench", file, setting)
        if self.args.client_cpus:
            command = ["taskset", "-c", self.args.client_cpus, *command]
        # wait4 counts the memory of this process, too: the child is a copy of it until it runs its
        # program.
        peak = tempfile.NamedTemporaryFile()
        command = ["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name, *command]
        cpu, started = self.server.cpu_seconds(), time.monotonic()
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/tmp", text=True, errors="replace", start_new_session=True)
        # A tool that is stuck is ended, and the row says so.
        late = threading.Timer(self.args.timeout, os.killpg, (child.pid, signal.SIGKILL))
        late.start()
        anonymous = Anonymous(child.pid)
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - started
        late.cancel()
        if with_ours:
            # As inrush does: a new copy gets the files of the last commit and indexes later
            # operations.
            request(f"{self.server.url}/bench/_flush", "POST")
            back = {name: self.settings.get(name) for name in OUR_SETTINGS} | {"number_of_replicas": self.args.replicas}
            request(f"{self.server.url}/bench/_settings", "PUT", {"index": back})
        child.returncode = os.waitstatus_to_exitcode(status)
        report = reported(said)
        if tool.own_clock and "seconds" in report:
            # As if the tool had been started when it was ready.
            started += seconds - report["seconds"]
            seconds = report["seconds"]
        searchable = green = seconds
        if null:
            arrived = self.server.arrived()
        else:
            request(f"{self.server.url}/bench/_refresh", "POST")
            searchable = time.monotonic() - started
            if self.args.replicas:
                health = request(f"{self.server.url}/_cluster/health/bench?wait_for_status=green&wait_for_no_initializing_shards=true&timeout=500s")
                green = time.monotonic() - started
                if health["timed_out"] or health["active_shards"] != self.args.shards * (1 + self.args.replicas):
                    raise SystemExit(f"the index is not green with its replicas: {health}")
            arrived = request(f"{self.server.url}/bench/_count")["count"]
            # The rest of the server's work counts with this run and not with the next.
            settle(self.server.url)
        row = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S"), "label": self.args.label, "phase": phase, "round": number, "tool": tool.name,
            "setting": name, "docs": docs, "arrived": arrived,
            "reported": report.get("docs_indexed", ""), "seconds": round(seconds, 3), "searchable_s": round(searchable, 3),
            "green_s": round(green, 3), "client_cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "client_peak_mib": peak_mib(peak.name),
            "server_cpu_s": round(self.server.cpu_seconds() - cpu, 2), "exit": child.returncode, "client_anon_mib": anonymous.most(), "build": self.build,
            "said": " ".join(said.replace(f"{pathlib.Path(file).parent}/", "").replace(f"{PEERS}/", "").split())[-200:] if arrived != docs or child.returncode or not report else "",
        }
        if proxy:
            row |= proxy.stop() | census(self.server.url, docs)
        self.done[key] = row
        if phase == "warm-up":
            return row
        with self.out.open("a") as out:
            csv.DictWriter(out, FIELDS).writerow(row)
        print(phase, number, tool.name, name, f"{docs / searchable:,.0f} docs/s to searchable,", arrived, "arrived", flush=True)
        return row


def held(file):
    """The file, locked in memory as long as the returned object is kept."""
    with open(file, "rb") as opened:
        pages = mmap.mmap(opened.fileno(), 0, flags=mmap.MAP_SHARED | MAP_LOCKED, prot=mmap.PROT_READ)
    # The call does not fail if there is no room.
    resident = int(re.search(r"RssFile:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024
    if resident < len(pages):
        raise SystemExit(f"not more than {resident:,} bytes of {file} fit into memory")
    return pages


class Anonymous:
    """The largest resident memory without pages of files of the programs of a process, MiB."""

    def __init__(self, parent):
        self.parent, self.kib, self.ended = parent, 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def _watch(self):
        child = None
        while not self.ended.wait(0.1):
            try:
                child = child or self._child()
                found = re.findall(r"(?:RssAnon|RssShmem):\s+(\d+)", (child / "status").read_text()) if child else []
                self.kib = max(self.kib, sum(map(int, found)))
            except OSError:
                continue

    def _child(self):
        """The program that the process has started."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            if stat(path / "stat")[1] == str(self.parent):
                return path
        return None

    def most(self):
        self.ended.set()
        self.thread.join()
        return round(self.kib / 1024)


class Faults:
    """The testbed's proxy with faults; one for each run, so that all runs meet the same."""

    def __init__(self, to):
        command = [release("inrush-testbed"), "proxy", "--to", to, "--reject-items", "5", "--reset-after-applying", "1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        """The proxy's counts of its faults."""
        said, _ = self.process.communicate()
        stats = json.loads(said)
        return {"items_rejected": stats["items_rejected"], "resets": stats["resets"]}


def census(url, docs):
    """Missing numbers below `docs`, and documents whose number another document has, too."""
    seen = total = 0
    after = {}
    while True:
        numbers = {"composite": {"size": 50000, "sources": [{"n": {"terms": {"field": "n"}}}], **after}}
        found = request(f"{url}/bench/_search", "POST", {"size": 0, "aggs": {"numbers": numbers}})["aggregations"]["numbers"]
        seen += len(found["buckets"])
        total += sum(bucket["doc_count"] for bucket in found["buckets"])
        if "after_key" not in found:
            return {"missing": docs - seen, "twice": total - seen}
        after = {"after": found["after_key"]}


def peak_mib(path):
    """The output of `time`; empty if it was killed with its child."""
    written = pathlib.Path(path).read_text().split()
    return round(int(written[-1]) / 1024) if written else ""


def reported(said):
    """The final report of a tool, if it is JSON, or the output of espipe."""
    start = said.rfind("\n{") + 1 if not said.startswith("{") else 0
    try:
        return json.loads(said[start:])
    except ValueError:
        piped = re.findall(r"Piped ([\d,]+) of", said)
        return {"docs_indexed": int(piped[-1].replace(",", ""))} if piped else {}


def count(file):
    # Like `wc -l`, but with a last line that has no end.
    lines = int(subprocess.run(["grep", "-c", "", file], stdout=subprocess.PIPE, text=True, check=True).stdout)
    return lines - (1 if file.endswith(".csv") else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="product:version, or null")
    parser.add_argument("--data", required=True, help="NDJSON or CSV")
    parser.add_argument("--docs", type=int, help="documents in --data, where a line is not one")
    parser.add_argument("--screen-data", help="a shorter file to find the best settings with")
    parser.add_argument("--mapping")
    parser.add_argument("--settings", help="JSON of index settings that all get")
    parser.add_argument("--out", required=True)
    parser.add_argument("--label", required=True, help="names this series in the CSV file")
    parser.add_argument("--only", help="regular expression on the tools' names")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=VALUE", help="inrush with this flag, too, as in id=FIELD; repeatable")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=0)
    parser.add_argument("--heap-mib", type=int, default=2048)
    parser.add_argument("--client-cpus")
    parser.add_argument("--server-cpus")
    parser.add_argument("--hold", action="store_true", help="lock --data in memory: for a file that takes most of it; as root")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--our-settings", action="store_true", help="the others' best once more, with the index settings of inrush for the time of the load")
    parser.add_argument("--best-only", action="store_true", help="no rounds with the defaults of the others, where another of their settings was faster")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a run is ended")
    args = parser.parse_args()
    product, _, version = args.server.partition(":")
    tools = for_run(product, args.data, args.only, args.faults) + [inrush_with(flag) for flag in args.also]
    if args.server_cpus and (product == "null" or args.nodes > 1):
        parser.error("--server-cpus is for one real node")
    docs = args.docs or count(args.data)
    if product == "null":
        server = Null()
    elif args.nodes > 1:
        server = Cluster(product, version, args.nodes, args.heap_mib)
    else:
        server = Server(product, version, args.heap_mib, args.server_cpus)
    kept = held(args.data) if args.hold else None  # Until the end.
    with server:
        bench = Bench(args, server)
        for number in range(2):
            bench.run("warm-up", number, tools[0], {}, args.data, docs)
        screen = args.screen_data or args.data
        screened = docs if screen == args.data else count(screen)
        trials = [] if args.faults else [(tool, setting) for tool in tools for setting in tool.settings if len(tool.settings) > 1]
        random.Random(7).shuffle(trials)
        for tool, setting in trials:
            bench.run("screen", 0, tool, setting, screen, screened)

        def took(tool, setting, rounds):
            rows = [bench.done[args.label, "screen", number, tool.name, named(setting)] for number in range(rounds)]
            wanted = taken(row for (label, phase, *_), row in bench.done.items() if (label, phase) == (args.label, "screen"))
            return statistics.median(float(row["seconds"]) for row in rows) if all(whole(row, wanted) for row in rows) else float("inf")

        # By the time to their end: the time of the last refresh is a matter of chance. So is one
        # run.
        short = {}
        for tool in tools:
            short[tool.name] = sorted(tool.settings, key=lambda setting: took(tool, setting, 1))[:3] if (tool, tool.settings[0]) in trials else []
        again = [(tool, setting, number) for number in (1, 2) for tool in tools for setting in short[tool.name]]
        random.Random(8).shuffle(again)
        for tool, setting, number in again:
            bench.run("screen", number, tool, setting, screen, screened)

        # The defaults of each tool, and its best setting if that is another one; with faults all
        # that are left.
        runs = []
        for tool in tools:
            runs.append((tool, tool.settings[0]))
            others = tool.settings[1:]
            if others and not args.faults:
                best = min(short[tool.name], key=lambda setting: took(tool, setting, 3))
                others = [best] if best in others else []
            if others and args.best_only and not args.faults:
                runs.pop()
            runs += [(tool, setting) for setting in others]
            if args.our_settings and tool.name != "inrush":
                runs.append((tool, {**runs[-1][1], **WITH_OUR_SETTINGS}))
        for number in range(args.rounds):
            order = list(runs)
            random.Random(number).shuffle(order)
            for tool, setting in order:
                bench.run("compare", number, tool, setting, args.data, docs)
    print()
    print("\n".join(table(series(args.out, args.label))))


if __name__ == "__main__":
    main()
