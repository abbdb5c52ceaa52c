-- Extends a grant, or keeps its end and changes only its owner.
--
-- Input   a_request  lock, id, owner, ttlMs, keepsEnd
--         a_now  the time of the batch
-- Output  outcome: renewed, or lost with its reason
create or replace function holdfast.renew_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $renew$
declare
  v_keeps_end constant boolean := coalesce((a_request ->> 'keepsEnd')::boolean, false);
  v_holder record;
  v_reason text;
begin
  update holdfast.holders h
     set owner = case when h.stolen then h.owner else a_request ->> 'owner' end,
         ttl_ms = case when h.stolen or v_keeps_end then h.ttl_ms
                       else (a_request ->> 'ttlMs')::double precision end,
         expires = case when h.stolen or v_keeps_end then h.expires
                        else a_now
                          + (a_request ->> 'ttlMs')::double precision * interval '1 millisecond' end
   where h.lock = a_request ->> 'lock' and h.id = a_request ->> 'id'
  returning h.stolen, h.steal_reason into v_holder;
  if not found then
    v_reason := holdfast.steal_reason_of_v1(a_request ->> 'lock', a_request ->> 'id', a_now);
    if v_reason is null then return jsonb_build_object('outcome', 'lost', 'reason', 'expired'); end if;
    return jsonb_build_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', nullif(v_reason, '')
    );
  end if;
  if v_holder.stolen then
    return jsonb_build_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', v_holder.steal_reason
    );
  end if;
  return jsonb_build_object('outcome', 'renewed');
end
$renew$;
