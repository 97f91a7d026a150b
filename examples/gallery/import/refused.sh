#!/bin/sh
# refused.sh OUT BATCHES: writes the rows of the batches, whose names are separated by blanks, to OUT/refused.csv under
# the heading of the list, and prints the file and the number of rows as JSON.
set -eu
file=$1/refused.csv

mkdir -p "$1"
{
	echo "number,name,email,country"
	for batch in $2; do cat "$MILLRACE_SCRATCH/$batch.csv"; done
} >"$file.new"
mv "$file.new" "$file"
printf '{"file":"%s","rows":%d}\n' "$file" "$(($(wc -l <"$file") - 1))"
