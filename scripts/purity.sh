#!/usr/bin/env bash
# inrush-core waits for nothing: no runtime, HTTP or clock crate may be below it. (What it may call itself is held by the lints in
# crates/inrush-core/clippy.toml; sonic-rs brings a hash table that seeds itself, which decides nothing.)
set -euo pipefail
tree=$(cargo tree --locked -p inrush-core -e normal --prefix none)
if found=$(grep -E '^(tokio|async-std|smol|hyper|reqwest|ureq|mio|socket2|rustls|rand|chrono|time|tempfile|rustix) v' <<<"$tree"); then
  echo "inrush-core must stay pure, and depends on:" >&2
  echo "$found" >&2
  exit 1
fi
echo "inrush-core is pure"
