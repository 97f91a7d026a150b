#!/bin/sh
# build.sh VERSION BROKEN: packs app/ with its version into greet.tar in the run's folder, and prints the archive's size
# and checksum as JSON. With BROKEN true the program says of itself that it is not well.
set -eu
version=$1
broken=$2

tree=$MILLRACE_SCRATCH/tree
rm -rf "$tree"
mkdir "$tree"
cp app/greet "$tree/greet"
chmod 755 "$tree/greet"
echo "$version" >"$tree/VERSION"
[ "$broken" != true ] || : >"$tree/broken"
tar -cf "$MILLRACE_SCRATCH/greet.tar.new" -C "$tree" .
mv "$MILLRACE_SCRATCH/greet.tar.new" "$MILLRACE_SCRATCH/greet.tar"
cksum <"$MILLRACE_SCRATCH/greet.tar" | awk -v version="$version" '
	{ printf "{\"version\":\"%s\",\"checksum\":%s,\"bytes\":%s}\n", version, $1, $2 }
'
