/**
 * The steps that the verbs of the rule share: expiry, grants with their fencing tokens, guards and
 * the queue. apply-fast.ts makes its tokens by the same expression.
 */

/** Deletes the expired holders of a lock and grants to the waiters that fit then. */
export const EXPIRE_AND_PROMOTE = /* sql */ `
create or replace function holdfast.expire_and_promote_v1(a_lock text, a_now timestamptz)
returns void
language plpgsql as $expire_and_promote$
declare
  v_holder record;
begin
  for v_holder in
    delete from holdfast.holders h
     where h.lock = a_lock and h.expires <= a_now returning h.id, h.ttl_ms
  loop
    perform holdfast.add_tombstone_v1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
  end loop;
  perform holdfast.promote_waiters_v1(a_lock, a_now);
end
$expire_and_promote$;
`

/** Refuses a claim from now on, so that a late message of it does not bring the claim back. */
export const ADD_TOMBSTONE = /* sql */ `
create or replace function holdfast.add_tombstone_v1(
  a_lock text, a_id text, a_ttl_ms double precision, a_outcome text, a_now timestamptz
) returns void
language plpgsql as $add_tombstone$
begin
  insert into holdfast.tombstones as t (lock, id, until, outcome)
  values (a_lock, a_id, a_now + a_ttl_ms * interval '1 millisecond', a_outcome)
  on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome;
end
$add_tombstone$;
`

/**
 * Grants a claim and returns its first token. The transaction must be durable before the answer.
 * Tokens are at least the server time in microseconds, so they keep growing after a restore from a
 * backup.
 *
 * Checks that the holders of the lock fit its capacity: more of them would be a broken rule, and
 * the batch is rolled back.
 */
export const GRANT_CLAIM = /* sql */ `
create or replace function holdfast.grant_claim_v1(
  a_lock text, a_id text, a_owner text, a_weight integer, a_tokens integer,
  a_ttl_ms double precision, a_free bigint, a_now timestamptz
) returns bigint
language plpgsql as $grant_claim$
declare
  v_last bigint;
begin
  if a_weight not between 1 and a_free or a_tokens < 1 then
    raise exception 'lock "%" cannot grant weight % and % tokens with % free',
      a_lock, a_weight, a_tokens, a_free using errcode = 'HF003';
  end if;
  update holdfast.locks l
     set last_token =
           greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock
  returning l.last_token into strict v_last;
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  values (a_lock, a_id, a_owner, a_weight, v_last - a_tokens + 1, a_tokens, a_now, a_ttl_ms,
          a_now + a_ttl_ms * interval '1 millisecond');
  perform set_config('holdfast_batch.granted', 'yes', true);
  return v_last - a_tokens + 1;
end
$grant_claim$;
`

/**
 * Returns whether a lock that a transaction covered may be granted again. It may not while that
 * transaction has the guard, since the transaction may still commit. This holds whether the lease
 * has expired, was stolen, or was released by a client that took it for lost. If the guard is free
 * it moves past the token of the lease, so a late transaction of that lease finds no guard.
 *
 * The function never waits for a guard, since all other sessions that want this lock would wait
 * behind it.
 *
 * A process that was stopped inside its transaction would keep the guard as long as its machine
 * runs. When the lock has no holder, the lease has ended and its transaction cannot commit any
 * more. If the session of that transaction has been idle for five seconds, the function ends it.
 * That takes the same database user, or the right to end sessions of other users.
 */
