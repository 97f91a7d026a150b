#!/bin/sh
# evidence.sh SERVICE OUT INCIDENT: packs the service's folder as it is into OUT/INCIDENT, and prints the file's name as
# JSON. What is there already stays: an attempt that comes later would see what was changed since.
set -eu
service=$1
folder=$2/$3

mkdir -p "$folder"
file=$folder/evidence-$MILLRACE_RUN_ID.tar.gz
if [ ! -e "$file" ]; then
	tar -czf "$file.new" -C "$service" .
	mv "$file.new" "$file"
fi
printf '{"file":"%s"}\n' "$file"
