#!/bin/sh
# alert.sh OUT WORDS: tells the operator on call. Here that is a line in OUT/alerts.log; there it would be a pager or a
# mail. The line holds the task's key, and a line with the same key is not written twice.
set -eu

mkdir -p "$1"
grep -qsF "$MILLRACE_KEY " "$1/alerts.log" || echo "$MILLRACE_KEY $2" >>"$1/alerts.log"
