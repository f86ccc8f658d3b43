#!/usr/bin/env bash
# Builds the Python package in the dev profile (INRUSH_PYTHON_PROFILE=release is another one) with
# an environment of its own in the cache, and runs its tests.
# Usage: scripts/python.sh [PART [PYTEST ARGUMENTS…]]
#   package  the package itself, against the fake cluster and a real OpenSearch (default)
#   spark    on PySpark's local cluster
#   hadoop   an HBase table through PySpark
#   ray      on Ray
#   build    makes the environment and the package, and runs no tests
#   wheel    makes a wheel of the release build, installs it into an empty environment and tries it
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-package}
[ $# -eq 0 ] || shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
export PIP_DISABLE_PIP_VERSION_CHECK=1

case $part in
  package | build | wheel) venv=$cache/venv requirements=python/requirements.txt ;;
  spark | hadoop) venv=$cache/venv-spark requirements=python/requirements-spark.txt ;;
  ray) venv=$cache/venv-ray requirements=python/requirements-ray.txt ;;
  *) echo "no such part: $part (package, spark, hadoop, ray, build, wheel)" >&2; exit 2 ;;
esac

# The first Python that is new enough; the python3 of the system may be older.
python=
for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || { echo "no Python 3.10 or newer is here; run scripts/install-tools.sh" >&2; exit 1; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# A copy of the list says which versions are installed.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  "$venv/bin/pip" install --quiet --requirement "$requirements"
  cp "$requirements" "$venv/requirements.txt"
fi
if [ "$part" = wheel ]; then
  "$venv/bin/maturin" build --release --quiet --locked --manifest-path python/Cargo.toml --features sql,cloud,databases,kafka,vendored --out "$cache/wheels"
  wheel=$(ls -t "$cache"/wheels/inrush-*.whl | head -n 1)
  clean=$(mktemp -d)
  trap 'rm -rf "$clean"' EXIT
  "$python" -m venv "$clean/venv"
  "$clean/venv/bin/pip" install --quiet --no-index "$wheel"
  "$clean/venv/bin/inrush" --version
  # Refused by librdkafka, which is in the wheel.
  ! "$clean/venv/bin/inrush" lag kafka://broker/topic --group g --kafka-option no.such=1 2>"$clean/said"
  grep -q 'the property `no.such` of librdkafka' "$clean/said" || { cat "$clean/said" >&2; exit 1; }
  cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --test it --no-run
  coproc FAKE { exec "$CARGO_TARGET_DIR/debug/inrush-testbed" fake; }
  read -r url <&"${FAKE[0]}"
  (cd "$clean" && venv/bin/python -c 'if True:
    import inrush, sys
    report = inrush.load([{"message": "hello"}], index="logs", to=sys.argv[1])
    print(report)
    assert report.ok and callable(inrush.consume)' "$url")
  echo "built $wheel"
  exit 0
fi
# The selection of `make unit`, so that nothing is compiled twice. The environment finds the package
# where it is, and has its command.
profile=${INRUSH_PYTHON_PROFILE:-dev}
cargo build --locked --quiet --workspace --features sql,cloud,databases,kafka --lib --test it --profile "$profile"
built=$CARGO_TARGET_DIR/${profile/dev/debug}
cp "$built/lib_inrush.so" python/inrush/_inrush.new
mv python/inrush/_inrush.new python/inrush/_inrush.abi3.so
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$PWD/python" >"$site/inrush.pth"
printf '#!%s\nimport sys\nfrom inrush.__main__ import main\nsys.exit(main())\n' "$venv/bin/python" >"$venv/bin/inrush"
chmod +x "$venv/bin/inrush"
[ "$part" != build ] || exit 0
export PATH=$venv/bin:$PATH INRUSH_TESTBED=$built/inrush-testbed
cd python
case $part in
  package)
    mypy
    pytest "$@" --ignore tests/spark --ignore tests/hadoop --ignore tests/ray
    ;;
  *) pytest "tests/$part" "$@" ;;
esac
