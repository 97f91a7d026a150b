#!/bin/sh
# report.sh OUT INCIDENT EVIDENCE: writes OUT/INCIDENT/report.md of $CAUSES and $SEEN, a line for each pass, and prints
# its name as JSON. EVIDENCE is a file, or empty.
set -eu
folder=$1/$2

mkdir -p "$folder"
awk -v incident="$2" -v evidence="${3##*/}" '
	BEGIN {
		n = split(ENVIRON["CAUSES"], cause, "\n")
		split(ENVIRON["SEEN"], seen, "\n")
		print "# " incident "\n"
		for (i = 1; i <= n; i++) print i ". " (cause[i] == "none" ? "well: " : cause[i] ": ") seen[i]
		print "\nEvidence: " (evidence == "" ? "none was kept" : evidence)
	}
' >"$folder/report.md.new"
mv "$folder/report.md.new" "$folder/report.md"
printf '{"file":"%s/report.md"}\n' "$folder"
