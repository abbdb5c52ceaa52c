/**
 * What clients do with claims: the verbs of the rule, each for one request on one lock whose row is
 * locked.
 */

export const ATTEMPT = /* sql */ `
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
begin
  select l.kind, l.capacity, l.guarded,
         exists (
           select from holdfast.tombstones t
            where t.lock = a_lock and t.id = a_id and t.until > a_now
         ) as withdrawn,
         exists (select from holdfast.waiters w where w.lock = a_lock) as queued,
         exists (select from holdfast.holders h where h.lock = a_lock) as held
    into v from holdfast.locks l where l.name = a_lock;
  if v.withdrawn then return jsonb_build_object('outcome', 'withdrawn'); end if;
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

create or replace function holdfast.describe_grant_v1(a_lock text, a_id text, a_now timestamptz)
returns jsonb
language plpgsql as $describe_grant$
begin
  return (
    select jsonb_build_object(
      'outcome', 'granted', 'existing', true, 'token', h.token::text, 'tokens', h.tokens,
      'ttlMs', h.ttl_ms, 'remainingMs', extract(epoch from h.expires - a_now) * 1000
    )
    from holdfast.holders h where h.lock = a_lock and h.id = a_id
  );
end
$describe_grant$;
`

export const RENEW = /* sql */ `
create or replace function holdfast.renew_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $renew$
declare
  v_keeps_end constant boolean := coalesce((a_request ->> 'keepsEnd')::boolean, false);
  v_holder record;
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
  if not found then return jsonb_build_object('outcome', 'lost', 'reason', 'expired'); end if;
  if v_holder.stolen then
    return jsonb_build_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', v_holder.steal_reason
    );
  end if;
  return jsonb_build_object('outcome', 'renewed');
end
$renew$;
`

export const WITHDRAW = /* sql */ `
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
      select t.outcome into v_outcome from holdfast.tombstones t
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
`

export const DOWNGRADE = /* sql */ `
create or replace function holdfast.downgrade_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $downgrade$
begin
  update holdfast.holders h set weight = 1
    from holdfast.locks l
   where l.name = h.lock and l.kind = 'readWriteLock'
     and h.lock = a_request ->> 'lock' and h.id = a_request ->> 'id';
  if not found then return jsonb_build_object('done', false); end if;
  perform holdfast.promote_waiters_v1(a_request ->> 'lock', a_now);
  return jsonb_build_object('done', true);
end
$downgrade$;
`

/**
 * Lets a claim hold the lock in the place of the one that holds it, with its weight. The verb
 * `adopt` keeps the token, and `takeOver` gives a larger one. A transaction that covers the old
 * claim could still commit, so the new token also has to pass its guard.
 */
export const ADOPT = /* sql */ `
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
    return jsonb_build_object('outcome', 'lost', 'reason', 'expired');
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
`
