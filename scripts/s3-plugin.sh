#!/usr/bin/env bash
# scripts/s3-plugin.sh DIR: unpacks OpenSearch with its plugin repository-s3 into DIR, for tests.
# Reads the access key and the secret key from stdin, a line each. Maven has the plugin's classes
# and libraries, of which the archives for users are made. This script writes the files that
# describe the plugin to the server. Downloads are kept in the cache. Needs Java 21 or newer.
set -euo pipefail
home=$1
read -r key
read -r secret
. "$(dirname "$0")/newest-java.sh"
[ "$newest_java" -ge 21 ] || { echo "no Java 21 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
version=3.6.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
zip=$cache/dist/opensearch-$version.zip
libraries=$cache/tools/repository-s3-$version
maven=(mvn -q -B -Dstyle.color=never)

[ -f "$zip" ] || "${maven[@]}" dependency:copy -Dartifact="org.opensearch.distribution.integ-test-zip:opensearch:$version:zip" -DoutputDirectory="$cache/dist"
if [ ! -d "$libraries" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cat > "$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>plugin</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.opensearch.plugin</groupId><artifactId>repository-s3</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  "${maven[@]}" -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/jars"
  mkdir -p "$cache/tools"
  mv "$work/jars" "$libraries"
fi

mkdir -p "$home"
unzip -q "$zip" -d "$home"
mv "$home/opensearch-$version"/* "$home"
rmdir "$home/opensearch-$version"
plugin=$home/plugins/repository-s3
mkdir -p "$plugin"
for jar in "$libraries"/*.jar; do
  name=$(basename "$jar")
  # A server refuses a class that is there twice.
  [ -e "$home/lib/$name" ] || cp "$jar" "$plugin/"
done
cat > "$plugin/plugin-descriptor.properties" <<PROPERTIES
description=Snapshots on S3
version=$version
name=repository-s3
classname=org.opensearch.repositories.s3.S3RepositoryPlugin
java.version=21
opensearch.version=$version
PROPERTIES
# The permissions of the plugin: sockets, and reflection for the Amazon SDK.
cat > "$plugin/plugin-security.policy" <<'POLICY'
grant {
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
  permission java.net.SocketPermission "*", "connect";
  permission java.net.NetPermission "setDefaultAuthenticator";
  permission java.util.PropertyPermission "*", "read,write";
  permission java.io.FilePermission "<<ALL FILES>>", "read,write";
};
POLICY
chmod -R a+rX "$home"
keystore() { OPENSEARCH_JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")") "$home/bin/opensearch-keystore" "$@"; }
keystore create >&2
keystore add --stdin s3.client.default.access_key <<< "$key"
keystore add --stdin s3.client.default.secret_key <<< "$secret"
