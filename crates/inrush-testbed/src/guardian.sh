# Ends the nodes and programs of tests once stdin is closed, which the process of the tests holds.
# $1: how the paths of the tests' folders begin. Lines of stdin name folders, which are deleted.

# Tests may be ended by a signal to all their processes, also to this one.
trap '' HUP INT TERM

group_of() {
  stat=$(cat "/proc/$1/stat") || return
  # The name before it is in parentheses and may contain any character.
  set -- ${stat##*) }
  echo "$3"
}

# Processes that a variable of their environment or the configuration of their node ties to the
# folders of the tests. The nodes of a bake are in the folder of all nodes of the machine, but their
# configuration has the folder of their snapshots. Each is named by its group, unless that is the
# group of the tests, to which cargo belongs and the terminal's shell may.
ours() {
  for environ in $(grep -ls -e 'XDG_STATE_HOME=' -e '_PATH_CONF=' /proc/[0-9]*/environ); do
    tr '\0' '\n' <"$environ" | sed -n -e 's/^XDG_STATE_HOME=//p' -e 's/^[A-Z]*_PATH_CONF=//p' |
      while read -r path; do
        case $path in
          "$mark"*) ;;
          *) grep -qsF -- "$mark" "$path"/*.yml || continue ;;
        esac
        process=${environ#/proc/}
        process=${process%/environ}
        group=$(group_of "$process") || continue
        if [ "$group" = "$tests" ]; then echo "$process"; else echo "-$group"; fi
      done
  done | sort -u
}

exec 2>/dev/null
mark=$1
shift
tests=$(group_of "$PPID")
while read -r folder; do set -- "$@" "$folder"; done
left=120
while [ "$left" -gt 0 ]; do
  ended=$(ours)
  [ -n "$ended" ] || break
  kill -s TERM -- $ended
  # A node that a test has frozen ends when it runs again.
  kill -s CONT -- $ended
  left=$((left - 1))
  sleep 0.5
done
ended=$(ours)
[ -z "$ended" ] || kill -s KILL -- $ended
[ $# = 0 ] || rm -rf -- "$@"
