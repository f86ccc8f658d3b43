#!/usr/bin/env bash
# Installs missing packages for the tests, or with `demo` only those for the demo. Prints nothing if
# none is missing. Usage: scripts/install-tools.sh [demo]
#   demo   a C compiler, curl, pip for its data, Java and Maven for the local node
#   tests  also an older Java for other servers, valgrind, Go for the S3 server, Postgres, MariaDB,
#          SQLite, libraries of MySQL, nginx, haproxy, OpenSSL's headers, zsh and fish, a browser
#          and Node. The tests fetch the other servers when they start them
set -euo pipefail
case ${1:-tests} in
  demo) tests=false ;;
  tests) tests=true ;;
  *) sed -n '2,7p' "$0" >&2; exit 2 ;;
esac

# Succeeds if a Java home of this machine has a major version between the two arguments.
has_java() { # least, most
  local release major
  for release in "${JAVA_HOME:-/nonexistent}"/release /usr/lib/jvm/*/release; do
    [ -r "$release" ] || continue
    major=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release")
    [ -n "$major" ] && [ "$major" -ge "$1" ] && [ "$major" -le "$2" ] && return 0
  done
  return 1
}

# Succeeds if Node is new enough for the browser tests.
has_node() {
  command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' 2>/dev/null
}

need=()
proxies=()
libraries=()
browser=false
command -v cc >/dev/null || need+=(build-essential)
command -v curl >/dev/null || need+=(curl ca-certificates)
command -v pip >/dev/null || need+=(python3-pip)
# Without these the local node is downloaded as an archive with its bundled Java.
node=()
command -v mvn >/dev/null || node+=(maven)
java=()
# OpenSearch 3 needs Java 21 or newer, OpenSearch 2.19 needs 11 to 23, Elasticsearch 7.17 and 8.19
# run on 17.
has_java 21 99 || java+=(new)
if $tests; then
  # Environments of the Python package's tests.
  python3 -c 'import ensurepip' 2>/dev/null || need+=(python3-venv)
  command -v unzip >/dev/null || need+=(unzip)
  # librdkafka is linked with the system's OpenSSL.
  command -v pkg-config >/dev/null || need+=(pkg-config)
  pkg-config --exists openssl 2>/dev/null || need+=(libssl-dev)
  command -v valgrind >/dev/null || need+=(valgrind)
  # Shells that complete command lines; bash is there.
  command -v zsh >/dev/null || need+=(zsh)
  command -v fish >/dev/null || need+=(fish)
  command -v go >/dev/null || [ -x /usr/local/go/bin/go ] || need+=(golang-go)
  command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || browser=true
  has_node || need+=(nodejs npm)
  command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || need+=(mariadb-server-core)
  # The data folder of a server is made with a tool of the client package.
  command -v my_print_defaults >/dev/null || need+=(mariadb-client-core)
  command -v sqlite3 >/dev/null || need+=(sqlite3)
  # The tests fetch MySQL without them.
  for library in libaio libnuma; do
    ls /usr/lib/*/"$library".so.1* >/dev/null 2>&1 || libraries+=("$library")
  done
  # The proxies in front of clusters.
  for proxy in nginx haproxy; do
    command -v "$proxy" >/dev/null || [ -x "/usr/sbin/$proxy" ] || { need+=("$proxy"); proxies+=("$proxy"); }
  done
  if ! command -v postgres >/dev/null && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    need+=(postgresql)
  fi
  has_java 17 21 || java+=(old)
fi
[ $((${#need[@]} + ${#libraries[@]} + ${#node[@]} + ${#java[@]})) -gt 0 ] || $browser || exit 0

if ! command -v apt-get >/dev/null; then
  if ! $tests && [ ${#need[@]} = 0 ]; then
    echo "no Maven or no Java 21 is here: OpenSearch is downloaded with its own" >&2
    exit 0
  fi
  echo "this machine has no apt; please install what is missing: ${need[*]} ${libraries[*]} ${node[*]} ${java[*]/%/ Java}" >&2
  exit 1
fi
need+=("${node[@]}")
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
# On a fresh machine the package lists are empty.
$sudo apt-get update -q >&2
first_there() { # packages in the order of preference
  local package
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      need+=("$package")
      return
    fi
  done
}
! $browser || first_there chromium-headless-shell chromium
for library in "${libraries[@]}"; do first_there "${library}1t64" "${library}1"; done
for age in "${java[@]}"; do
  case $age in
    new) first_there openjdk-25-jdk-headless openjdk-21-jdk-headless temurin-25-jdk temurin-21-jdk ;;
    old) first_there openjdk-17-jdk-headless openjdk-21-jdk-headless temurin-17-jdk ;;
  esac
done
if [[ " ${need[*]} " == *" postgresql "* ]]; then
  # The tests start their own servers. The package must not start another one.
  $sudo mkdir -p /etc/postgresql-common/createcluster.d
  echo "create_main_cluster = false" | $sudo tee /etc/postgresql-common/createcluster.d/inrush.conf >/dev/null
fi
# The tests start proxies of their own. The packages must not start others, now or at the next boot.
policy=/usr/sbin/policy-rc.d
if [ ${#proxies[@]} -gt 0 ] && [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
  $sudo chmod 755 "$policy"
  trap '$sudo rm -f "$policy"' EXIT
fi
if [ ${#need[@]} -gt 0 ]; then
  echo "installing ${need[*]}" >&2
  $sudo apt-get install -y -q --no-install-recommends "${need[@]}" >&2
fi
if [ ${#proxies[@]} -gt 0 ] && command -v systemctl >/dev/null; then
  $sudo systemctl disable -q "${proxies[@]}" >&2
fi
! $tests || has_java 17 21 || {
  echo "no Java 17 to 21 is here and apt has none: OpenSearch 2.19 and Elasticsearch cannot be tested; set JAVA_HOME to one" >&2
  exit 1
}
! $tests || has_node || {
  echo "the browser tests need Node 20 or newer, and apt has an older one; install it from nodejs.org" >&2
  exit 1
}
# Not fatal: OpenSearch's archive has a bundled Java.
has_java 21 99 || echo "no Java 21 or newer is here and apt has none: OpenSearch 3 is downloaded with its own" >&2
