#!/usr/bin/env bash
# The series of the comparison of loaders, each with its command. Installs the loaders first.
# Usage: bench/peers/series.sh OUT.csv [SERIES…]; lists the series if none is named
# An interrupted series continues. BENCH_DATA is the folder of the files (some GB), by default in
# the cache folder. BENCH_FLAGS are more flags of `run.py`, such as "--best-only --rounds 6". Needs
# release builds of inrush and its testbed in $CARGO_TARGET_DIR.
set -euo pipefail
# A command that fails leaves no file.
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
data=${BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/bench/peers}
opensearch=${BENCH_OPENSEARCH:-opensearch:3.6.0}
elasticsearch=${BENCH_ELASTICSEARCH:-elasticsearch:8.19.21}
flags=${BENCH_FLAGS:-}
inrush=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}/release/inrush

usage() {
  sed -n '2,6p' "$0"
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
flights() {
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && npm pack --silent vega-datasets@3 >/dev/null && tar xzf vega-datasets-*.tgz)
  cat "$folder/package/data/flights-3m.parquet"
  rm -r "$folder"
}
flights_as_json() {
  local folder
  folder=$(mktemp -d)
  "$inrush" convert "$(made flights-3m.parquet flights)" "$folder/flights.ndjson" >&2
  cat "$folder/flights.ndjson"
  rm -r "$folder"
}
repeated() { # TIMES FILE
  for _ in $(seq "$1"); do cat "$2"; done
}
again() { made "lines-2000000x$1.ndjson" repeated "$1" "$(lines 2000000)"; }
lines() { made "lines-$1.ndjson" python3 bench/data.py lines "$1"; }
compare() {
  local more
  read -ra more <<<"$flags"
  set -- "$@" "${more[@]}"
  echo "bench/peers/run.py --out $(basename "$out")$(sed 's| /[^ ]*/| |g' <<<" $*")"
  bench/peers/run.py --out "$out" "$@"
}

# The clients alone: documents per second without a server's work. Slow clients load fewer
# documents, in a series of their own.
series_null_lines() {
  compare --label null-lines --server null --data "$(lines 2000000)" --screen-data "$(lines 1000000)" --only 'inrush|prototype|replay|espipe|^go'
}
# The cost of ids, SMILE and gzip for inrush. 2.6 GB.
series_null_ways() {
  compare --label null-ways --server null --data "$(again 10)" --only '^inrush$|prototype' --also id=clientip --also encoding=smile --also compression=gzip
}
# Few documents, so much of the time is the start of the program. Not comparable with the others.
series_null_lines_slow() { compare --label null-lines-slow --server null --data "$(lines 300000)" --only 'inrush|elasticdump|-py'; }
# Half a minute for each run.
series_null_java() { compare --label null-java --server null --data "$(lines 1000000)" --screen-data "$(lines 300000)" --rounds 3 --only 'inrush|java'; }
series_null_csv() { compare --label null-csv --server null --data "$(made lines-2000000.csv python3 bench/data.py lines-csv 2000000)" --only 'inrush|espipe'; }
# Long enough for a steady state: the same lines again and again, with the fastest of the others.
steady() { # NAME TIMES [MORE…]
  local name=$1 times=$2
  shift 2
  compare --label "$name" --server null --data "$(again "$times")" --screen-data "$(lines 1000000)" --rounds 3 --only 'inrush|prototype|espipe 0.4' "$@"
}
series_null_5gb() { steady null-5gb 20; }
# Needs a memory of 24 GiB, and the right to lock most of it.
series_null_20gb() { steady null-20gb 76 --hold --best-only; }
# 3,000,000 flights of 5 columns; no other loader here reads Parquet.
series_null_flights() { compare --label null-flights --server null --data "$(made flights-3m.parquet flights)" --docs 3000000; }

