-- Applies a batch of one request, given as parameters: to write it as JSON and to read that takes
-- longer than to serve it. What apply-single.sql does not serve continues in apply-batch.sql.
--
-- Input   a_verb to a_enqueue  as in apply-single.sql
--         a_heartbeat_ms, a_channel  of an attempt that may wait
-- Output  a list of its answer, JSON as text
create or replace function holdfast.apply_one_v1(
  a_verb text, a_lock text, a_id text, a_owner text, a_kind text, a_capacity integer,
  a_weight integer, a_tokens integer, a_ttl_ms double precision, a_enqueue boolean,
  a_heartbeat_ms double precision, a_channel text
) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $apply_one$
declare
  v_answer text;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
  v_answer := holdfast.apply_single_v1(
    a_verb, a_lock, a_id, a_owner, a_kind, a_capacity, a_weight, a_tokens, a_ttl_ms, a_enqueue
  );
  if v_answer is null then
    return holdfast.apply_batch_v1(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'verb', a_verb, 'lock', a_lock, 'id', a_id, 'owner', a_owner, 'kind', a_kind,
      'capacity', a_capacity, 'weight', a_weight, 'tokens', a_tokens, 'ttlMs', a_ttl_ms,
      'enqueue', a_enqueue, 'heartbeatMs', a_heartbeat_ms, 'channel', a_channel
    ))))::text;
  end if;
  if a_verb = 'attempt' and a_lock like '%@tick:%' then
    perform holdfast.forget_slots_v1(a_lock, clock_timestamp());
  elsif a_verb = 'withdraw' and random() < 0.05 then
    perform holdfast.delete_tombstones_v1(clock_timestamp());
  end if;
  return '[' || v_answer || ']';
end
$apply_one$;
