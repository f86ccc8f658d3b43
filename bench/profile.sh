#!/usr/bin/env bash
# The client's processor time by function, for each way of a document through it: `perf` on loads
# into the null server, functions that take 2 % or more by themselves, the kernel's included.
# Usage: bench/profile.sh [--flames FOLDER] [CASE…], cases as below
# Needs perf and the right to use it, release builds of inrush and its testbed in $CARGO_TARGET_DIR,
# and data as bench/peers/series.sh makes them. --flames also makes a flame graph of each case. It
# needs inferno (cargo install inferno) and a build in which functions have names and frames:
#   RUSTFLAGS="-C force-frame-pointers=yes" CARGO_PROFILE_RELEASE_STRIP=false \
#     cargo build --locked --release -p inrush-cli
set -euo pipefail
cd "$(dirname "$0")/.."
release=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}/release
data=${BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/bench/peers}
lines=$data/lines-2000000x10.ndjson

declare -A cases=(
  [pass]="$lines"
  [summary]="$lines --replies summary"
  [ids]="$lines --id clientip"
  [smile]="$lines --encoding smile"
  [gzip]="$lines --compression gzip"
  [csv]="$data/lines-2000000.csv"
  [parquet]="$data/flights-3m.parquet"
)
flames=
if [ "${1:-}" = --flames ]; then
  flames=${2:?a folder}
  shift 2
  mkdir -p "$flames"
fi
[ $# -gt 0 ] || set -- pass summary ids smile gzip csv parquet

work=$(mktemp -d)
"$release/inrush-testbed" null --port 0 >"$work/url" 2>/dev/null < <(exec sleep infinity) &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -s "$work/url" ]; do :; done
url=$(head -n 1 "$work/url")

python3 bench/machine.py
for name in "$@"; do
  read -ra given <<<"${cases[$name]:?no such case: $name}"
  cat "${given[0]}" >/dev/null
  perf record -q -F 997 ${flames:+--call-graph fp} -o "$work/perf" -- "$release/inrush" load "${given[@]}" --index bench --to "$url" --quiet --json >"$work/report"
  python3 - "$name" "$work/report" "${given[0]}" <<'PY'
import json, os, sys
name, report, file = sys.argv[1:]
report = json.load(open(report))
print(f"\n{name}: {report['docs_indexed'] / report['seconds']:,.0f} documents/s, {os.path.getsize(file) / report['seconds'] / 1e6:,.0f} MB/s")
PY
  perf report -q -i "$work/perf" --stdio --no-children --percent-limit 2 --sort symbol -g none 2>/dev/null | sed '/^$/d' | cut -c1-150
  if [ -n "$flames" ]; then
    perf script -i "$work/perf" 2>/dev/null | inferno-collapse-perf |
      inferno-flamegraph --title "inrush: $name" --minwidth 0.3 >"$flames/$name.svg"
  fi
done
