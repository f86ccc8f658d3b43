#!/usr/bin/env bash
# Makes targets of the Makefile one after the other. A target that fails does not stop the others;
# the exit status is that of the first failure. Prints the seconds of each target at the end, and
# again the lines in which failed targets say why;
# INRUSH_SECONDS=FILE writes them to a file, too, as CSV with the columns part, seconds and status.
# Usage: scripts/parts.sh TARGET…
set -uo pipefail
cd "$(dirname "$0")/.."
parts=() seconds=() statuses=() status=0
log=$(mktemp) why=$(mktemp)
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
  cat "$why"
  rm -f "$log" "$why"
}
trap tell EXIT
for part in "$@"; do
  began=$SECONDS result=0
  make --no-print-directory "$part" 2>&1 | tee "$log" || result=$?
  [ "$result" = 0 ] || {
    printf '\n%s failed:\n' "$part"
    grep -a -A 8 -E 'panicked at|^error|^E  |\*\*\*' "$log" | grep -a -v -E '^ +(at|[0-9]+:) ' | cut -c 1-400 | head -n 60
  } >>"$why"
  parts+=("$part") seconds+=($((SECONDS - began))) statuses+=("$result")
  [ "$status" != 0 ] || status=$result
done
exit "$status"
