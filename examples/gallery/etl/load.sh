#!/bin/sh
# load.sh OUT DAY: replaces the day's partition of the warehouse by the table in the run's folder. The partition is
# either the old one or the new one, never a part; loading the same night again changes nothing.
set -eu
folder=$1/warehouse/day=$2

mkdir -p "$folder"
cp "$MILLRACE_SCRATCH/sales.csv" "$folder/sales.csv.new"
mv "$folder/sales.csv.new" "$folder/sales.csv"
echo "loaded $folder" >&2
printf '{"file":"%s/sales.csv"}\n' "$folder"
