#!/usr/bin/env bash
# Installs versitygw, the S3 server of the tests, with Go into the cache. Prints the path of its
# binary.
set -euo pipefail
version=v1.8.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/inrush/tools/versitygw-$version
if [ ! -x "$folder/versitygw" ]; then
  command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
  command -v go >/dev/null || {
    echo "no Go is here, which the S3 server is built with; install Go 1.24 or newer" >&2
    exit 1
  }
  mkdir -p "$folder"
  GOBIN=$folder go install "github.com/versity/versitygw/cmd/versitygw@$version" >&2
fi
echo "$folder/versitygw"
