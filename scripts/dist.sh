#!/usr/bin/env bash
# Builds the artefacts of a release for Linux on x86-64 with glibc 2.17 or newer. The same sources
# give the same bytes, in any folder and on any day. Usage: scripts/dist.sh [PART…]
#   plain     the program without SQL, object stores, databases and Kafka
#   full      the program with all of them; OpenSSL is linked in
#   wheel     the Python package, with the command line in it
#   sdist     its sources
#   archives  both programs with completions, manual pages, licences and the schema of reports
#   deb       a Debian package of the full program
#   image     a container image of the full program, as an OCI archive; needs podman
#   papers    a bill of materials, and how all of it was built
#   sums      SHA256SUMS
# Default: all parts, in this order; a part takes the files of the parts before it, and refuses
# files of another commit.
# INRUSH_DIST        the folder to write to; default: artefacts below the cache
# SOURCE_DATE_EPOCH  the time in the files; default: the time of the commit
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/inrush
out=$(realpath -m "${INRUSH_DIST:-$cache/artefacts}")
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
triple=x86_64-unknown-linux-gnu glibc=2.17
more=sql,cloud,databases,kafka,vendored
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$out/work # what parts hand on; not shipped
mkdir -p "$work"
venv=$(scripts/venv.sh dist scripts/dist/requirements.txt)
export PATH=$venv/bin:$PATH LC_ALL=C TZ=UTC
umask 022

for program in cc dpkg-deb make perl podman readelf strip; do
  command -v "$program" >/dev/null || { echo "$program is missing; install it with apt" >&2; exit 1; }
done
RUSTFLAGS="${RUSTFLAGS:-} $(scripts/dist/rustflags.sh)"
scripts/dist/zigcc.sh "x86_64-linux-gnu.$glibc" "$work/zigcc"
# zig keeps compiled files without regard to SOURCE_DATE_EPOCH; another build's would have its date.
export ZIG_GLOBAL_CACHE_DIR=$CARGO_TARGET_DIR/zig
export RUSTFLAGS CC=$work/zigcc OPENSSL_SRC_PERL=$PWD/scripts/dist/openssl-perl.sh

papers() { scripts/dist/papers.py "$@"; }

# The commit of the sources.
commit() {
  local commit
  commit=$(git rev-parse HEAD 2>/dev/null || true)
  [ -z "$(git status --porcelain 2>/dev/null)" ] || commit+=" with changes"
  echo "${INRUSH_COMMIT:-$commit}"
}

# Refuses parts that an earlier run has made of another commit.
same_commit() { # parts…
  local part
  for part in "$@"; do
    [ "$(cat "$work/$part.commit" 2>/dev/null)" = "$(commit)" ] && continue
    echo "the part $part is missing or of another commit: make it again" >&2
    exit 1
  done
}

# Strips a program or module, and refuses one with a folder of this machine in it.
stripped() { # file below the target's folder, name
  local folder
  strip --strip-all -o "$work/$2" "$CARGO_TARGET_DIR/$triple/dist/$1"
  for folder in "$PWD/crates" "$CARGO_TARGET_DIR/$triple" "${CARGO_HOME:-$HOME/.cargo}" "${XDG_CACHE_HOME:-$HOME/.cache}"; do
    ! grep -qaF "$folder/" "$work/$2" || { echo "$2 has the folder $folder of this machine in it" >&2; exit 1; }
  done
}

program() { # plain or full, features…
  scripts/dist/program.sh "$triple.$glibc" --quiet "${@:2}"
  stripped inrush "inrush-$1"
}

# Completions, manual pages, licences and the schema of reports, as the program itself has them.
extras() { # plain or full, features
  local folder=$work/extras-$1 program=$work/inrush-$1 command
  rm -rf "$folder"
  mkdir -p "$folder"/{completions,man}
  "$program" completions bash >"$folder/completions/inrush.bash"
  "$program" completions zsh >"$folder/completions/_inrush"
  "$program" completions fish >"$folder/completions/inrush.fish"
  "$program" completions powershell >"$folder/completions/_inrush.ps1"
  "$program" reference man >"$folder/man/inrush.1"
  for command in $("$program" reference man-names); do
    "$program" reference man "$command" >"$folder/man/inrush-$command.1"
  done
  papers licences inrush-cli "$2" "$triple" >"$folder/THIRD-PARTY.txt"
  scripts/report-schema.py >"$folder/report.schema.json"
}

plain() { program plain; }
full() { program full --features "$more"; }

wheel() {
  # The stable ABI is the same for every Python, so none is asked. The time is that of program.sh.
  SOURCE_DATE_EPOCH=0 PYO3_NO_PYTHON=1 cargo-zigbuild zigbuild --locked --quiet --profile dist --target "$triple.$glibc" -p inrush-python --features "$more"
  stripped lib_inrush.so _inrush.abi3.so
  papers licences inrush-python "$more" "$triple" >"$work/THIRD-PARTY-python.txt"
  rm -f "$out"/inrush-*.whl
  scripts/dist/wheel.py "$work/_inrush.abi3.so" "$work/THIRD-PARTY-python.txt" "$glibc" "$out" >/dev/null
}

sdist() {
  maturin sdist --manifest-path python/Cargo.toml --out "$out" 2>/dev/null
}

archives() {
  same_commit plain full
  extras plain ""
  extras full "$more"
  scripts/dist/pack.sh "inrush-plain-$version-$triple" "$work/inrush-plain" "$work/extras-plain" "$out"
  scripts/dist/pack.sh "inrush-$version-$triple" "$work/inrush-full" "$work/extras-full" "$out"
}

deb() {
  same_commit full archives
  scripts/dist/deb.sh "$work" "$version" "$glibc" "$out"
}

image() {
  same_commit full archives
  scripts/dist/image.sh "$work" "$version" "$out"
}

papers_of_all() {
  same_commit archives
  papers sbom inrush-cli "$more" "$triple" >"$out/inrush-$version.cdx.json"
  cp "$work/extras-full/THIRD-PARTY.txt" "$out/inrush-$version-THIRD-PARTY.txt"
}

sums() {
  local files
  # Each part that was made, because its files are among the checksums.
  same_commit $(cd "$work" && find . -maxdepth 1 -name '*.commit' ! -name sums.commit -printf '%f\n' | sed 's/\.commit$//')
  files=$(cd "$out" && find . -maxdepth 1 -type f -name "inrush*$version*" ! -name '*.intoto.json' -printf '%P\n' | sort)
  (cd "$out" && sha256sum $files >SHA256SUMS)
  INRUSH_COMMIT=$(commit) papers provenance "$out" >"$out/inrush-$version.intoto.json"
}

if [ $# = 0 ]; then
  # Files of another version would be among the checksums.
  find "$out" -maxdepth 1 -type f \( -name 'inrush*' -o -name SHA256SUMS \) -delete
  set -- plain full wheel sdist archives deb image papers sums
fi
for part in "$@"; do
  case $part in
    plain | full | wheel | sdist | archives | deb | image | sums) "$part" ;;
    papers) papers_of_all ;;
    *) sed -n '2,16p' "$0" >&2; exit 2 ;;
  esac
  commit >"$work/$part.commit"
done
(cd "$out" && find . -maxdepth 1 -type f -printf '%s %P\n' | sort -k 2 | numfmt --to=si --field=1 --padding=6) >&2
echo "the artefacts are in $out" >&2
