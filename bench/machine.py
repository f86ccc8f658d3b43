#!/usr/bin/env python3
"""One line on the machine of a benchmark, for its raw data: processors, memory, system, disk sync
of 4 KiB."""

import os
import pathlib
import statistics
import tempfile
import time


def field(path, name):
    return next((line.split(":", 1)[1].strip() for line in pathlib.Path(path).read_text().splitlines() if line.startswith(name)), "unknown")


def fsync_ms(times=50):
    """Median and worst, in the folder of the servers' data."""
    taken = []
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        for _ in range(times):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken), max(taken)


def main():
    memory = int(field("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    middle, worst = fsync_ms()
    print(f"{time.strftime('%Y-%m-%d %H:%M')}: {os.cpu_count()} x {field('/proc/cpuinfo', 'model name')}, {memory:.0f} GiB, Linux {os.uname().release}, "
          f"fsync of 4 KiB {middle:.2f} ms (worst of 50: {worst:.2f})")


if __name__ == "__main__":
    main()
