#!/usr/bin/env bash
# Builds the programs that `sinks.py` compares, and the Python environment of the measurements, with
# the ordinary clients of the registries, below the cache folder. Prints the environment's Python.
set -euo pipefail
cd "$(dirname "$0")"
root=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/sinks
mkdir -p "$root"
for name in consumer flink; do
  rm -rf "$root/build"
  cp -r "$name" "$root/build"
  mvn --batch-mode --quiet -f "$root/build/pom.xml" package >&2
  rm -rf "${root:?}/$name"
  mv "$root/build/target" "$root/$name"
done
rm -rf "$root/build"
[ -x "$root/venv/bin/python" ] || python3 -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet --disable-pip-version-check 'confluent-kafka>=2.6' >&2
echo "$root/venv/bin/python"
