#!/bin/sh
# page.sh OUT INCIDENT WHO WORDS: pages a person. Here that is a line in OUT/pages.log. The line holds the task's key,
# and a line with the same key is not written twice, so that nobody is woken again by a second attempt.
set -eu

mkdir -p "$1"
grep -qsF "$MILLRACE_KEY " "$1/pages.log" || printf '%s %s %s: %s\n' "$MILLRACE_KEY" "$2" "$3" "$4" >>"$1/pages.log"
echo "paged $3"
