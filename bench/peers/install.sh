#!/usr/bin/env bash
# Installs the loaders that `run.py` compares, with the ordinary clients of the registries, below
# the cache folder. Prints the folder.
set -euo pipefail
cd "$(dirname "$0")"
root=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/peers
mkdir -p "$root/bin"
(
  cd go
  for program in esutil opensearchutil replay; do
    go build -o "$root/bin/$program" "./$program"
  done
)
rm -rf "$root/java" "$root/java-build"
cp -r java "$root/java-build"
mvn --batch-mode --quiet -f "$root/java-build/pom.xml" package
mv "$root/java-build/target" "$root/java"
rm -rf "$root/java-build"
[ -x "$root/venv/bin/python" ] || python3 -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet -r python/requirements.txt
npm install --silent --prefix "$root/npm" elasticdump@6.125.1
for version in 0.4.0 0.7.0; do
  [ -x "$root/espipe-$version/bin/espipe" ] || cargo install --locked --quiet --root "$root/espipe-$version" "espipe@$version"
done
echo "$root"
