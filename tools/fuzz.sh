#!/usr/bin/env bash
# Runs every fuzz target of the module, each for FUZZTIME (30s). New targets need no entry anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
found=0
while IFS=: read -r file target; do
	found=1
	printf '%s %s for %s\n' "./$(dirname "$file")" "$target" "${FUZZTIME:-30s}"
	"$go" test -run '^$' -fuzz "^${target}\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 20x "./$(dirname "$file")"
done < <(git ls-files --cached --others --exclude-standard '*_test.go' | grep -v /testdata/ |
	xargs grep -HoE '^func Fuzz[A-Za-z0-9_]*' | sed 's/:func /:/')
if [ "$found" = 0 ]; then
	echo 'no fuzz target found' >&2
	exit 1
fi