# To searchable, on one node that shares the processors with the client. Slow clients load fewer
# documents.
fast='inrush|replay|espipe|^go|java'
on_one_node() { # NAME SERVER [MORE…]
  local label=$1 server=$2
  shift 2
  compare --label "$label" --server "$server" --mapping bench/lines.mapping.json --data "$(lines 5000000)" --screen-data "$(lines 1000000)" --only "$fast" "$@"
}
slow_ones() { compare --label "$1" --server "$2" --mapping bench/lines.mapping.json --data "$(lines 300000)" --screen-data "$(lines 100000)" --only '^inrush|elasticdump|-py'; }
series_opensearch_lines() { on_one_node opensearch-lines "$opensearch"; }
series_opensearch_lines_slow() { slow_ones opensearch-lines-slow "$opensearch"; }
series_elasticsearch_lines() { on_one_node elasticsearch-lines "$elasticsearch"; }
series_elasticsearch_lines_slow() { slow_ones elasticsearch-lines-slow "$elasticsearch"; }
# Client and server on a processor of their own each.
series_opensearch_pinned() { on_one_node opensearch-pinned "$opensearch" --client-cpus 0 --server-cpus 1; }
# A million sales of 40 columns as CSV, 3,000,000 flights of 5 columns as NDJSON.
sales() { # NAME SERVER
  compare --label "$1" --server "$2" --mapping bench/dvf.mapping.json --only 'inrush|espipe' \
    --data "$(made dvf-1000000.csv python3 bench/data.py dvf 1000000)" --screen-data "$(made dvf-100000.csv python3 bench/data.py dvf 100000)"
}
series_opensearch_dvf() { sales opensearch-dvf "$opensearch"; }
series_elasticsearch_dvf() { sales elasticsearch-dvf "$elasticsearch"; }
many_flights() { # NAME SERVER
  compare --label "$1" --server "$2" --mapping bench/flights.mapping.json --only "$fast" --data "$(made flights-3m.ndjson flights_as_json)" \
    --screen-data "$(made flights-500000.ndjson head -n 500000 "$(made flights-3m.ndjson flights_as_json)")"
}
series_opensearch_flights() { many_flights opensearch-flights "$opensearch"; }
series_elasticsearch_flights() { many_flights elasticsearch-flights "$elasticsearch"; }
# Any NDJSON, such as the collection of Tate: BENCH_ARTWORKS is that file, BENCH_ARTWORKS_MAPPING
# its mapping. Five times over, for half a minute.
artworks() { # NAME SERVER
  local file=${BENCH_ARTWORKS:?names an NDJSON file}
  compare --label "$1" --server "$2" --only "$fast" --data "$(made "$(basename "$file")-x5.ndjson" repeated 5 "$file")" --screen-data "$file" \
    --mapping "${BENCH_ARTWORKS_MAPPING:-bench/artworks.mapping.json}"
}
series_opensearch_artworks() { artworks opensearch-artworks "$opensearch"; }
series_elasticsearch_artworks() { artworks elasticsearch-artworks "$elasticsearch"; }
# From empty to green with the replica in place; two nodes share the processors with the client.
series_two_nodes() {
  compare --label two-nodes --server "$opensearch" --nodes 2 --shards 2 --replicas 1 --heap-mib 1024 --rounds 3 --our-settings --mapping bench/lines.mapping.json \
    --data "$(lines 10000000)" --screen-data "$(lines 1000000)" --only "$fast"
}
# 5 % of the items are answered with 429, and one reply in a hundred is lost after the request was
# carried out.
with_faults() { # NAME LINES ONLY
  compare --label "$1" --server "$opensearch" --mapping bench/lines-numbered.mapping.json --rounds 3 --faults \
    --data "$(made "lines-numbered-$2.ndjson" python3 bench/data.py lines-numbered "$2")" --only "$3"
}
series_opensearch_faults() { with_faults opensearch-faults 1000000 'inrush|espipe|^go|java'; }
series_opensearch_faults_slow() { with_faults opensearch-faults-slow 300000 '^inrush|elasticdump|-py'; }
# The limit that no client can pass, and the fastest of the others: fewer loaders, more rounds.
series_opensearch_limit() { compare --label opensearch-limit --server "$opensearch" --mapping bench/lines.mapping.json --data "$(lines 5000000)" --screen-data "$(lines 2000000)" --rounds 8 --only '^inrush|replay|espipe 0.4'; }

[ $# -ge 2 ] || { usage; exit 2; }
out=$1
shift
mkdir -p "$(dirname "$out")"
for name in "$@"; do
  declare -F "series_${name//-/_}" >/dev/null || { usage >&2; exit 2; }
done
bench/peers/install.sh
# The output of a run, with the machine and the commands, beside its figures.
{
  python3 bench/machine.py
  echo "inrush of commit $(git describe --always --dirty), $("$inrush" --version); $(go version); $(java -version 2>&1 | head -n 1); node $(node --version)"
  for name in "$@"; do
    echo "series $name"
    "series_${name//-/_}"
  done
} 2>&1 | tee -a "${out%.csv}.txt"
