#!/bin/sh
# healthy.sh PLACE VERSION: asks the program in PLACE/current who it is and how it is. Ends with status 3 when it is
# another one, or not well.
set -eu
place=$1
version=$2

program=$place/releases/$(cat "$place/current")/greet
found=$("$program" --version) || exit 3
if [ "$found" != "$version" ]; then
	echo "$place runs $found, not $version" >&2
	exit 3
fi
"$program" --health || exit 3
