#!/usr/bin/env bash
# Builds a program of the package registry once, keeps it in the cache, and prints its folder.
# Usage: scripts/tool.sh CRATE VERSION
set -euo pipefail
crate=$1 version=$2
folder=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/tools/$crate-$version
if [ ! -x "$folder/bin/$crate" ]; then
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
  # A debug build takes a fraction of the time, and the tools have little to do.
  cargo install --debug --locked --quiet --root "$folder" --target-dir "$build" --version "$version" "$crate" >&2
fi
echo "$folder/bin"
