#!/bin/sh
# service.sh FOLDER BROKEN: prints the folder of the service. Without FOLDER it makes one in the run's folder, broken as
# BROKEN says: lock-and-disk, config or queue.
set -eu
service=$1
broken=$2

if [ -n "$service" ]; then
	[ -d "$service" ] || { echo "there is no folder $service" >&2; exit 1; }
	echo "$service"
	exit
fi
service=$MILLRACE_SCRATCH/shop
rm -rf "$service"
mkdir -p "$service/queue"
printf 'port=8080\nworkers=4\n' >"$service/shop.conf"
cp "$service/shop.conf" "$service/shop.conf.good"
echo "started" >"$service/shop.log"
case $broken in
lock-and-disk)
	awk 'BEGIN { for (i = 0; i < 2000; i++) print "request " i " took 12 ms" }' >"$service/shop.log"
	echo 999999999 >"$service/shop.lock" # no process has such a number
	;;
config) printf 'port=80800\nworkers=four\n' >"$service/shop.conf" ;;
queue) for i in 1 2 3; do echo "order $i" >"$service/queue/$i.stuck"; done ;;
esac
echo "$service"
