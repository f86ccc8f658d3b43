#!/usr/bin/env bash
# Compiles the command line and all below it with no feature.
# Usage: scripts/features.sh [each]
#   each  also compiles it with each format by itself, and checks that a plain build refuses SQL,
#         object stores, databases and Kafka
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}
case ${1:-} in
  "")
    cargo check --locked --quiet -p inrush-cli --no-default-features
    exit
    ;;
  each)
    tool=$(scripts/tool.sh cargo-hack 0.6.46)
    "$tool/cargo-hack" hack check --locked --quiet -p inrush-cli \
      --each-feature --exclude-features default,sql,cloud,databases,kafka,vendored --exclude-all-features
    ;;
  *) sed -n '2,5p' "$0" >&2; exit 2 ;;
esac

# A plain build refuses the features that it lacks, and says so.
cargo build --locked --quiet -p inrush-cli
said=$(mktemp)
trap 'rm -f "$said"' EXIT
refuses() { # words, arguments of inrush…
  local status=0
  "$CARGO_TARGET_DIR/debug/inrush" "${@:2}" --index x --to http://127.0.0.1:9 >"$said" 2>&1 </dev/null || status=$?
  [ "$status" = 2 ] && grep -q -e "^error.not_in_this_build.: .*$1" "$said" || {
    cat "$said" >&2
    echo "inrush ${*:2} ended with $status, expected 2 and: $1" >&2
    exit 1
  }
}
refuses "built without SQL" load Cargo.toml --sql "SELECT 1"
refuses "has no databases" load postgres://h/db --db-table t
refuses "has no object stores" load s3://bucket/a.csv
refuses "has no client for Kafka" load kafka://broker/orders
