#!/bin/sh
# split.sh FILE: writes each month's days to a file in the run's folder, and prints the months as JSON.
set -eu
file=$1

awk -F, -v folder="$MILLRACE_SCRATCH" '
	NR == 1 {
		if ($1 != "date" || $2 != "precipitation" || $3 != "temp_max" || $4 != "temp_min") {
			print FILENAME ": the columns are not date,precipitation,temp_max,temp_min,..." > "/dev/stderr"
			failed = 1
			exit 1
		}
		next
	}
	{
		month = substr($1, 1, 7)
		if (month != last) {
			if (last != "") close(target)
			target = folder "/" month ".csv"
			list = list (last == "" ? "" : ",") "\"" month "\""
			if (month in seen) {
				print FILENAME ": the days of " month " do not stand together" > "/dev/stderr"
				failed = 1
				exit 1
			}
			seen[month] = 1
			last = month
		}
		print > target
		days++
	}
	END {
		if (failed) exit 1
		printf "{\"days\":%d,\"months\":[%s]}\n", days, list
	}
' "$file"
