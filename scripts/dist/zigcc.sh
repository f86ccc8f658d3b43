#!/usr/bin/env bash
# Writes a C compiler for libraries whose configure knows the variable CC alone, as librdkafka's
# does. With the system's compiler the program would need the C library of this machine.
# Usage: zigcc.sh TARGET FILE
#   TARGET  as zig writes it: x86_64-linux-gnu.2.17
set -euo pipefail
# librdkafka's list of exported symbols has some that only its tests define.
cat >"$2" <<END
#!/bin/sh
exec "$(command -v cargo-zigbuild)" zig cc -- -fno-sanitize=all -Wl,--undefined-version -target $1 "\$@"
END
chmod +x "$2"
