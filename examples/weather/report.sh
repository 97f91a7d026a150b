#!/bin/sh
# report.sh OUT CHART: writes OUT/report.md from lists in the environment, one value for each month, and prints the file's
# name and the totals as JSON.
set -eu
out=$1
chart=$2

mkdir -p "$out"
awk -v out="$out" -v chart="${chart##*/}" '
	function list(name, values,    text) {
		text = ENVIRON[name]
		gsub(/[^0-9A-Za-z.,-]/, "", text) # what is left of a JSON list: the values and the commas
		if (split(text, values, ",") != n && n > 0) {
			print name " has not as many values as MONTHS" > "/dev/stderr"
			failed = 1
			exit 1
		}
	}
	function tenth(v) { return sprintf("%.1f", v) }
	BEGIN {
		n = 0
		list("MONTHS", month)
		for (i in month) n++
		list("DAYS", days); list("RAIN_DAYS", rain); list("PRECIPITATION", mm)
		list("WARMEST", warm); list("COLDEST", cold); list("MARKS", mark)
		file = out "/report.md.new"

		for (i = 1; i <= n; i++) {
			all_days += days[i]
			all_rain += rain[i]
			tenths += int(mm[i] * 10 + 0.5)
		}
		total = sprintf("%.1f", tenths / 10)

		print "# Seattle weather, " month[1] " to " month[n] "\n" > file
		print "In " all_days " days it rained on " all_rain ", **" total " mm** in all.\n" > file
		print "![Precipitation by month](" chart ")\n" > file
		print "| month | days | rain days | precipitation, mm | warmest, °C | coldest, °C | record |" > file
		print "|---|---:|---:|---:|---:|---:|---|" > file
		for (i = 1; i <= n; i++)
			print "| " month[i] " | " days[i] " | " rain[i] " | " tenth(mm[i]) " | " tenth(warm[i]) " | " tenth(cold[i]) " | " mark[i] " |" > file
		print "| **all** | **" all_days "** | **" all_rain "** | **" total "** | | | |\n" > file
		print "Source: NOAA, public domain; see README.md beside the workflow." > file
		if (close(file) != 0) { failed = 1; exit 1 }

		printf "{\"file\":\"%s/report.md\",\"days\":%d,\"rain_days\":%d,\"precipitation\":%s}\n", out, all_days, all_rain, total
	}
	END { if (failed) exit 1 }
'
mv "$out/report.md.new" "$out/report.md"
