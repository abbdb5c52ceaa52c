-- Deletes slots of a schedule whose leases have ended. Each tick of `oncePerTick` is a lock of its
-- own, and no client asks for it again. So each attempt on a slot deletes the earliest ones of the
-- same schedule: more than a tick adds, however many replicas attempt it.
--
-- No user sees the token of a slot, and no transaction covers one. So its row may go at once, where
-- the row of another lock stays for its tokens (purge-locks.sql).
--
-- Their rows stand before that of the slot, which the caller has locked: a batch locks rows in the
-- order of their names. The function skips rows that another session has locked, so it never waits.
-- It looks at the holders again once it has locked a row.
--
-- Input   a_lock  the lock of an attempt: nothing happens where that is no slot
--         a_now  the time of the batch
-- Output  none
create or replace function holdfast.forget_slots_v1(a_lock text, a_now timestamptz) returns void
language plpgsql as $forget_slots$
declare
  v_slot constant text := '^(.*@tick:)[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$';
  v_schedule constant text := substring(a_lock from v_slot);
  v_names text[];
begin
  if v_schedule is null then return; end if;
  v_names := array(
    select l.name from holdfast.locks l
     where l.name in (
             select e.name from holdfast.locks e
              where e.name > v_schedule and e.name < a_lock order by e.name limit 8
           )
       and l.name ~ v_slot
       and (l.sole_id is null or l.sole_expires <= a_now)
       and not exists (select from holdfast.holders h where h.lock = l.name and h.expires > a_now)
       for update of l skip locked
  );
  v_names := array(
    select n from unnest(v_names) n
     where not exists (select from holdfast.holders h where h.lock = n and h.expires > a_now)
       and not exists (select from holdfast.waiters w where w.lock = n)
  );
  delete from holdfast.holders h where h.lock = any (v_names);
  delete from holdfast.locks l where l.name = any (v_names);
end
$forget_slots$;
