#!/bin/sh
# prove.sh FOLDER ARCHIVE: unpacks an archive into the run's folder and compares every file with the original; prints
# how many there are as JSON. Ends with status 3 when one differs or is missing.
set -eu
folder=$1
archive=$2

copy=$MILLRACE_SCRATCH/copy
rm -rf "$copy"
mkdir "$copy"
tar -xzf "$archive" -C "$copy"
while read -r file; do
	if ! cmp -s "$folder/$file" "$copy/$file"; then
		echo "$file is not in the archive as it is in $folder" >&2
		exit 3
	fi
done <"$MILLRACE_SCRATCH/files"
rm -rf "$copy"
printf '{"files":%d}\n' "$(wc -l <"$MILLRACE_SCRATCH/files")"
