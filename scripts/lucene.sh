#!/usr/bin/env bash
# Checks indices of crates/inrush-lucene with Lucene's own CheckIndex. Maven fetches its jars into
# the cache, in the version of OpenSearch 3.6. Needs Java 21 or newer.
#
#   scripts/lucene.sh [ARGS]                     the tests of the crate; ARGS go to the tests
#   scripts/lucene.sh compare [SERVER] [SECONDS] [SEED]
#     random mappings and documents beside a server for so long (default: opensearch-3.6.0, 60), and
#     200 random searches. A seed repeats what it found; by default it is the time.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = compare ]; then
  server=${2:-opensearch-3.6.0} seconds=${3:-60} seed=${4:-$(date +%s)}
  cargo build --locked --quiet --release -p inrush-lucene --examples
  export INRUSH_LUCENE=${CARGO_TARGET_DIR:-target}/release/examples
  INRUSH_LUCENE=$(realpath "$INRUSH_LUCENE")
  python3 bench/lucene.py fuzz "$server" "$seed" "$seconds"
  exec python3 bench/lucene.py queries "$server" "$seed" 200
fi
jars=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/lucene
version=10.4.0
for artifact in lucene-core lucene-backward-codecs lucene-suggest; do
  [ -f "$jars/$artifact-$version.jar" ] ||
    mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="org.apache.lucene:$artifact:$version" -DoutputDirectory="$jars"
done
. scripts/newest-java.sh
[ "$newest_java" -ge 21 ] || { echo "no Java 21 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
env -u JAVA_HOME LUCENE_JARS="$jars" \
  cargo test --locked --workspace --features sql,cloud,databases,kafka --test check_index -- "$@"
