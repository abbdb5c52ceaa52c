-- Answers an attempt: a grant, a place in the queue, or a refusal.
--
-- Input   a_request  lock, id, kind, capacity, weight, tokens, ttlMs, owner, enqueue;
--         for a waiter also heartbeatMs, channel
--         a_now  the time of the batch
-- Output  a_answer  outcome: granted, waiting, busy, mismatch or withdrawn, with what belongs to it
create procedure if not exists holdfast_attempt_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
attempt: begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare a_kind varchar(16) character set utf8mb4
    default json_unquote(json_extract(a_request, '$.kind'));
  declare a_owner longtext character set utf8mb4
    default json_unquote(json_extract(a_request, '$.owner'));
  declare a_channel varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.channel'));
  declare a_capacity int default json_extract(a_request, '$.capacity');
  declare a_weight int default json_extract(a_request, '$.weight');
  declare a_tokens int default json_extract(a_request, '$.tokens');
  declare a_ttl_ms double default json_extract(a_request, '$.ttlMs');
  declare v_kind varchar(16) character set utf8mb4;
  declare v_capacity int;
  declare v_held bigint default 0;
  declare v_next_us, v_token bigint;
  declare v_left_ms double;
  declare v_steal_reason text character set utf8mb4;
  declare v_pass, v_queued, v_taken, v_withdrawn boolean;

  select kind, capacity, not guarded,
         exists (select 1 from holdfast_waiters w where w.name = l.name),
         exists (select 1 from holdfast_holders h where h.name = l.name),
         exists (
           select 1 from holdfast_tombstones t
            where t.name = l.name and t.id = a_id and t.until_us > a_now
         )
    into v_kind, v_capacity, v_pass, v_queued, v_taken, v_withdrawn
    from holdfast_locks l where l.name = a_name;
  if v_withdrawn then
    call holdfast_find_steal_v1(a_name, a_id, a_now, v_taken, v_steal_reason);
    set a_answer = json_object(
      'outcome', 'withdrawn', 'stolen', v_taken, 'stealReason', v_steal_reason
    );
    leave attempt;
  end if;
  -- Most locks are free, and a sum costs more than a check for rows.
  if v_taken then
    if exists (select 1 from holdfast_holders where name = a_name and id = a_id) then
      select json_object(
               'outcome', 'granted', 'existing', 1, 'token', cast(token as char), 'tokens', tokens,
               'ttlMs', ttl_ms, 'remainingMs', (expires_us - a_now) / 1000
             )
        into a_answer from holdfast_holders where name = a_name and id = a_id;
      leave attempt;
    end if;
    select sum(weight), min(expires_us) into v_held, v_next_us
      from holdfast_holders where name = a_name;
  end if;
  set v_left_ms = (v_next_us - a_now) / 1000;
  if v_queued and exists (select 1 from holdfast_waiters where name = a_name and id = a_id) then
    update holdfast_waiters
       set seen_us = a_now, owner = a_owner, tokens = a_tokens, channel = a_channel
     where name = a_name and id = a_id;
    set a_answer = json_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms);
    leave attempt;
  end if;

  if not v_queued and v_next_us is null then
    if v_kind <> a_kind or v_capacity <> a_capacity then
      update holdfast_locks set kind = a_kind, capacity = a_capacity where name = a_name;
    end if;
  elseif v_capacity <> a_capacity or (v_kind = 'semaphore') <> (a_kind = 'semaphore') then
    set a_answer = json_object('outcome', 'mismatch', 'kind', v_kind, 'capacity', v_capacity);
    leave attempt;
  elseif v_kind <> a_kind and a_kind = 'readWriteLock' then
    -- A mutex is the writer of a readers-writer lock. Once a reader or writer uses the lock, the
    -- row shows that kind.
    update holdfast_locks set kind = a_kind where name = a_name;
  end if;

  if not v_queued and v_held + a_weight <= a_capacity and not v_pass then
    call holdfast_try_pass_guard_v1(a_name, v_pass);
  end if;
  if not v_queued and v_held + a_weight <= a_capacity and v_pass then
    call holdfast_grant_claim_v1(
      a_name, a_id, a_owner, a_weight, a_tokens, a_ttl_ms, a_capacity - v_held, a_now, v_token
    );
    set a_answer = json_object(
      'outcome', 'granted', 'existing', 0, 'token', cast(v_token as char), 'tokens', a_tokens,
      'ttlMs', a_ttl_ms, 'remainingMs', a_ttl_ms
    );
  elseif json_unquote(json_extract(a_request, '$.enqueue')) = 'false' then
    set a_answer = json_object('outcome', 'busy', 'holderRemainingMs', v_left_ms);
  else
    if not v_taken then update holdfast_locks set listed = true where name = a_name; end if;
    insert into holdfast_waiters
      (name, id, owner, weight, tokens, ttl_ms, heartbeat_ms, since_us, seen_us, channel)
    values (a_name, a_id, a_owner, a_weight, a_tokens, a_ttl_ms,
            json_extract(a_request, '$.heartbeatMs'), a_now, a_now, a_channel);
    set a_answer = json_object(
      'outcome', 'waiting', 'queueNumber', last_insert_id(), 'holderRemainingMs', v_left_ms
    );
  end if;
end//
