/** The verbs of the rule, each for one request on one lock whose row is locked. */

export const ATTEMPT = /* sql */ `
create or replace function holdfast.attempt_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $attempt$
declare
  a_lock constant text := a_op ->> 'lock';
  a_id constant text := a_op ->> 'id';
  a_kind constant text := a_op ->> 'kind';
  a_capacity constant integer := (a_op ->> 'capacity')::integer;
  a_weight constant integer := (a_op ->> 'weight')::integer;
  a_tokens constant integer := (a_op ->> 'tokens')::integer;
  a_ttl_ms constant double precision := (a_op ->> 'ttlMs')::double precision;
  v record;
  v_weight bigint := 0;
  v_mine boolean;
  v_left_ms double precision;
  v_fits boolean;
  v_place bigint;
begin
  select l.kind, l.capacity, l.guarded,
         exists (select from holdfast.tombstones t where t.lock = a_lock and t.id = a_id and t.until > a_now) as buried,
         exists (select from holdfast.waiters w where w.lock = a_lock) as queued,
         exists (select from holdfast.holders h where h.lock = a_lock) as held
    into v from holdfast.locks l where l.name = a_lock;
  if v.buried then return jsonb_build_object('outcome', 'withdrawn'); end if;
  -- A lock is mostly free, and adding up costs more than to see that there is nothing.
  if v.held then
    select sum(h.weight), extract(epoch from min(h.expires) - a_now) * 1000, bool_or(h.id = a_id)
      into v_weight, v_left_ms, v_mine from holdfast.holders h where h.lock = a_lock;
    if v_mine then return holdfast.held_1(a_lock, a_id, a_now); end if;
  end if;
  if v.queued then
    update holdfast.waiters w
       set seen = a_now, owner = a_op ->> 'owner', tokens = a_tokens, channel = a_op ->> 'channel'
     where w.lock = a_lock and w.id = a_id;
    if found then return jsonb_build_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms); end if;
  end if;
  if v.kind <> a_kind or v.capacity <> a_capacity then
    if v.queued or v.held then
      if v.capacity <> a_capacity or (v.kind = 'semaphore') <> (a_kind = 'semaphore') then
        return jsonb_build_object('outcome', 'mismatch', 'kind', v.kind, 'capacity', v.capacity);
      end if;
      -- A mutex is the writer of a readers-writer lock. What is not only a mutex any more is shown as what it became.
      if a_kind = 'readWriteLock' then update holdfast.locks l set kind = a_kind where l.name = a_lock; end if;
    else
      update holdfast.locks l set kind = a_kind, capacity = a_capacity where l.name = a_lock;
    end if;
  end if;
  v_fits := not v.queued and v_weight + a_weight <= a_capacity;
  if v_fits and v.guarded then v_fits := holdfast.pass_1(a_lock); end if;
  if v_fits then
    return jsonb_build_object(
      'outcome', 'granted', 'existing', false, 'tokens', a_tokens, 'ttlMs', a_ttl_ms, 'remainingMs', a_ttl_ms,
      'token', holdfast.hold_1(a_lock, a_id, a_op ->> 'owner', a_weight, a_tokens, a_ttl_ms, a_now)::text
    );
  end if;
  if not (a_op ->> 'enqueue')::boolean then
    return jsonb_build_object('outcome', 'busy', 'holderRemainingMs', v_left_ms);
  end if;
  insert into holdfast.waiters (lock, id, owner, weight, tokens, ttl_ms, heartbeat_ms, since, seen, channel)
  values (a_lock, a_id, a_op ->> 'owner', a_weight, a_tokens, a_ttl_ms, (a_op ->> 'heartbeatMs')::double precision,
          a_now, a_now, a_op ->> 'channel')
  returning seq into v_place;
  return jsonb_build_object('outcome', 'waiting', 'place', v_place, 'holderRemainingMs', v_left_ms);
end
$attempt$;

create or replace function holdfast.held_1(a_lock text, a_id text, a_now timestamptz) returns jsonb
language plpgsql as $held$
begin
  return (
    select jsonb_build_object(
      'outcome', 'granted', 'existing', true, 'token', h.token::text, 'tokens', h.tokens, 'ttlMs', h.ttl_ms,
      'remainingMs', extract(epoch from h.expires - a_now) * 1000
    )
    from holdfast.holders h where h.lock = a_lock and h.id = a_id
  );
end
$held$;
`

