-- Deletes the expired holders of a lock and grants to the waiters that fit then. First a holder in
-- the row of the lock gets a row of its own: the functions of the verbs know such rows alone.
--
-- Input   a_lock, a_now  the lock, whose row is locked, and the time of the batch
-- Output  none
create or replace function holdfast.expire_and_promote_v1(a_lock text, a_now timestamptz)
returns void
language plpgsql as $expire_and_promote$
declare
  v_holder record;
begin
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  select l.name, l.sole_id, l.sole_owner, l.sole_weight, l.last_token - l.sole_tokens + 1,
         l.sole_tokens, l.sole_granted, l.sole_ttl_ms, l.sole_expires
    from holdfast.locks l where l.name = a_lock and l.sole_id is not null;
  if found then
    update holdfast.locks l set sole_id = null, listed = true where l.name = a_lock;
  end if;
  for v_holder in
    delete from holdfast.holders h
     where h.lock = a_lock and h.expires <= a_now returning h.id, h.ttl_ms
  loop
    perform holdfast.add_tombstone_v1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
  end loop;
  perform holdfast.promote_waiters_v1(a_lock, a_now);
end
$expire_and_promote$;
