#!/bin/sh
# mirror.sh FILM FOLDER: copies the playlist, and what it lists, to a mirror; the playlist comes last, so that a player
# never finds one whose films are missing. Prints the mirror's name as JSON.
set -eu
film=$1
folder=$2

mkdir -p "$folder"
sed -n -e 's/^#STILL://p' -e '/^[^#]/p' "$MILLRACE_SCRATCH/$film.m3u8" | while read -r file; do
	cp "$MILLRACE_SCRATCH/$file" "$folder/$file"
done
cp "$MILLRACE_SCRATCH/$film.m3u8" "$folder/$film.m3u8.new"
mv "$folder/$film.m3u8.new" "$folder/$film.m3u8"
printf '{"mirror":"%s"}\n' "${folder##*/}"
