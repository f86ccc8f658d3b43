#!/usr/bin/env bash
# The client alone: loads against the null server, which only counts, on the same machine. Prints
# and writes for each run wall seconds, CPU seconds and peak memory of the client. Usage:
# bench/null.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
target=${CARGO_TARGET_DIR:-$cache/target}/release
data=$cache/bench
out=bench/runs/$(date +%F)-null-$(nproc)cores/loads.csv
mkdir -p "$data" "${out%/*}"
CARGO_TARGET_DIR=${target%/release} cargo build --locked --release -q -p inrush-cli -p inrush-testbed

# 2,000,000 log lines of about 135 bytes, as NDJSON and as CSV with the same columns.
if [ ! -s "$data/lines.csv" ]; then
  python3 bench/data.py lines 2000000 >"$data/lines.ndjson"
  python3 bench/data.py lines-csv 2000000 >"$data/lines.csv"
fi
ten() { for _ in 1 2 3 4 5 6 7 8 9 10; do echo "$1"; done; }

[ -s "$out" ] || echo "date,commit,case,replies,input_bytes,docs,wall_s,user_s,sys_s,peak_kib,server_cpu_s,gb_per_s,cpu_s_per_gb" >"$out"

run() { # case, replies, files…
  local case=$1 replies=$2
  shift 2
  local log
  log=$(mktemp)
  "$target/inrush-testbed" null --port 0 >"$log" 2>/dev/null < <(exec sleep infinity) &
  local server=$!
  local url=
  while [ -z "$url" ]; do url=$(head -n 1 "$log"); done
  local report time
  time=$(mktemp)
  report=$(/usr/bin/time -f "%e %U %S %M" -o "$time" "$target/inrush" load "$@" --index bench --to "$url" --replies "$replies" --quiet --json)
  local cpu
  cpu=$(curl -sS "$url/_null/stats")
  kill "$server"
  wait "$server" 2>/dev/null || true
  REPORT=$report STATS=$cpu python3 - "$case" "$replies" "$(cat "$time")" "$out" "$@" <<'PY'
import json, os, subprocess, sys, datetime
case, replies, times, out, *files = sys.argv[1:]
report, stats = json.loads(os.environ["REPORT"]), json.loads(os.environ["STATS"])
wall, user, system, peak = times.split()
read = sum(os.path.getsize(f) for f in files)
assert report["docs_read"] == report["docs_indexed"] == stats["docs"], (report, stats)
gb = read / 1e9
server = stats.get("cpu_seconds", "")
commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
row = [datetime.datetime.now().isoformat(timespec="seconds"), commit, case, replies, read, report["docs_read"], wall, user, system, peak, server,
       f"{gb / float(wall):.3f}", f"{(float(user) + float(system)) / gb:.3f}"]
print(",".join(map(str, row)))
open(out, "a").write(",".join(map(str, row)) + "\n")
PY
  rm -f "$log" "$time"
}

for round in $(seq "$rounds"); do
  echo "round $round of $rounds" >&2
  for replies in items summary; do
    run ndjson $replies "$data/lines.ndjson"
    # shellcheck disable=SC2046
    run ndjson-x10 $replies $(ten "$data/lines.ndjson")
  done
  run csv items "$data/lines.csv"
  # shellcheck disable=SC2046
  run csv-x10 items $(ten "$data/lines.csv")
  # 3,000,000 flights of 5 columns: `npm pack vega-datasets`, package/data/flights-3m.parquet.
  [ ! -s "$data/flights-3m.parquet" ] || run parquet items "$data/flights-3m.parquet"
done
