#!/usr/bin/env bash
# Publishes the crates of the workspace that the registry does not have in this version, each after
# those that it needs. The release workflow calls it. Usage: publish.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
there=()
for manifest in crates/*/Cargo.toml; do
  crate=$(basename "$(dirname "$manifest")")
  # Outside of the clone, so that the answer is the registry's.
  if (cd / && cargo info --quiet "$crate@$version" >/dev/null 2>&1); then there+=(--exclude "$crate"); fi
done
cargo publish --workspace --locked --no-verify "${there[@]}"
