/**
 * What clients do with claims: the verbs of the rule, each for one request on one lock whose row is
 * locked.
 */
import { ANSWERS, ANSWERS_AND_WAKES, CLAIM, text, WRITES } from './parameters.js'

export const ATTEMPT = /* sql */ `
create procedure if not exists holdfast_attempt_v1${ANSWERS}
${WRITES}
attempt: begin
${CLAIM}
  declare a_kind varchar(16) character set utf8mb4 default ${text('kind')};
  declare a_owner longtext character set utf8mb4 default ${text('owner')};
  declare a_channel varchar(64) character set ascii default ${text('channel')};
  declare a_capacity int default json_extract(a_request, '$.capacity');
  declare a_weight int default json_extract(a_request, '$.weight');
  declare a_tokens int default json_extract(a_request, '$.tokens');
  declare a_ttl_ms double default json_extract(a_request, '$.ttlMs');
  declare v_kind varchar(16) character set utf8mb4;
  declare v_capacity int;
  declare v_held bigint default 0;
  declare v_next_us, v_token bigint;
  declare v_left_ms double;
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
    set a_answer = json_object('outcome', 'withdrawn');
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
  elseif ${text('enqueue')} = 'false' then
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
end`

export const RENEW = /* sql */ `
create procedure if not exists holdfast_renew_v1${ANSWERS}
${WRITES}
begin
${CLAIM}
  declare a_ttl_ms double default json_extract(a_request, '$.ttlMs');
  declare v_keeps_end boolean default coalesce(${text('keepsEnd')}, '') = 'true';
  declare v_stolen boolean;
  declare v_steal_reason text character set utf8mb4;
  select max(stolen), max(steal_reason) into v_stolen, v_steal_reason
    from holdfast_holders where name = a_name and id = a_id;
  if v_stolen is null then
    set a_answer = json_object('outcome', 'lost', 'reason', 'expired');
  elseif v_stolen then
    set a_answer = json_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', v_steal_reason
    );
  else
    update holdfast_holders
       set owner = ${text('owner')},
           ttl_ms = if(v_keeps_end, ttl_ms, a_ttl_ms),
           expires_us = if(v_keeps_end, expires_us, a_now + round(a_ttl_ms * 1000))
     where name = a_name and id = a_id;
    set a_answer = json_object('outcome', 'renewed');
  end if;
end`

export const WITHDRAW = /* sql */ `
create procedure if not exists holdfast_withdraw_v1${ANSWERS_AND_WAKES}
${WRITES}
begin
${CLAIM}
  declare v_outcome varchar(16) character set utf8mb4 default 'released';
  declare v_made_room boolean default true;
  delete from holdfast_holders where name = a_name and id = a_id;
  if row_count() = 0 then
    set v_outcome = 'left';
    delete from holdfast_waiters where name = a_name and id = a_id;
    if row_count() = 0 then
      set v_made_room = false;
      select coalesce(max(outcome), 'absent') into v_outcome from holdfast_tombstones
       where name = a_name and id = a_id and until_us > a_now;
    end if;
  end if;
  -- An earlier tombstone of this claim is renewed: it may be about to expire.
  replace into holdfast_tombstones (name, id, until_us, outcome)
  values (a_name, a_id, a_now + round(json_extract(a_request, '$.ttlMs') * 1000), v_outcome);
  -- A waiter that left the queue may have been the only one before a smaller claim.
  if v_made_room then
    if exists (select 1 from holdfast_waiters where name = a_name) then
      call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
    elseif not exists (select 1 from holdfast_holders where name = a_name) then
      update holdfast_locks set listed = false where name = a_name;
    end if;
  end if;
  set a_answer = json_object('outcome', v_outcome);
end`

export const DOWNGRADE = /* sql */ `
create procedure if not exists holdfast_downgrade_v1${ANSWERS_AND_WAKES}
${WRITES}
begin
${CLAIM}
  declare v_held boolean default exists (
    select 1 from holdfast_holders h join holdfast_locks l on l.name = h.name
     where h.name = a_name and h.id = a_id and l.kind = 'readWriteLock'
  );
  if v_held then
    update holdfast_holders set weight = 1 where name = a_name and id = a_id;
    call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
  end if;
  set a_answer = json_object('done', v_held);
end`

/**
 * Lets a claim hold the lock in the place of the one that holds it, with its weight. The verb
 * `adopt` keeps the token, and `takeOver` gives a larger one. A transaction that covers the old
 * claim could still commit, so the new token also has to pass its guard.
 */
export const ADOPT = /* sql */ `
create procedure if not exists holdfast_adopt_v1${ANSWERS}
${WRITES}
adopt: begin
${CLAIM}
  declare a_from varchar(64) character set ascii default ${text('from')};
  declare a_token bigint default cast(${text('token')} as signed);
  declare a_takes_over boolean default ${text('verb')} = 'takeOver';
  declare a_ttl_ms double default json_extract(a_request, '$.ttlMs');
  declare v_stolen boolean;
  declare v_pass boolean default true;
  declare v_steal_reason text character set utf8mb4;
  -- The request may be a repeated one.
  if exists (select 1 from holdfast_holders where name = a_name and id = a_id) then
    select json_object(
             'outcome', 'granted', 'existing', 1, 'token', cast(token as char), 'tokens', tokens,
             'ttlMs', ttl_ms, 'remainingMs', (expires_us - a_now) / 1000
           )
      into a_answer from holdfast_holders where name = a_name and id = a_id;
    leave adopt;
  end if;
  select max(stolen), max(steal_reason) into v_stolen, v_steal_reason from holdfast_holders
   where name = a_name and id = a_from and token <= a_token and a_token - token < tokens;
  -- The new claim may have been withdrawn before this request arrived.
  if v_stolen is null or exists (
    select 1 from holdfast_tombstones where name = a_name and id = a_id and until_us > a_now
  ) then
    set a_answer = json_object('outcome', 'lost', 'reason', 'expired');
  elseif v_stolen then
    set a_answer = json_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', v_steal_reason
    );
  else
    if a_takes_over then
      select not guarded into v_pass from holdfast_locks where name = a_name;
      if not v_pass then call holdfast_try_pass_guard_v1(a_name, v_pass); end if;
      if not v_pass then
        set a_answer = json_object('outcome', 'guarded');
        leave adopt;
      end if;
      update holdfast_locks set last_token = last_insert_id(greatest(last_token + 1, a_now))
       where name = a_name;
      set a_token = last_insert_id();
    end if;
    update holdfast_holders
       set id = a_id, owner = ${text('owner')}, token = a_token, tokens = 1, ttl_ms = a_ttl_ms,
           expires_us = a_now + round(a_ttl_ms * 1000)
     where name = a_name and id = a_from;
    replace into holdfast_tombstones (name, id, until_us, outcome)
    values (a_name, a_from, a_now + round(json_extract(a_request, '$.fromTtlMs') * 1000), 'absent');
    set a_answer = json_object(
      'outcome', 'granted', 'existing', 0, 'token', cast(a_token as char), 'tokens', 1,
      'ttlMs', a_ttl_ms, 'remainingMs', a_ttl_ms
    );
  end if;
end`
