-- Ends the grants of a lock for an operator: at once, or by refusing their renewals.
--
-- Input   a_request  lock, now, stealReason
--         a_now  the time of the batch
-- Output  a_answer  holders, freeInMs, and guarded: whether a transaction still has the guard
--         a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_steal_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4,
  inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_steal_reason text character set utf8mb4
    default json_unquote(json_extract(a_request, '$.stealReason'));
  declare v_count int;
  declare v_free_in_ms double;
  declare v_guard varbinary(512);
  declare v_guarded boolean default false;
  declare continue handler for not found begin end;
  select count(*), coalesce((max(expires_us) - a_now) / 1000, 0) into v_count, v_free_in_ms
    from holdfast_holders where name = a_name;
  if json_unquote(json_extract(a_request, '$.now')) = 'true' then
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
end//
