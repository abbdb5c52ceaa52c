-- Takes a claim out of the store, granted or not, and refuses it from then on.
--
-- Input   a_request  lock, id, and ttlMs, for which the claim is refused
--         a_now  the time of the batch
-- Output  a_answer  outcome: released, left or absent; if it is repeated, that of the first one
--         a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_withdraw_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4,
  inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare v_outcome varchar(16) character set utf8mb4 default 'released';
  declare v_made_room boolean default true;
  delete from holdfast_holders where name = a_name and id = a_id;
  if row_count() = 0 then
    set v_outcome = 'left';
    delete from holdfast_waiters where name = a_name and id = a_id;
    if row_count() = 0 then
      set v_made_room = false;
      -- A plain release leaves no tombstone, and shows in the row until the next grant.
      select if(max(outcome) = 'stolen', 'absent', coalesce(max(outcome), (
               select 'released' from holdfast_locks
                where name = a_name and sole_id = a_id and sole_ttl_ms < -a_now
             ), 'absent'))
        into v_outcome from holdfast_tombstones
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
end//
