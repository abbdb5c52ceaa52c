-- Extends a grant, or keeps its end and changes only its owner.
--
-- Input   a_request  lock, id, owner, ttlMs, keepsEnd
--         a_now  the time of the batch
-- Output  a_answer  outcome: renewed, or lost with its reason
create procedure if not exists holdfast_renew_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare a_ttl_ms double default json_extract(a_request, '$.ttlMs');
  declare v_keeps_end boolean
    default coalesce(json_unquote(json_extract(a_request, '$.keepsEnd')), '') = 'true';
  declare v_stolen boolean;
  declare v_steal_reason text character set utf8mb4;
  select max(stolen), max(steal_reason) into v_stolen, v_steal_reason
    from holdfast_holders where name = a_name and id = a_id;
  if v_stolen is null then
    call holdfast_find_steal_v1(a_name, a_id, a_now, v_stolen, v_steal_reason);
    set v_stolen = nullif(v_stolen, false);
  end if;
  if v_stolen is null then
    set a_answer = json_object('outcome', 'lost', 'reason', 'expired');
  elseif v_stolen then
    set a_answer = json_object(
      'outcome', 'lost', 'reason', 'stolen', 'stealReason', v_steal_reason
    );
  else
    update holdfast_holders
       set owner = json_unquote(json_extract(a_request, '$.owner')),
           ttl_ms = if(v_keeps_end, ttl_ms, a_ttl_ms),
           expires_us = if(v_keeps_end, expires_us, a_now + round(a_ttl_ms * 1000))
     where name = a_name and id = a_id;
    set a_answer = json_object('outcome', 'renewed');
  end if;
end//
