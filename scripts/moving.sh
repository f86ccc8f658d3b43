#!/usr/bin/env bash
# Runs command lines of other loaders, and the commands that `inrush from` makes of them, into a
# local OpenSearch node, and compares the documents. elasticdump and espipe are installed into the
# cache, in the versions of docs/moving/flags.md; esbulk is that of the PATH, if there is one.
# Usage: scripts/moving.sh [OPTIONS of scripts/moving.py] [LOADER…]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
version() { # loader
  sed -n "s/^## $1 //p" docs/moving/flags.md
}
wanted=" ${*:-elasticdump espipe} "
if [[ $wanted == *" elasticdump "* ]]; then
  folder=$cache/tools/elasticdump-$(version elasticdump)
  [ -x "$folder/node_modules/.bin/elasticdump" ] ||
    npm install --silent --prefix "$folder" "elasticdump@$(version elasticdump)" >&2
  PATH=$folder/node_modules/.bin:$PATH
fi
if [[ $wanted == *" espipe "* ]]; then
  PATH=$(scripts/tool.sh espipe "$(version espipe)"):$PATH
fi
# The tests bring the program with them. Built in another way it would have to be compiled again.
cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --no-run
exec python3 scripts/moving.py --inrush "$CARGO_TARGET_DIR/debug/inrush" "$@"
