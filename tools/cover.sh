#!/usr/bin/env bash
# Fails when a package is covered by its own tests less than COVER_MIN (95) per cent of its statements.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
min=${COVER_MIN:-95}
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT
status=0
for name in "$@"; do
	"$go" test -coverprofile "$profile" "./$name"
	total=$("$go" tool cover -func "$profile" | awk '$1 == "total:" { sub("%", "", $3); print $3 }')
	if awk -v total="$total" -v min="$min" 'BEGIN { exit !(total < min) }'; then
		printf '%s: %s %% of statements, less than %s\n' "$name" "$total" "$min" >&2
		"$go" tool cover -func "$profile" | awk '$3 != "100.0%" && $1 != "total:"' | sort -t '	' -k 3 | head -n 20 >&2
		status=1
	fi
done
exit "$status"
