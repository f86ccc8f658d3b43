#!/usr/bin/env bash
# The series in which loaders are compared, each with the command that makes it. Installs the loaders first. Usage: bench/peers/series.sh OUT.csv [SERIES…];
# without names it lists them. Of `run.py` each goes on where it was cut off. BENCH_DATA is where the files are made (some GB), by default in the
# cache folder. The release builds of inrush and of its testbed are expected in $CARGO_TARGET_DIR.
set -euo pipefail
cd "$(dirname "$0")/../.."
data=${BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/bench/peers}
opensearch=${BENCH_OPENSEARCH:-opensearch:3.6.0}
elasticsearch=${BENCH_ELASTICSEARCH:-elasticsearch:8.19.21}

usage() {
  sed -n '2,4p' "$0"
  echo "Series: $(declare -F | sed -n 's/^declare -f series_//p' | tr '_\n' '- ')"
}

# made NAME COMMAND…: the file, made once.
made() {
  local file=$data/$1
  shift
  if [ ! -s "$file" ]; then
    mkdir -p "$data"
    "$@" >"$file.new"
    mv "$file.new" "$file"
  fi
  echo "$file"
}
lines() { made "lines-$1.ndjson" python3 bench/data.py lines "$1"; }
compare() { bench/peers/run.py --out "$out" "$@"; }

# The clients alone, documents per second without a server's work. Slow ones with fewer documents, in a series of their own.
series_null_lines() {
  compare --label null-lines --server null --data "$(lines 2000000)" --screen-data "$(lines 1000000)" --only 'inrush|prototype|replay|espipe|^go|java'
}
series_null_lines_slow() { compare --label null-lines-slow --server null --data "$(lines 300000)" --only 'inrush|elasticdump|-py'; }
series_null_csv() { compare --label null-csv --server null --data "$(made lines-2000000.csv python3 bench/data.py lines-csv 2000000)" --only 'inrush|espipe'; }
# As long as it takes to see what is steady: 20 GB.
series_null_20gb() { compare --label null-20gb --server null --data "$(lines 152000000)" --screen-data "$(lines 2000000)" --rounds 3 --only 'inrush|prototype|espipe'; }

# To searchable, on one node that shares the processors with the client.
series_opensearch_lines() {
  compare --label opensearch-lines --server "$opensearch" --mapping bench/lines.mapping.json --data "$(lines 5000000)" --screen-data "$(lines 300000)"
}
series_elasticsearch_lines() {
  compare --label elasticsearch-lines --server "$elasticsearch" --mapping bench/lines.mapping.json --data "$(lines 5000000)" --screen-data "$(lines 300000)"
}
# 5 % of the items are answered with 429, and one reply in a hundred is lost after the request was carried out.
series_opensearch_faults() {
  compare --label opensearch-faults --server "$opensearch" --mapping bench/lines.mapping.json --data "$(lines 300000)" --rounds 3 --faults
}

[ $# -ge 2 ] || { usage; exit 2; }
out=$1
shift
for name in "$@"; do
  declare -F "series_${name//-/_}" >/dev/null || { usage >&2; exit 2; }
done
bench/peers/install.sh
for name in "$@"; do
  echo "series $name"
  "series_${name//-/_}"
done
