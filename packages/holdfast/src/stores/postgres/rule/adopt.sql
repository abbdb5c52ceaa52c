-- Lets a claim hold the lock in the place of the one that holds it, with its weight. The verb
-- `adopt` keeps the token, and `takeOver` gives a larger one. A transaction that covers the old
-- claim could still commit, so the new token also has to pass its guard.
--
-- Input   a_request  verb, lock, id, from, token, ttlMs, fromTtlMs, owner
--         a_now  the time of the batch
-- Output  outcome: granted, lost with its reason, or guarded
create or replace function holdfast.adopt_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $adopt$
declare
  a_lock constant text := a_request ->> 'lock';
  a_id constant text := a_request ->> 'id';
  a_from constant text := a_request ->> 'from';
  a_token constant bigint := (a_request ->> 'token')::bigint;
  a_ttl_ms constant double precision := (a_request ->> 'ttlMs')::double precision;
  v_holder record;
  v_token bigint := a_token;
  v_reason text;
begin
  -- The request may be a repeated one.
  if exists (select from holdfast.holders h where h.lock = a_lock and h.id = a_id) then
    return holdfast.describe_grant_v1(a_lock, a_id, a_now);
  end if;
  select h.stolen, h.steal_reason into v_holder from holdfast.holders h
   where h.lock = a_lock and h.id = a_from
     and h.token <= a_token and a_token - h.token < h.tokens;
  -- The new claim may have been withdrawn before this request arrived.
  if not found or exists (
    select from holdfast.tombstones t where t.lock = a_lock and t.id = a_id and t.until > a_now
  ) then
    v_reason := holdfast.steal_reason_of_v1(a_lock, a_from, a_now);
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
  if a_request ->> 'verb' = 'takeOver' then
    if exists (select from holdfast.locks l where l.name = a_lock and l.guarded)
       and not holdfast.try_pass_guard_v1(a_lock) then
      return jsonb_build_object('outcome', 'guarded');
    end if;
    update holdfast.locks l
       set last_token = greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint)
     where l.name = a_lock
    returning l.last_token into strict v_token;
  end if;
  update holdfast.holders h
     set id = a_id, owner = a_request ->> 'owner', token = v_token, tokens = 1, ttl_ms = a_ttl_ms,
         expires = a_now + a_ttl_ms * interval '1 millisecond'
   where h.lock = a_lock and h.id = a_from;
  perform holdfast.add_tombstone_v1(
    a_lock, a_from, (a_request ->> 'fromTtlMs')::double precision, 'absent', a_now
  );
  return jsonb_build_object(
    'outcome', 'granted', 'existing', false, 'token', v_token::text, 'tokens', 1,
    'ttlMs', a_ttl_ms, 'remainingMs', a_ttl_ms
  );
end
$adopt$;
