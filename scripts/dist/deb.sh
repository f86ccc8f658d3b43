#!/usr/bin/env bash
# Makes the Debian package of the full program. scripts/dist.sh calls it, with SOURCE_DATE_EPOCH.
# Usage: deb.sh WORK VERSION GLIBC OUT
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$1 version=$2 glibc=$3 out=$4
root=$work/deb doc=$work/deb/usr/share/doc/inrush extras=$work/extras-full
maintainer=${INRUSH_MAINTAINER:-The inrush authors <authors@inrush.invalid>}

rm -rf "$root"
install -D -m 755 "$work/inrush-full" "$root/usr/bin/inrush"
place() { install -D -m 644 "$1" "$root/usr/share/$2"; }
place "$extras/completions/inrush.bash" bash-completion/completions/inrush
place "$extras/completions/_inrush" zsh/vendor-completions/_inrush
place "$extras/completions/inrush.fish" fish/vendor_completions.d/inrush.fish
for page in "$extras"/man/*.1; do place "$page" "man/man1/$(basename "$page")"; done
place "$extras/report.schema.json" inrush/report.schema.json
place CHANGELOG.md doc/inrush/changelog
place "$extras/THIRD-PARTY.txt" doc/inrush/THIRD-PARTY.txt
place README.md doc/inrush/README.md

cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: inrush
Comment: The program contains the crates and C libraries whose licences are in
 THIRD-PARTY.txt.gz beside this file.

Files: *
Copyright: 2026 The inrush authors
License: Apache-2.0
 On Debian systems the full text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
END
cat >"$doc/changelog.Debian" <<END
inrush ($version-1) unstable; urgency=medium

  * Version $version; changelog.gz has the changes.

 -- $maintainer  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
install -d -m 755 "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/inrush" <<'END'
# One binary runs on all systems since glibc 2.17, so what varies between them is linked in.
inrush: embedded-library
inrush: statically-linked-binary
# It is built outside of Debian, so no bug asked for it.
inrush: initial-upload-closes-no-bugs
END
find "$root/usr/share" \( -name '*.1' -o -name 'changelog*' -o -name THIRD-PARTY.txt \) -exec gzip -n -9 {} +

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: inrush
Version: $version-1
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du --summarize --apparent-size --block-size=1K "$root/usr" | cut -f 1)
Depends: libc6 (>= $glibc)
Recommends: ca-certificates
Suggests: bash-completion
Section: database
Priority: optional
Description: loads data into Elasticsearch and OpenSearch
 inrush sends documents of files, web servers, object stores, databases and
 Kafka as fast as the cluster accepts them. It reads every entry of every
 reply, sends rejected documents again, keeps those that the cluster never
 takes in a file, and counts the index at the end.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
# More threads of xz write other bytes.
DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz --build "$root" "$out/inrush_$version-1_amd64.deb" >/dev/null
