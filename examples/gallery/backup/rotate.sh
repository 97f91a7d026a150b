#!/bin/sh
# rotate.sh OUT NAME DAILY WEEKLY: keeps the newest DAILY archives called NAME-YYYY-MM-DD.tar.gz, and besides them the
# newest WEEKLY that were made on a Sunday; removes the others, and prints which as JSON.
set -eu
archives=$1/archives
name=$2

for file in "$archives/$name"-????-??-??.tar.gz; do
	echo "${file##*/}"
done | LC_ALL=C sort -r | awk -v daily="$3" -v weekly="$4" '
	function weekday(text,    y, m, d) { # 0 is Sunday; the method of Sakamoto
		y = substr(text, 1, 4) + 0; m = substr(text, 6, 2) + 0; d = substr(text, 9, 2) + 0
		if (m < 3) y--
		return (y + int(y / 4) - int(y / 100) + int(y / 400) + substr("032503514624", m, 1) + d) % 7
	}
	NR <= daily { next }
	weekday(substr($0, length($0) - 16, 10)) == 0 && sundays < weekly { sundays++; next }
	{ print }
' >"$MILLRACE_SCRATCH/old"

list=
while read -r file; do
	rm -f "$archives/$file"
	echo "removed $file" >&2
	list="$list${list:+,}\"$file\""
done <"$MILLRACE_SCRATCH/old"
printf '{"removed":[%s]}\n' "$list"
