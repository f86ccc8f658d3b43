#!/usr/bin/env bash
# Builds the documentation as a site, and checks its links, headings and spelling. The programs for
# it are kept in the cache. Usage: scripts/site.sh [FOLDER]
#   FOLDER  default: site below the cache
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
venv=$(scripts/site/venv.sh)

# A site that a failed build leaves behind would look finished.
INRUSH_SITE=$(realpath -m "${1:-$cache/site}")
INRUSH_SITE_PAGES=$(mktemp -d)
export INRUSH_SITE INRUSH_SITE_PAGES
trap 'rm -rf "$INRUSH_SITE_PAGES"' EXIT
scripts/site/stage.py "$INRUSH_SITE_PAGES"
scripts/report-schema.py >"$INRUSH_SITE_PAGES/docs/report.schema.json"
cp scripts/site/site.css "$INRUSH_SITE_PAGES/"
"$venv/bin/codespell" --ignore-words scripts/site/words.txt README.md COMPARE.md ARCHITECTURE.md \
  DESIGN.md CONTRIBUTING.md CHANGELOG.md $(find docs -name '*.md')
# NO_MKDOCS_2_WARNING: the theme's advertisement for its successor is no warning.
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --config-file scripts/site/mkdocs.yml
echo "the site is in $INRUSH_SITE; python3 -m http.server -d $INRUSH_SITE shows it, with search" >&2
