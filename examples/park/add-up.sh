#!/bin/sh
# Adds up the amounts of a file: lines of TIME,AMOUNT. Reads { "file": NAME } and prints { "cents": SUM }.
# Status 66: the file is not there; 65: a line of it has no amount.
set -eu

file=$(sed -n 's/.*"file": *"\([^"]*\)".*/\1/p')
if [ ! -f "$file" ]; then
  echo "$file has not come" >&2
  exit 66
fi
awk -F, -v name="$file" '
  $2 !~ /^[0-9]+\.[0-9][0-9]$/ { printf "%s, line %d: %s is no amount\n", name, NR, $0 > "/dev/stderr"; bad = 1; exit 65 }
  { sub(/\./, "", $2); cents += $2 }
  END { if (!bad) printf "{\"cents\": %d}\n", cents }
' "$file"