export const RENEW = /* sql */ `
create or replace function holdfast.renew_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $renew$
declare
  v_holder record;
begin
  update holdfast.holders h
     set owner = case when h.stolen then h.owner else a_op ->> 'owner' end,
         ttl_ms = case when h.stolen then h.ttl_ms else (a_op ->> 'ttlMs')::double precision end,
         expires = case when h.stolen then h.expires
                        else a_now + (a_op ->> 'ttlMs')::double precision * interval '1 millisecond' end
   where h.lock = a_op ->> 'lock' and h.id = a_op ->> 'id'
  returning h.stolen, h.because into v_holder;
  if not found then return jsonb_build_object('outcome', 'lost', 'reason', 'expired'); end if;
  if v_holder.stolen then
    return jsonb_build_object('outcome', 'lost', 'reason', 'stolen', 'because', v_holder.because);
  end if;
  return jsonb_build_object('outcome', 'renewed');
end
$renew$;
`

export const WITHDRAW = /* sql */ `
create or replace function holdfast.withdraw_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $withdraw$
declare
  a_lock constant text := a_op ->> 'lock';
  a_id constant text := a_op ->> 'id';
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
  -- Also what was buried before: what is known of its end may soon refuse nothing any more.
  perform holdfast.bury_1(a_lock, a_id, (a_op ->> 'ttlMs')::double precision, v_outcome, a_now);
  -- Also the one that left the queue may have been all that stood before a smaller claim.
  if v_made_room and exists (select from holdfast.waiters w where w.lock = a_lock) then
    perform holdfast.promote_1(a_lock, a_now);
  end if;
  return jsonb_build_object('outcome', v_outcome);
end
$withdraw$;
`

export const DOWNGRADE = /* sql */ `
create or replace function holdfast.downgrade_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $downgrade$
begin
  update holdfast.holders h set weight = 1
    from holdfast.locks l
   where l.name = h.lock and l.kind = 'readWriteLock' and h.lock = a_op ->> 'lock' and h.id = a_op ->> 'id';
  if not found then return jsonb_build_object('done', false); end if;
  perform holdfast.promote_1(a_op ->> 'lock', a_now);
  return jsonb_build_object('done', true);
end
$downgrade$;
`

export const STEAL = /* sql */ `
create or replace function holdfast.steal_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $steal$
declare
  a_lock constant text := a_op ->> 'lock';
  v_now constant boolean := (a_op ->> 'now')::boolean;
  v_holder record;
  v_count integer := 0;
  v_free_in_ms double precision := 0;
  v_guarded boolean := false;
begin
  for v_holder in
    update holdfast.holders h set stolen = true, because = coalesce(a_op ->> 'because', h.because)
     where h.lock = a_lock
    returning h.id, h.ttl_ms, extract(epoch from h.expires - a_now) * 1000 as left_ms
  loop
    v_count := v_count + 1;
    if v_now then perform holdfast.bury_1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
    else v_free_in_ms := greatest(v_free_in_ms, v_holder.left_ms); end if;
  end loop;
  if v_now then
    delete from holdfast.holders h where h.lock = a_lock;
    perform holdfast.promote_1(a_lock, a_now);
    -- Whether a transaction still has the guard: a look, which the transaction itself does not feel.
    if exists (select from holdfast.locks l where l.name = a_lock and l.guarded) then
      perform from holdfast.guards g where g.name = a_lock for update skip locked;
      v_guarded := not found and exists (select from holdfast.guards g where g.name = a_lock);
    end if;
  end if;
  return jsonb_build_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded);
end
$steal$;
`

export const INSPECT = /* sql */ `
create or replace function holdfast.inspect_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $inspect$
begin
  return coalesce((
    select jsonb_build_object(
      'lock', jsonb_build_object('kind', l.kind, 'capacity', l.capacity, 'lastToken', l.last_token::text),
      'holders', coalesce((
        select jsonb_agg(jsonb_build_object(
          'claimId', h.id, 'owner', h.owner, 'weight', h.weight, 'token', h.token::text,
          'heldMs', extract(epoch from a_now - h.granted) * 1000,
          'remainingMs', extract(epoch from h.expires - a_now) * 1000,
          'stolen', h.stolen, 'because', h.because
        ) order by h.seq)
        from holdfast.holders h where h.lock = l.name
      ), '[]'),
      'waiters', coalesce((
        select jsonb_agg(jsonb_build_object(
          'claimId', w.id, 'owner', w.owner, 'weight', w.weight,
          'waitedMs', extract(epoch from a_now - w.since) * 1000
        ) order by w.seq)
        from holdfast.waiters w where w.lock = l.name
      ), '[]')
    )
    from holdfast.locks l where l.name = a_op ->> 'lock'
  ), '{"holders": [], "waiters": []}');
end
$inspect$;
`
