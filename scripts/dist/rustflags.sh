#!/usr/bin/env bash
# Prints flags of rustc that keep the folders of this machine out of programs. Fetches the crates,
# because their folder is named after the registry.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo fetch --locked --quiet
flags="--remap-path-prefix=$PWD=/inrush"
[ -z "${CARGO_TARGET_DIR:-}" ] || flags+=" --remap-path-prefix=$CARGO_TARGET_DIR=/target"
for index in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do flags+=" --remap-path-prefix=$index=/crates"; done
echo "$flags"
