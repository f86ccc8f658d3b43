# CI runs the same targets. Builds and downloads are kept outside of the clone.
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/inrush
export CARGO_TARGET_DIR ?= $(CACHE)/target
SHELL := bash

# Features that a plain build lacks.
MORE := sql,cloud,databases,kafka
# Tests with servers that take long: `make chaos` runs them.
LONG := bake_native::opensearch_2_19 bake_native::opensearch_3_6 bake_native::elasticsearch_8_19 bake_kill:: \
  bake_users::all:: bake_users::opensearch_3_6::with_an_open_server bake::opensearch_2_19 bake::opensearch_3_8 \
  load::opensearch_3_6 load::elasticsearch_8_19 graphs::elasticsearch_8_19 vectors::counting_8_19 \
  segments::opensearch_2_19 segments::elasticsearch_7_17 learned::elasticsearch_7_17 swap::opensearch_2_19 \
  with_durability_request cluster::five_loads_opensearch_3_6 cluster::many a_slow_link
# All tests use one selection of crates and features, so dependencies are compiled once.
# scripts/features.sh and the Python package are other builds.
FULL := --locked --workspace --features $(MORE)

.PHONY: build release dist dist-test publish-check completions demo test check odd-files unit fmt lint docs deny features purity servers jackson lucene completions site pages moving metrics browser python python-spark python-hadoop python-ray wheel instructions chaos tools reference fuzz bench bench-peers bench-tools

build: ## the plain release build
	cargo build --locked --release -p inrush-cli
	@echo "built $(CARGO_TARGET_DIR)/release/inrush"

release: ## the full release build, with SQL, object stores and databases
	cargo build --locked --release -p inrush-cli --features $(MORE)
	@echo "built $(CARGO_TARGET_DIR)/release/inrush"

dist: ## programs, wheel, Debian package, image, papers, below the cache; DIST=PARTS: some of them
	scripts/dist.sh $(DIST)

dist-test: ## each artefact of `make dist` in clean roots of Debian 11 and 13; needs root
	scripts/dist-test.sh

publish-check: ## all crates as `cargo publish` packs them, each format by itself, a plain build; uploads nothing
	scripts/publish-check.sh
	scripts/features.sh each

# Servers of tests live for a minute or two: with the first of Java's two compilers alone they take
# half of the processor time (bench/runs/2026-11-22-build-time/README.md). Without the verification
# of classes a start takes 13 % less (bench/runs/2026-12-01-test-time/README.md).
SERVED := servers jackson completions lucene pages moving metrics browser odd-files python python-spark python-hadoop python-ray chaos
$(SERVED): export JDK_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote

demo: ## real flights into a local OpenSearch node, a report and a query
	scripts/install-tools.sh demo
	$(MAKE) build
	scripts/demo.sh

CHECK := fmt lint docs deny purity unit
test: ## everything, and the seconds of each part at the end; INRUSH_SECONDS=FILE also writes CSV
	scripts/parts.sh tools $(CHECK) instructions features servers jackson lucene completions site pages metrics browser odd-files python python-spark python-hadoop python-ray

check: ## all checks that need no server, and the seconds of each part
	scripts/parts.sh $(CHECK)

fmt:
	cargo fmt --all --check

lint:
	cargo clippy $(FULL) --all-targets -- -D warnings
	cargo clippy $(FULL) --test servers -- -D warnings

docs: ## documentation without warnings, and the public surface compared with api/
	scripts/docs.sh

deny: ## licences, sources and versions of all crates
	scripts/deny.sh

features: ## a build without features
	scripts/features.sh

purity:
	scripts/purity.sh

unit: ## units, properties, the engine and the command line against the fake cluster
# Many tests wait for a time that is up.
	RUST_TEST_THREADS=8 cargo test $(FULL) --no-fail-fast --quiet

odd-files: ## odd files of every format: documents compared with those of reference readers
	scripts/odd-files.sh

servers: tools ## against real OpenSearch, Elasticsearch, Kafka, databases and S3, which the tests start themselves
# How many run at once the tests decide themselves; the other threads wait for their turn.
# For root they run as an ordinary user, and nodes as another one.
	cargo test $(FULL) --config "target.'cfg(unix)'.runner=['$(CURDIR)/scripts/as-ordinary-user.sh']" \
	  --no-fail-fast --test servers -- --nocapture --test-threads 8 $(addprefix --skip ,$(LONG))

jackson: tools ## our SMILE against Jackson's
	scripts/jackson.sh

completions: tools ## commands, values and names of a cluster in zsh and fish
	scripts/completions.sh

lucene: tools ## indices of our writer against Lucene's own check
	scripts/lucene.sh

site: ## the documentation as a site below the cache; checks links, headings and spelling
	scripts/site.sh

pages: tools ## the commands of README.md and docs/, against servers of their own
	scripts/pages.sh

moving: tools ## documents of other loaders, compared with those of the translated commands
	scripts/moving.sh

metrics: ## metrics of a load, by the reference parser, and by Prometheus where it is installed
	scripts/metrics.sh

browser: tools ## the page of a load in a real browser, and its report as a page
	scripts/browser.sh

python: tools ## the Python package, against the fake cluster and a real OpenSearch
	scripts/python.sh package

python-spark: tools ## on PySpark with two executors, one of which is killed
	scripts/python.sh spark

python-hadoop: tools ## an HBase table through PySpark, into a real OpenSearch
	scripts/python.sh hadoop

python-ray: tools ## on Ray with two workers, one of which is killed
	scripts/python.sh ray

wheel: ## the Python package as a wheel, with the command line in it
	scripts/python.sh wheel

instructions: tools ## instructions of the hot paths in the tests' build, compared with bench/instructions.csv
	scripts/instructions.sh

chaos: tools ## long crash tests: 100 kills of a load, 40 of its node, bakes killed at each step, 300 loads into clusters
	scripts/chaos.sh

reference: ## docs/options.md, the types of the Python package, and the list of pages
	INRUSH_WRITE_PAGES=1 cargo test $(FULL) --lib pages_are_those_of

fuzz: tools ## each fuzz target for a minute
	scripts/fuzz.sh

bench: ## against the null server; writes bench/runs/
	bench/null.sh

SERIES := null-lines null-lines-slow null-java null-csv null-5gb null-ways null-flights opensearch-lines opensearch-lines-slow opensearch-limit opensearch-pinned \
  opensearch-flights opensearch-dvf elasticsearch-lines elasticsearch-lines-slow elasticsearch-flights elasticsearch-dvf two-nodes opensearch-faults opensearch-faults-slow
OUT := bench/runs/$(shell date +%F)-peers/peers.csv
bench-peers: bench-tools ## other loaders and inrush, all SERIES or some of them, into OUT; takes hours
	bench/peers/series.sh $(OUT) $(SERIES)

bench-tools: tools release ## the builds that bench/tuner.py and bench/peers/run.py need
	cargo build --locked --release -p inrush-testbed --bins --examples

tools:
	scripts/install-tools.sh
