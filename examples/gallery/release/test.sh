#!/bin/sh
# test.sh syntax|unit|archive: one check of what was built. Says what it found, and fails when it is wrong.
set -eu
tree=$MILLRACE_SCRATCH/tree

case $1 in
syntax)
	sh -n "$tree/greet"
	echo "greet can be read"
	;;
unit)
	[ "$("$tree/greet")" = "Hello, world!" ]
	[ "$("$tree/greet" Ada)" = "Hello, Ada!" ]
	[ "$("$tree/greet" --version)" = "$(cat "$tree/VERSION")" ]
	echo "3 of 3 are right"
	;;
archive)
	for file in greet VERSION; do
		tar -tf "$MILLRACE_SCRATCH/greet.tar" | grep -qx "./$file" || { echo "$file is missing" >&2; exit 1; }
	done
	echo "greet.tar is complete"
	;;
*)
	echo "there is no check called $1" >&2
	exit 64
	;;
esac
