#!/usr/bin/env bash
# Fetches HBase with Maven into the cache and compiles the class that turns its rows into Python's.
# Prints three lines: the class path of the client with that class, the class path of the server,
# and a Java that both run on. Needs the environment of `scripts/python.sh spark`.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
for part in client server; do
  # A copy of the list says which versions the cache has.
  cmp -s "python/hadoop/$part.xml" "$cache/hbase/$part/pom.xml" && continue
  rm -rf "$cache/hbase/$part"
  # Spark has the client's other dependencies, in other versions.
  groups=
  [ "$part" = server ] || groups=-DincludeGroupIds=org.apache.hbase,org.apache.yetus,io.opentelemetry,io.opentelemetry.semconv
  mvn -q -B -Dstyle.color=never -f "python/hadoop/$part.xml" dependency:copy-dependencies -DincludeScope=runtime $groups -DoutputDirectory="$cache/hbase/$part" >&2
  cp "python/hadoop/$part.xml" "$cache/hbase/$part/pom.xml"
done
# Spark 4 and HBase 2.6 both run on Java 17.
java=
for release in "${JAVA_HOME:-/nonexistent}"/release /usr/lib/jvm/*/release; do
  if [ -r "$release" ] && grep -q '^JAVA_VERSION="17\.' "$release" && [ -x "$(dirname "$release")/bin/javac" ]; then
    java=$(dirname "$release")
    break
  fi
done
[ -n "$java" ] || { echo "no JDK 17 is here; run scripts/install-tools.sh" >&2; exit 1; }
jars=$("$cache/venv-spark/bin/python" -c 'import pyspark; print(pyspark.__path__[0] + "/jars")')
"$java/bin/javac" -cp "$cache/hbase/client/*:$jars/*" -d "$cache/hbase/classes" python/hadoop/src/inrush/hadoop/*.java
(cd "$cache/hbase/classes" && "$java/bin/jar" --create --file ../inrush-hadoop.jar .)
echo "$cache/hbase/client/*:$cache/hbase/inrush-hadoop.jar"
echo "$cache/hbase/server/*"
echo "$java"
