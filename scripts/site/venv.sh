#!/usr/bin/env bash
# Makes the Python environment of the site and of the commands of the pages once, keeps it in the
# cache, and prints its folder.
set -euo pipefail
cd "$(dirname "$0")"
venv=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/venv-site
export PIP_DISABLE_PIP_VERSION_CHECK=1
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >&2
# A copy of the list says which versions are installed.
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
  "$venv/bin/pip" install --quiet --requirement requirements.txt >&2
  cp requirements.txt "$venv/requirements.txt"
fi
echo "$venv"
