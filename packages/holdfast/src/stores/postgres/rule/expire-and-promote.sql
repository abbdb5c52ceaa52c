-- Deletes the expired holders of a lock and grants to the waiters that fit then.
--
-- Input   a_lock, a_now  the lock, whose row is locked, and the time of the batch
-- Output  none
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
