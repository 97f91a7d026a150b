#!/bin/sh
# still.sh FILM: writes the frame of the master whose brightest and darkest pixel lie furthest apart to the run's
# folder, and prints its number as JSON.
set -eu
film=$1

awk -v target="$MILLRACE_SCRATCH/$film-still.pgm" -v name="$film-still.pgm" '
	function judge() {
		if (frame > 0 && high - low > most) { most = high - low; best = frame; picture = text }
	}
	NF == 1 && $1 == "P2" { judge(); frame++; head = 2; text = $0 "\n"; low = 255; high = 0; next }
	{ text = text $0 "\n" }
	head > 0 { head--; next }
	{
		for (x = 1; x <= NF; x++) {
			if ($x + 0 < low) low = $x + 0
			if ($x + 0 > high) high = $x + 0
		}
	}
	END {
		judge()
		if (!best) exit 1
		printf "%s", picture > target
		printf "{\"frame\":%d,\"file\":\"%s\"}\n", best, name
	}
' "$MILLRACE_SCRATCH/$film.pgm"
