#!/usr/bin/env bash
# Watches loads, comparisons, sweeps and bakes of real flights with a real OpenSearch behind a
# faulty proxy in a real browser, and the segments of a real Elasticsearch.
# Usage: scripts/browser.sh [pictures]
#   pictures  also writes the screenshots of docs/page/
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  "") pictures= ;;
  pictures) pictures=$PWD/docs/page ;;
  *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
tests=$PWD/crates/inrush-page/tests/browser
# With the tests of all crates the binaries have the features that `make test` has built already.
cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --test it --no-run
export INRUSH=$CARGO_TARGET_DIR/debug/inrush

# The packages of the tests, as their lock file says.
modules=$cache/browser
mkdir -p "$modules"
if ! cmp -s "$tests/package-lock.json" "$modules/package-lock.json" || [ ! -d "$modules/node_modules" ]; then
  cp "$tests/package.json" "$tests/package-lock.json" "$modules"
  npm ci --prefix "$modules" --ignore-scripts --no-audit --no-fund --loglevel error
fi
export INRUSH_NODE_MODULES=$modules/node_modules
INRUSH_CHROMIUM=$(command -v chromium-headless-shell || command -v chromium)
export INRUSH_CHROMIUM

# The server's user has to reach the folder. A temporary folder of root is often closed to it.
WORK=$(mktemp -d /var/tmp/inrush-browser.XXXXXX)
export WORK
chmod 755 "$WORK"
export INRUSH_NODE_ROOT=$WORK/node
REPOSITORY=$WORK/repository
export REPOSITORY
install -d -m 777 "$REPOSITORY"
finish() {
  exec 7>&- 8>&- || true
  wait || true
  rm -rf "$WORK"
}
trap finish EXIT
scripts/flights.sh "$cache/data"
# Each 20,000th flight has a distance that is no number.
awk -F, -v OFS=, 'NR % 20000 == 19999 { $16 = "<b>far</b>" } { print }' "$cache/data/flights.csv" >"$WORK/flights.csv"
# Runs of which less is watched have fewer of them, but for pictures.
head -n 120000 "$WORK/flights.csv" >"$WORK/fewer.csv"
DATA=$([ -n "$pictures" ] && echo flights.csv || echo fewer.csv)
export DATA

# Starts a server, and a slow and faulty proxy before it, so that there is something to watch. Both
# run until their stdin closes.
start() {
  mkfifo "$WORK/alive-$1" "$WORK/alive-proxy-$1"
  python3 bench/servers.py "$1" "$2" "path.repo: $REPOSITORY" "cluster.max_shards_per_node: 2000" \
    <"$WORK/alive-$1" >"$WORK/server-$1" &
  exec 7>"$WORK/alive-$1"
  until [ -s "$WORK/server-$1" ]; do kill -0 $! && sleep 0.2; done
  URL=$(head -1 "$WORK/server-$1")
  "$CARGO_TARGET_DIR/debug/inrush-testbed" proxy --to "$URL" --mbit 40 --delay-ms 20 --reject-items 1 --reset-after-applying 1 \
    <"$WORK/alive-proxy-$1" >"$WORK/proxy-$1" &
  exec 8>"$WORK/alive-proxy-$1"
  until [ -s "$WORK/proxy-$1" ]; do kill -0 $! && sleep 0.1; done
  TO=$(head -1 "$WORK/proxy-$1")
  export URL TO
}
stop() {
  exec 7>&- 8>&-
  wait
}

node "$tests/dashboard.mjs"
node "$tests/names.mjs"
node "$tests/hours.mjs"
[ -z "$pictures" ] || mkdir -p "$pictures"
export SCREENSHOTS=$pictures
start opensearch 3.6.0
DATA=flights.csv node "$tests/load.mjs"
node "$tests/segments.mjs"
node "$tests/jobs.mjs"
node "$tests/shards.mjs"
stop
# Pictures are those of one product.
SCREENSHOTS=
start elasticsearch 8.19.21
node "$tests/segments.mjs"
stop
