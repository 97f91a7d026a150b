-- Pausing, letters that are closed, and runs that go on after their end.

-- state: 0 ready, 1 delayed, 2 leased, 3 on hold (its run is paused). A constraint is changed by making the table anew; it
-- holds what is live, and no more.
create table tasks_anew (
  run         blob    not null,
  path        text    not null,
  lane        integer not null,
  rank        integer not null,
  state       integer not null check (state between 0 and 3),
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

insert into tasks_anew select run, path, lane, rank, state, due, priority, attempt, cause, lease_ms, ready_at, token, owner,
  lease_until, claimed_at, stop, refs, env from tasks;

drop table tasks;

alter table tasks_anew rename to tasks;

create index tasks_ready on tasks (lane, rank) where state = 0;
create index tasks_due on tasks (due) where state = 1;
create index tasks_leased on tasks (lease_until) where state = 2;

-- A letter is open until closed_at, and open ones have indexes of their own: they are few, whatever the table holds.
alter table dead_letters add column state text not null default 'open';
alter table dead_letters add column closed_at integer not null default 0 check ((state = 'open') = (closed_at = 0));

update dead_letters set state = 'superseded', closed_at = created_at where exists (
  select 1 from dead_letters as newer where newer.run = dead_letters.run and newer.kind = dead_letters.kind
    and newer.path = dead_letters.path and newer.id > dead_letters.id);

create unique index dead_letters_open on dead_letters (run, kind, path) where state = 'open';
create index dead_letters_open_tenant on dead_letters (tenant, id) where state = 'open';

-- A lane's flag says whether one of these covers it; name is '' for that of a tenant.
create table pauses (
  tenant text    not null,
  kind   text    not null check (kind in ('workflow', 'queue', 'tenant')),
  name   text    not null,
  who    text    not null,
  reason text    not null,
  at     integer not null,
  primary key (tenant, kind, name)
) without rowid;

-- Runs that are stopping or compensating are rare too, from now on.
update runs set rare = 1 where rare = 0 and status in ('stopping', 'compensating');
