#!/usr/bin/env bash
# Prints the folder of the Python environment of the site and of the commands of the pages.
set -euo pipefail
cd "$(dirname "$0")"
exec ../venv.sh site requirements.txt
