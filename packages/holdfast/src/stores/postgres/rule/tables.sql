-- The tables. A migration only adds to them: it never changes what was released, and each statement
-- may run again.
--
-- - `locks` has one row for each lock name that was ever used. A session locks that row before it
--   decides about the lock. The row stays when the lock is free, so that tokens only grow;
--   purge-locks.sql says when it may go. `guarded` says that the next grant has to pass a guard.
--   `sole_…` is the holder of a lock with one holder and no waiters, and `last_before` the last
--   token before its own; apply-single.sql.
-- - `holders` and `waiters` are the holders and the queue of locks that are `listed`, in the order
--   of `seq`.
-- - `tombstones` are withdrawn claims, kept as long as a late message of them may come.
-- - `guards` are locked by transactions that cover a lease until their commit. Only the next grant
--   changes them, so renewals and releases never wait for a transaction.
-- - `fences` keep the largest token that a resource has seen.
-- - `facts` has the format of all this, which migrations read; check-format.sql.
--
-- `owner` and `steal_reason` are JSON as text, since the JSON type of PostgreSQL refuses some
-- characters that a label may have. Rows that change with each heartbeat and grant leave room on
-- their page, so that the indexes need not change with them.
--
-- Input   none
-- Output  the tables and their indexes
create table if not exists holdfast.locks (
  name text collate "C" primary key,
  kind text not null default 'mutex',
  capacity integer not null default 2147483647,
  last_token bigint not null default 0,
  guarded boolean not null default false,
  listed boolean not null default false,
  sole_id text collate "C",
  sole_owner text,
  sole_weight integer,
  sole_tokens integer,
  sole_granted timestamptz,
  sole_ttl_ms double precision,
  sole_expires timestamptz,
  last_before bigint
) with (fillfactor = 50);

create table if not exists holdfast.holders (
  lock text collate "C" not null,
  id text collate "C" not null,
  seq bigint generated always as identity,
  owner text not null,
  weight integer not null,
  token bigint not null,
  tokens integer not null,
  granted timestamptz not null,
  ttl_ms double precision not null,
  expires timestamptz not null,
  stolen boolean not null default false,
  steal_reason text,
  primary key (lock, id)
) with (fillfactor = 50);

create table if not exists holdfast.waiters (
  lock text collate "C" not null,
  id text collate "C" not null,
  seq bigint generated always as identity,
  owner text not null,
  weight integer not null,
  tokens integer not null,
  ttl_ms double precision not null,
  heartbeat_ms double precision not null,
  since timestamptz not null,
  seen timestamptz not null,
  channel text not null,
  primary key (lock, id)
) with (fillfactor = 50);

create table if not exists holdfast.tombstones (
  lock text collate "C" not null,
  id text collate "C" not null,
  until timestamptz not null,
  outcome text not null,
  primary key (lock, id)
);

create table if not exists holdfast.guards (
  name text collate "C" primary key,
  token bigint not null default 0
);

create table if not exists holdfast.fences (
  resource text collate "C" primary key,
  token bigint not null,
  owner text not null
);

create table if not exists holdfast.facts (
  name text collate "C" primary key,
  value text not null
);

-- "create index if not exists" locks its table against writers, also where the index exists. Two
-- such locks and the writes of a client that works meanwhile would make a deadlock.
do $indexes$ begin
  if to_regclass(quote_ident('holdfast') || '.waiters_in_order') is null then
    create unique index waiters_in_order on holdfast.waiters (lock, seq);
  end if;
  if to_regclass(quote_ident('holdfast') || '.tombstones_by_age') is null then
    create index tombstones_by_age on holdfast.tombstones (until);
  end if;
end $indexes$;
