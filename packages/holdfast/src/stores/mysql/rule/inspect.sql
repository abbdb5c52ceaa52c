-- Describes a lock with its holders and waiters. Builds the lists row by row. The JSON aggregates
-- of some servers have no order, or a length that the session limits.
--
-- Input   a_request  lock; upTo: waiters after the last of these claims are left out
--         a_now  the time of the batch
-- Output  a_answer  lock, holders, waiters
create procedure if not exists holdfast_inspect_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4
)
reads sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare v_row longtext character set utf8mb4;
  declare v_holders, v_waiters longtext character set utf8mb4 default '';
  declare v_none boolean default false;
  declare a_up_to longtext character set ascii
    default json_unquote(json_extract(a_request, '$.upTo'));
  declare v_last bigint default 9223372036854775807;
  declare c_holders cursor for
    select json_object(
      'claimId', id, 'owner', owner, 'weight', weight,
      -- Only the process of the holder knows which of several tokens is in use.
      'token', if(tokens = 1, cast(token as char), null),
      'heldMs', (a_now - granted_us) / 1000, 'remainingMs', (expires_us - a_now) / 1000,
      'ttlMs', ttl_ms,
      'stolen', stolen, 'stealReason', steal_reason
    ) from holdfast_holders where name = a_name order by seq;
  declare c_waiters cursor for
    select json_object(
      'claimId', id, 'owner', owner, 'weight', weight, 'waitedMs', (a_now - since_us) / 1000
    ) from holdfast_waiters where name = a_name and seq <= v_last order by seq;
  declare continue handler for not found set v_none = true;
  open c_holders;
  fetch c_holders into v_row;
  while not v_none do
    set v_holders = concat(v_holders, if(v_holders = '', '', ','), v_row);
    fetch c_holders into v_row;
  end while;
  close c_holders;
  if a_up_to = '' then set v_last = 0;
  elseif a_up_to is not null then
    select coalesce(max(seq), 0) into v_last
      from holdfast_waiters where name = a_name and find_in_set(id, a_up_to);
  end if;
  set v_none = false;
  open c_waiters;
  fetch c_waiters into v_row;
  while not v_none do
    set v_waiters = concat(v_waiters, if(v_waiters = '', '', ','), v_row);
    fetch c_waiters into v_row;
  end while;
  close c_waiters;
  set v_row = null;
  select json_object('kind', kind, 'capacity', capacity, 'lastToken', cast(last_token as char))
    into v_row from holdfast_locks where name = a_name;
  set a_answer = concat(
    '{"lock":', coalesce(v_row, 'null'), ',"holders":[', v_holders, '],"waiters":[', v_waiters, ']}'
  );
end//
