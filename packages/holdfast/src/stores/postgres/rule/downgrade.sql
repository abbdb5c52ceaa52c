-- Makes a reader of a writer, and grants to the readers that fit then.
--
-- Input   a_request  lock, id
--         a_now  the time of the batch
-- Output  done: whether the claim holds a readers-writer lock
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
