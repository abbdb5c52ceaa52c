-- Lets a claim hold the lock in the place of the one that holds it, with its weight. The verb
-- `adopt` keeps the token, and `takeOver` gives a larger one. A transaction that covers the old
-- claim could still commit, so the new token also has to pass its guard.
--
-- Input   a_request  verb, lock, id, from, token, ttlMs, fromTtlMs, owner
--         a_now  the time of the batch
-- Output  a_answer  outcome: granted, lost with its reason, or guarded
create procedure if not exists holdfast_adopt_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
adopt: begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare a_from varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.from'));
  declare a_token bigint default cast(json_unquote(json_extract(a_request, '$.token')) as signed);
  declare a_takes_over boolean default json_unquote(json_extract(a_request, '$.verb')) = 'takeOver';
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
    call holdfast_find_steal_v1(a_name, a_from, a_now, v_stolen, v_steal_reason);
    set a_answer = if(
      v_stolen,
      json_object('outcome', 'lost', 'reason', 'stolen', 'stealReason', v_steal_reason),
      json_object('outcome', 'lost', 'reason', 'expired')
    );
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
       set id = a_id, owner = json_unquote(json_extract(a_request, '$.owner')),
           token = a_token, tokens = 1, ttl_ms = a_ttl_ms,
           expires_us = a_now + round(a_ttl_ms * 1000)
     where name = a_name and id = a_from;
    replace into holdfast_tombstones (name, id, until_us, outcome)
    values (a_name, a_from, a_now + round(json_extract(a_request, '$.fromTtlMs') * 1000), 'absent');
    set a_answer = json_object(
      'outcome', 'granted', 'existing', 0, 'token', cast(a_token as char), 'tokens', 1,
      'ttlMs', a_ttl_ms, 'remainingMs', a_ttl_ms
    );
  end if;
end//
