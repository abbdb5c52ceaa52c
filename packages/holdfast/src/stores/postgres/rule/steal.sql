-- Ends the grants of a lock for an operator: at once, or by refusing their renewals. The verb
-- `stealClaim` ends one claim, and takes one that waits out of the queue.
--
-- Input   a_request  verb, lock, now, stealReason, and id for `stealClaim`
--         a_now  the time of the batch
-- Output  holders, freeInMs, and guarded: whether a transaction still has the guard; for
--         `stealClaim` also waiters
create or replace function holdfast.steal_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $steal$
declare
  a_lock constant text := a_request ->> 'lock';
  a_only constant boolean := a_request ->> 'verb' = 'stealClaim';
  a_id constant text := a_request ->> 'id';
  v_now constant boolean := (a_request ->> 'now')::boolean;
  v_holder record;
  v_ttl_ms double precision;
  v_count integer := 0;
  v_free_in_ms double precision := 0;
  v_guarded boolean := false;
begin
  if a_only then
    delete from holdfast.waiters w where w.lock = a_lock and w.id = a_id
    returning w.ttl_ms into v_ttl_ms;
    if found then
      perform holdfast.add_tombstone_v1(
        a_lock, a_id, v_ttl_ms, 'stolen' || coalesce(a_request ->> 'stealReason', ''), a_now
      );
      -- A waiter that left the queue may have been the only one before a smaller claim.
      perform holdfast.promote_waiters_v1(a_lock, a_now);
      return jsonb_build_object('holders', 0, 'waiters', 1, 'freeInMs', 0, 'guarded', false);
    end if;
  end if;
  for v_holder in
    update holdfast.holders h
       set stolen = true, steal_reason = coalesce(a_request ->> 'stealReason', h.steal_reason)
     where h.lock = a_lock and (not a_only or h.id = a_id)
    returning h.id, h.ttl_ms, h.steal_reason, extract(epoch from h.expires - a_now) * 1000 as left_ms
  loop
    v_count := v_count + 1;
    if v_now then
      perform holdfast.add_tombstone_v1(
        a_lock, v_holder.id, v_holder.ttl_ms, 'stolen' || coalesce(v_holder.steal_reason, ''), a_now
      );
    else
      v_free_in_ms := greatest(v_free_in_ms, v_holder.left_ms);
    end if;
  end loop;
  if v_now then
    delete from holdfast.holders h where h.lock = a_lock and (not a_only or h.id = a_id);
    perform holdfast.promote_waiters_v1(a_lock, a_now);
    -- Checks whether a transaction still has the guard, without disturbing the transaction.
    if exists (select from holdfast.locks l where l.name = a_lock and l.guarded) then
      perform from holdfast.guards g where g.name = a_lock for update skip locked;
      v_guarded := not found and exists (select from holdfast.guards g where g.name = a_lock);
    end if;
  end if;
  return jsonb_build_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded)
    || case when a_only then '{"waiters": 0}'::jsonb else '{}'::jsonb end;
end
$steal$;
