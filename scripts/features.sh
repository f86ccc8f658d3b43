#!/usr/bin/env bash
# Compiles the command line and all below it with no feature, and with each format by itself. SQL,
# object stores, databases and Kafka are left out: they take minutes each, and lints compile them
# together.
# Usage: scripts/features.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(scripts/tool.sh cargo-hack 0.6.46)
"$tool/cargo-hack" hack check --locked --quiet -p inrush-cli \
  --each-feature --exclude-features default,sql,cloud,databases,kafka --exclude-all-features
