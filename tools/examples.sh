#!/usr/bin/env bash
# Runs each example through the built binary, each on a database of its own, and shows how it ended.
set -euo pipefail
binary=$(realpath "${1:?usage: tools/examples.sh BINARY}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in examples/*/*.yaml; do
	name=$(basename "$file" .yaml)
	"$binary" run "$file" --db "sqlite:$work/$name.db" --json >"$work/$name.json"
	printf '%s succeeded\n' "$file"
done
