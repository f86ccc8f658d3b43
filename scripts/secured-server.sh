#!/usr/bin/env bash
# scripts/secured-server.sh elasticsearch|opensearch VERSION DIR: unpacks a server with its security
# into DIR, for tests. Elasticsearch has it; OpenSearch gets its plugin, and a certificate for the
# connections between nodes, which the plugin insists on. Downloads are kept in the cache.
set -euo pipefail
product=$1 version=$2 home=$3
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/dist
mkdir -p "$cache"
# fetch GROUP:NAME:VERSION NAME-VERSION.zip
fetch() {
  [ -f "$cache/$2" ] || mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="$1:zip" -DoutputDirectory="$cache" >&2
}
case $product in
  elasticsearch) group=org.elasticsearch.distribution.integ-test-zip ;;
  opensearch) group=org.opensearch.distribution.integ-test-zip ;;
esac
fetch "$group:$product:$version" "$product-$version.zip"
mkdir -p "$home"
unzip -q "$cache/$product-$version.zip" -d "$home"
mv "$home/$product-$version"/* "$home"
rmdir "$home/$product-$version"
if [ "$product" = opensearch ]; then
  plugin=$home/plugins/opensearch-security
  fetch "org.opensearch.plugin:opensearch-security:$version.0" "opensearch-security-$version.0.zip"
  mkdir -p "$plugin"
  unzip -q "$cache/opensearch-security-$version.0.zip" -d "$plugin"
  cp -r "$plugin/config" "$home/config/opensearch-security"
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=node -keyout "$home/config/node.key" \
    -out "$home/config/node.pem" 2>/dev/null
fi
chmod -R a+rX "$home"
chmod a+r "$home"/config/*
