# To be sourced. Puts the newest Java of this machine first in PATH, and its major version into
# `newest_java` (0: no Java).
newest_java=0
for release in "${JAVA_HOME:-/nonexistent}"/release /usr/lib/jvm/*/release; do
  [ -r "$release" ] || continue
  major=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release")
  if [ "${major:-0}" -gt "$newest_java" ]; then
    newest_java=$major
    PATH=$(dirname "$release")/bin:$PATH
  fi
done
