#!/bin/sh
# Greets $1 for the $2nd time. What goes to standard output is the step's output; standard error is its log.
set -eu

echo "thinking about greeting number $2" >&2
sleep 1
echo "Hello, $1! ($2)"
