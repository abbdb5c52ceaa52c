-- Ends the grants of a lock for an operator: at once, or by refusing their renewals.
--
-- Input   a_request  lock, now, stealReason
--         a_now  the time of the batch
-- Output  holders, freeInMs, and guarded: whether a transaction still has the guard
create or replace function holdfast.steal_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $steal$
declare
  a_lock constant text := a_request ->> 'lock';
  v_now constant boolean := (a_request ->> 'now')::boolean;
  v_holder record;
  v_count integer := 0;
  v_free_in_ms double precision := 0;
  v_guarded boolean := false;
begin
  for v_holder in
    update holdfast.holders h
       set stolen = true, steal_reason = coalesce(a_request ->> 'stealReason', h.steal_reason)
     where h.lock = a_lock
    returning h.id, h.ttl_ms, extract(epoch from h.expires - a_now) * 1000 as left_ms
  loop
    v_count := v_count + 1;
    if v_now then
      perform holdfast.add_tombstone_v1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
    else
      v_free_in_ms := greatest(v_free_in_ms, v_holder.left_ms);
    end if;
  end loop;
  if v_now then
    delete from holdfast.holders h where h.lock = a_lock;
    perform holdfast.promote_waiters_v1(a_lock, a_now);
    -- Checks whether a transaction still has the guard, without disturbing the transaction.
    if exists (select from holdfast.locks l where l.name = a_lock and l.guarded) then
      perform from holdfast.guards g where g.name = a_lock for update skip locked;
      v_guarded := not found and exists (select from holdfast.guards g where g.name = a_lock);
    end if;
  end if;
  return jsonb_build_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded);
end
$steal$;
