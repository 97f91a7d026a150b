#!/bin/sh
# restore-config.sh SERVICE: puts back the last configuration that was good, and keeps the bad one beside it.
set -eu
service=$1

cp "$service/shop.conf" "$service/shop.conf.bad"
cp "$service/shop.conf.good" "$service/shop.conf.new"
mv "$service/shop.conf.new" "$service/shop.conf"
echo "restored shop.conf"
