#!/bin/sh
# diagnose.sh SERVICE: prints the first cause that it finds as JSON: bad_config, stale_lock, disk_full, stuck_queue or
# none, with what was seen.
set -eu
service=$1

found() {
	echo "$1: $2" >&2
	printf '{"cause":"%s","seen":"%s"}\n' "$1" "$2"
	exit
}

wrong=$(grep -cvE '^[a-z]+=[0-9]{1,4}$' "$service/shop.conf" || true)
[ "$wrong" -eq 0 ] || found bad_config "$wrong lines of shop.conf cannot be right"
if [ -e "$service/shop.lock" ]; then
	holder=$(cat "$service/shop.lock")
	kill -0 "$holder" 2>/dev/null || found stale_lock "shop.lock is held by process $holder, which is gone"
fi
size=$(($(wc -c <"$service/shop.log")))
[ "$size" -le 10000 ] || found disk_full "shop.log has $size bytes"
for file in "$service"/queue/*.stuck; do
	[ ! -e "$file" ] || found stuck_queue "the queue holds ${file##*/}"
done
found none "nothing is wrong"
