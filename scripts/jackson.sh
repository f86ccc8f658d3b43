#!/usr/bin/env bash
# Compares the output of crates/inrush-smile with that of Jackson, in the version that OpenSearch
# 3.6 uses, byte by byte in both directions. Maven fetches the jars into the cache. Needs Java 19 or
# newer: older versions write some doubles with more digits.
set -euo pipefail
cd "$(dirname "$0")/.."
jars=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/jackson
version=2.21.2
class_path=
for artifact in core:jackson-core dataformat:jackson-dataformat-smile; do
  name=${artifact#*:}-$version.jar
  [ -f "$jars/$name" ] ||
    mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="com.fasterxml.jackson.$artifact:$version" -DoutputDirectory="$jars"
  class_path+=$jars/$name:
done
. scripts/newest-java.sh
[ "$newest_java" -ge 19 ] || { echo "no Java 19 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
INRUSH_JACKSON=$class_path cargo test --locked -p inrush-smile --features jackson --test jackson -- "$@"
