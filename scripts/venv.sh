#!/usr/bin/env bash
# Makes a Python environment once, keeps it in the cache, and prints its folder.
# Usage: scripts/venv.sh NAME REQUIREMENTS
set -euo pipefail
venv=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/venv-$1
export PIP_DISABLE_PIP_VERSION_CHECK=1
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >&2
# A copy of the list says which versions are installed.
if ! cmp -s "$2" "$venv/requirements.txt"; then
  "$venv/bin/pip" install --quiet --requirement "$2" >&2
  cp "$2" "$venv/requirements.txt"
fi
echo "$venv"
