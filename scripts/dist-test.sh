#!/usr/bin/env bash
# Checks the artefacts of scripts/dist.sh, and uses each of them in a clean root of Debian without
# a compiler: installed, and first documents in a real OpenSearch, both within a minute. The seconds
# are written to bench/runs/. Needs root, and Java and Maven for OpenSearch; it installs bc,
# debootstrap, podman and lintian with apt where they are missing.
# Usage: scripts/dist-test.sh [SUITE…]
#   SUITE  default: bullseye (Debian 11) and trixie
# INRUSH_DIST  the folder of the artefacts; default: artefacts below the cache
# INRUSH_RUN   the CSV file of the seconds; default: bench/runs/DATE-dist/dist.csv
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
dist=$(realpath "${INRUSH_DIST:-$cache/artefacts}")
run=$(realpath -m "${INRUSH_RUN:-bench/runs/$(date +%F)-dist/dist.csv}")
[ $# -gt 0 ] || set -- bullseye trixie
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
within_s=60

need=()
for program in bc debootstrap podman lintian; do command -v "$program" >/dev/null || need+=("$program"); done
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || need+=(debian-archive-keyring)
[ ${#need[@]} = 0 ] || apt-get install -y -q --no-install-recommends "${need[@]}" >&2

work=$(mktemp -d)
clean() {
  local mounted
  [ -z "${url:-}" ] || "$work/full/inrush" node stop --name dist-test --clean >/dev/null || true
  for mounted in $(awk -v under="$work/" 'index($2, under) == 1 {print $2}' /proc/mounts | sort -r); do umount "$mounted"; done
  rm -rf --one-file-system "$work"
}
trap clean EXIT
fail() { echo "dist-test: $*" >&2; exit 1; }
one() { # pattern: the only file of that name
  local found
  mapfile -t found < <(compgen -G "$dist/$1")
  [ ${#found[@]} = 1 ] || fail "expected one $1 in $dist, found ${#found[@]}: run scripts/dist.sh"
  echo "${found[0]}"
}
full=$(one "inrush-$version-x86_64-*.tar.gz")
plain=$(one "inrush-plain-$version-*.tar.gz")
sdist=$(one "inrush-$version.tar.gz")
wheel=$(one "inrush-$version-*.whl")
deb=$(one "inrush_$version-*.deb")
image=$(one "inrush-$version-oci.tar")
sbom=$(one "inrush-$version.cdx.json")
provenance=$(one "inrush-$version.intoto.json")

# 1. What can be seen without installing.
venv=$(scripts/venv.sh dist scripts/dist/requirements.txt)
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
"$venv/bin/python" - "$sbom" "$provenance" "$dist/SHA256SUMS" <<'PY'
import json, pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
bom, provenance, sums = map(pathlib.Path, sys.argv[1:])
problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom.read_text())
assert problem is None, problem
named = {entry["name"]: entry["digest"]["sha256"] for entry in json.loads(provenance.read_text())["subject"]}
assert named == {name: digest for digest, name in (line.split() for line in sums.read_text().splitlines())}, named
PY
"$venv/bin/twine" check --strict "$wheel" "$sdist" >/dev/null
"$venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q 'manylinux_2_17_x86_64' || fail "the wheel needs more than manylinux_2_17"
lintian --fail-on error,warning "$deb" || fail "lintian has findings"
mkdir "$work"/{plain,full,image}
tar -x -C "$work/plain" --strip-components 1 -f "$plain"
tar -x -C "$work/full" --strip-components 1 -f "$full"
for program in "$work"/{plain,full}/inrush; do
  newest=$(readelf --dyn-syms --wide "$program" | grep -o 'GLIBC_2[0-9.]*' | sort -uV | tail -n 1)
  [ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "$program needs $newest"
done
at_most() { # megabytes, file
  [ "$(stat -c %s "$2")" -le $(($1 * 1000000)) ] || fail "$2 has $(stat -c %s "$2") bytes, at most $1 MB are allowed"
}
at_most 25 "$work/plain/inrush"
at_most 90 "$work/full/inrush"
at_most 35 "$wheel"
"$venv/bin/uvx" --offline --from "$wheel" inrush --version | grep -qx "inrush $version" || fail "uvx does not run the wheel"

# 2. A cluster, and documents.
url=$("$work/full/inrush" node start --name dist-test) || fail "OpenSearch did not start"
printf 'trip_no,from,to,miles\n0001,JFK,LAX,2475\n0002,EWR,SFO,2565\n' >"$work/trips.csv"
mkdir -p "$(dirname "$run")"
echo "date,suite,artefact,bytes,install_s,load_s" >"$run"

# A root of its own for each artefact, so that none sees what another has installed.
root_of() { # suite, name
  local base=$cache/roots/$1 root=$work/$1-$2
  mkdir -p "$root"/{up,work,root}
  mount -t overlay overlay -o "lowerdir=$base,upperdir=$root/up,workdir=$root/work" "$root/root"
  mount -t proc proc "$root/root/proc"
  mkdir "$root/root/at"
  cp "$work/trips.csv" "$root/root/at/"
  echo "$root/root"
}
now() { date +%s.%N; }
use() { # suite, artefact, file, command that installs, command that loads
  local root begun installed loaded
  root=$(root_of "$1" "$2")
  cp -r "$3" "$root/at/"
  begun=$(now)
  chroot "$root" sh -ec "cd /at; $4" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "$2 cannot be installed on $1"; }
  installed=$(now)
  chroot "$root" env -i HOME=/root PATH=/usr/bin:/bin URL="$url" INDEX="trips-$1-$2" sh -ec "cd /at; $5" >"$work/said" 2>&1 ||
    { cat "$work/said" >&2; fail "$2 does not load on $1"; }
  loaded=$(now)
  [ "$(curl -sS "$url/trips-$1-$2/_count" | sed 's/.*"count":\([0-9]*\).*/\1/')" = 2 ] || fail "$2 on $1: the index does not have 2 documents"
  echo "$(date +%FT%T),$1,$2,$(stat -c %s "$3"),$(echo "$installed - $begun" | bc),$(echo "$loaded - $installed" | bc)" | tee -a "$run" >&2
  [ "$(echo "$loaded - $begun < $within_s" | bc)" = 1 ] || fail "$2 on $1 took longer than $within_s s"
  # What needs the installed files after the measurement.
  if [ "$2" = deb ]; then
    chroot "$root" sh -ec 'test -s /usr/share/man/man1/inrush-load.1.gz -o ! -d /usr/share/man/man1
      test -s /usr/share/inrush/report.schema.json
      bash -c "source /usr/share/bash-completion/completions/inrush && complete -p inrush" >/dev/null
      dpkg --verify inrush; dpkg --purge inrush; ! command -v inrush' >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "the files of the package on $1"; }
  fi
}
load='load trips.csv --index $INDEX --id trip_no --to $URL'
for suite in "$@"; do
  base=$cache/roots/$suite
  if [ ! -e "$base.done" ]; then
    rm -rf "$base"
    mkdir -p "$cache/roots"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$base" >"$work/said" 2>&1 || { tail "$work/said" >&2; fail "no root of $suite"; }
    touch "$base.done"
  fi
  ! chroot "$base" sh -c 'command -v cc || command -v gcc || command -v rustc' || fail "the root of $suite has a compiler"
  use "$suite" wheel "$wheel" 'python3 -m venv venv && venv/bin/pip install --no-index *.whl' \
    "venv/bin/inrush $load && venv/bin/python -c 'import inrush, os; report = inrush.load([{\"trip_no\": \"0002\"}], index=os.environ[\"INDEX\"], to=os.environ[\"URL\"], id=\"trip_no\"); assert report.ok'"
  use "$suite" binary "$full" 'tar -x --strip-components 1 -f *.tar.gz' "./inrush $load"
  use "$suite" plain-binary "$plain" 'tar -x --strip-components 1 -f *.tar.gz' "./inrush $load"
  use "$suite" deb "$deb" 'dpkg --install *.deb' "inrush $load"
done

# 3. The image: its root, by its own user.
tar -x -C "$work/image" -f "$image"
python3 - "$work/image" <<'PY'
import json, pathlib, subprocess, sys
folder = pathlib.Path(sys.argv[1])
blob = lambda digest: folder / "blobs" / digest.replace(":", "/")
manifest = json.loads(blob(json.loads((folder / "index.json").read_text())["manifests"][0]["digest"]).read_text())
config = json.loads(blob(manifest["config"]["digest"]).read_text())["config"]
assert config["User"] == "65532:65532" and config["Entrypoint"] == ["/usr/bin/inrush"], config
(folder / "root").mkdir()
for layer in manifest["layers"]:
    subprocess.run(["tar", "-x", "-C", folder / "root", "-f", blob(layer["digest"])], check=True)
PY
root=$work/image/root
[ "$(grep -c BEGIN "$root/etc/ssl/certs/ca-certificates.crt")" -gt 100 ] || fail "the image has no certificate authorities"
begun=$(now)
in_image() { env -i XDG_STATE_HOME=/var/lib/inrush "$(command -v chroot)" --userspec=65532:65532 "$root" /usr/bin/inrush "$@"; }
# chroot begins in /, and an engine in the image's working directory.
in_image load - --format csv --index trips-image --id trip_no --to "$url" --dead-letters /var/lib/inrush/letters.ndjson <"$work/trips.csv" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "the image does not load"; }
echo "$(date +%FT%T),scratch,image,$(stat -c %s "$image"),0,$(echo "$(now) - $begun" | bc)" | tee -a "$run" >&2
in_image doctor --self | grep -q "Kafka" || fail "the image has no Kafka"

# 4. The image of the example, on a root of this Debian instead of the base image of a registry.
base=$cache/roots/${!#}
podman=(podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
tar -c -C "$base" . | "${podman[@]}" import --quiet - localhost/base >/dev/null
mkdir "$work/example"
cp "$deb" "$work/example/"
"${podman[@]}" build --quiet --isolation chroot --network host --build-arg BASE=localhost/base --file examples/kafka/Containerfile --tag inrush "$work/example" >/dev/null
mounted=$("${podman[@]}" image mount inrush)
chroot --userspec=65532:65532 "$mounted" /usr/bin/inrush --version | grep -qx "inrush $version" || fail "the image of the example does not run"
"${podman[@]}" image unmount inrush >/dev/null
"${podman[@]}" rmi --all --force >/dev/null
echo "all artefacts work; the seconds are in $run" >&2
