#!/usr/bin/env bash
# Runs each fuzz target for SECONDS (default 60) with the installed toolchain. RUSTC_BOOTSTRAP lets
# a stable compiler accept the sanitizer's flags. cargo-fuzz, the build and the corpus are kept in
# the cache.
# Usage: scripts/fuzz.sh [SECONDS [TARGET…]]
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-60}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(reply lines dead_letters smile types)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
tool=$(../scripts/tool.sh cargo-fuzz 0.13.2)/cargo-fuzz
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$cache/fuzz/target
for target in "${targets[@]}"; do
  corpus=$cache/fuzz/corpus/$target
  mkdir -p "$corpus"
  # An input that fails is kept in fuzz/artifacts.
  "$tool" fuzz run "$target" "$corpus" -- -max_total_time="$seconds"
done
