#!/usr/bin/env bash
# rustdoc with the JSON output of the installed toolchain. Only this program gets RUSTC_BOOTSTRAP:
# build scripts that see it would be built again.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
