/** What operators do with a lock: the verbs that look at it, and that end a grant. */
import { ANSWERS, ANSWERS_AND_WAKES, text, WRITES } from './parameters.js'

export const STEAL = /* sql */ `
create procedure if not exists holdfast_steal_v1${ANSWERS_AND_WAKES}
${WRITES}
begin
  declare a_name varbinary(512) default unhex(${text('lock')});
  declare a_steal_reason text character set utf8mb4 default ${text('stealReason')};
  declare v_count int;
  declare v_free_in_ms double;
  declare v_guard varbinary(512);
  declare v_guarded boolean default false;
  declare continue handler for not found begin end;
  select count(*), coalesce((max(expires_us) - a_now) / 1000, 0) into v_count, v_free_in_ms
    from holdfast_holders where name = a_name;
  if ${text('now')} = 'true' then
    set v_free_in_ms = 0;
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'absent'
      from holdfast_holders where name = a_name;
    delete from holdfast_holders where name = a_name;
    call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
    -- Checks whether a transaction still has the guard, without disturbing the transaction.
    if exists (select 1 from holdfast_locks where name = a_name and guarded) then
      select name into v_guard from holdfast_guards where name = a_name for update skip locked;
      set v_guarded = v_guard is null
        and exists (select 1 from holdfast_guards where name = a_name);
    end if;
  else
    update holdfast_holders set stolen = true, steal_reason = coalesce(a_steal_reason, steal_reason)
     where name = a_name;
  end if;
  set a_answer = json_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded);
end`

/**
 * Builds the lists row by row. The JSON aggregates of some servers have no order, or a length that
 * the session limits.
 */
export const INSPECT = /* sql */ `
create procedure if not exists holdfast_inspect_v1${ANSWERS}
reads sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(${text('lock')});
  declare v_row longtext character set utf8mb4;
  declare v_holders, v_waiters longtext character set utf8mb4 default '';
  declare v_none boolean default false;
  declare a_up_to longtext character set ascii default ${text('upTo')};
  declare v_last bigint default 9223372036854775807;
  declare c_holders cursor for
    select json_object(
      'claimId', id, 'owner', owner, 'weight', weight,
      -- Only the process of the holder knows which of several tokens is in use.
      'token', if(tokens = 1, cast(token as char), null),
      'heldMs', (a_now - granted_us) / 1000, 'remainingMs', (expires_us - a_now) / 1000,
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
end`
