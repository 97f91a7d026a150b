#!/bin/sh
# pack.sh FOLDER OUT NAME: packs FOLDER into OUT/archives/NAME, and prints the archive and its size as JSON. Folders
# called out or .millrace are left out, so that archives do not hold archives. Ends with status 3 when there is no such
# folder.
set -eu
folder=$1
archives=$2/archives
name=$3

if [ ! -d "$folder" ]; then
	echo "there is no folder $folder" >&2
	exit 3
fi
mkdir -p "$archives"
(cd "$folder" && find . \( -name out -o -name .millrace \) -prune -o -type f -print | LC_ALL=C sort) >"$MILLRACE_SCRATCH/files"
tar -czf "$archives/$name.new" -C "$folder" -T "$MILLRACE_SCRATCH/files" || exit 4
mv "$archives/$name.new" "$archives/$name"
printf '{"archive":"%s","bytes":%d}\n' "$archives/$name" "$(wc -c <"$archives/$name")"
