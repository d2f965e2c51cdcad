#!/bin/bash
# Makes the image $1: a Debian with systemd and dpkg, of the files that the packages have on this machine.
set -euo pipefail
packages="$(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
	--no-enhances systemd dpkg dash coreutils diffutils grep libc-bin sed tar util-linux | grep -E '^[a-z]' | cut -d: -f1 | sort -u)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Where /bin is a link to usr/bin, some packages name their files by the link.
for package in $packages; do dpkg -L "$package" 2>/dev/null || true; done | sed -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,' | sort -u |
	while read -r file; do if [ -f "$file" ] || [ -L "$file" ]; then echo "$file"; fi; done |
	grep -vE '^/(usr/share/(doc|man|locale|i18n)|etc/machine-id)' > "$work/files"
printf '%s\n' /bin /sbin /lib /lib64 >> "$work/files"
mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates" "$work/root/var/log" "$work/root/srv"
touch "$work/root/var/lib/dpkg/status"
sort -u -o "$work/files" "$work/files"
tar --no-recursion -cf "$work/root.tar" -T "$work/files" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
tar -rf "$work/root.tar" -C "$work/root" .
docker import --change 'ENV container=docker' "$work/root.tar" "$1"
