#!/usr/bin/env bash
# Checks indices of crates/inrush-lucene with Lucene's own CheckIndex. Maven fetches its jars into the
# cache, in the version of OpenSearch 3.6. Needs Java 21 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."
jars=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/lucene
version=10.4.0
for artifact in lucene-core lucene-backward-codecs; do
  [ -f "$jars/$artifact-$version.jar" ] ||
    mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="org.apache.lucene:$artifact:$version" -DoutputDirectory="$jars"
done
. scripts/newest-java.sh
[ "$newest_java" -ge 21 ] || { echo "no Java 21 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
env -u JAVA_HOME LUCENE_JARS="$jars" cargo test --locked -p inrush-lucene --test check_index -- "$@"
