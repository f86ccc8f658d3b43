#!/usr/bin/env bash
# Counts the instructions of the hot paths of a load for each document, and compares them with
# bench/instructions.csv. More than 5 % more is an error; --write writes the new counts there.
# callgrind gives the same count whatever else the machine does, which a time would not. Counts of
# another compiler are printed and not compared.
# Usage: scripts/instructions.sh [dev|release] [--write]
#   dev      the build of the tests, in which inrush-core, inrush-formats and inrush-smile are
#            optimized (default). CI counts this one, because nothing more has to be compiled
#   release  the build that users run
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}
profile=dev
case ${1:-} in
  dev | release) profile=$1; shift ;;
esac
cases=(ndjson ndjson-id ndjson-smile csv parquet reply gzip)
# The count is the difference between two files. The start and the end of the program cancel out.
few=10000
many=20000
if [ "$profile" = dev ]; then
  # The selection of crates and features of the Makefile's tests, so that nothing is compiled twice.
  cargo build --locked --quiet --workspace --features sql,cloud,databases,kafka --example hot_paths
  hot_paths=$CARGO_TARGET_DIR/debug/examples/hot_paths
else
  cargo build --locked --quiet --release -p inrush --example hot_paths
  hot_paths=$CARGO_TARGET_DIR/release/examples/hot_paths
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for case in "${cases[@]}"; do
  for docs in $few $many; do
    "$hot_paths" make "$case" $docs "$work/file"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$hot_paths" read "$case" "$work/file" >/dev/null 2>"$work/log" ||
      { cat "$work/log" >&2; exit 1; }
    sed -n "s/.*Collected : \([0-9]*\).*/$case $docs \1/p" "$work/log"
  done
done >"$work/counts"
python3 - "$work/counts" "$profile" "$(rustc --version | cut -d' ' -f2)" "${1:-}" <<'PY'
import csv, pathlib, sys

TOLERANCE = 0.05
counted, profile, rustc, write = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "--write"
counts = {}
for case, docs, count in (line.split() for line in counted.read_text().splitlines()):
    counts.setdefault(case, []).append((int(docs), int(count)))
now = {case: round((many[1] - few[1]) / (many[0] - few[0]), 1) for case, (few, many) in counts.items()}
known = pathlib.Path("bench/instructions.csv")
rows = list(csv.DictReader(known.open()))
if write:
    rows = [row for row in rows if row["profile"] != profile]
    rows += [{"profile": profile, "rustc": rustc, "case": case, "instructions_per_document": count} for case, count in now.items()]
    with known.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
before = {row["case"]: float(row["instructions_per_document"]) for row in rows if row["profile"] == profile}
if set(now) != set(before):
    sys.exit(f"instructions: counted {sorted(now)}, known are {sorted(before)}")
for case, count in now.items():
    print(f"instructions: {profile}: {case} {count:.0f} a document, {100 * (count / before[case] - 1):+.1f} % against {before[case]:.0f}")
more = [case for case in now if now[case] > before[case] * (1 + TOLERANCE)]
less = [case for case in now if now[case] < before[case] * (1 - TOLERANCE)]
if less:
    print(f"instructions: fewer than are known of {', '.join(less)}; scripts/instructions.sh {profile} --write keeps it so")
others = {row["rustc"] for row in rows if row["profile"] == profile} - {rustc}
if others:
    print(f"instructions: those that are known are of rustc {', '.join(others)}, these of {rustc}: not compared")
elif more:
    sys.exit(f"instructions: {100 * TOLERANCE:.0f} % more than are known of {', '.join(more)}. If that is what it has to cost, scripts/instructions.sh {profile} --write")
PY
