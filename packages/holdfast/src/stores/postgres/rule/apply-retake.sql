-- Applies a release, and the next attempt for its lock by the same client, with one change of the
-- row. It serves what apply-single.sql would serve in two calls, and as that says it is safe. The
-- rest continues in apply-batch.sql.
--
-- Input   a_lock, a_released_id, a_released_ttl_ms  the release
--         a_id to a_channel  the attempt, as in apply-one.sql
-- Output  a list of the two answers, JSON as text
create or replace function holdfast.apply_retake_v1(
  a_lock text, a_released_id text, a_released_ttl_ms double precision, a_id text, a_owner text,
  a_kind text, a_capacity integer, a_weight integer, a_tokens integer, a_ttl_ms double precision,
  a_enqueue boolean, a_heartbeat_ms double precision, a_channel text
) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $apply_retake$
declare
  v_now constant timestamptz := clock_timestamp();
  v_commit constant text := current_setting('synchronous_commit');
  v_token bigint;
  v_answers jsonb;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
  update holdfast.locks l
     set kind = a_kind, capacity = a_capacity, sole_id = a_id, sole_owner = a_owner,
         sole_weight = a_weight, sole_tokens = a_tokens, sole_granted = v_now,
         sole_ttl_ms = a_ttl_ms, sole_expires = v_now + a_ttl_ms * interval '1 millisecond',
         last_before = l.last_token,
         last_token =
           greatest(l.last_token + 1, (extract(epoch from v_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock and l.sole_id = a_released_id and l.sole_expires > v_now
     and not l.listed and not l.guarded and a_weight between 1 and a_capacity and a_tokens > 0
     and a_lock not like '%@tick:%'
  returning l.last_token - a_tokens + 1 into v_token;
  if found then
    perform holdfast.add_tombstone_v1(a_lock, a_released_id, a_released_ttl_ms, 'released', v_now);
    if not exists (
      select from holdfast.tombstones t
       where t.lock = a_lock and t.id = a_id and t.until > v_now
    ) then
      if random() < 0.05 then perform holdfast.delete_tombstones_v1(v_now); end if;
      return '[{"outcome":"released"},{"outcome":"granted","existing":false,"tokens":' || a_tokens
        || ',"ttlMs":' || a_ttl_ms || ',"remainingMs":' || a_ttl_ms || ',"token":"' || v_token
        || '"}]';
    end if;
    update holdfast.locks l set sole_id = null, last_token = l.last_before where l.name = a_lock;
  end if;
  -- One after the other. Together they would move the next holder out of the row, time and again.
  v_answers := holdfast.apply_batch_v1(jsonb_build_array(jsonb_build_object(
    'verb', 'withdraw', 'lock', a_lock, 'id', a_released_id, 'ttlMs', a_released_ttl_ms
  )));
  v_answers := v_answers || holdfast.apply_batch_v1(jsonb_build_array(jsonb_build_object(
    'verb', 'attempt', 'lock', a_lock, 'id', a_id, 'owner', a_owner, 'kind', a_kind,
    'capacity', a_capacity, 'weight', a_weight, 'tokens', a_tokens, 'ttlMs', a_ttl_ms,
    'enqueue', a_enqueue, 'heartbeatMs', a_heartbeat_ms, 'channel', a_channel
  )));
  -- The attempt alone might not need the disk before its answer. The release does.
  perform set_config('synchronous_commit', v_commit, true);
  return v_answers;
end
$apply_retake$;
