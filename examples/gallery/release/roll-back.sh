#!/bin/sh
# roll-back.sh PLACE: puts back what stood in PLACE/current before the run came. Doing it twice, or when nothing was
# done, changes nothing.
set -eu
place=$1
before=$place/before/$MILLRACE_RUN_ID

[ -e "$before" ] || exit 0
if [ -s "$before" ]; then
	cp "$before" "$place/current.new"
	mv "$place/current.new" "$place/current"
else
	rm -f "$place/current"
fi
echo "$place runs $(cat "$place/current" 2>/dev/null || echo nothing)"
