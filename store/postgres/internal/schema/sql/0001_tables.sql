-- serves: 1
-- The schema is named millrace here; another name is put in its place. Ids of runs are UUIDv7. Times are microseconds since
-- the Unix epoch. Text compares byte by byte, as the program does. Documents and payloads are bytes: they come back as they
-- went in. Hot tables have no foreign keys: a run's row is the lock of all that is its own.

-- What is written goes by this clock alone: the time at which the transaction began.
create function millrace.clock() returns bigint language sql stable parallel safe
  return (extract(epoch from now()) * 1000000)::bigint;

create table millrace.workflows (
  tenant     text   not null collate "C",
  name       text   not null collate "C",
  version    int    not null check (version > 0),
  hash       bytea  not null check (length(hash) = 32),
  doc        bytea  not null,
  created_at bigint not null,
  primary key (tenant, name, version)
);

-- What a settlement does not change comes first, so that the log needs not repeat it. No index holds what the happy path
-- changes, and a page has room for each of its runs once more: an update stays on the page, and the log has its difference.
create table millrace.runs (
  id               uuid    not null primary key,
  created_at       bigint  not null,
  started_at       bigint  not null,
  workflow_version int     not null,
  machine_version  int     not null,
  tenant           text    not null collate "C",
  workflow         text    not null collate "C",
  key              text    not null collate "C",
  home             text    not null collate "C",
  options          text    not null,
  labels           jsonb,
  version          bigint  not null check (version > 0),
  seq              bigint  not null check (seq >= 0),
  at               bigint  not null,
  finished_at      bigint  not null,
  rare             text    not null collate "C",
  status           text    not null collate "C",
  error            bytea,
  error_step       text    collate "C",
  error_code       text    collate "C",
  doc              bytea   not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Lists walk the primary key, newest first. Each status that is rare in it, and looked for, is a range of an index of its own. rare is
-- that status, and '' for the others: what the happy path changes is in no index, also not in one that leaves its rows out.
create index runs_rare on millrace.runs (tenant, rare, id) where rare <> '';

-- What a key is remembered by, also when its run is gone: key is its SHA-256, hash that of the input.
create table millrace.run_keys (
  tenant   text  not null collate "C",
  workflow text  not null collate "C",
  key      bytea not null check (length(key) = 32),
  run      uuid  not null,
  hash     bytea not null check (length(hash) = 32),
  primary key (tenant, workflow, key)
);

create table millrace.scopes (
  run  uuid  not null,
  path text  not null collate "C",
  doc  bytea not null,
  primary key (run, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

create table millrace.lanes (
  id       int     not null primary key generated always as identity,
  tenant   text    not null collate "C",
  queue    text    not null collate "C",
  handler  text    not null collate "C",
  workflow text    not null collate "C",
  paused   boolean not null,
  unique (tenant, queue, handler, workflow)
);

-- A lane's flag says whether one of these covers it; name is '' for that of a tenant.
create table millrace.pauses (
  tenant text   not null collate "C",
  kind   text   not null collate "C" check (kind in ('workflow', 'queue', 'tenant')),
  name   text   not null collate "C",
  who    text   not null,
  reason text   not null,
  at     bigint not null,
  primary key (tenant, kind, name)
);

-- rank is the time at which the task became ready, less 2 s for each point of priority. state: 0 ready, 1 delayed, 2 leased,
-- 3 on hold. entry is the one entry of the journal that the task's programs read; 0: none,
-- or refs lists what they read. documents are those from the root down to the task's scope; null: the root's alone.
-- A claim too finds room on the page: its difference alone is in the log, and no lock beside it.
create table millrace.tasks (
  run         uuid     not null,
  rank        bigint   not null,
  due         bigint   not null,
  token       bigint   not null default 0,
  lease_until bigint   not null default 0,
  claimed_at  bigint   not null default 0,
  lease_ms    bigint   not null,
  lane        int      not null,
  priority    int      not null,
  cause       int      not null,
  entry       int      not null,
  attempt     int      not null check (attempt >= 0),
  state       smallint not null check (state between 0 and 3),
  stop        boolean  not null default false,
  path        text     not null collate "C",
  owner       text     not null default '',
  refs        text[],
  documents   text[],
  env         bytea    not null,
  primary key (run, path),
  check ((state = 2) = (token <> 0))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);

create index tasks_ready on millrace.tasks (lane, rank) where state = 0;
create index tasks_due on millrace.tasks (due) where state = 1;
create index tasks_leased on millrace.tasks (lease_until) where state = 2;

create table millrace.journal (
  run     uuid   not null,
  at      bigint not null,
  seq     int    not null check (seq > 0),
  cause   int    not null,
  attempt int    not null,
  kind    text   not null,
  path    text   not null,
  name    text   not null,
  key     text   not null,
  payload bytea,
  facts   bytea,
  primary key (run, seq)
);

create table millrace.run_values (
  run  uuid not null,
  ref  text not null collate "C",
  data bytea,
  primary key (run, ref)
);

create table millrace.timers (
  run    uuid   not null,
  due    bigint not null,
  cause  bigint not null,
  key    text   not null collate "C",
  tenant text   not null collate "C",
  primary key (run, key)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- Its condition always holds: it has only those walk this index who ask for a time.
create index timers_due on millrace.timers (due, run, key) where due is not null;

-- What a run was told, waiting or delivered, until it ends: a message told twice is recorded once.
create table millrace.inbox (
  run       uuid    not null,
  seq       bigint  not null generated always as identity,
  at        bigint  not null,
  cause     bigint  not null,
  attempt   int     not null,
  delivered boolean not null default false,
  tenant    text    not null collate "C",
  id        text    not null collate "C",
  kind      text    not null,
  path      text    not null,
  name      text    not null,
  key       text    not null,
  payload   bytea,
  facts     bytea,
  primary key (run, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

create index inbox_waiting on millrace.inbox (seq) where not delivered;

create table millrace.dead_letters (
  id         bigint not null primary key generated always as identity,
  run        uuid   not null references millrace.runs (id),
  created_at bigint not null,
  closed_at  bigint not null default 0,
  tenant     text   not null collate "C",
  kind       text   not null collate "C",
  path       text   not null collate "C",
  state      text   not null default 'open' collate "C",
  error      bytea,
  error_step text   collate "C",
  error_code text   collate "C",
  check ((state = 'open') = (closed_at = 0))
);

create unique index dead_letters_open on millrace.dead_letters (run, kind, path) where state = 'open';
create index dead_letters_open_tenant on millrace.dead_letters (tenant, id) where state = 'open';
create index dead_letters_tenant on millrace.dead_letters (tenant, id);
create index dead_letters_run on millrace.dead_letters (run, id);

-- Runs that are gone, and of which documents, entries or values are left to be removed.
create table millrace.leftovers (
  run uuid not null primary key
);

create table millrace.processes (
  owner    text    not null primary key collate "C",
  host     text    not null,
  pid      bigint  not null,
  serves   text[]  not null,
  draining boolean not null,
  beat_at  bigint  not null
);
