#!/usr/bin/env bash
# Packs every crate that is published, and compiles each of them from its package alone, as
# `cargo publish` does. Nothing is uploaded. Usage: scripts/publish-check.sh [fast]
#   fast  packs, and does not compile
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# What the registry refuses, or shows to users.
cargo metadata --locked --no-deps --format-version 1 | python3 -c 'if True:
  import json, pathlib, sys
  problems, published = [], set()
  packages = json.load(sys.stdin)["packages"]
  for package in packages:
      if package["publish"] == []:
          continue
      name, folder = package["name"], pathlib.Path(package["manifest_path"]).parent
      published.add(name)
      problems += [f"{name} has no {key}" for key in ("description", "license", "rust_version") if not package[key]]
      if len(package["keywords"]) > 5:
          problems.append(f"{name} has more than five keywords")
      if package["readme"] and not (folder / package["readme"]).is_file():
          problems.append(f"{name} has no " + package["readme"])
  for package in packages:
      for needed in package["dependencies"]:
          if package["name"] in published and needed["kind"] != "dev" and needed.get("path"):
              if needed["name"] not in published:
                  problems.append(package["name"] + " needs " + needed["name"] + ", which is not published")
              if needed["req"] == "*":
                  problems.append(package["name"] + " needs any version of " + needed["name"])
  print("\n".join(problems), file=sys.stderr)
  sys.exit(bool(problems))'

verify=()
[ "${1:-}" != fast ] || verify=(--no-verify)
cargo publish --workspace --dry-run --locked --allow-dirty "${verify[@]}" 2>"$said" || { cat "$said" >&2; exit 1; }
grep -E '^ +Packaged' "$said" >&2
large=$(find "$CARGO_TARGET_DIR/package" -maxdepth 2 -name '*.crate' -size +10M)
[ -z "$large" ] || { echo "larger than the registry takes, 10 MB: $large" >&2; exit 1; }
if ! grep -q '^repository' Cargo.toml; then
  echo "note: Cargo.toml has no repository; cargo-binstall finds the archives by it" >&2
fi
