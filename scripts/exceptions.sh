#!/usr/bin/env bash
# Lists the exceptions of the servers' own archives, with the status that each one answers, in
# crates/inrush-core/src/outcome/exceptions.csv. A unit test fails for one that is in no row of
# outcome/table.rs beside it. Needs Java 21 or newer. Arguments: the archives, as
# opensearch:3.8.0; without them, those of the file.
set -euo pipefail
cd "$(dirname "$0")/.."
list=crates/inrush-core/src/outcome/exceptions.csv
[ $# -gt 0 ] || set -- opensearch:3.8.0 opensearch:2.19.6 elasticsearch:9.5.3 elasticsearch:8.19.21
. scripts/newest-java.sh
[ "$newest_java" -ge 21 ] || { echo "no Java 21 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folders=()
for server; do
  product=${server%:*} version=${server#*:}
  artifact=org.$product.distribution.integ-test-zip:$product:$version:zip
  mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="$artifact" -DoutputDirectory="$work"
  unzip -q "$work/$product-$version.zip" -d "$work"
  folders+=("$work/$product-$version")
done
java scripts/Exceptions.java "${folders[@]}" >"$work/list.csv" 2>"$work/errors" || { cat "$work/errors" >&2; exit 1; }
mv "$work/list.csv" "$list"
wc -l "$list"
