#!/usr/bin/env bash
# Reads the metrics of a load into the fake cluster with the reference parser: every series parses,
# no counter falls, and the last figures are the report's. What a collector of OpenTelemetry gets is
# read by the definition of OTLP. Where Prometheus is installed it scrapes the load as well, and
# takes the alert rules and the dashboard. Usage: scripts/metrics.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
# The selection of `make unit`, so that nothing is compiled twice.
cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --test it --no-run
if [ ! -x "$cache/metrics/bin/python" ]; then
  python3 -m venv "$cache/metrics"
  "$cache/metrics/bin/pip" install --quiet prometheus_client==0.26.0 opentelemetry-proto==1.45.2
fi
exec "$cache/metrics/bin/python" scripts/metrics.py "$CARGO_TARGET_DIR/debug"