export const TRY_PASS_GUARD = /* sql */ `
create or replace function holdfast.end_idle_transaction_v1(a_lock text) returns void
language plpgsql as $end_idle_transaction$
begin
  perform pg_terminate_backend(a.pid)
     from holdfast.guards g
     join pg_locks k on k.locktype = 'transactionid' and k.transactionid = g.xmax
      and k.mode = 'ExclusiveLock'
     join pg_locks r on r.pid = k.pid and r.locktype = 'relation' and r.relation = g.tableoid
      and r.mode = 'RowShareLock'
     join pg_stat_activity a on a.pid = k.pid and a.datname = current_database()
    where g.name = a_lock and k.granted and a.state like 'idle in transaction%'
      and a.state_change < clock_timestamp() - interval '5 s';
exception when insufficient_privilege then
  return;
end
$end_idle_transaction$;

create or replace function holdfast.try_pass_guard_v1(a_lock text) returns boolean
language plpgsql as $try_pass_guard$
begin
  perform from holdfast.guards g where g.name = a_lock for update skip locked;
  if found then
    update holdfast.guards g set token = l.last_token + 1 from holdfast.locks l
     where g.name = a_lock and l.name = a_lock;
  elsif exists (select from holdfast.guards g where g.name = a_lock) then
    -- A writer that became a reader beside other readers holds the lock, and may still commit.
    if not exists (select from holdfast.holders h where h.lock = a_lock) then
      perform holdfast.end_idle_transaction_v1(a_lock);
    end if;
    return false;
  end if;
  update holdfast.locks l set guarded = false where l.name = a_lock;
  return true;
end
$try_pass_guard$;
`

/** Inserts the guard of a held lease. The next grant has to pass it. */
export const CREATE_GUARD = /* sql */ `
create or replace function holdfast.create_guard_v1(a_request jsonb) returns jsonb
language plpgsql as $create_guard$
declare
  v_token constant bigint := (
    select h.token from holdfast.holders h
     where h.lock = a_request ->> 'lock' and h.id = a_request ->> 'id' and not h.stolen
  );
begin
  if v_token is not null then
    insert into holdfast.guards (name, token) values (a_request ->> 'lock', v_token)
    on conflict do nothing;
    update holdfast.locks l set guarded = true where l.name = a_request ->> 'lock';
  end if;
  return jsonb_build_object('done', v_token is not null);
end
$create_guard$;
`

/**
 * Grants to the waiters that fit, in order. The first live waiter that does not fit stops the
 * queue. Such a grant is short until its first renewal, since its waiter may have died a moment
 * ago. A notification carries the grant to the waiter's client.
 */
export const PROMOTE_WAITERS = /* sql */ `
create or replace function holdfast.promote_waiters_v1(a_lock text, a_now timestamptz) returns void
language plpgsql as $promote_waiters$
declare
  v_free bigint;
  v_guarded boolean;
  v_waiter record;
  v_lives_ms double precision;
  v_ttl_ms double precision;
  v_token bigint;
begin
  select l.capacity - (
           select coalesce(sum(h.weight), 0) from holdfast.holders h where h.lock = a_lock
         ), l.guarded
    into v_free, v_guarded from holdfast.locks l where l.name = a_lock;
  if v_free < 0 then
    raise exception 'the holders of lock "%" exceed its capacity by %', a_lock, -v_free
      using errcode = 'HF003';
  end if;
  for v_waiter in select * from holdfast.waiters w where w.lock = a_lock order by w.seq loop
    v_lives_ms := v_waiter.heartbeat_ms * 3;
    if v_waiter.seen + v_lives_ms * interval '1 millisecond' <= a_now then
      delete from holdfast.waiters w where w.lock = a_lock and w.id = v_waiter.id;
      continue;
    end if;
    exit when v_waiter.weight > v_free;
    if v_guarded then
      exit when not holdfast.try_pass_guard_v1(a_lock);
      v_guarded := false;
    end if;
    v_ttl_ms := least(v_waiter.ttl_ms, v_lives_ms);
    delete from holdfast.waiters w where w.lock = a_lock and w.id = v_waiter.id;
    v_token := holdfast.grant_claim_v1(
      a_lock, v_waiter.id, v_waiter.owner, v_waiter.weight, v_waiter.tokens, v_ttl_ms, v_free, a_now
    );
    v_free := v_free - v_waiter.weight;
    perform pg_notify(
      v_waiter.channel,
      json_build_array(v_waiter.id, v_token::text, v_waiter.tokens, v_ttl_ms)::text
    );
  end loop;
end
$promote_waiters$;
`
