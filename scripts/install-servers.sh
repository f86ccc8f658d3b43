#!/usr/bin/env bash
# Java and Maven (scripts/install-tools.sh), and the servers that the tests start, in the cache of `inrush node`. Prints nothing
# where all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-tools.sh

cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/dist
mkdir -p "$cache"
# Maven writes here first: what is in the cache is whole.
folder=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$folder"' EXIT

fetch() { # group, name, version
  local file=$2-$3.zip
  [ -s "$cache/$file" ] && return
  echo "fetching $file" >&2
  mvn -q -B dependency:copy "-Dartifact=$1.distribution.integ-test-zip:$2:$3:zip" "-DoutputDirectory=$folder" >&2 || {
    echo "Maven cannot fetch $file; see above, and ~/.m2/settings.xml where a mirror is needed" >&2
    exit 1
  }
  mv "$folder/$file" "$cache/$file"
}

fetch org.opensearch opensearch 3.6.0
fetch org.opensearch opensearch 2.19.6
fetch org.elasticsearch elasticsearch 8.19.21
fetch org.elasticsearch elasticsearch 7.17.29
