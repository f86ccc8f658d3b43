#!/usr/bin/env bash
# Checks licences, sources and duplicate versions of all crates against deny.toml. Advisories are
# not part of it, because their database is not in the package registry: `cargo deny check
# advisories` fetches it. Usage: scripts/deny.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(scripts/tool.sh cargo-deny 0.20.2)
"$tool/cargo-deny" --locked check --hide-inclusion-graph licenses bans sources
