#!/usr/bin/env bash
# Builds the documentation of all crates, warnings are errors, and compares the public surface of
# the crates that promise names with api/: a change of the surface is seen in review.
# Usage: scripts/docs.sh [write]
#   write  writes api/
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

RUSTDOC=$PWD/scripts/rustdoc-json.sh RUSTDOCFLAGS="-D warnings -Z unstable-options --output-format json" \
  cargo doc --locked --workspace --features sql,cloud,databases,kafka --no-deps --quiet
# Not a crate of the workspace: it would change the features of crates that the product has.
cargo build --locked --quiet --manifest-path scripts/public-surface/Cargo.toml
surfaces=$(mktemp -d)
trap 'rm -rf "$surfaces"' EXIT
mkdir "$surfaces/all" "$surfaces/api"
for folder in crates/*/; do
  name=$(basename "$folder")
  case $name in inrush-cli | inrush-testbed) continue ;; esac
  "$target/debug/public-surface" "$target/doc/${name//-/_}.json" > "$surfaces/all/$name.txt"
done
cp "$surfaces"/all/inrush-{fake,lucene,smile}.txt "$surfaces/api"
# With the items of the types that it re-exports.
"$target/debug/public-surface" "$target/doc/inrush.json" "$surfaces/all" > "$surfaces/api/inrush.txt"
if [ "${1:-}" = write ]; then
  rm -rf api
  cp -r "$surfaces/api" api
elif ! diff -ru api "$surfaces/api"; then
  echo "the public surface has changed; if that is meant, scripts/docs.sh write" >&2
  exit 1
fi
