/**
 * The grant rule of `store/grant-rule.ts` in PL/pgSQL, and the one function that clients call: `turn_1`, with a list of
 * requests as JSON and a list of answers back, in one round trip and one transaction.
 *
 * Why it is safe: `turn_1` first locks the rows of its locks, in the order of their names, and only then runs further
 * statements. In READ COMMITTED each of those sees what was committed before it began, and so all that the one before us
 * did under the same row lock. A single statement that locks the row and adds up the holders would not do: its snapshot
 * is older than its wait for the row, and both of two contenders would find the lock free.
 *
 * The number in the names is that of the protocol. Another one would get functions of its own beside these, so that
 * clients of two versions can share the tables while a new one is rolled out.
 */

/** Ends what has expired and lets the queue move up: done once for each lock at the beginning of a turn. */
const SETTLE = /* sql */ `
create or replace function holdfast.settle_1(a_lock text, a_now timestamptz) returns void
language plpgsql as $settle$
declare
  v_expired boolean;
  v_queued boolean;
  v_holder record;
begin
  select exists (select from holdfast.holders h where h.lock = a_lock and h.expires <= a_now),
         exists (select from holdfast.waiters w where w.lock = a_lock)
    into v_expired, v_queued;
  if v_expired then
    for v_holder in
      delete from holdfast.holders h where h.lock = a_lock and h.expires <= a_now returning h.id, h.ttl_ms
    loop
      perform holdfast.bury_1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
    end loop;
  end if;
  if v_queued then perform holdfast.promote_1(a_lock, a_now); end if;
end
$settle$;
`

/** Refuses a claim from now on, so that a message of its own which comes late does not bring it back. */
const BURY = /* sql */ `
create or replace function holdfast.bury_1(
  a_lock text, a_id text, a_ttl_ms double precision, a_outcome text, a_now timestamptz
) returns void
language plpgsql as $bury$
begin
  insert into holdfast.tombstones as t (lock, id, until, outcome)
  values (a_lock, a_id, a_now + a_ttl_ms * interval '1 millisecond', a_outcome)
  on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome;
end
$bury$;
`

/** Makes a claim a holder and returns its first token. A token also exceeds the time: rows may be lost, as with a backup. */
const HOLD = /* sql */ `
create or replace function holdfast.hold_1(
  a_lock text, a_id text, a_owner text, a_weight integer, a_tokens integer, a_ttl_ms double precision,
  a_now timestamptz
) returns bigint
language plpgsql as $hold$
declare
  v_token bigint;
begin
  update holdfast.locks l
     set last_token = greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock
  returning l.last_token - a_tokens + 1 into v_token;
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  values (a_lock, a_id, a_owner, a_weight, v_token, a_tokens, a_now, a_ttl_ms,
          a_now + a_ttl_ms * interval '1 millisecond');
  return v_token;
end
$hold$;
`

/**
 * Whether a lock that a transaction covered may be granted again. Not while the transaction has the guard: it may yet
 * commit, whether the lease has expired, was stolen, or was given up by a client that took it for lost. Otherwise a
 * transaction of that lease which comes late finds the guard moved past its token. The rows are never waited for, since
 * everybody who wants this lock waits behind us.
 */
const PASS = /* sql */ `
create or replace function holdfast.pass_1(a_lock text) returns boolean
language plpgsql as $pass$
begin
  perform from holdfast.guards g where g.name = a_lock for update skip locked;
  if found then
    update holdfast.guards g set token = l.last_token + 1 from holdfast.locks l
     where g.name = a_lock and l.name = a_lock;
  elsif exists (select from holdfast.guards g where g.name = a_lock) then
    return false;
  end if;
  update holdfast.locks l set guarded = false where l.name = a_lock;
  return true;
end
$pass$;
`

/** Makes the guard of a lease that is held, for a transaction to lock, and has it asked before the next grant. */
const GUARD = /* sql */ `
create or replace function holdfast.guard_1(a_op jsonb) returns jsonb
language plpgsql as $guard$
declare
  v_held constant boolean := exists (
    select from holdfast.holders h where h.lock = a_op ->> 'lock' and h.id = a_op ->> 'id' and not h.stolen
  );
begin
  if v_held then
    insert into holdfast.guards (name) values (a_op ->> 'lock') on conflict do nothing;
    update holdfast.locks l set guarded = true where l.name = a_op ->> 'lock';
  end if;
  return jsonb_build_object('done', v_held);
end
$guard$;
`

