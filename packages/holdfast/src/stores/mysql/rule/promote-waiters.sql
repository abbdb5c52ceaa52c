-- Grants to the waiters that fit, in order. The first live waiter that does not fit stops the
-- queue. Such a grant is short until its first renewal, since its waiter may have died a moment
-- ago.
--
-- Input   a_name, a_now  the lock, whose row is locked, and the time of the batch
-- Output  a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_promote_waiters_v1(
  in a_name varbinary(512), in a_now bigint, inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
promote: begin
  declare v_free bigint;
  declare v_id varchar(64) character set ascii;
  declare v_owner longtext character set utf8mb4;
  declare v_weight, v_tokens int;
  declare v_ttl_ms, v_lives_ms double;
  declare v_seen_us, v_token bigint;
  declare v_channel varchar(64) character set ascii;
  declare v_none, v_pass boolean default false;
  declare continue handler for not found set v_none = true;
  loop
    select id, owner, weight, tokens, ttl_ms, heartbeat_ms * 3, seen_us, channel
      into v_id, v_owner, v_weight, v_tokens, v_ttl_ms, v_lives_ms, v_seen_us, v_channel
      from holdfast_waiters where name = a_name order by seq limit 1;
    if v_none then leave promote; end if;
    if v_seen_us + round(v_lives_ms * 1000) > a_now then
      if v_free is null then
        select l.capacity - (
                 select coalesce(sum(h.weight), 0) from holdfast_holders h where h.name = a_name
               ), not l.guarded
          into v_free, v_pass from holdfast_locks l where l.name = a_name;
        if v_free < 0 then
          signal sqlstate 'HF003' set message_text = 'the holders of a lock exceed its capacity';
        end if;
      end if;
      if v_weight > v_free then leave promote; end if;
      if not v_pass then call holdfast_try_pass_guard_v1(a_name, v_pass); end if;
      if not v_pass then leave promote; end if;
      call holdfast_grant_claim_v1(
        a_name, v_id, v_owner, v_weight, v_tokens, least(v_ttl_ms, v_lives_ms), v_free, a_now,
        v_token
      );
      set v_free = v_free - v_weight;
      if not find_in_set(v_channel, a_channels) then
        set a_channels = concat(a_channels, ',', v_channel);
      end if;
    end if;
    delete from holdfast_waiters where name = a_name and id = v_id;
  end loop;
end//
