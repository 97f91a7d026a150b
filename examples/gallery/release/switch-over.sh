#!/bin/sh
# switch-over.sh PLACE VERSION: unpacks greet.tar into PLACE/releases/VERSION and writes that version into
# PLACE/current. What stood there is kept in PLACE/before, under the run's id, also when an attempt comes later; prints
# it as JSON.
set -eu
place=$1
version=$2
before=$place/before/$MILLRACE_RUN_ID

mkdir -p "$place/releases" "$place/before"
if [ ! -e "$before" ]; then
	[ ! -e "$place/current" ] || cat "$place/current" >"$before.new"
	[ -e "$before.new" ] || : >"$before.new" # nothing ran here
	mv "$before.new" "$before"
fi
rm -rf "$place/releases/$version"
mkdir "$place/releases/$version"
tar -xf "$MILLRACE_SCRATCH/greet.tar" -C "$place/releases/$version"
echo "$version" >"$place/current.new"
mv "$place/current.new" "$place/current"
echo "$place runs $version" >&2
printf '{"before":"%s"}\n' "$(cat "$before")"
