#!/bin/sh
# month.sh MONTH [PACE]: sums up the days of one month that split.sh wrote, and prints them as JSON. It takes PACE seconds
# longer than it must, for who wants to watch. Sums are made in tenths, so they are exact.
set -eu
month=$1
pace=${2:-0}

echo "$month: adding up its days" >&2
[ "$pace" = 0 ] || sleep "$pace"

awk -F, -v month="$month" '
	{
		days++
		tenths += int($2 * 10 + 0.5)
		if ($2 > 0) rain++
		if (days == 1 || $3 + 0 > warmest) { warmest = $3 + 0; warmest_day = $1 }
		if (days == 1 || $4 + 0 < coldest) { coldest = $4 + 0; coldest_day = $1 }
	}
	END {
		printf "%s: %.1f mm on %d of %d days\n", month, tenths / 10, rain, days > "/dev/stderr"
		printf "{\"month\":\"%s\",\"days\":%d,\"rain_days\":%d,\"precipitation\":%.1f,", month, days, rain, tenths / 10
		printf "\"warmest\":%.1f,\"warmest_day\":\"%s\",\"coldest\":%.1f,\"coldest_day\":\"%s\"}\n",
			warmest, warmest_day, coldest, coldest_day
	}
' "$MILLRACE_SCRATCH/$month.csv"
