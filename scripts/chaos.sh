#!/usr/bin/env bash
# The long versions of the tests with crashes. Usage: scripts/chaos.sh [PART…], default all parts:
#   loader  kills the binary INRUSH_KILLS times (100) at random moments of loads of
#           INRUSH_KILL_DOCS (200,000) real documents into a real OpenSearch, each time followed by
#           --resume; INRUSH_KILL_DURABILITY=async for loads that settle by flushes
#   node    kills the only OpenSearch node INRUSH_NODE_KILLS times (20) during such a load, with
#           durability request and then async
#   bake    bakes onto three servers, with each kind of kill: of the binary after each step, of the
#           builder, of the target; with a builder and without one; and by and for other users, with
#           failures of all kinds
#   cluster loads all kinds of operations into three nodes of OpenSearch and of Elasticsearch while
#           nodes are killed, frozen for 20 to 120 s and restarted in turn, directly and through
#           nginx and haproxy: INRUSH_LOADS loads (300) with the seeds from INRUSH_SEED (2) on;
#           INRUSH_LOADS_CSV=FILE appends a row for each
#   kafka   three instances follow a topic for INRUSH_KAFKA_ROUNDS rounds (50) and
#           INRUSH_KAFKA_RECORDS records (5,000,000), and in each round one of them, the broker or
#           the node is killed
#   more    tests of `make servers`, on further versions of the servers
#   link    a load over a link of 20 Mbit/s gets compression; needs a quiet machine
#   fake    kills the binary as often against the fake cluster with its faults, and cuts the core
#           off 20,000 times in simulation
# A part can be run in slices: smaller numbers, several times.
set -euo pipefail
cd "$(dirname "$0")/.."
# The selection of `make servers`, so that nothing is compiled twice.
full=(--locked --workspace --features sql,cloud,databases,kafka)
data=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/data
scripts/flights.sh "$data"
export INRUSH_KILLS=${INRUSH_KILLS:-100} INRUSH_NODE_KILLS=${INRUSH_NODE_KILLS:-20}
export INRUSH_KILL_CSV=$data/flights.csv INRUSH_KILL_DOCS=${INRUSH_KILL_DOCS:-200000}
server_tests() {
  cargo test "${full[@]}" --config "target.'cfg(unix)'.runner=['$PWD/scripts/as-ordinary-user.sh']" \
    --test servers -- --nocapture --test-threads 1 "$@"
}
[ $# -gt 0 ] || set -- loader node bake cluster kafka more link fake
for part in "$@"; do
  case $part in
    loader) server_tests kill::killed_at_random_moments_of_a_load_into_opensearch ;;
    node) server_tests kill::the_only_node_is_killed ;;
    bake) server_tests bake_kill:: bake_native:: bake_users:: ;;
    cluster)
      # A row begins with its seed. Those of a run that fails are written, too.
      server_tests cluster::many_loads | tee >(grep -E '^(seed|[0-9]+),' >>"${INRUSH_LOADS_CSV:-/dev/null}")
      ;;
    kafka)
      INRUSH_KAFKA_ROUNDS=${INRUSH_KAFKA_ROUNDS:-50} INRUSH_KAFKA_RECORDS=${INRUSH_KAFKA_RECORDS:-5000000} server_tests kafka_kill::
      ;;
    more)
      server_tests bake::opensearch load::opensearch_3_6 load::elasticsearch_8_19 graphs::elasticsearch_8_19 \
        vectors::counting_8_19 segments::opensearch_2_19 segments::elasticsearch_7_17 learned::elasticsearch_7_17 \
        swap::opensearch_2_19 cluster::five_loads_opensearch
      ;;
    link) server_tests a_slow_link ;;
    fake)
      cargo test "${full[@]}" --test it -- --nocapture --exact kill::killed_at_random_moments
      PROPTEST_CASES=20000 cargo test --locked -p inrush-core --lib -- --nocapture flow::tests::resume flow::tests::durable
      ;;
    *) echo "no such part: $part (loader, node, bake, cluster, kafka, more, link, fake)" >&2; exit 2 ;;
  esac
done
