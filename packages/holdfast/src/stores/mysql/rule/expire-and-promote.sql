-- Turns a sole holder into a row of its own, deletes expired holders, and grants to the waiters
-- that fit then. It runs once for each lock before anything but the fast path. A lock that has both
-- a sole holder and listed ones would be a broken rule, and the batch is rolled back.
--
-- Input   a_name, a_now  the lock, whose row is locked, and the time of the batch
-- Output  a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_expire_and_promote_v1(
  in a_name varbinary(512), in a_now bigint, inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare v_sole, v_listed, v_expired, v_queued boolean;
  select sole_expires_us > 0, listed into v_sole, v_listed from holdfast_locks where name = a_name;
  if v_sole and v_listed then
    signal sqlstate 'HF003' set message_text = 'a lock has a sole holder and listed ones';
  end if;
  if v_sole then
    insert into holdfast_holders
      (name, id, owner, weight, token, tokens, granted_us, ttl_ms, expires_us)
    select name, sole_id, sole_owner, sole_weight, last_token - sole_tokens + 1, sole_tokens,
           sole_granted_us, sole_ttl_ms, sole_expires_us
      from holdfast_locks where name = a_name;
    update holdfast_locks set listed = true, sole_id = null, sole_expires_us = 0
     where name = a_name;
  end if;
  select exists (select 1 from holdfast_holders where name = a_name and expires_us <= a_now),
         exists (select 1 from holdfast_waiters where name = a_name)
    into v_expired, v_queued;
  if v_expired then
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'absent' from holdfast_holders
     where name = a_name and expires_us <= a_now;
    delete from holdfast_holders where name = a_name and expires_us <= a_now;
  end if;
  if v_queued then call holdfast_promote_waiters_v1(a_name, a_now, a_channels); end if;
end//
