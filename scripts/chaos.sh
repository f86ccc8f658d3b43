#!/usr/bin/env bash
# Kills the binary INRUSH_KILLS times (100) at random moments of loads of INRUSH_KILL_DOCS (200,000) real documents into a real
# OpenSearch, each time followed by --resume, and then as often against the fake cluster with its faults.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/data
scripts/flights.sh "$data"
export INRUSH_KILLS=${INRUSH_KILLS:-100}
INRUSH_KILL_CSV=$data/flights.csv INRUSH_KILL_DOCS=${INRUSH_KILL_DOCS:-200000} \
  cargo test --locked -p inrush-cli --test kill --features real-servers -- --nocapture --test-threads 1
PROPTEST_CASES=20000 cargo test --locked -p inrush-core --lib -- --nocapture resume
