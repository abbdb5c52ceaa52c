-- Applies a batch of requests: locks the rows of their locks, and answers each one. Two fast paths
-- serve what they can.
--
-- The plan is made once and never scans a whole table: the tables are small when the plan is made
-- and may grow later. Compiling such a plan would cost a hundred times what running it costs.
--
-- A refusal, a place in the queue and a heartbeat need not be on the disk before the answer. If a
-- crash of the server undoes them, a waiter loses its place. They reach the disk with the next
-- grant. A release must be on the disk before the answer. Otherwise a crash could undo it, and the
-- lock would stay taken until its TTL.
--
-- A busy service leaves many tombstones, so one batch in twenty deletes those that have expired. An
-- attempt on a slot of a schedule deletes earlier ones.
--
-- Input   a_requests  a list of requests, each with its verb and its lock
-- Output  a list of their answers, in the same order
create or replace function holdfast.apply_batch_v1(a_requests jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $apply_batch$
declare
  v_names text[];
  v_locked integer;
  v_listed boolean;
  v_now timestamptz;
  v_request jsonb;
  v_position bigint;
  v_answer jsonb;
  v_answers jsonb[];
  v_count constant integer := jsonb_array_length(a_requests);
  v_left integer := v_count;
  v_durable boolean := false;
  v_has_slots boolean;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
  if v_count = 1 then v_names := array[a_requests -> 0 ->> 'lock'];
  else
    select array_agg(distinct (r ->> 'lock') collate "C" order by (r ->> 'lock') collate "C")
      into v_names from jsonb_array_elements(a_requests) r;
  end if;
  v_has_slots := array_to_string(v_names, ' ') like '%@tick:%';
  select count(*), bool_and(l.listed) into v_locked, v_listed from (
    select k.listed from holdfast.locks k where k.name = any (v_names) order by k.name for update
  ) l;
  if v_locked < cardinality(v_names) then
    v_listed := false;
    -- A withdrawal inserts the row too: an attempt that it overtook locks that row and sees it.
    insert into holdfast.locks (name)
    select distinct (r ->> 'lock') collate "C" as n from jsonb_array_elements(a_requests) r
     where r ->> 'verb' in ('attempt', 'withdraw') order by n
    on conflict do nothing;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
  end if;
  v_now := clock_timestamp();
  v_answers := array_fill(null::jsonb, array[v_count]);
  v_request := case when v_count = 1 then a_requests -> 0 end;
  if not v_listed and v_request ->> 'verb' in ('attempt', 'renew', 'withdraw')
     and v_request -> 'keepsEnd' is null then
    v_answers[1] := holdfast.apply_single_v1(
      v_request ->> 'verb', v_request ->> 'lock', v_request ->> 'id', v_request ->> 'owner',
      v_request ->> 'kind', (v_request ->> 'capacity')::integer, (v_request ->> 'weight')::integer,
      (v_request ->> 'tokens')::integer, (v_request ->> 'ttlMs')::double precision,
      (v_request ->> 'enqueue')::boolean
    )::jsonb;
    v_left := case when v_answers[1] is null then 1 else 0 end;
    v_durable := v_answers[1] ->> 'outcome' <> 'busy';
  elsif not v_listed and v_count > 1 and v_count = cardinality(v_names) then
    for v_position, v_answer in
      select f.position, f.answer from holdfast.apply_fast_v1(a_requests, v_now) f
    loop
      v_answers[v_position] := v_answer;
      v_left := v_left - 1;
    end loop;
    v_durable := v_left < v_count;
  end if;
  if v_left > 0 then
    select o.answers, o.durable or coalesce(v_durable, false) into v_answers, v_durable
      from holdfast.apply_in_order_v1(a_requests, v_answers, v_now) o;
  end if;
  if v_has_slots then
    perform holdfast.forget_slots_v1(r ->> 'lock', v_now)
       from jsonb_array_elements(a_requests) r where r ->> 'verb' = 'attempt';
  end if;
  if random() < 0.05 then perform holdfast.delete_tombstones_v1(v_now); end if;
  if not v_durable and current_setting('holdfast_batch.granted', true) is distinct from 'yes' then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return to_jsonb(v_answers);
end
$apply_batch$;
