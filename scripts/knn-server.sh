#!/usr/bin/env bash
# scripts/knn-server.sh VERSION DIR: unpacks OpenSearch with the plugin opensearch-knn into DIR, for
# tests. Maven has the plugin without its native libraries: the engine lucene works, and faiss until
# a graph is to be built. Downloads are kept in the cache.
set -euo pipefail
version=$1 home=$2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/dist
mkdir -p "$cache"
# fetch GROUP:NAME:VERSION NAME-VERSION.zip
fetch() {
  [ -f "$cache/$2" ] || mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="$1:zip" -DoutputDirectory="$cache" >&2
}
fetch "org.opensearch.distribution.integ-test-zip:opensearch:$version" "opensearch-$version.zip"
fetch "org.opensearch.plugin:opensearch-knn:$version.0" "opensearch-knn-$version.0.zip"
mkdir -p "$home"
unzip -q "$cache/opensearch-$version.zip" -d "$home"
mv "$home/opensearch-$version"/* "$home"
rmdir "$home/opensearch-$version"
mkdir -p "$home/plugins/opensearch-knn"
unzip -q "$cache/opensearch-knn-$version.0.zip" -d "$home/plugins/opensearch-knn"
chmod -R a+rX "$home"
