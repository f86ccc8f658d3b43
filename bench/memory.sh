#!/usr/bin/env bash
# Memory over time against the null server on the same machine: 10 GB of NDJSON and of CSV, and one
# JSON array of 2 GB. Also the time from the start of the process to the first byte of documents on
# the wire. Writes bench/runs/DATE-memory/: memory.csv (one row a sample, every 0.25 s, and one a
# start) and README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
target=${CARGO_TARGET_DIR:-$cache/target}/release
CARGO_TARGET_DIR=${target%/release} cargo build --locked --release -q -p inrush-cli -p inrush-testbed
data=$cache/bench-memory
out=bench/runs/$(date +%F)-memory
mkdir -p "$data" "$out"
trap 'rm -rf "$data"' EXIT
free=$(df --output=avail -B1000000 "$data" | tail -n 1)
if [ "$free" -lt 15000 ]; then
  echo "needs 15 GB free in $data, and there are $free MB" >&2
  exit 1
fi
commit=$(git rev-parse --short HEAD)
machine="$(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo), Linux $(uname -r)"
python3 - "$target" "$data" "$out" "$commit" "$machine" <<'PY'
import json, os, random, statistics, subprocess, sys, time, urllib.request

target, data, out, commit, machine = sys.argv[1:]
GB = 1_000_000_000
SAMPLE_S = 0.25
STARTS = 21


def write(path, size, header, line, end=b""):
    """100,000 different lines, again and again."""
    random.seed(1)
    block = "".join(line(n) for n in range(100_000)).encode()
    with open(path, "wb") as file:
        written = file.write(header)
        while written < size:
            written += file.write(block)
        file.write(end)


def fields(n):
    ip = f"{10 + n % 200}.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}"
    at = f"2024-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:{(n // 7) % 60:02}Z"
    return at, ip, f"GET /api/v1/items/{n} HTTP/1.1", (200, 200, 200, 304, 404)[n % 5], random.randrange(100, 100_000)


def as_json(n):
    at, ip, request, status, size = fields(n)
    return f'{{"@timestamp":"{at}","clientip":"{ip}","request":"{request}","status":{status},"size":{size}}}\n'


def as_csv(n):
    return ",".join(map(str, fields(n))) + "\n"


class Null:
    def __enter__(self):
        self.process = subprocess.Popen([f"{target}/inrush-testbed", "null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def stats(self):
        return json.load(urllib.request.urlopen(f"{self.url}/_null/stats"))

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def load(server, path):
    command = [f"{target}/inrush", "load", path, "--index", "bench", "--to", server.url, "--quiet", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def memory_kib(pid):
    """Resident in all, and what of it is no page of a file."""
    with open(f"/proc/{pid}/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    number = lambda name: int(lines.get(name, "0 kB").split()[0])
    return number("VmRSS"), number("RssAnon") + number("RssShmem")


rows, report = ["date,commit,case,seconds,resident_kib,without_file_pages_kib"], []
date = time.strftime("%Y-%m-%dT%H:%M:%S")
for case, *input in [
    ("ndjson", 10 * GB, b"", as_json),
    ("csv", 10 * GB, b"timestamp,clientip,request,status,size\n", as_csv),
    ("json", 2 * GB, b"[" + as_json(0).encode(), lambda n: "," + as_json(n), b"]"),
]:
    path = f"{data}/input.{case}"
    write(path, *input)
    samples = []
    with Null() as server:
        started = time.monotonic()
        process = load(server, path)
        while process.poll() is None:
            try:
                samples.append((time.monotonic() - started, *memory_kib(process.pid)))
            except (FileNotFoundError, ProcessLookupError):
                break
            time.sleep(SAMPLE_S)
        result = json.loads(process.stdout.read())
        assert result["docs_read"] == result["docs_indexed"] == server.stats()["docs"], result
    seconds, size = time.monotonic() - started, os.path.getsize(path)
    os.remove(path)
    samples = [sample for sample in samples if sample[1] > 0]
    rows += [f"{date},{commit},{case},{at:.2f},{resident},{own}" for at, resident, own in samples]
    quarter = len(samples) // 4
    mib = lambda kib: kib / 1024
    mean = lambda part: mib(statistics.mean(own for _, _, own in part))
    report.append(
        f"| {case} | {size / 1e9:.1f} | {seconds:.1f} | {mib(max(s[1] for s in samples)):.0f} | {mib(max(s[2] for s in samples)):.0f} "
        f"| {mean(samples[quarter : 2 * quarter]):.0f} | {mean(samples[-quarter:]):.0f} |"
    )
    print(report[-1], flush=True)

path, starts = f"{data}/small.ndjson", []
with open(path, "w") as file:
    file.writelines(as_json(n) for n in range(10_000))
for _ in range(STARTS):
    with Null() as server:
        started_us = time.time_ns() // 1000
        assert load(server, path).wait() == 0
        starts.append((server.stats()["first_bulk_unix_us"] - started_us) / 1000)
        rows.append(f"{date},{commit},start,{starts[-1] / 1000:.4f},,")
start = f"median {statistics.median(starts):.1f} ms, {min(starts):.1f} to {max(starts):.1f} ms in {STARTS} starts"
print(start)

load = os.getloadavg()[0]
with open(f"{out}/memory.csv", "w") as file:
    file.write("\n".join(rows) + "\n")
with open(f"{out}/README.md", "w") as file:
    file.write(f"""# Memory over time, and the time to the first byte, {date[:10]}

`bench/memory.sh` at commit {commit}: one `inrush load FILE` with defaults against the null server on the same machine ({machine}; {load:.0f} processes waiting for its cores
at the end). Raw data:
`memory.csv`, a row each {SAMPLE_S} s from `/proc/PID/status` (resident: VmRSS; without file pages: RssAnon and RssShmem).

| input | GB | wall, s | peak resident, MiB | peak without file pages, MiB | mean of the second quarter, MiB | mean of the last quarter, MiB |
|---|---|---|---|---|---|---|
{chr(10).join(report)}

Wanted: below 200 MiB resident besides mapped file pages, flat over time.

From starting the process to the first byte of documents at the server, preflight and creation of the index in between: {start}. Wanted:
below 50 ms. (The null server notes when the first bulk request reaches it.)
""")
PY