/**
 * Makes holders of the waiters that fit, in order; the first one that lives and does not fit stops the queue. The grant
 * is short until its first renewal, since the waiter may have died a moment ago, and it is told to the waiter's client.
 */
const PROMOTE = /* sql */ `
create or replace function holdfast.promote_1(a_lock text, a_now timestamptz) returns void
language plpgsql as $promote$
declare
  v_free bigint;
  v_guarded boolean;
  v_waiter record;
  v_lives_ms double precision;
  v_ttl_ms double precision;
  v_token bigint;
begin
  select l.capacity - (select coalesce(sum(h.weight), 0) from holdfast.holders h where h.lock = a_lock), l.guarded
    into v_free, v_guarded from holdfast.locks l where l.name = a_lock;
  for v_waiter in select * from holdfast.waiters w where w.lock = a_lock order by w.seq loop
    v_lives_ms := v_waiter.heartbeat_ms * 3;
    if v_waiter.seen + v_lives_ms * interval '1 millisecond' <= a_now then
      delete from holdfast.waiters w where w.lock = a_lock and w.id = v_waiter.id;
      continue;
    end if;
    exit when v_waiter.weight > v_free;
    if v_guarded then
      exit when not holdfast.pass_1(a_lock);
      v_guarded := false;
    end if;
    v_free := v_free - v_waiter.weight;
    v_ttl_ms := least(v_waiter.ttl_ms, v_lives_ms);
    delete from holdfast.waiters w where w.lock = a_lock and w.id = v_waiter.id;
    v_token := holdfast.hold_1(a_lock, v_waiter.id, v_waiter.owner, v_waiter.weight, v_waiter.tokens, v_ttl_ms, a_now);
    perform pg_notify(
      v_waiter.channel, json_build_array(v_waiter.id, v_token::text, v_waiter.tokens, v_ttl_ms)::text
    );
  end loop;
end
$promote$;
`

const ATTEMPT = /* sql */ `
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
  v_left_ms double precision;
  v_fits boolean;
begin
  select l.kind, l.capacity, l.guarded, h.weight, h.next_expiry, h.mine,
         exists (select from holdfast.tombstones t where t.lock = a_lock and t.id = a_id and t.until > a_now) as buried,
         exists (select from holdfast.waiters w where w.lock = a_lock) as queued
    into v
    from holdfast.locks l
   cross join lateral (
     select coalesce(sum(i.weight), 0) as weight, min(i.expires) as next_expiry, bool_or(i.id = a_id) as mine
       from holdfast.holders i where i.lock = l.name
   ) h
   where l.name = a_lock;
  if v.buried then return jsonb_build_object('outcome', 'withdrawn'); end if;
  if v.mine then return holdfast.held_1(a_lock, a_id, a_now); end if;
  v_left_ms := extract(epoch from v.next_expiry - a_now) * 1000;
  if v.queued then
    update holdfast.waiters w
       set seen = a_now, owner = a_op ->> 'owner', tokens = a_tokens, channel = a_op ->> 'channel'
     where w.lock = a_lock and w.id = a_id;
    if found then return jsonb_build_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms); end if;
  end if;
  if v.kind <> a_kind or v.capacity <> a_capacity then
    if v.queued or v.next_expiry is not null then
      if v.capacity <> a_capacity or (v.kind = 'semaphore') <> (a_kind = 'semaphore') then
        return jsonb_build_object('outcome', 'mismatch', 'kind', v.kind, 'capacity', v.capacity);
      end if;
      -- A mutex is the writer of a readers-writer lock. What is not only a mutex any more is shown as what it became.
      if a_kind = 'readWriteLock' then update holdfast.locks l set kind = a_kind where l.name = a_lock; end if;
    else
      update holdfast.locks l set kind = a_kind, capacity = a_capacity where l.name = a_lock;
    end if;
  end if;
  v_fits := not v.queued and v.weight + a_weight <= a_capacity;
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
          a_now, a_now, a_op ->> 'channel');
  return jsonb_build_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms);
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

const RENEW = /* sql */ `
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

