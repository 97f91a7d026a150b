#!/bin/sh
# split.sh FILE ROWS: cuts a list into batches of so many rows in the run's folder, and prints their names, which are
# the list's with a number, one a line. Ends with status 3 when the columns are not the ones agreed on.
set -eu

list=${1##*/}
awk -v rows="$2" -v list="${list%.csv}" -v folder="$MILLRACE_SCRATCH" '
	NR == 1 {
		if ($0 != "number,name,email,country") {
			print FILENAME ": the columns are not number,name,email,country" > "/dev/stderr"
			exit 3
		}
		next
	}
	(NR - 2) % rows == 0 {
		if (batch != "") close(folder "/" batch ".csv")
		batch = sprintf("%s-%04d", list, ++batches)
		printf "" > (folder "/" batch ".csv") # an earlier attempt may have left one
		print batch
	}
	{ print >> (folder "/" batch ".csv") }
' "$1"
