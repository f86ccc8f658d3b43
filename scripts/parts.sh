#!/usr/bin/env bash
# Makes targets of the Makefile one after the other, stops at the first that fails, with its exit status, and prints
# at the end how many seconds each took. INRUSH_SECONDS=FILE writes them there, too, as CSV.
# Usage: scripts/parts.sh TARGET…
set -uo pipefail
cd "$(dirname "$0")/.."
parts=() seconds=() statuses=() status=0
tell() {
  printf '\n%-16s %7s\n' part seconds
  local at
  for at in "${!parts[@]}"; do
    printf '%-16s %7d%s\n' "${parts[at]}" "${seconds[at]}" "$([ "${statuses[at]}" = 0 ] || echo " failed")"
  done
  printf '%-16s %7d\n' all "$SECONDS"
  [ -z "${INRUSH_SECONDS:-}" ] || {
    echo part,seconds,status
    for at in "${!parts[@]}"; do echo "${parts[at]},${seconds[at]},${statuses[at]}"; done
  } >"$INRUSH_SECONDS"
}
trap tell EXIT
for part in "$@"; do
  began=$SECONDS
  # The exit status of make says no more than that it failed.
  make --no-print-directory "$part" || status=$?
  parts+=("$part") seconds+=($((SECONDS - began))) statuses+=("$status")
  [ "$status" = 0 ] || exit "$status"
done
