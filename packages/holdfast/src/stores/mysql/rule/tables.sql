-- The tables. A migration only adds to them: it never changes what was released, and each statement
-- may run again.
--
-- - `locks` has one row for each lock name that was ever used. A session locks that row before it
--   decides about the lock. The row stays when the lock is free, so that tokens only grow;
--   purge-locks.sql says when it may go. `guarded` says that the next grant has to pass a guard.
--   `sole_…` is the holder of a lock with one holder and no waiters, and `last_batch` marks the
--   batch that last served such a lock; apply-fast.sql.
-- - `holders` and `waiters` are the holders and the queue of locks that are `listed`, in the order
--   of `seq`.
-- - `tombstones` are withdrawn claims, kept as long as a late message of them may come.
--   The outcome `stolen` is of a claim that a steal removed; `steals` has the reason, if any.
-- - `guards` are locked by transactions that cover a lease until their commit. Only the next grant
--   changes them, so renewals and releases never wait for a transaction.
-- - `fences` keep the largest token that a resource has seen.
-- - `facts` has the format of all this, and the digest of each procedure; format.ts and
--   routines.ts.
--
-- Names are bytes: every collation takes some different names for one, such as names with a blank
-- at the end. Times are microseconds since 1970 in UTC: the value of a timestamp column depends on
-- the session's time zone.
--
-- Input   the prefix of the names, `holdfast_` here
-- Output  the tables; each statement ends with //
create table if not exists holdfast_locks (
  name varbinary(512) not null primary key,
  kind varchar(16) not null default 'mutex',
  capacity int not null default 2147483647,
  last_token bigint not null default 0,
  guarded boolean not null default false,
  listed boolean not null default false,
  sole_id varchar(64) character set ascii collate ascii_bin,
  sole_owner longtext,
  sole_weight int not null default 0,
  sole_tokens int,
  sole_granted_us bigint,
  sole_ttl_ms double,
  sole_expires_us bigint not null default 0,
  last_batch bigint unsigned not null default 0
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_holders (
  seq bigint not null auto_increment unique,
  name varbinary(512) not null,
  id varchar(64) character set ascii collate ascii_bin not null,
  owner longtext not null,
  weight int not null,
  token bigint not null,
  tokens int not null,
  granted_us bigint not null,
  ttl_ms double not null,
  expires_us bigint not null,
  stolen boolean not null default false,
  steal_reason text,
  primary key (name, id)
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_waiters (
  seq bigint not null auto_increment unique,
  name varbinary(512) not null,
  id varchar(64) character set ascii collate ascii_bin not null,
  owner longtext not null,
  weight int not null,
  tokens int not null,
  ttl_ms double not null,
  heartbeat_ms double not null,
  since_us bigint not null,
  seen_us bigint not null,
  channel varchar(64) character set ascii collate ascii_bin not null,
  primary key (name, id),
  unique key in_order (name, seq)
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_tombstones (
  name varbinary(512) not null,
  id varchar(64) character set ascii collate ascii_bin not null,
  until_us bigint not null,
  outcome varchar(16) not null,
  primary key (name, id),
  key by_age (until_us)
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_steals (
  name varbinary(512) not null,
  id varchar(64) character set ascii collate ascii_bin not null,
  until_us bigint not null,
  steal_reason text not null,
  primary key (name, id),
  key by_age (until_us)
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_guards (
  name varbinary(512) not null primary key,
  token bigint not null default 0
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_fences (
  resource varbinary(512) not null primary key,
  token bigint not null,
  owner varchar(64) character set ascii collate ascii_bin not null
) engine = InnoDB default character set utf8mb4//

create table if not exists holdfast_facts (
  name varchar(64) character set ascii collate ascii_bin not null primary key,
  value varchar(64) character set ascii collate ascii_bin not null
) engine = InnoDB default character set utf8mb4//
