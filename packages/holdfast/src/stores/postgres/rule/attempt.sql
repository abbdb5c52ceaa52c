-- Answers an attempt: a grant, a place in the queue, or a refusal.
--
-- Input   a_request  lock, id, kind, capacity, weight, tokens, ttlMs, owner, enqueue;
--         for a waiter also heartbeatMs, channel
--         a_now  the time of the batch
-- Output  outcome: granted, waiting, busy, mismatch or withdrawn, with what belongs to it
create or replace function holdfast.attempt_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $attempt$
declare
  a_lock constant text := a_request ->> 'lock';
  a_id constant text := a_request ->> 'id';
  a_kind constant text := a_request ->> 'kind';
  a_capacity constant integer := (a_request ->> 'capacity')::integer;
  a_weight constant integer := (a_request ->> 'weight')::integer;
  a_tokens constant integer := (a_request ->> 'tokens')::integer;
  a_ttl_ms constant double precision := (a_request ->> 'ttlMs')::double precision;
  v record;
  v_weight bigint := 0;
  v_mine boolean;
  v_left_ms double precision;
  v_fits boolean;
  v_seq bigint;
  v_reason text;
begin
  select l.kind, l.capacity, l.guarded,
         exists (
           select from holdfast.tombstones t
            where t.lock = a_lock and t.id = a_id and t.until > a_now
         ) as withdrawn,
         exists (select from holdfast.waiters w where w.lock = a_lock) as queued,
         exists (select from holdfast.holders h where h.lock = a_lock) as held
    into v from holdfast.locks l where l.name = a_lock;
  if v.withdrawn then
    v_reason := holdfast.steal_reason_of_v1(a_lock, a_id, a_now);
    return jsonb_build_object(
      'outcome', 'withdrawn', 'stolen', v_reason is not null, 'stealReason', nullif(v_reason, '')
    );
  end if;
  -- Most locks are free, and a sum costs more than a check for rows.
  if v.held then
    select sum(h.weight), extract(epoch from min(h.expires) - a_now) * 1000, bool_or(h.id = a_id)
      into v_weight, v_left_ms, v_mine from holdfast.holders h where h.lock = a_lock;
    if v_mine then return holdfast.describe_grant_v1(a_lock, a_id, a_now); end if;
  end if;
  if v.queued then
    update holdfast.waiters w
       set seen = a_now, owner = a_request ->> 'owner', tokens = a_tokens,
           channel = a_request ->> 'channel'
     where w.lock = a_lock and w.id = a_id;
    if found then
      return jsonb_build_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms);
    end if;
  end if;
  if v.kind <> a_kind or v.capacity <> a_capacity then
    if v.queued or v.held then
      if v.capacity <> a_capacity or (v.kind = 'semaphore') <> (a_kind = 'semaphore') then
        return jsonb_build_object('outcome', 'mismatch', 'kind', v.kind, 'capacity', v.capacity);
      end if;
      -- A mutex is the writer of a readers-writer lock. Once a reader or writer uses the lock,
      -- the row shows that kind.
      if a_kind = 'readWriteLock' then
        update holdfast.locks l set kind = a_kind where l.name = a_lock;
      end if;
    else
      update holdfast.locks l set kind = a_kind, capacity = a_capacity where l.name = a_lock;
    end if;
  end if;
  v_fits := not v.queued and v_weight + a_weight <= a_capacity;
  if v_fits and v.guarded then v_fits := holdfast.try_pass_guard_v1(a_lock); end if;
  if v_fits then
    return jsonb_build_object(
      'outcome', 'granted', 'existing', false, 'tokens', a_tokens, 'ttlMs', a_ttl_ms,
      'remainingMs', a_ttl_ms, 'token', holdfast.grant_claim_v1(
        a_lock, a_id, a_request ->> 'owner', a_weight, a_tokens, a_ttl_ms, a_capacity - v_weight,
        a_now
      )::text
    );
  end if;
  if not (a_request ->> 'enqueue')::boolean then
    return jsonb_build_object('outcome', 'busy', 'holderRemainingMs', v_left_ms);
  end if;
  insert into holdfast.waiters
    (lock, id, owner, weight, tokens, ttl_ms, heartbeat_ms, since, seen, channel)
  values (a_lock, a_id, a_request ->> 'owner', a_weight, a_tokens, a_ttl_ms,
          (a_request ->> 'heartbeatMs')::double precision, a_now, a_now, a_request ->> 'channel')
  returning seq into v_seq;
  return jsonb_build_object('outcome', 'waiting', 'queueNumber', v_seq, 'holderRemainingMs', v_left_ms);
end
$attempt$;
