/**
 * The steps that the verbs of the rule share: expiry, grants with their fencing tokens, guards and
 * the queue. apply-fast.ts and apply-one.ts make their tokens by the same expression.
 */

/**
 * Turns a sole holder into a row of its own, deletes expired holders, and grants to the waiters
 * that fit then. It runs once for each lock before anything but the fast path. A lock that has both
 * a sole holder and listed ones would be a broken rule, and the batch is rolled back.
 */
export const EXPIRE_AND_PROMOTE = /* sql */ `
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
end`

/**
 * Grants a claim and returns its first token. Tokens are at least the server time in microseconds,
 * so they keep growing after a restore from a backup.
 *
 * Checks that the holders of the lock fit its capacity: more of them would be a broken rule, and
 * the batch is rolled back.
 */
export const GRANT_CLAIM = /* sql */ `
create procedure if not exists holdfast_grant_claim_v1(
  in a_name varbinary(512), in a_id varchar(64) character set ascii,
  in a_owner longtext character set utf8mb4, in a_weight int, in a_tokens int, in a_ttl_ms double,
  in a_free bigint, in a_now bigint, out a_token bigint
)
modifies sql data sql security invoker
begin
  if not (a_weight between 1 and a_free and a_tokens > 0) then
    signal sqlstate 'HF003' set message_text = 'a grant exceeds the capacity of its lock';
  end if;
  update holdfast_locks
     set last_token = last_insert_id(greatest(last_token + 1, a_now) + a_tokens - 1), listed = true
   where name = a_name;
  set a_token = last_insert_id() - a_tokens + 1;
  insert into holdfast_holders
    (name, id, owner, weight, token, tokens, granted_us, ttl_ms, expires_us)
  values (a_name, a_id, a_owner, a_weight, a_token, a_tokens, a_now, a_ttl_ms,
          a_now + round(a_ttl_ms * 1000));
end`

/**
 * Returns whether a lock that a transaction covered may be granted again. It may not while that
 * transaction has the guard, since the transaction may still commit. This holds whether the lease
 * has expired, was stolen, or was released by a client that took it for lost. If the guard is free
 * it moves past the token of the lease, so a late transaction of that lease finds no guard.
 *
 * The procedure never waits for a guard, since all other sessions that want this lock would wait
 * behind it.
 */
export const TRY_PASS_GUARD = /* sql */ `
create procedure if not exists holdfast_try_pass_guard_v1(
  in a_name varbinary(512), out a_free boolean
)
modifies sql data sql security invoker
begin
  declare v_guard varbinary(512);
  declare continue handler for not found begin end;
  select name into v_guard from holdfast_guards where name = a_name for update skip locked;
  set a_free =
    v_guard is not null or not exists (select 1 from holdfast_guards where name = a_name);
  if v_guard is not null then
    update holdfast_guards
       set token = (select last_token + 1 from holdfast_locks where name = a_name)
     where name = a_name;
  end if;
  if a_free then update holdfast_locks set guarded = false where name = a_name; end if;
end`

/** Inserts the guard of a held lease. The next grant has to pass it. */
export const CREATE_GUARD = /* sql */ `
create procedure if not exists holdfast_create_guard_v1(
  in a_request longtext character set utf8mb4, out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare v_token bigint default (
    select token from holdfast_holders where name = a_name and id = a_id and not stolen
  );
  declare v_held boolean default v_token is not null;
  -- A second insertion would wait for the transaction that has the guard.
  if v_held and not exists (select 1 from holdfast_guards where name = a_name) then
    insert into holdfast_guards (name, token) values (a_name, v_token);
  end if;
  if v_held then update holdfast_locks set guarded = true where name = a_name; end if;
  set a_answer = json_object('done', v_held);
end`

/**
 * Grants to the waiters that fit, in order. The first live waiter that does not fit stops the
 * queue. Such a grant is short until its first renewal, since its waiter may have died a moment
 * ago. The channels of the clients to wake are added to a list.
 */
export const PROMOTE_WAITERS = /* sql */ `
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
end`
