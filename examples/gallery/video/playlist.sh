#!/bin/sh
# playlist.sh FILM STILL: writes the playlist of the renditions whose heights are in $HEIGHTS, a JSON list, to the run's
# folder, largest first, and prints it as JSON. STILL is the still's file, or empty.
set -eu
film=$1
still=$2

list=$(printf '%s' "$HEIGHTS" | tr -d '[] ' | tr ',' '\n' | sort -rn)
{
	echo "#EXTM3U"
	[ -z "$still" ] || echo "#STILL:$still"
	for height in $list; do
		file=$film-$height.pgm
		size=$(sed -n '2s/ /x/p' "$MILLRACE_SCRATCH/$file")
		echo "#EXT-X-STREAM-INF:BANDWIDTH=$(($(wc -c <"$MILLRACE_SCRATCH/$file"))),RESOLUTION=$size"
		echo "$file"
	done
} >"$MILLRACE_SCRATCH/$film.m3u8"
printf '%s\n' "$list" | awk '
	{ text = text (NR > 1 ? "," : "") $1 }
	END { printf "{\"renditions\":[%s]}\n", text }
'
