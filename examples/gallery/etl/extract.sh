#!/bin/sh
# extract.sh SHOP DAY: takes the file that a shop handed in into the run's folder, and prints how many rows it has. Ends
# with status 3 when there is none and with 4 when its columns are not the ones agreed on.
set -eu
shop=$1
day=$2
file=data/$shop-$day.csv

if [ ! -r "$file" ]; then
	echo "$shop has not handed in $file" >&2
	exit 3
fi
if [ "$(head -n 1 "$file")" != "sale,time,sku,quantity,amount,currency" ]; then
	echo "$file: the columns are not sale,time,sku,quantity,amount,currency" >&2
	exit 4
fi
cp "$file" "$MILLRACE_SCRATCH/$shop.csv.new"
mv "$MILLRACE_SCRATCH/$shop.csv.new" "$MILLRACE_SCRATCH/$shop.csv"
awk -v shop="$shop" 'END { printf "{\"shop\":\"%s\",\"rows\":%d}\n", shop, NR - 1 }' "$file"
