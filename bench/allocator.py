#!/usr/bin/env python3
"""Options of the binary's allocator (mimalloc): their effect on loads into the null server.

Each round runs each set of options once, in a shuffled order. Prints a row for each load, then
medians: seconds, processor time, and resident memory without pages of files (the largest of samples
every 20 ms).

    bench/allocator.py FILE.ndjson [--kinds '' PURGE_DELAY=100 'PURGE_DELAY=10 ALLOW_THP=0'] [--rounds 9] [--flags='--batch-bytes 2MiB']
"""

import argparse
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from run import Null
from tools import release


def load(url, file, kind, flags):
    options = dict(option.split("=", 1) for option in kind.split())
    binary = options.pop("BINARY", release("inrush"))
    environment = os.environ | {f"MIMALLOC_{name}": value for name, value in options.items()}
    started = time.monotonic()
    child = subprocess.Popen([binary, "load", file, "--to", url, "--index", "bench", "--quiet", *flags], env=environment, stdout=subprocess.DEVNULL)
    most, ended = [0], threading.Event()

    def watch():
        while not ended.wait(0.02):
            try:
                status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
            except OSError:
                return
            most[0] = max([most[0], *map(int, re.findall(r"RssAnon:\s+(\d+)", status))])

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - started
    ended.set()
    watcher.join()
    if status:
        raise SystemExit(f"inrush ended with {status}")
    return seconds, usage.ru_utime + usage.ru_stime, most[0] / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--kinds", nargs="+", default=["", "PURGE_DELAY=100", "PURGE_DELAY=10"], help="options of mimalloc without MIMALLOC_, '' for none; BINARY=PATH for another build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--flags", type=str.split, default=[], help="for inrush load")
    args = parser.parse_args()
    found = {kind: [] for kind in args.kinds}
    with Null() as null:
        load(null.url, args.file, "", args.flags)
        for number in range(args.rounds):
            for kind in random.Random(number).sample(args.kinds, len(args.kinds)):
                found[kind].append(load(null.url, args.file, kind, args.flags))
                print(number, kind or "none", *(f"{value:.2f}" for value in found[kind][-1]), sep=",", flush=True)
    for kind, rows in found.items():
        seconds, cpu, memory = zip(*rows)
        print(f"{kind or 'none':50} {statistics.median(seconds):.2f} s  {statistics.median(cpu):.2f} s CPU  "
              f"{statistics.median(memory):.0f} MiB ({min(memory):.0f} to {max(memory):.0f})")


if __name__ == "__main__":
    main()
