-- Applies a batch of requests: locks the rows of their locks, moves the queues, answers each one.
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
  v_name text;
  v_locked integer;
  v_complete boolean;
  v_queued boolean;
  v_expired boolean;
  v_now timestamptz;
  v_request jsonb;
  v_position bigint;
  v_answer jsonb;
  v_answers jsonb[];
  v_unanswered integer := jsonb_array_length(a_requests);
  v_durable boolean := false;
  v_sweeps constant boolean := random() < 0.05;
  v_has_slots boolean;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
  -- Most batches are for one lock, and a list of one name costs a third more than the name.
  v_name := case when jsonb_array_length(a_requests) = 1 then a_requests -> 0 ->> 'lock' end;
  if v_name is not null then
    perform from holdfast.locks l where l.name = v_name for update;
    v_complete := found;
  else
    select array_agg(distinct (r ->> 'lock') collate "C" order by (r ->> 'lock') collate "C")
      into v_names from jsonb_array_elements(a_requests) r;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
    get diagnostics v_locked = row_count;
    v_complete := v_locked = cardinality(v_names);
  end if;
  if not v_complete then
    v_names := coalesce(v_names, array[v_name]);
    -- A withdrawal inserts the row too: an attempt that it overtook locks that row and sees it.
    insert into holdfast.locks (name)
    select distinct (r ->> 'lock') collate "C" as n from jsonb_array_elements(a_requests) r
     where r ->> 'verb' in ('attempt', 'withdraw') order by n
    on conflict do nothing;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
  end if;
  v_now := clock_timestamp();
  v_has_slots := coalesce(v_name, array_to_string(v_names, ' ')) like '%@tick:%';
  if v_name is not null then
    -- Without holders `v_expired` is null.
    select exists (select from holdfast.waiters w where w.lock = v_name),
           (select bool_or(h.expires <= v_now) from holdfast.holders h where h.lock = v_name)
      into v_queued, v_expired;
    if v_queued or v_expired then
      perform holdfast.expire_and_promote_v1(v_name, v_now);
    elsif v_expired is null and a_requests -> 0 ->> 'verb' = 'attempt'
       or not v_expired and a_requests -> 0 ->> 'verb' = 'withdraw' then
      v_answer := holdfast.apply_single_v1(a_requests -> 0, v_now);
      if v_answer is not null then
        if not v_has_slots and not v_sweeps then return jsonb_build_array(v_answer); end if;
        v_durable := true;
      end if;
    end if;
  else
    for v_name in
      select n from unnest(v_names) n
       where exists (select from holdfast.holders h where h.lock = n and h.expires <= v_now)
          or exists (select from holdfast.waiters w where w.lock = n)
    loop
      perform holdfast.expire_and_promote_v1(v_name, v_now);
    end loop;
  end if;
  v_answers := array_fill(v_answer, array[v_unanswered]);
  if v_answer is not null then v_unanswered := 0;
  elsif v_unanswered > 1 and v_unanswered = cardinality(v_names) then
    for v_position, v_answer in
      select f.position, f.answer from holdfast.apply_fast_v1(a_requests, v_now) f
    loop
      v_answers[v_position] := v_answer;
      v_unanswered := v_unanswered - 1;
      v_durable := true;
    end loop;
  end if;
  if v_unanswered > 0 then
    for v_request, v_position in
      select r, n from jsonb_array_elements(a_requests) with ordinality as e (r, n)
    loop
      continue when v_answers[v_position] is not null;
      v_answer := case v_request ->> 'verb'
        when 'attempt' then holdfast.attempt_v1(v_request, v_now)
        when 'withdraw' then holdfast.withdraw_v1(v_request, v_now)
        when 'renew' then holdfast.renew_v1(v_request, v_now)
        when 'downgrade' then holdfast.downgrade_v1(v_request, v_now)
        when 'adopt' then holdfast.adopt_v1(v_request, v_now)
        when 'takeOver' then holdfast.adopt_v1(v_request, v_now)
        when 'steal' then holdfast.steal_v1(v_request, v_now)
        when 'stealClaim' then holdfast.steal_v1(v_request, v_now)
        when 'guard' then holdfast.create_guard_v1(v_request)
        when 'inspect' then holdfast.inspect_v1(v_request, v_now)
      end;
      if v_answer is null then
        raise exception 'the request % has no answer', v_request ->> 'verb' using errcode = 'HF003';
      end if;
      v_answers[v_position] := v_answer;
      v_durable := v_durable
        or v_request ->> 'verb' in
          ('renew', 'withdraw', 'downgrade', 'adopt', 'takeOver', 'steal', 'stealClaim', 'guard');
    end loop;
  end if;
  if v_has_slots then
    perform holdfast.forget_slots_v1(r ->> 'lock', v_now)
       from jsonb_array_elements(a_requests) r where r ->> 'verb' = 'attempt';
  end if;
  if v_sweeps then
    delete from holdfast.tombstones t where t.ctid = any (array(
      select u.ctid from holdfast.tombstones u
       where u.until <= v_now order by u.until limit 5000 for update skip locked
    ));
  end if;
  if not v_durable and current_setting('holdfast_batch.granted', true) is distinct from 'yes' then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return to_jsonb(v_answers);
end
$apply_batch$;
