#!/usr/bin/env bash
# Packs a program with completions, manual pages and licences, so that the archive depends only on
# its contents and SOURCE_DATE_EPOCH. Usage: pack.sh NAME PROGRAM EXTRAS OUT
#   EXTRAS  a folder with completions/, man/, report.schema.json and THIRD-PARTY.txt
#   OUT     gets NAME.tar.gz, in which all files are in the folder NAME
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1 program=$2 extras=$3 out=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/$name" "$out"
cp -r "$extras"/{completions,man,report.schema.json,THIRD-PARTY.txt} README.md CHANGELOG.md LICENSE "$folder/$name/"
install -m 755 "$program" "$folder/$name/inrush"
chmod -R u=rwX,go=rX "$folder/$name"
tar --create --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$folder" "$name" |
  gzip -n -9 >"$out/$name.tar.gz"
