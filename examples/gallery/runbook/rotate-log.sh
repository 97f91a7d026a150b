#!/bin/sh
# rotate-log.sh SERVICE: packs the log and begins a new one.
set -eu
service=$1

gzip -c "$service/shop.log" >"$service/shop.log.1.gz.new"
mv "$service/shop.log.1.gz.new" "$service/shop.log.1.gz"
: >"$service/shop.log"
echo "rotated shop.log"
