#!/usr/bin/env bash
# Installs what the tests need and this machine lacks: a C compiler, Java for the servers, Maven to fetch them. Prints nothing
# where all is there.
set -euo pipefail

need=()
command -v cc >/dev/null || need+=(build-essential)
command -v mvn >/dev/null || need+=(maven)

# The newest major version of Java below the first argument that some home of this machine has, at least the second.
has_java() { # least, most
  local release major
  for release in "${JAVA_HOME:-/nonexistent}"/release /usr/lib/jvm/*/release; do
    [ -r "$release" ] || continue
    major=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release")
    [ -n "$major" ] && [ "$major" -ge "$1" ] && [ "$major" -le "$2" ] && return 0
  done
  return 1
}

# OpenSearch 3 needs Java 21 or newer; OpenSearch 2.19 takes 11 to 23, Elasticsearch 7.17 and 8.19 run on 17.
has_java 17 21 || need+=(openjdk-17-jdk-headless)
if ! has_java 21 99; then
  for package in openjdk-25-jdk-headless openjdk-21-jdk-headless; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      need+=("$package")
      break
    fi
  done
fi

if [ ${#need[@]} -gt 0 ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  echo "installing ${need[*]}" >&2
  $sudo apt-get update -q >&2
  $sudo apt-get install -y -q --no-install-recommends "${need[@]}" >&2
fi

has_java 21 99 || {
  echo "no Java 21 or newer is here and none can be installed; OpenSearch 3 needs it" >&2
  exit 1
}
