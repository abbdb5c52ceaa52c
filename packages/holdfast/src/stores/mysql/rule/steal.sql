-- Ends the grants of a lock for an operator: at once, or by refusing their renewals. The verb
-- `stealClaim` ends one claim, and takes one that waits out of the queue.
--
-- Input   a_request  verb, lock, now, stealReason, and id for `stealClaim`
--         a_now  the time of the batch
-- Output  a_answer  holders, freeInMs, and guarded: whether a transaction still has the guard; for
--         `stealClaim` also waiters
--         a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_steal_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4,
  inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
steal: begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  -- Null for all holders.
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare a_steal_reason text character set utf8mb4
    default json_unquote(json_extract(a_request, '$.stealReason'));
  declare v_count int;
  declare v_free_in_ms double;
  declare v_guard varbinary(512);
  declare v_guarded boolean default false;
  declare continue handler for not found begin end;
  if a_id is not null
     and exists (select 1 from holdfast_waiters where name = a_name and id = a_id) then
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'stolen' from holdfast_waiters
     where name = a_name and id = a_id;
    if a_steal_reason is not null then
      replace into holdfast_steals (name, id, until_us, steal_reason)
      select name, id, a_now + round(ttl_ms * 1000), a_steal_reason from holdfast_waiters
       where name = a_name and id = a_id;
    end if;
    delete from holdfast_waiters where name = a_name and id = a_id;
    -- A waiter that left the queue may have been the only one before a smaller claim.
    if exists (select 1 from holdfast_waiters where name = a_name) then
      call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
    elseif not exists (select 1 from holdfast_holders where name = a_name) then
      update holdfast_locks set listed = false where name = a_name;
    end if;
    set a_answer = json_object('holders', 0, 'waiters', 1, 'freeInMs', 0, 'guarded', false);
    leave steal;
  end if;
  update holdfast_holders set stolen = true, steal_reason = coalesce(a_steal_reason, steal_reason)
   where name = a_name and (a_id is null or id = a_id);
  select count(*), coalesce((max(expires_us) - a_now) / 1000, 0) into v_count, v_free_in_ms
    from holdfast_holders where name = a_name and (a_id is null or id = a_id);
  if json_unquote(json_extract(a_request, '$.now')) = 'true' then
    set v_free_in_ms = 0;
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'stolen'
      from holdfast_holders where name = a_name and (a_id is null or id = a_id);
    replace into holdfast_steals (name, id, until_us, steal_reason)
    select name, id, a_now + round(ttl_ms * 1000), steal_reason from holdfast_holders
     where name = a_name and (a_id is null or id = a_id) and steal_reason is not null;
    delete from holdfast_holders where name = a_name and (a_id is null or id = a_id);
    call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
    -- Checks whether a transaction still has the guard, without disturbing the transaction.
    if exists (select 1 from holdfast_locks where name = a_name and guarded) then
      select name into v_guard from holdfast_guards where name = a_name for update skip locked;
      set v_guarded = v_guard is null
        and exists (select 1 from holdfast_guards where name = a_name);
    end if;
  end if;
  set a_answer = json_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded);
  if a_id is not null then set a_answer = json_set(a_answer, '$.waiters', 0); end if;
end//
