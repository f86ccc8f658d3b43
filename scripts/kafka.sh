#!/usr/bin/env bash
# Runs one Apache Kafka broker on loopback, for tests and tries. Prints its address, host:port, once
# it answers, and ends the broker when stdin is closed, or with SIGKILL at a line `kill`. Its jars come from Maven Central and are kept
# in the cache.
# Usage: scripts/kafka.sh FOLDER [PORT]
#   FOLDER  holds the broker's data; one that is not there or empty is formatted
#   PORT    default: a free one
set -euo pipefail
version=4.4.0
[ $# -ge 1 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
folder=$(realpath -m "$1")
port=${2:-}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/kafka-$version

# Several tests may want the jars at once.
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/complete" ]; then
  cat >"$cache/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>inrush</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$cache/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/lib" -DincludeScope=runtime >&2
  touch "$cache/complete"
fi
flock -u 9

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
: "${port:=$(free_port)}"
controller=$(free_port)
mkdir -p "$folder"
cat >"$folder/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$folder/data
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
PROPERTIES
java=(java -Xmx400m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/lib/*")
if [ ! -e "$folder/data/meta.properties" ]; then
  "${java[@]}" kafka.tools.StorageTool format -t inrushinrushinrushinru -c "$folder/server.properties" >"$folder/format.log" 2>&1
fi
"${java[@]}" kafka.Kafka "$folder/server.properties" >"$folder/broker.log" 2>&1 9>&- &
broker=$!
trap 'kill "$broker" 2>/dev/null; wait "$broker"' EXIT
for _ in $(seq 600); do
  kill -0 "$broker" 2>/dev/null || { tail -n 20 "$folder/broker.log" >&2; exit 1; }
  if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "127.0.0.1:$port"
    while read -r order; do
      [ "$order" != kill ] || { kill -KILL "$broker"; break; }
    done
    exit 0
  fi
  sleep 0.1
done
echo "the broker has not answered within a minute:" >&2
tail -n 20 "$folder/broker.log" >&2
exit 1
