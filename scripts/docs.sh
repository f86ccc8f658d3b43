#!/usr/bin/env bash
# Builds the documentation of all crates, warnings are errors, and compares the public surface of
# the libraries with api/: a change of the surface is seen in review. Usage: scripts/docs.sh [write]
#   write  writes api/
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

RUSTDOC=$PWD/scripts/rustdoc-json.sh RUSTDOCFLAGS="-D warnings -Z unstable-options --output-format json" \
  cargo doc --locked --workspace --all-features --no-deps --quiet
# Not a crate of the workspace: it would change the features of crates that the product has.
cargo build --locked --quiet --manifest-path scripts/public-surface/Cargo.toml
surfaces=$(mktemp -d)
trap 'rm -rf "$surfaces"' EXIT
for folder in crates/*/; do
  name=$(basename "$folder")
  case $name in inrush-cli | inrush-testbed) continue ;; esac
  "$target/debug/public-surface" "$target/doc/${name//-/_}.json" > "$surfaces/$name.txt"
done
if [ "${1:-}" = write ]; then
  mkdir -p api
  cp "$surfaces"/*.txt api/
elif ! diff -ru api "$surfaces"; then
  echo "the public surface has changed; if that is meant, scripts/docs.sh write" >&2
  exit 1
fi
