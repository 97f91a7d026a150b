#!/bin/sh
# Writes its second argument as a line of the file that the first names.
set -eu
printf '%s\n' "$2" >> "$1"
