#!/bin/sh
# chart.sh OUT: draws $PRECIPITATION, a JSON list of numbers, as bars over $MONTHS, a JSON list of texts like 2012-01, into
# OUT/precipitation.svg, and prints the file's name as JSON.
set -eu
out=$1

mkdir -p "$out"
awk '
	function list(text, values) {
		gsub(/[^0-9A-Za-z.,-]/, "", text) # what is left of a JSON list: the values and the commas
		return split(text, values, ",")
	}
	BEGIN {
		n = list(ENVIRON["MONTHS"], month)
		if (list(ENVIRON["PRECIPITATION"], mm) != n || n == 0) {
			print "there must be as many amounts as months" > "/dev/stderr"
			exit 1
		}
		most = 0
		for (i = 1; i <= n; i++) if (mm[i] + 0 > most) most = mm[i] + 0
		grid = 50
		top = grid * int((most + grid - 0.1) / grid)
		if (top == 0) top = grid
		bar = 14; left = 44; height = 200; head = 34
		width = left + n * bar + 16

		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n", width, head + height + 30
		printf "<title>Precipitation by month, mm</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		printf "<text x=\"%d\" y=\"20\" font-size=\"14\" fill=\"#222\">Precipitation by month, mm</text>\n", left
		for (v = 0; v <= top; v += grid) {
			y = head + height - v * height / top
			printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>", left, width - 16, y, y
			printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#666\">%d</text>\n", left - 6, y + 4, v
		}
		for (i = 1; i <= n; i++) {
			x = left + (i - 1) * bar
			h = mm[i] * height / top
			printf "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\">", x + 1, head + height - h, bar - 2, h, (mm[i] + 0 == most ? "#c2410c" : "#2b6cb0")
			printf "<title>%s: %s mm</title></rect>\n", month[i], mm[i]
			if (substr(month[i], 6) == "01" || i == 1)
				printf "<text x=\"%d\" y=\"%d\" fill=\"#666\">%s</text>\n", x, head + height + 18, substr(month[i], 1, 4)
		}
		print "</svg>"
	}
' >"$out/precipitation.svg.new"
mv "$out/precipitation.svg.new" "$out/precipitation.svg"

printf '{"file":"%s/precipitation.svg"}\n' "$out"
