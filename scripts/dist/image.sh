#!/usr/bin/env bash
# Makes the container image of the full program as an OCI archive. It begins with nothing, and gets
# the C library and the certificate authorities of this Debian or Ubuntu as their packages have
# them. scripts/dist.sh calls it, with SOURCE_DATE_EPOCH. Usage: image.sh WORK VERSION OUT
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$1 version=$2 out=$3
folder=$work/image
rm -rf "$folder"
mkdir -p "$folder"/{packages,root}

# The files of this machine may have been changed; those of the packages have not.
(cd "$folder" && apt-get download -q libc6 ca-certificates >/dev/null)
for package in "$folder"/*.deb; do dpkg-deb --extract "$package" "$folder/packages"; done

root=$folder/root
place() { install -D -m "$1" "$2" "$root/$3"; }
place 755 "$work/inrush-full" usr/bin/inrush
loader=lib64/ld-linux-x86-64.so.2
place 755 "$(find "$folder/packages" -type f -name ld-linux-x86-64.so.2)" "$loader"
# What the program names, and what the C library opens to look names of hosts up.
needed=$(readelf --dynamic "$work/inrush-full" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for library in $needed libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
  [ "$library" = "$(basename "$loader")" ] && continue
  place 755 "$(readlink -e "$(find "$folder/packages" -name "$library" | head -n 1)")" "lib/x86_64-linux-gnu/$library"
done
place 644 "$folder/packages/usr/share/doc/libc6/copyright" usr/share/doc/libc6/copyright
place 644 "$folder/packages/usr/share/doc/ca-certificates/copyright" usr/share/doc/ca-certificates/copyright
place 644 LICENSE usr/share/doc/inrush/LICENSE
place 644 "$work/extras-full/THIRD-PARTY.txt" usr/share/doc/inrush/THIRD-PARTY.txt
mkdir -p "$root"/etc/ssl/certs "$root"/var/lib "$root"/usr/share/inrush
find "$folder/packages/usr/share/ca-certificates" -name '*.crt' -print0 | sort -z | xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/:/sbin/nologin\ninrush:x:65532:65532:inrush:/var/lib/inrush:/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\ninrush:x:65532:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
dpkg-deb --show --showformat='${Package} ${Version}\n' "$folder"/libc6_*.deb >"$root/usr/share/inrush/packages"
dpkg-deb --show --showformat='${Package} ${Version}\n' "$folder"/ca-certificates_*.deb >>"$root/usr/share/inrush/packages"

# Owners do not depend on who builds.
archive() { tar --"$1" --file "$folder/root.tar" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner "${@:2}"; }
archive create --owner=0 --group=0 -C "$root" .
mkdir -p "$folder/home/var/lib/inrush" "$folder/home/tmp"
chmod 1777 "$folder/home/tmp"
archive append --owner=65532 --group=65532 -C "$folder/home" var/lib/inrush
archive append --owner=0 --group=0 -C "$folder/home" tmp

cp scripts/dist/Containerfile "$folder/"
podman=(podman --root "$folder/storage" --runroot "$folder/run" --storage-driver vfs)
"${podman[@]}" build --quiet --timestamp "$SOURCE_DATE_EPOCH" --tag "inrush:$version" "$folder" >/dev/null
rm -f "$out/inrush-$version-oci.tar"
"${podman[@]}" save --quiet --format oci-archive --output "$folder/image.tar" "inrush:$version"
# podman's own archive has the time of the day in it.
mkdir "$folder/oci"
tar -x -C "$folder/oci" -f "$folder/image.tar"
tar --create --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$folder/oci" . >"$out/inrush-$version-oci.tar"
"${podman[@]}" rmi --all --force >/dev/null
rm -rf "$folder/storage" "$folder/run"
