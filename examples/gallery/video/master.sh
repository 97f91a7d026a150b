#!/bin/sh
# master.sh FILM: makes the master, a ball that bounces through twelve frames, in the run's folder, and prints its
# measures as JSON. A film is a file of frames one after another, each a PGM picture: P2, width and height, the
# brightest value, pixels.
set -eu
film=$1

awk '
	BEGIN {
		width = 128; height = 72; frames = 12; radius = 9
		for (f = 0; f < frames; f++) {
			print "P2\n" width " " height "\n255"
			x0 = radius + f * (width - 2 * radius) / (frames - 1)
			bounce = (f % 6) - 2.5
			y0 = radius + (height - 2 * radius) * bounce * bounce / 6.25
			light = 120 + 12 * (f < 6 ? f : 11 - f)
			for (y = 0; y < height; y++) {
				line = ""
				for (x = 0; x < width; x++) {
					inside = (x - x0) * (x - x0) + (y - y0) * (y - y0) <= radius * radius
					line = line (x ? " " : "") (inside ? light : 20 + int(40 * y / height))
				}
				print line
			}
		}
	}
' >"$MILLRACE_SCRATCH/$film.pgm.new"
mv "$MILLRACE_SCRATCH/$film.pgm.new" "$MILLRACE_SCRATCH/$film.pgm"
printf '{"width":128,"height":72,"frames":12}\n'
