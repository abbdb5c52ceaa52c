/** Who holds and who is next: the steps that the verbs of the rule share. */

/**
 * Ends what has expired and lets the queue move up: done at the beginning of a turn, where there is
 * anything of it.
 */
export const SETTLE = /* sql */ `
create or replace function holdfast.settle_1(a_lock text, a_now timestamptz) returns void
language plpgsql as $settle$
declare
  v_holder record;
begin
  for v_holder in
    delete from holdfast.holders h where h.lock = a_lock and h.expires <= a_now returning h.id, h.ttl_ms
  loop
    perform holdfast.bury_1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
  end loop;
  perform holdfast.promote_1(a_lock, a_now);
end
$settle$;
`

/**
 * Refuses a claim from now on, so that a message of its own which comes late does not bring it
 * back.
 */
export const BURY = /* sql */ `
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

/**
 * Makes a claim a holder and returns its first token. Such a turn has to be on the disk before it
 * is answered. A token also exceeds the time: rows may be lost, as with a backup.
 */
export const HOLD = /* sql */ `
create or replace function holdfast.hold_1(
  a_lock text, a_id text, a_owner text, a_weight integer, a_tokens integer, a_ttl_ms double precision,
  a_now timestamptz
) returns bigint
language plpgsql as $hold$
declare
  v_last bigint;
begin
  update holdfast.locks l
     set last_token = greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock
  returning l.last_token into v_last;
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  values (a_lock, a_id, a_owner, a_weight, v_last - a_tokens + 1, a_tokens, a_now, a_ttl_ms,
          a_now + a_ttl_ms * interval '1 millisecond');
  perform set_config('holdfast_turn.granted', 'yes', true);
  return v_last - a_tokens + 1;
end
$hold$;
`

/**
 * Whether a lock that a transaction covered may be granted again. Not while the transaction has the
 * guard: it may yet commit, whether the lease has expired, was stolen, or was given up by a client
 * that took it for lost. Otherwise a transaction of that lease which comes late finds the guard
 * moved past its token. The rows are never waited for, since everybody who wants this lock waits
 * behind us.
 *
 * A process that was stopped in the middle of its transaction would have the guard for as long as
 * its machine is up. When nobody holds the lock its lease is over, so that the transaction cannot
 * be committed any more; when it has done nothing for some seconds its session is ended. That takes
 * the same user of the database, or the right to end sessions.
 */
export const PASS = /* sql */ `
create or replace function holdfast.end_idle_1(a_lock text) returns void
language plpgsql as $end_idle$
begin
  perform pg_terminate_backend(a.pid)
     from holdfast.guards g
     join pg_locks k on k.locktype = 'transactionid' and k.transactionid = g.xmax and k.mode = 'ExclusiveLock'
     join pg_locks r on r.pid = k.pid and r.locktype = 'relation' and r.relation = g.tableoid
      and r.mode = 'RowShareLock'
     join pg_stat_activity a on a.pid = k.pid and a.datname = current_database()
    where g.name = a_lock and k.granted and a.state like 'idle in transaction%'
      and a.state_change < clock_timestamp() - interval '5 s';
exception when insufficient_privilege then
  return;
end
$end_idle$;

create or replace function holdfast.pass_1(a_lock text) returns boolean
language plpgsql as $pass$
begin
  perform from holdfast.guards g where g.name = a_lock for update skip locked;
  if found then
    update holdfast.guards g set token = l.last_token + 1 from holdfast.locks l
     where g.name = a_lock and l.name = a_lock;
  elsif exists (select from holdfast.guards g where g.name = a_lock) then
    -- A writer that became a reader beside others holds it, and may yet commit.
    if not exists (select from holdfast.holders h where h.lock = a_lock) then perform holdfast.end_idle_1(a_lock); end if;
    return false;
  end if;
  update holdfast.locks l set guarded = false where l.name = a_lock;
  return true;
end
$pass$;
`

/**
 * Makes the guard of a lease that is held, for a transaction to lock, and has it asked before the
 * next grant.
 */
export const GUARD = /* sql */ `
create or replace function holdfast.guard_1(a_op jsonb) returns jsonb
language plpgsql as $guard$
declare
  v_token constant bigint := (
    select h.token from holdfast.holders h where h.lock = a_op ->> 'lock' and h.id = a_op ->> 'id' and not h.stolen
  );
begin
  if v_token is not null then
    insert into holdfast.guards (name, token) values (a_op ->> 'lock', v_token) on conflict do nothing;
    update holdfast.locks l set guarded = true where l.name = a_op ->> 'lock';
  end if;
  return jsonb_build_object('done', v_token is not null);
end
$guard$;
`

/**
 * Makes holders of the waiters that fit, in order; the first one that lives and does not fit stops
 * the queue. The grant is short until its first renewal, since the waiter may have died a moment
 * ago, and it is told to the waiter's client.
 */
export const PROMOTE = /* sql */ `
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
