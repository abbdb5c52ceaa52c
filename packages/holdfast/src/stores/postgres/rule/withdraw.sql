-- Takes a claim out of the store, granted or not, and refuses it from then on.
--
-- Input   a_request  lock, id, and ttlMs, for which the claim is refused
--         a_now  the time of the batch
-- Output  outcome: released, left or absent; if it is repeated, that of the first one
create or replace function holdfast.withdraw_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $withdraw$
declare
  a_lock constant text := a_request ->> 'lock';
  a_id constant text := a_request ->> 'id';
  v_outcome text;
  v_made_room boolean := true;
begin
  delete from holdfast.holders h where h.lock = a_lock and h.id = a_id;
  if found then v_outcome := 'released';
  else
    delete from holdfast.waiters w where w.lock = a_lock and w.id = a_id;
    if found then v_outcome := 'left';
    else
      v_made_room := false;
      select case when t.outcome like 'stolen%' then 'absent' else t.outcome end
        into v_outcome from holdfast.tombstones t
       where t.lock = a_lock and t.id = a_id and t.until > a_now;
    end if;
  end if;
  v_outcome := coalesce(v_outcome, 'absent');
  -- An earlier tombstone of this claim is renewed: it may be about to expire.
  perform holdfast.add_tombstone_v1(
    a_lock, a_id, (a_request ->> 'ttlMs')::double precision, v_outcome, a_now
  );
  -- A waiter that left the queue may have been the only one before a smaller claim.
  if v_made_room and exists (select from holdfast.waiters w where w.lock = a_lock) then
    perform holdfast.promote_waiters_v1(a_lock, a_now);
  end if;
  return jsonb_build_object('outcome', v_outcome);
end
$withdraw$;
