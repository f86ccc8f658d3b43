#!/usr/bin/env bash
# Compares inrush's SMILE with that of Jackson, in the version of OpenSearch 3.6. Fetches its jars
# with Maven (kept in the cache) and runs the tests that compare bytes in both directions. Needs
# Java 21 or newer, because older ones write some doubles with more digits.
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
INRUSH_JACKSON=$class_path cargo test --locked -p inrush-core --features jackson --test it -- "$@"
