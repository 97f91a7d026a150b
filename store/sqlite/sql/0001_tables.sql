-- Ids of runs are UUIDv7, 16 bytes. Times are microseconds since the Unix epoch. Tables that a run walks through are
-- without rowid: one b-tree each, clustered by run, so that what one settlement touches lies together. But not runs itself.

create table meta (
  name  text not null primary key,
  value integer not null
) without rowid;

insert into meta values ('lanes', 1);

create table workflows (
  tenant     text    not null,
  name       text    not null,
  version    integer not null check (version > 0),
  hash       blob    not null check (length(hash) = 32),
  doc        blob    not null,
  created_at integer not null,
  primary key (tenant, name, version)
);

-- Here the tree would be deep, for all runs there ever were, and each settlement would walk it twice to change a row. So rows have
-- numbers of SQLite's own: an index leads from the id to the number, with 190 ids in a page where nodes of the tree would hold
-- 30 rows, and a row that was found is changed without being looked for again.
create table runs (
  id               blob    not null primary key check (length(id) = 16),
  tenant           text    not null,
  workflow         text    not null,
  workflow_version integer not null,
  key              text    not null,
  home             text    not null,
  machine_version  integer not null,
  created_at       integer not null,
  status           text    not null,
  version          integer not null check (version > 0),
  seq              integer not null check (seq >= 0),
  at               integer not null,
  started_at       integer not null,
  finished_at      integer not null,
  rare             integer not null check (rare between 0 and 1),
  error            text,
  options          text    not null,
  doc              blob    not null
);

-- Lists walk the primary key, newest first. Statuses that are rare in it, and looked for, have an index of their own. (A
-- condition with a list of them would be a table in memory, built for every update.)
create index runs_rare on runs (tenant, id) where rare = 1;

create table run_keys (
  tenant   text not null,
  workflow text not null,
  key      text not null,
  run      blob not null,
  hash     blob not null check (length(hash) = 32),
  primary key (tenant, workflow, key)
) without rowid;

create table scopes (
  run  blob not null,
  path text not null,
  doc  blob not null,
  primary key (run, path)
) without rowid;

create table lanes (
  id       integer not null primary key,
  tenant   text    not null,
  queue    text    not null,
  handler  text    not null,
  workflow text    not null,
  paused   integer not null default 0 check (paused in (0, 1)),
  unique (tenant, queue, handler, workflow)
);

-- Every process keeps lanes in memory; this tells it when one that it knows has changed.
create trigger lanes_changed after update on lanes begin
  update meta set value = value + 1 where name = 'lanes';
end;

-- state: 0 ready, 1 delayed, 2 leased.
create table tasks (
  run         blob    not null,
  path        text    not null,
  lane        integer not null,
  rank        integer not null,
  state       integer not null check (state between 0 and 2),
  due         integer not null,
  priority    integer not null,
  attempt     integer not null check (attempt >= 0),
  cause       integer not null,
  lease_ms    integer not null,
  ready_at    integer not null,
  token       integer not null default 0,
  owner       text    not null default '',
  lease_until integer not null default 0,
  claimed_at  integer not null default 0,
  stop        integer not null default 0,
  refs        text    not null,
  env         text    not null,
  primary key (run, path),
  check ((state = 2) = (token <> 0))
) without rowid;

create index tasks_ready on tasks (lane, rank) where state = 0;
create index tasks_due on tasks (due) where state = 1;
create index tasks_leased on tasks (lease_until) where state = 2;

create table journal (
  run     blob    not null,
  seq     integer not null check (seq > 0),
  at      integer not null,
  kind    text    not null,
  path    text    not null,
  name    text    not null,
  key     text    not null,
  attempt integer not null,
  cause   integer not null,
  payload blob,
  facts   blob,
  primary key (run, seq)
) without rowid;

create table run_values (
  run  blob    not null,
  key  text    not null,
  idx  integer not null,
  data blob,
  primary key (run, key, idx)
) without rowid;

create table timers (
  run    blob    not null,
  key    text    not null,
  tenant text    not null,
  due    integer not null,
  cause  integer not null,
  primary key (run, key)
) without rowid;

create index timers_due on timers (due);

create table inbox (
  seq     integer not null primary key autoincrement,
  tenant  text    not null,
  run     blob    not null,
  id      text    not null,
  kind    text    not null,
  at      integer not null,
  path    text    not null,
  name    text    not null,
  key     text    not null,
  attempt integer not null,
  cause   integer not null,
  payload blob,
  facts   blob
);

-- What a run was told, waiting or delivered, until it ends: a message told twice is recorded once.
create table told (
  run blob    not null,
  id  text    not null,
  seq integer not null,
  primary key (run, id)
) without rowid;

create table dead_letters (
  id         integer not null primary key autoincrement,
  tenant     text    not null,
  run        blob    not null references runs (id),
  kind       text    not null,
  path       text    not null,
  error      text,
  created_at integer not null
);

create index dead_letters_tenant on dead_letters (tenant, id);
create index dead_letters_run on dead_letters (run, id);

create table processes (
  owner    text    not null primary key,
  host     text    not null,
  pid      integer not null,
  serves   text    not null,
  draining integer not null check (draining in (0, 1)),
  beat_at  integer not null
) without rowid;
