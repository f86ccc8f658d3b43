#!/usr/bin/env bash
# inrush-core must not wait: it may not depend on a runtime, an HTTP client or a clock. The lints in
# crates/inrush-core/clippy.toml restrict its own calls. sonic-rs has a hash table that seeds
# itself; no decision depends on it.
set -euo pipefail
tree=$(cargo tree --locked -p inrush-core -e normal --prefix none)
if found=$(grep -E '^(tokio|async-std|smol|hyper|reqwest|ureq|mio|socket2|rustls|rand|chrono|time|tempfile|rustix) v' <<<"$tree"); then
  echo "inrush-core must stay pure, and depends on:" >&2
  echo "$found" >&2
  exit 1
fi
echo "inrush-core is pure"
