#!/usr/bin/env bash
# Watches a load of real flights into a real OpenSearch behind a faulty proxy in a real browser.
# Usage: scripts/browser.sh [pictures]
#   pictures  also writes the screenshots of docs/page/
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  "") pictures= ;;
  pictures) pictures=$PWD/docs/page ;;
  *) sed -n '2,5p' "$0" >&2; exit 2 ;;
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

# The node's user has to reach the folder. A temporary folder of root is often closed to it.
WORK=$(mktemp -d /var/tmp/inrush-browser.XXXXXX)
export WORK
chmod 755 "$WORK"
export INRUSH_NODE_ROOT=$WORK/node
finish() {
  exec 7>&- || true
  "$INRUSH" node stop --clean >/dev/null 2>&1 || true
  rm -rf "$WORK"
}
trap finish EXIT
scripts/flights.sh "$cache/data"
# Each 20,000th flight has a distance that is no number.
awk -F, -v OFS=, 'NR % 20000 == 19999 { $16 = "<b>far</b>" } { print }' "$cache/data/flights.csv" >"$WORK/flights.csv"
export DATA=flights.csv

node "$tests/names.mjs"
node "$tests/hours.mjs"
url=$("$INRUSH" node start)
# The proxy runs until its stdin closes. It is slow, so that there is something to watch.
mkfifo "$WORK/alive"
"$CARGO_TARGET_DIR/debug/inrush-testbed" proxy --to "$url" --mbit 40 --delay-ms 20 --reject-items 1 --reset-after-applying 1 \
  <"$WORK/alive" >"$WORK/proxy" &
exec 7>"$WORK/alive"
until [ -s "$WORK/proxy" ]; do sleep 0.1; done
TO=$(head -1 "$WORK/proxy")
export TO
[ -z "$pictures" ] || mkdir -p "$pictures"
export SCREENSHOTS=$pictures
node "$tests/load.mjs"
URL=$url node "$tests/segments.mjs"
