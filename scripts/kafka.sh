#!/usr/bin/env bash
# Runs one Apache Kafka broker on loopback, for tests and tries. Prints its address, host:port, once
# it answers. Ends the broker when stdin is closed, or with SIGKILL at a line `kill`. Its jars come
# from Maven Central and are kept in the cache.
# Usage: scripts/kafka.sh FOLDER [PORT [logins]]
#   FOLDER  holds the broker's data; one that is not there or empty is formatted
#   PORT    default: a free one, also if it is empty
#   logins  more listeners. After the first line come theirs:
#             sasl HOST:PORT      SASL by PLAIN or SCRAM-SHA-512, as the user alice with the
#                                 password alice-secret
#             tls HOST:PORT       TLS; FOLDER/ca.pem has the certificate
#             sasl_tls HOST:PORT  both
#             oauth HOST:PORT     SASL by OAUTHBEARER with unsigned tokens
#             iam HOST:PORT       SASL by OAUTHBEARER with tokens for Amazon MSK
#                                 (ConnectTokens.java), and TLS
set -euo pipefail
version=4.4.0
[ $# -ge 1 ] || { sed -n '2,15p' "$0" >&2; exit 2; }
folder=$(realpath -m "$1")
port=${2:-}
logins=${3:-}
handler=$(realpath "$(dirname "$0")/ConnectTokens.java")
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
if [ -n "$logins" ] && [ ! "$cache/handler/ConnectTokens.class" -nt "$handler" ]; then
  javac --release 17 -cp "$cache/lib/*" -d "$cache/handler" "$handler" >&2
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
format=()
if [ -n "$logins" ]; then
  sasl=$(free_port) tls=$(free_port) sasl_tls=$(free_port) oauth=$(free_port) iam=$(free_port)
  # A certificate that signs itself, which is its own authority.
  store=$folder/broker.p12
  if [ ! -e "$store" ]; then
    keytool -genkeypair -alias broker -keyalg EC -dname CN=broker -ext san=ip:127.0.0.1 -validity 3650 \
      -storetype PKCS12 -keystore "$store" -storepass broker-secret >&2
    keytool -exportcert -rfc -alias broker -keystore "$store" -storepass broker-secret -file "$folder/ca.pem" >&2
  fi
  sed -i -e "s|^listeners=.*|&,SASL://127.0.0.1:$sasl,TLS://127.0.0.1:$tls,SASL_TLS://127.0.0.1:$sasl_tls,OAUTH://127.0.0.1:$oauth,IAM://127.0.0.1:$iam|" \
    -e "s|^advertised.listeners=.*|&,SASL://127.0.0.1:$sasl,TLS://127.0.0.1:$tls,SASL_TLS://127.0.0.1:$sasl_tls,OAUTH://127.0.0.1:$oauth,IAM://127.0.0.1:$iam|" \
    -e 's|^listener.security.protocol.map=.*|&,SASL:SASL_PLAINTEXT,TLS:SSL,SASL_TLS:SASL_SSL,OAUTH:SASL_PLAINTEXT,IAM:SASL_SSL|' \
    "$folder/server.properties"
  modules=org.apache.kafka.common.security
  cat >>"$folder/server.properties" <<PROPERTIES
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.oauth.oauthbearer.sasl.jaas.config=$modules.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
listener.name.iam.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.iam.oauthbearer.sasl.jaas.config=$modules.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
listener.name.iam.oauthbearer.sasl.server.callback.handler.class=ConnectTokens
ssl.keystore.type=PKCS12
ssl.keystore.location=$store
ssl.keystore.password=broker-secret
PROPERTIES
  for listener in sasl sasl_tls; do
    cat >>"$folder/server.properties" <<PROPERTIES
listener.name.$listener.plain.sasl.jaas.config=$modules.plain.PlainLoginModule required user_alice="alice-secret";
listener.name.$listener.scram-sha-512.sasl.jaas.config=$modules.scram.ScramLoginModule required;
PROPERTIES
  done
  format=(--add-scram 'SCRAM-SHA-512=[name=alice,password=alice-secret]')
fi
java=(java -Xmx400m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/lib/*:$cache/handler")
if [ ! -e "$folder/data/meta.properties" ]; then
  "${java[@]}" kafka.tools.StorageTool format -t inrushinrushinrushinru \
    -c "$folder/server.properties" "${format[@]}" >"$folder/format.log" 2>&1
fi
"${java[@]}" kafka.Kafka "$folder/server.properties" >"$folder/broker.log" 2>&1 9>&- &
broker=$!
trap 'kill "$broker" 2>/dev/null; wait "$broker"' EXIT
for _ in $(seq 600); do
  kill -0 "$broker" 2>/dev/null || { tail -n 20 "$folder/broker.log" >&2; exit 1; }
  if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "127.0.0.1:$port"
    [ -z "$logins" ] || printf '%s 127.0.0.1:%s\n' sasl "$sasl" tls "$tls" sasl_tls "$sasl_tls" oauth "$oauth" iam "$iam"
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
