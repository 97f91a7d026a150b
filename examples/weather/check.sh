#!/bin/sh
# check.sh FILE DAYS RAIN_DAYS PRECIPITATION: ends with status 3 unless the totals are those of the raw file.
set -eu

awk -F, -v days="$2" -v rain="$3" -v mm="$4" '
	NR > 1 {
		all_days++
		if ($2 > 0) all_rain++
		tenths += int($2 * 10 + 0.5)
	}
	END {
		total = sprintf("%.1f", tenths / 10)
		printf "report: %d days, %d with rain, %s mm; file: %d days, %d with rain, %s mm\n", days, rain, mm, all_days, all_rain, total > "/dev/stderr"
		if (days != all_days || rain != all_rain || mm + 0 != total + 0) exit 3
	}
' "$1"
