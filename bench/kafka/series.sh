#!/usr/bin/env bash
# The series of measurements with topics of Kafka, each with its command. Installs the other
# programs first.
# Usage: bench/kafka/series.sh OUT.csv [SERIES…]; lists the series if none is named
# BENCH_FLAGS are more flags of `measure.py`, such as "--docs 100000 --rounds 1" for a try. Needs
# release builds of inrush (with its feature kafka) and its testbed in $CARGO_TARGET_DIR.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}
opensearch=${BENCH_OPENSEARCH:-opensearch:3.6.0}
read -ra flags <<<"${BENCH_FLAGS:-}"

measure() {
  echo "bench/kafka/measure.py --out $(basename "$out") $* ${flags[*]}"
  "$python" bench/kafka/measure.py --out "$out" "$@" "${flags[@]}"
}

# The client alone, with five seconds a run at least, and the file with the same documents.
series_null() { measure null --docs 10000000; }
# The others take up to a minute a run.
series_null_others() { measure null-others --docs 2000000; }
# To searchable, on one node that shares the processors with client and broker.
series_server() { measure server --server "$opensearch" --docs 3000000; }
series_server_others() { measure server-others --server "$opensearch" --docs 1500000 --rounds 3; }
series_memory() { measure memory --docs 10000000 --rounds 3; }
# A tenth of the published 17,500,000 events.
series_coalesce() { measure coalesce --server "$opensearch" --docs 1750000 --rounds 3; }
series_fetch() { measure fetch --docs 1000000; }
series_avro() { measure avro --docs 3000000; }
# Ten minutes without the server.
series_away() { measure away --docs 30000000 --seconds 600; }
# 50 rounds in which an instance, the broker or the node is killed.
series_kill() { scripts/chaos.sh kafka; }

if [ $# -lt 2 ]; then
  sed -n '2,7p' "$0"
  echo "Series: $(declare -F | sed -n 's/^declare -f series_//p' | tr '_\n' '- ')"
  exit 2
fi
out=$1
shift
for name in "$@"; do
  declare -F "series_${name//-/_}" >/dev/null || { echo "no such series: $name" >&2; exit 2; }
done
python=$(bench/kafka/install.sh)
# The output of a run, with the machine and the commands, beside its figures.
{
  python3 bench/machine.py
  echo "inrush of commit $(git describe --always --dirty), $("$target/release/inrush" --version); $(java -version 2>&1 | head -n 1)"
  for name in "$@"; do
    echo "series $name"
    "series_${name//-/_}"
  done
} 2>&1 | tee -a "${out%.csv}.txt"
