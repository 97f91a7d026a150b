#!/bin/sh
# transform.sh: makes one table of the files of $SHOPS in the run's folder: without sales that were handed in twice,
# amounts in euro cents. Prints what it found as JSON; a row that lacks its amount stays in the table and is counted as
# missing.
set -eu

: >"$MILLRACE_SCRATCH/sales.csv.new"
for shop in $SHOPS; do
	awk -F, -v OFS=, -v shop="$shop" '
		BEGIN { rate["EUR"] = 10000; rate["CHF"] = 10650; rate["GBP"] = 11580 } # ten thousandths of a euro
		NR == 1 { next }
		{
			if (!($6 in rate)) {
				print FILENAME ", line " NR ": no rate for the currency " $6 > "/dev/stderr"
				exit 1
			}
			cents = $5 == "" ? "" : int(($5 * 100 * rate[$6]) / 10000 + 0.5)
			print shop, $1, $2, $3, $4, cents
		}
	' "$MILLRACE_SCRATCH/$shop.csv" >>"$MILLRACE_SCRATCH/sales.csv.new"
done

awk -F, -v table="$MILLRACE_SCRATCH/sales.csv" '
	BEGIN { print "shop,sale,time,sku,quantity,cents" > table }
	seen[$1, $2]++ { duplicates++; next }
	{
		print > table
		rows++
		cents += $6
		if ($6 == "") missing++
	}
	END {
		printf "{\"rows\":%d,\"duplicates\":%d,\"missing\":%d,\"cents\":%d}\n", rows, duplicates, missing, cents
	}
' "$MILLRACE_SCRATCH/sales.csv.new"
rm "$MILLRACE_SCRATCH/sales.csv.new"
