#!/usr/bin/env bash
# Loads 336,776 real flights into a local OpenSearch node, and runs one search.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
data=$cache/data
mkdir -p "$data"

inrush=${CARGO_TARGET_DIR:-$cache/target}/release/inrush
scripts/flights.sh "$data"

# Of a flight that was cancelled the delay is NA.
"$inrush" load "$data/flights.csv" --index flights --null NA --to local --recreate --yes --shards 1 --replicas 0
url=$("$inrush" node start 2>/dev/null)
echo
echo "the five airlines with the most flights, and their mean delay at arrival in minutes:"
curl -sS "$url/flights/_search?size=0&filter_path=hits.total.value,aggregations.*.buckets" -H 'content-type: application/json' -d '{
  "track_total_hits": true,
  "aggs": {"airlines": {"terms": {"field": "carrier.keyword", "size": 5}, "aggs": {"delay": {"avg": {"field": "arr_delay"}}}}}
}'
echo
echo
echo "the node keeps running at $url; stop it with: $inrush node stop --clean"