const WITHDRAW = /* sql */ `
create or replace function holdfast.withdraw_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $withdraw$
declare
  a_lock constant text := a_op ->> 'lock';
  a_id constant text := a_op ->> 'id';
  v_outcome text;
begin
  delete from holdfast.holders h where h.lock = a_lock and h.id = a_id;
  if found then v_outcome := 'released';
  else
    delete from holdfast.waiters w where w.lock = a_lock and w.id = a_id;
    if found then v_outcome := 'left';
    else
      select t.outcome into v_outcome from holdfast.tombstones t
       where t.lock = a_lock and t.id = a_id and t.until > a_now;
      if found then return jsonb_build_object('outcome', v_outcome); end if;
    end if;
  end if;
  perform holdfast.bury_1(a_lock, a_id, (a_op ->> 'ttlMs')::double precision, coalesce(v_outcome, 'absent'), a_now);
  -- Also the one that left the queue may have been all that stood before a smaller claim.
  if v_outcome is not null and exists (select from holdfast.waiters w where w.lock = a_lock) then
    perform holdfast.promote_1(a_lock, a_now);
  end if;
  return jsonb_build_object('outcome', coalesce(v_outcome, 'absent'));
end
$withdraw$;
`

const DOWNGRADE = /* sql */ `
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

const STEAL = /* sql */ `
create or replace function holdfast.steal_1(a_op jsonb, a_now timestamptz) returns jsonb
language plpgsql as $steal$
declare
  a_lock constant text := a_op ->> 'lock';
  v_now constant boolean := (a_op ->> 'now')::boolean;
  v_holder record;
  v_count integer := 0;
  v_free_in_ms double precision := 0;
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
  end if;
  return jsonb_build_object('holders', v_count, 'freeInMs', v_free_in_ms);
end
$steal$;
`

const INSPECT = /* sql */ `
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

/**
 * Planned once, and never with a scan of a whole table: the tables are small when the plan is made and may not stay so.
 * Compiling such a plan would cost a hundred times what running it does.
 * The tombstones of a busy service are many, so one turn in twenty takes away those that have served.
 */
const TURN = /* sql */ `
create or replace function holdfast.turn_1(a_ops jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $turn$
declare
  v_names text[];
  v_name text;
  v_locked integer;
  v_now timestamptz;
  v_op jsonb;
  v_results jsonb[] := '{}';
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation') using errcode = 'HF001';
  end if;
  if jsonb_array_length(a_ops) = 1 then v_names := array[a_ops -> 0 ->> 'lock'];
  else
    select array_agg(distinct (o ->> 'lock') collate "C" order by (o ->> 'lock') collate "C")
      into v_names from jsonb_array_elements(a_ops) o;
  end if;
  perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
  get diagnostics v_locked = row_count;
  if v_locked < cardinality(v_names) then
    -- A withdrawal makes the row too: it must be seen by the attempt that it overtook, which locks the same row.
    insert into holdfast.locks (name)
    select distinct (o ->> 'lock') collate "C" as n from jsonb_array_elements(a_ops) o
     where o ->> 'verb' in ('attempt', 'withdraw') order by n
    on conflict do nothing;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
  end if;
  v_now := clock_timestamp();
  foreach v_name in array v_names loop perform holdfast.settle_1(v_name, v_now); end loop;
  for v_op in select o from jsonb_array_elements(a_ops) o loop
    v_results := v_results || case v_op ->> 'verb'
      when 'attempt' then holdfast.attempt_1(v_op, v_now)
      when 'withdraw' then holdfast.withdraw_1(v_op, v_now)
      when 'renew' then holdfast.renew_1(v_op, v_now)
      when 'downgrade' then holdfast.downgrade_1(v_op, v_now)
      when 'steal' then holdfast.steal_1(v_op, v_now)
      when 'guard' then holdfast.guard_1(v_op)
      when 'inspect' then holdfast.inspect_1(v_op, v_now)
    end;
  end loop;
  if random() < 0.05 then
    delete from holdfast.tombstones t where t.ctid = any (array(
      select u.ctid from holdfast.tombstones u where u.until <= v_now order by u.until limit 5000 for update skip locked
    ));
  end if;
  return to_jsonb(v_results);
end
$turn$;
`

export const RULE = [
  SETTLE,
  BURY,
  HOLD,
  PASS,
  GUARD,
  PROMOTE,
  ATTEMPT,
  RENEW,
  WITHDRAW,
  DOWNGRADE,
  STEAL,
  INSPECT,
  TURN,
].join('')
