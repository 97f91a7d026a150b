#!/usr/bin/env bash
# Sees that PostgreSQL and pgbouncer are here, which tests start clusters of their own from, and installs the system's packages
# when they are not.
set -euo pipefail

here() {
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null
}
pooler() {
	PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null
}

if here && pooler; then
	exit 0
fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo 'PostgreSQL 15 or newer and pgbouncer are needed by the tests: install them (packages postgresql, pgbouncer)' >&2
	exit 1
fi
echo 'installing postgresql and pgbouncer from the packages of the system, for the tests' >&2
apt-get update -q >&2
# No cluster of the system's is made or started.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
apt-get install -y -q postgresql pgbouncer >&2
