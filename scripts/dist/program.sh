#!/usr/bin/env bash
# Compiles the program as releases have it. The optimization of the whole program has the level 2;
# the profile `dist` cannot say so, because it would give that level to the crate of the command
# line, too. Usage: scripts/dist/program.sh TARGET [ARGUMENT of cargo…]
#   TARGET  a target of rustc, for glibc with its version: x86_64-unknown-linux-gnu.2.17
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${1:?a target is missing, such as x86_64-unknown-linux-gnu.2.17}
shift
case $target in
  *-apple-*) cargo="cargo" ;;
  *) cargo="cargo-zigbuild" ;;
esac
# The time in C libraries. With that of the commit each commit would compile them, and all crates
# that depend on them, again.
export SOURCE_DATE_EPOCH=0
exec "$cargo" rustc --locked --profile dist --target "$target" -p inrush-cli --bin inrush "$@" -- -C opt-level=2
