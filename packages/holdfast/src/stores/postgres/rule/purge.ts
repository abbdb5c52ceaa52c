/**
 * Taking away the rows of locks that nobody has used for long.
 *
 * A row is what lets tokens grow. But a token also exceeds the time of its grant, in microseconds,
 * so that a row whose last token is older than some days may go: the next one begins at the time,
 * and is larger all the same unless the clock was set back by as much. That is why it takes a day
 * at least.
 *
 * A lock is decided about only with its row locked, and so it is here. A row that somebody else has
 * is not waited for, and who waits for one of ours finds it gone and makes it anew. A row that a
 * grant has just changed is looked at again with its new token once it is locked.
 */
export const PURGE = /* sql */ `
create or replace function holdfast.purge_1(a_unused interval, a_limit integer default 10000) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $purge$
declare
  v_lock record;
  v_count integer := 0;
begin
  if a_unused < interval '1 day' then
    raise exception 'rows of locks must be kept for a day at least, not %', a_unused using errcode = '22023';
  end if;
  for v_lock in
    select l.name, l.guarded from holdfast.locks l
     where l.last_token > 0
       and l.last_token < (extract(epoch from clock_timestamp() - a_unused) * 1000000)::bigint
     limit a_limit for update skip locked
  loop
    continue when exists (select from holdfast.holders h where h.lock = v_lock.name)
               or exists (select from holdfast.waiters w where w.lock = v_lock.name);
    continue when v_lock.guarded and not holdfast.pass_1(v_lock.name);
    delete from holdfast.guards g where g.name = v_lock.name;
    delete from holdfast.locks l where l.name = v_lock.name;
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$purge$;
`
