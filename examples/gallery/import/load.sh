#!/bin/sh
# load.sh BATCH OUT: checks the rows of a batch, and if all of them are right puts them into OUT/customers; prints how
# many there are as JSON. Ends with status 3 when one is wrong, and says which.
set -eu
batch=$1
folder=$2/customers

awk -F, -v batch="$batch" '
	function wrong(words) { print batch ", row " NR ": " words > "/dev/stderr"; bad = 1 }
	NF != 4 { wrong(NF " columns, not 4"); next }
	$1 !~ /^[0-9]+$/ { wrong("the number " $1 " is none") }
	$3 !~ /^[^@ ]+@[^@ ]+\.[^@ ]+$/ { wrong("the address " $3 " is none") }
	$4 !~ /^[A-Z][A-Z]$/ { wrong("the country " $4 " is none") }
	END { if (bad) exit 3 }
' "$MILLRACE_SCRATCH/$batch.csv"
mkdir -p "$folder"
cp "$MILLRACE_SCRATCH/$batch.csv" "$folder/$batch.csv.new"
mv "$folder/$batch.csv.new" "$folder/$batch.csv"
printf '{"rows":%d}\n' "$(wc -l <"$folder/$batch.csv")"
