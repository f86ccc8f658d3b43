#!/usr/bin/env bash
# inrush-core and inrush-tune below it have no clock, thread, file, socket, process or source of
# randomness. This script checks three lists that say so; crates/inrush-core/clippy.toml forbids
# single functions and types.
#
# A build for a target without an operating system would prove more, but sonic-rs and the logarithms
# of f64 need the standard library. crates/inrush-smile is such a build: it is `no_std`.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=

fail() {
  echo "purity: $1" >&2
  sed 's/^/  /' >&2
  failed=yes
}

# 1. The crates below inrush-core. None of them waits, reads the clock or opens anything. sonic-rs
# brings ahash and getrandom, which seed its hash table; no decision depends on the order of that
# table. A new name has to be looked at before it is added here.
allowed='ahash autocfg base64 block-buffer bumpalo bytes cfg-if chrono chrono-tz const-oid cpufeatures crypto-common deranged digest
equivalent fast-float2 faststr foldhash getrandom hashbrown hybrid-array indexmap inrush-core inrush-smile inrush-tune itoa libc
memchr num-conv num-traits once_cell phf phf_shared powerfmt proc-macro2 quote ref-cast ref-cast-impl serde serde_core serde_derive serde_json sha2
simdutf8 siphasher sonic-number sonic-rs sonic-simd syn thiserror thiserror-impl time time-core typenum unicode-ident
version_check xxhash-rust zerocopy zmij'
below=$(cargo tree --locked -p inrush-core -e normal --prefix none | cut -d' ' -f1 | sort -u)
if found=$(grep -vxFf <(tr -s ' ' '\n' <<<"$allowed") <<<"$below"); then
  fail "inrush-core depends on crates that scripts/purity.sh does not list:" <<<"$found"
fi

# 2. The parts of the standard library that inrush-core names; of io only errors and their kinds,
# which are values. `collections` and `sync` contain more than is allowed; clippy.toml forbids the
# rest.
plain='std::(array|borrow|cmp|collections|fmt|hash|iter|mem|ops|rc|slice|str|vec)\b'
single='std::(io::(Error|ErrorKind)|net::IpAddr|num::NonZeroU64|ptr::eq|sync::(Arc|LazyLock|OnceLock|\{Arc, OnceLock\}|atomic)|time::Duration)$'
if found=$(grep -rnoP '\bstd::(\{|\w+(::(\{[^}]*\}|\w+))?)' crates/inrush-core/src crates/inrush-tune/src | grep -vE ":($plain|$single)"); then
  fail "inrush-core uses parts of the standard library that scripts/purity.sh does not list:" <<<"$found"
fi

# 3. The lints and attributes that hold the rest are switched on.
for crate in inrush-core inrush-tune; do
  if ! grep -q '^#!\[deny(clippy::disallowed_methods, clippy::disallowed_types)\]' "crates/$crate/src/lib.rs"; then
    fail "a lint is off:" <<<"crates/$crate/src/lib.rs has to deny disallowed methods and types"
  fi
done
if ! grep -q '^#!\[cfg_attr(not(test), no_std)\]' crates/inrush-smile/src/lib.rs; then
  fail "an attribute is missing:" <<<"crates/inrush-smile/src/lib.rs has to be no_std"
fi

[ -z "$failed" ] || exit 1
echo "inrush-core and inrush-tune are pure"
