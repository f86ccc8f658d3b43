#!/usr/bin/env bash
# Runs a test executable as an ordinary user where this is root, so that nodes and `inrush` are two
# users and neither is root. Cargo's runner in `make servers`.
# Usage: scripts/as-ordinary-user.sh EXECUTABLE [ARGUMENT…]
# The user keeps four capabilities: to start nodes as another user and programs as root, and to end
# them. None of the four opens a file. A user other than root runs the executable as it is.
set -euo pipefail
[ "$(id -u)" = 0 ] || exec "$@"
umask 022
user=inrush-test
home=/var/lib/$user
repository=$(realpath "$(dirname "$0")/..")
# The folder of the executable and of those that it starts.
built=$(dirname "$(dirname "$(realpath "$1")")")
caches=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")
cache=$caches/inrush

id "$user" >/dev/null 2>&1 ||
  useradd --system --home-dir "$home" --create-home --shell /usr/sbin/nologin "$user"
# Tests fetch servers and tools into these. Root can go on doing so.
mkdir -p "$cache/dist" "$cache/tools" /var/lib/inrush/dist /var/lib/inrush/nodes
chown "$user:" "$home" "$cache" /var/lib/inrush /var/lib/inrush/dist /var/lib/inrush/nodes
find "$cache" -maxdepth 1 \( -name dist -o -name tools -o -name 'kafka-*' \) -exec chown -R "$user:" {} + ||
  echo "$0: another program has deleted files of $cache meanwhile" >&2

# The topmost folders that others cannot pass, such as root's home.
needed=("$repository" "$cache" "$built")
closed=()
for path in "${needed[@]}"; do
  at=
  while IFS= read -r -d / name; do
    at=$at/$name
    if [ $((0$(stat -c %a "$at") & 1)) = 0 ]; then
      [[ " ${closed[*]} " == *" $at "* ]] || closed+=("$at")
      break
    fi
  done <<<"${path#/}/"
done
if [ ${#closed[@]} -gt 0 ]; then
  # For the tests alone such a folder is an open one with nothing but what they need.
  [ -n "${INRUSH_TEST_MOUNTS:-}" ] ||
    INRUSH_TEST_MOUNTS=own exec unshare --mount --propagation private "$0" "$@"
  mount -t tmpfs tmpfs "$home"
  for path in "${needed[@]}"; do
    mkdir -p "$home$path"
    mount --rbind "$path" "$home$path"
  done
  for folder in "${closed[@]}"; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
  for path in "${needed[@]}"; do
    mkdir -p "$path"
    mount --rbind "$home$path" "$path"
  done
  umount --recursive "$home"
  cd "$PWD"
fi

unset INRUSH_TEST_MOUNTS TMPDIR GOPATH XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
export HOME=$home USER=$user LOGNAME=$user XDG_CACHE_HOME=$caches GOCACHE=$home/.cache/go-build
# Servers are unpacked where root unpacks them, too.
export INRUSH_NODE_ROOT=/var/lib/inrush
as_user=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
"${as_user[@]}" test -x "$1" -a -r "$repository/Cargo.toml" || {
  echo "$0: the user $user cannot read $repository or run $1; clone and build with the file mode mask 022" >&2
  exit 1
}
capabilities=+chown,+kill,+setgid,+setuid
exec "${as_user[@]}" "--inh-caps=$capabilities" "--ambient-caps=$capabilities" -- "$@"
