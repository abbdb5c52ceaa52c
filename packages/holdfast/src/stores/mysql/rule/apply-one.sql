-- The fast path for a single request. Applies one attempt, renewal or withdrawal if its lock has no
-- holder but this claim, and no waiter and no guard. See apply-fast.sql for why one statement may
-- decide. Any other request continues in apply-batch.sql.
--
-- Input   a_verb to a_ttl_ms  the request
--         a_requests  the same as a list of one, for apply-batch.sql
-- Output  row  position 1 and the token; that of apply-batch.sql if it continues there
create procedure if not exists holdfast_apply_one_v1(
  in a_verb varchar(16) character set ascii, in a_name varbinary(512),
  in a_id varchar(64) character set ascii, in a_owner longtext character set utf8mb4,
  in a_kind varchar(16) character set utf8mb4, in a_capacity int, in a_weight int, in a_tokens int,
  in a_ttl_ms double, in a_requests longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_until bigint default v_now + round(a_ttl_ms * 1000);
  declare v_token bigint default 0;
  declare v_served boolean;
  declare exit handler for 1568 resignal;
  declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
  set transaction isolation level read committed;
  start transaction;
  case a_verb
    when 'attempt' then
      update holdfast_locks
         set kind = a_kind, capacity = a_capacity, sole_id = a_id, sole_owner = a_owner,
             sole_weight = a_weight, sole_tokens = a_tokens, sole_granted_us = v_now,
             sole_ttl_ms = a_ttl_ms, sole_expires_us = v_until,
             last_token = last_insert_id(greatest(last_token + 1, v_now) + a_tokens - 1)
       where name = a_name and not listed and not guarded and sole_expires_us = 0
         and a_weight <= a_capacity;
      set v_served = row_count() = 1;
      if v_served then
        set v_token = last_insert_id() - a_tokens + 1;
      elseif a_weight <= a_capacity
         and not exists (select 1 from holdfast_locks where name = a_name) then
        insert ignore into holdfast_locks (
    name, kind, capacity, last_token, sole_id, sole_owner, sole_weight, sole_tokens,
    sole_granted_us, sole_ttl_ms, sole_expires_us, last_batch
  )
        values (a_name, a_kind, a_capacity, v_now + a_tokens - 1, a_id, a_owner, a_weight, a_tokens,
                v_now, a_ttl_ms, v_until, 0);
        set v_served = row_count() = 1, v_token = v_now;
      end if;
      set v_served = v_served and not exists (
        select 1 from holdfast_tombstones where name = a_name and id = a_id and until_us > v_now
      );
    when 'renew' then
      update holdfast_locks
         set sole_owner = a_owner, sole_ttl_ms = a_ttl_ms, sole_expires_us = v_until
       where name = a_name and not listed and sole_id = a_id and sole_expires_us > v_now
         and sole_expires_us - round(sole_ttl_ms * 1000) <= v_now;
      set v_served = row_count() = 1;
    when 'withdraw' then
      update holdfast_locks set sole_expires_us = 0
       where name = a_name and not listed and sole_id = a_id and sole_expires_us > v_now;
      set v_served = row_count() = 1;
      if v_served then
        replace into holdfast_tombstones (name, id, until_us, outcome)
        values (a_name, a_id, v_until, 'released');
      end if;
  end case;
  if v_served then
    commit and no chain no release;
    select 1 as position, cast(v_token as char) as token;
    if a_verb = 'attempt' and a_name like '%@tick:%' then
      call holdfast_forget_slots_v1(a_name, v_now);
    end if;
    if rand() < 0.02 then call holdfast_delete_tombstones_v1(v_now); end if;
  else
    rollback and no chain no release;
    call holdfast_apply_batch_v1(json_array(hex(a_name)), a_requests, false);
  end if;
end//
