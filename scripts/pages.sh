#!/usr/bin/env bash
# Runs the commands of the pages with the full build of the tests. Arguments go to scripts/pages.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}
# The tests bring the program with them. Built in another way it would have to be compiled again.
cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --no-run
venv=$(scripts/site/venv.sh)
exec "$venv/bin/python" scripts/pages.py --inrush "$CARGO_TARGET_DIR/debug/inrush" "$@"
