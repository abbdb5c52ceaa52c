-- Deletes the rows of locks that no client has used for a long time.
--
-- The row of a lock makes its tokens grow. But a token is also at least the server time of its
-- grant, in microseconds. So the row may go once its last token is some days old: the next token
-- starts at the server time and is larger. Only a clock that was set back by as much could make it
-- smaller, so a row is kept for a day at least.
--
-- The function decides about a lock only after it has locked the lock's row. It skips rows that
-- another session has locked. A session that waits for a deleted row finds it gone and inserts it
-- again. Once it has locked a row it checks the token again, since a grant may have changed it.
--
-- Input   a_unused  for how long a lock was not used: a day at least
--         a_limit  how many rows are looked at
-- Output  how many rows were deleted
create or replace function holdfast.purge_locks_v1(
  a_unused interval, a_limit integer default 10000
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $purge_locks$
declare
  v_lock record;
  v_now constant timestamptz := clock_timestamp();
  v_count integer := 0;
begin
  if a_unused < interval '1 day' then
    raise exception 'rows of locks must be kept for a day at least, not %', a_unused
      using errcode = '22023';
  end if;
  for v_lock in
    select l.name, l.guarded from holdfast.locks l
     where l.last_token > 0
       and l.last_token < (extract(epoch from v_now - a_unused) * 1000000)::bigint
       and (l.sole_id is null or l.sole_expires <= v_now)
     limit a_limit for update skip locked
  loop
    -- There may have been no request since its leases ended.
    perform holdfast.expire_and_promote_v1(v_lock.name, v_now);
    continue when exists (select from holdfast.holders h where h.lock = v_lock.name)
               or exists (select from holdfast.waiters w where w.lock = v_lock.name);
    continue when v_lock.guarded and not holdfast.try_pass_guard_v1(v_lock.name);
    delete from holdfast.guards g where g.name = v_lock.name;
    delete from holdfast.locks l where l.name = v_lock.name;
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$purge_locks$;
