#!/bin/sh
# transcode.sh FILM HEIGHT: makes a rendition of the master in the run's folder by averaging pixels, and prints it as
# JSON. Ends with status 3 when the master is smaller than that.
set -eu
film=$1
height=$2
target=$MILLRACE_SCRATCH/$film-$height.pgm

awk -v wanted="$height" '
	function flush(    x, y, i, j, sum, line) {
		print "P2\n" int(width / factor) " " wanted "\n255"
		for (y = 0; y < wanted; y++) {
			line = ""
			for (x = 0; x < int(width / factor); x++) {
				sum = 0
				for (j = 0; j < factor; j++)
					for (i = 0; i < factor; i++) sum += pixel[y * factor + j, x * factor + i]
				line = line (x ? " " : "") int(sum / factor / factor + 0.5)
			}
			print line
		}
	}
	NF == 1 && $1 == "P2" { row = -2; next }
	row == -2 {
		width = $1; height = $2; row = -1
		if (wanted > height) {
			print "the master has " height " lines, so " wanted " cannot be made of it" > "/dev/stderr"
			exit 3
		}
		factor = int(height / wanted)
		next
	}
	row == -1 { row = 0; next }
	{
		for (x = 1; x <= NF; x++) pixel[row, x - 1] = $x
		if (++row == height) flush()
	}
' "$MILLRACE_SCRATCH/$film.pgm" >"$target.new"
mv "$target.new" "$target"
echo "$height lines: $(wc -c <"$target") bytes" >&2
printf '{"height":%d,"bytes":%d}\n' "$height" "$(wc -c <"$target")"
