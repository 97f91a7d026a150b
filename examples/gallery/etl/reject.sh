#!/bin/sh
# reject.sh OUT DAY: puts the table that did not pass the gate where a person looks for it, and prints its name as JSON.
set -eu
folder=$1/rejected

mkdir -p "$folder"
cp "$MILLRACE_SCRATCH/sales.csv" "$folder/$2.csv.new"
mv "$folder/$2.csv.new" "$folder/$2.csv"
printf '{"file":"%s/%s.csv"}\n' "$folder" "$2"
