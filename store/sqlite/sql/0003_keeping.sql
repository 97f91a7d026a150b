-- Pruning, and lists of one rare status.

-- What is left of a key once its run was pruned: key is its SHA-256.
create table key_tombstones (
  tenant   text not null,
  workflow text not null,
  key      blob not null check (length(key) = 32),
  run      blob not null,
  hash     blob not null check (length(hash) = 32),
  primary key (tenant, workflow, key)
) without rowid;

-- Runs that are gone, and of which documents, entries or values are left to be removed.
create table leftovers (
  run blob not null primary key
) without rowid;

-- Each rare status is a range of its own: dead runs are found however many have failed.
drop index runs_rare;
create index runs_rare on runs (tenant, status, id) where rare = 1;
