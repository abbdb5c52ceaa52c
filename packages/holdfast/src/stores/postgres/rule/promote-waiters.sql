-- Grants to the waiters that fit, in order. The first live waiter that does not fit stops the
-- queue. Such a grant is short until its first renewal, since its waiter may have died a moment
-- ago. A notification carries the grant to the waiter's client.
--
-- Input   a_lock, a_now  the lock, whose row is locked, and the time of the batch
-- Output  none
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
