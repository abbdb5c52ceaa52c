/**
 * The grant rule of `store/grant-rule.ts` as stored procedures, and the one procedure that clients call: `turn_1`, with a
 * list of requests as JSON and a list of answers back, in one round trip and one transaction.
 *
 * Why it is safe: `turn_1` first locks the rows of its locks, in the order that the client sorted them in, and only then
 * looks at anything else. In READ COMMITTED each statement sees what was committed before it began, and so all that the
 * one before us did under the same row lock.
 *
 * The number in the names is that of the protocol. Another one would get procedures of its own beside these, so that
 * clients of two versions can share the tables while a new one is rolled out. They run with the rights of their caller.
 */

/** Ends what has expired and lets the queue move up: done once for each lock at the beginning of a turn. */
const SETTLE = /* sql */ `
create procedure if not exists holdfast_settle_1(in a_name varbinary(512), in a_now bigint, inout a_bells longtext)
modifies sql data sql security invoker
begin
  if exists (select 1 from holdfast_holders where name = a_name and expires_us <= a_now) then
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'absent' from holdfast_holders
     where name = a_name and expires_us <= a_now;
    delete from holdfast_holders where name = a_name and expires_us <= a_now;
  end if;
  call holdfast_promote_1(a_name, a_now, a_bells);
end`

/** Makes a claim a holder. A token also exceeds the time: rows may be lost, as with a backup that is put back. */
const HOLD = /* sql */ `
create procedure if not exists holdfast_hold_1(
  in a_name varbinary(512), in a_id varchar(64) character set ascii, in a_owner longtext character set utf8mb4,
  in a_weight int, in a_tokens int, in a_ttl_ms double, in a_now bigint, out a_token bigint
)
modifies sql data sql security invoker
begin
  select greatest(last_token + 1, a_now) into a_token from holdfast_locks where name = a_name;
  update holdfast_locks set last_token = a_token + a_tokens - 1 where name = a_name;
  insert into holdfast_holders (name, id, owner, weight, token, tokens, granted_us, ttl_ms, expires_us)
  values (a_name, a_id, a_owner, a_weight, a_token, a_tokens, a_now, a_ttl_ms, a_now + round(a_ttl_ms * 1000));
end`

/**
 * Whether a lock that a transaction covered may be granted again. Not while the transaction has the guard: it may yet
 * commit, whether the lease has expired, was stolen, or was given up by a client that took it for lost. Otherwise a
 * transaction of that lease which comes late finds the guard moved past its token. The rows are never waited for, since
 * everybody who wants this lock waits behind us.
 */
const PASS = /* sql */ `
create procedure if not exists holdfast_pass_1(in a_name varbinary(512), out a_free boolean)
modifies sql data sql security invoker
begin
  declare v_guard varbinary(512);
  declare continue handler for not found begin end;
  select name into v_guard from holdfast_guards where name = a_name for update skip locked;
  set a_free = v_guard is not null or not exists (select 1 from holdfast_guards where name = a_name);
  if v_guard is not null then
    update holdfast_guards set token = (select last_token + 1 from holdfast_locks where name = a_name)
     where name = a_name;
  end if;
  if a_free then update holdfast_locks set guarded = false where name = a_name; end if;
end`

/** Makes the guard of a lease that is held, for a transaction to lock, and has it asked before the next grant. */
const GUARD = /* sql */ `
create procedure if not exists holdfast_guard_1(
  in a_op longtext character set utf8mb4, out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_id varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.id'));
  declare v_held boolean default exists (
    select 1 from holdfast_holders where name = a_name and id = a_id and not stolen
  );
  -- A second insertion would wait for the transaction that has the guard.
  if v_held and not exists (select 1 from holdfast_guards where name = a_name) then
    insert into holdfast_guards (name) values (a_name);
  end if;
  if v_held then update holdfast_locks set guarded = true where name = a_name; end if;
  set a_answer = json_object('done', v_held);
end`

/**
 * Makes holders of the waiters that fit, in order; the first one that lives and does not fit stops the queue. The grant
 * is short until its first renewal, since the waiter may have died a moment ago. Whose bells to ring is added to a list.
 */
const PROMOTE = /* sql */ `
create procedure if not exists holdfast_promote_1(in a_name varbinary(512), in a_now bigint, inout a_bells longtext)
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
        select l.capacity - (select coalesce(sum(h.weight), 0) from holdfast_holders h where h.name = a_name),
               not l.guarded
          into v_free, v_pass from holdfast_locks l where l.name = a_name;
      end if;
      if v_weight > v_free then leave promote; end if;
      if not v_pass then call holdfast_pass_1(a_name, v_pass); end if;
      if not v_pass then leave promote; end if;
      set v_free = v_free - v_weight;
      call holdfast_hold_1(a_name, v_id, v_owner, v_weight, v_tokens, least(v_ttl_ms, v_lives_ms), a_now, v_token);
      if not find_in_set(v_channel, a_bells) then set a_bells = concat(a_bells, ',', v_channel); end if;
    end if;
    delete from holdfast_waiters where name = a_name and id = v_id;
  end loop;
end`

const ATTEMPT = /* sql */ `
create procedure if not exists holdfast_attempt_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
attempt: begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_id varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.id'));
  declare a_kind varchar(16) character set utf8mb4 default json_unquote(json_extract(a_op, '$.kind'));
  declare a_owner longtext character set utf8mb4 default json_unquote(json_extract(a_op, '$.owner'));
  declare a_channel varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.channel'));
  declare a_capacity int default json_extract(a_op, '$.capacity');
  declare a_weight int default json_extract(a_op, '$.weight');
  declare a_tokens int default json_extract(a_op, '$.tokens');
  declare a_ttl_ms double default json_extract(a_op, '$.ttlMs');
  declare v_kind varchar(16) character set utf8mb4;
  declare v_capacity int;
  declare v_held, v_next_us, v_token bigint;
  declare v_left_ms double;
  declare v_pass boolean;
  declare v_queued boolean default exists (select 1 from holdfast_waiters where name = a_name);

  if exists (select 1 from holdfast_tombstones where name = a_name and id = a_id and until_us > a_now) then
    set a_answer = json_object('outcome', 'withdrawn');
    leave attempt;
  end if;
  select json_object(
           'outcome', 'granted', 'existing', 1, 'token', cast(token as char), 'tokens', tokens, 'ttlMs', ttl_ms,
           'remainingMs', (expires_us - a_now) / 1000
         )
    into a_answer from (select 1) one left join holdfast_holders on name = a_name and id = a_id;
  if json_unquote(json_extract(a_answer, '$.token')) <> 'null' then leave attempt; end if;

  select coalesce(sum(weight), 0), min(expires_us) into v_held, v_next_us from holdfast_holders where name = a_name;
  set v_left_ms = (v_next_us - a_now) / 1000;
  if v_queued and exists (select 1 from holdfast_waiters where name = a_name and id = a_id) then
    update holdfast_waiters set seen_us = a_now, owner = a_owner, tokens = a_tokens, channel = a_channel
     where name = a_name and id = a_id;
    set a_answer = json_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms);
    leave attempt;
  end if;

  select kind, capacity, not guarded into v_kind, v_capacity, v_pass from holdfast_locks where name = a_name;
  if not v_queued and v_next_us is null then
    if v_kind <> a_kind or v_capacity <> a_capacity then
      update holdfast_locks set kind = a_kind, capacity = a_capacity where name = a_name;
    end if;
  elseif v_capacity <> a_capacity or (v_kind = 'semaphore') <> (a_kind = 'semaphore') then
    set a_answer = json_object('outcome', 'mismatch', 'kind', v_kind, 'capacity', v_capacity);
    leave attempt;
  elseif v_kind <> a_kind and a_kind = 'readWriteLock' then
    -- A mutex is the writer of a readers-writer lock. What is not only a mutex any more is shown as what it became.
    update holdfast_locks set kind = a_kind where name = a_name;
  end if;

  if not v_queued and v_held + a_weight <= a_capacity and not v_pass then
    call holdfast_pass_1(a_name, v_pass);
  end if;
  if not v_queued and v_held + a_weight <= a_capacity and v_pass then
    call holdfast_hold_1(a_name, a_id, a_owner, a_weight, a_tokens, a_ttl_ms, a_now, v_token);
    set a_answer = json_object(
      'outcome', 'granted', 'existing', 0, 'token', cast(v_token as char), 'tokens', a_tokens, 'ttlMs', a_ttl_ms,
      'remainingMs', a_ttl_ms
    );
  elseif json_extract(a_op, '$.enqueue') = 'false' then
    set a_answer = json_object('outcome', 'busy', 'holderRemainingMs', v_left_ms);
  else
    insert into holdfast_waiters (name, id, owner, weight, tokens, ttl_ms, heartbeat_ms, since_us, seen_us, channel)
    values (a_name, a_id, a_owner, a_weight, a_tokens, a_ttl_ms, json_extract(a_op, '$.heartbeatMs'), a_now, a_now,
            a_channel);
    set a_answer = json_object('outcome', 'waiting', 'holderRemainingMs', v_left_ms);
  end if;
end`

const RENEW = /* sql */ `
create procedure if not exists holdfast_renew_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_id varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.id'));
  declare a_ttl_ms double default json_extract(a_op, '$.ttlMs');
  declare v_stolen boolean;
  declare v_because text character set utf8mb4;
  select max(stolen), max(because) into v_stolen, v_because from holdfast_holders where name = a_name and id = a_id;
  if v_stolen is null then
    set a_answer = json_object('outcome', 'lost', 'reason', 'expired');
  elseif v_stolen then
    set a_answer = json_object('outcome', 'lost', 'reason', 'stolen', 'because', v_because);
  else
    update holdfast_holders
       set owner = json_unquote(json_extract(a_op, '$.owner')), ttl_ms = a_ttl_ms,
           expires_us = a_now + round(a_ttl_ms * 1000)
     where name = a_name and id = a_id;
    set a_answer = json_object('outcome', 'renewed');
  end if;
end`

const WITHDRAW = /* sql */ `
create procedure if not exists holdfast_withdraw_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4,
  inout a_bells longtext
)
modifies sql data sql security invoker
withdraw: begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_id varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.id'));
  declare v_outcome, v_before varchar(16) character set utf8mb4 default 'released';
  delete from holdfast_holders where name = a_name and id = a_id;
  if row_count() = 0 then
    set v_outcome = 'left';
    delete from holdfast_waiters where name = a_name and id = a_id;
    if row_count() = 0 then
      set v_outcome = 'absent';
      select max(outcome) into v_before from holdfast_tombstones
       where name = a_name and id = a_id and until_us > a_now;
      if v_before is not null then
        set a_answer = json_object('outcome', v_before);
        leave withdraw;
      end if;
    end if;
  end if;
  replace into holdfast_tombstones (name, id, until_us, outcome)
  values (a_name, a_id, a_now + round(json_extract(a_op, '$.ttlMs') * 1000), v_outcome);
  -- Also the one that left the queue may have been all that stood before a smaller claim.
  if v_outcome <> 'absent' then call holdfast_promote_1(a_name, a_now, a_bells); end if;
  set a_answer = json_object('outcome', v_outcome);
end`

const DOWNGRADE = /* sql */ `
create procedure if not exists holdfast_downgrade_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4,
  inout a_bells longtext
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_id varchar(64) character set ascii default json_unquote(json_extract(a_op, '$.id'));
  declare v_held boolean default exists (
    select 1 from holdfast_holders h join holdfast_locks l on l.name = h.name
     where h.name = a_name and h.id = a_id and l.kind = 'readWriteLock'
  );
  if v_held then
    update holdfast_holders set weight = 1 where name = a_name and id = a_id;
    call holdfast_promote_1(a_name, a_now, a_bells);
  end if;
  set a_answer = json_object('done', v_held);
end`

const STEAL = /* sql */ `
create procedure if not exists holdfast_steal_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4,
  inout a_bells longtext
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare a_because text character set utf8mb4 default json_unquote(json_extract(a_op, '$.because'));
  declare v_count int;
  declare v_free_in_ms double;
  select count(*), coalesce((max(expires_us) - a_now) / 1000, 0) into v_count, v_free_in_ms
    from holdfast_holders where name = a_name;
  if json_extract(a_op, '$.now') = 'true' then
    set v_free_in_ms = 0;
    replace into holdfast_tombstones (name, id, until_us, outcome)
    select name, id, a_now + round(ttl_ms * 1000), 'absent' from holdfast_holders where name = a_name;
    delete from holdfast_holders where name = a_name;
    call holdfast_promote_1(a_name, a_now, a_bells);
  else
    update holdfast_holders set stolen = true, because = coalesce(a_because, because) where name = a_name;
  end if;
  set a_answer = json_object('holders', v_count, 'freeInMs', v_free_in_ms);
end`

/** Lists built row by row: the aggregates of JSON have no order everywhere, or a length that the session limits. */
const INSPECT = /* sql */ `
create procedure if not exists holdfast_inspect_1(
  in a_op longtext character set utf8mb4, in a_now bigint, out a_answer longtext character set utf8mb4
)
reads sql data sql security invoker
begin
  declare a_name varbinary(512) default json_unquote(json_extract(a_op, '$.lock'));
  declare v_row longtext character set utf8mb4;
  declare v_holders, v_waiters longtext character set utf8mb4 default '';
  declare v_none boolean default false;
  declare c_holders cursor for
    select json_object(
      'claimId', id, 'owner', owner, 'weight', weight, 'token', cast(token as char),
      'heldMs', (a_now - granted_us) / 1000, 'remainingMs', (expires_us - a_now) / 1000,
      'stolen', stolen, 'because', because
    ) from holdfast_holders where name = a_name order by seq;
  declare c_waiters cursor for
    select json_object('claimId', id, 'owner', owner, 'weight', weight, 'waitedMs', (a_now - since_us) / 1000)
      from holdfast_waiters where name = a_name order by seq;
  declare continue handler for not found set v_none = true;
  open c_holders;
  fetch c_holders into v_row;
  while not v_none do
    set v_holders = concat(v_holders, if(v_holders = '', '', ','), v_row);
    fetch c_holders into v_row;
  end while;
  close c_holders;
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
  set a_answer = concat('{"lock":', coalesce(v_row, 'null'), ',"holders":[', v_holders, '],"waiters":[', v_waiters, ']}');
end`

/** Rings the bells of clients: each sleeps in a statement that has its channel in it, which is interrupted. */
const RING = /* sql */ `
create procedure if not exists holdfast_ring_1(in a_bells longtext)
reads sql data sql security invoker
begin
  declare v_bell bigint;
  declare v_rest longtext default substring(a_bells, 2);
  declare v_channel varchar(64);
  -- Whoever sleeps no more looks by itself.
  declare continue handler for sqlexception begin end;
  while v_rest <> '' do
    set v_channel = substring_index(v_rest, ',', 1);
    set v_rest = substring(v_rest, length(v_channel) + 2);
    select max(id) into v_bell from information_schema.processlist
     where command = 'Query' and info like concat('select sleep%', v_channel, '%');
    if v_bell is not null then kill query v_bell; end if;
  end while;
end`

/**
 * The names come sorted and without repetition. Missing rows are made before the transaction: to lock a row that is not
 * there locks nothing, or a gap that two can hold at once. What fails in between is undone as a whole.
 */
const TURN = /* sql */ `
create procedure if not exists holdfast_turn_1(
  in a_names longtext character set utf8mb4, in a_ops longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare v_name varbinary(512);
  declare v_op, v_answer, v_answers longtext character set utf8mb4 default '';
  declare v_bells longtext default '';
  declare v_now bigint;
  declare v_index int default 0;
  declare v_count int default json_length(a_names);
  declare exit handler for sqlexception begin rollback; resignal; end;

  while v_index < v_count do
    set v_name = json_unquote(json_extract(a_names, concat('$[', v_index, ']')));
    if not exists (select 1 from holdfast_locks where name = v_name) then
      insert ignore into holdfast_locks (name) values (v_name);
    end if;
    set v_index = v_index + 1;
  end while;

  -- Without autocommit the session is in a transaction already, on a level of its own.
  commit;
  set transaction isolation level read committed;
  start transaction;
  set v_index = 0;
  while v_index < v_count do
    set v_name = json_unquote(json_extract(a_names, concat('$[', v_index, ']')));
    select name into v_name from holdfast_locks where name = v_name for update;
    set v_index = v_index + 1;
  end while;
  set v_now = timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  set v_index = 0;
  while v_index < v_count do
    call holdfast_settle_1(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))), v_now, v_bells);
    set v_index = v_index + 1;
  end while;

  set v_index = 0, v_count = json_length(a_ops);
  while v_index < v_count do
    set v_op = json_extract(a_ops, concat('$[', v_index, ']'));
    case json_unquote(json_extract(v_op, '$.verb'))
      when 'attempt' then call holdfast_attempt_1(v_op, v_now, v_answer);
      when 'withdraw' then call holdfast_withdraw_1(v_op, v_now, v_answer, v_bells);
      when 'renew' then call holdfast_renew_1(v_op, v_now, v_answer);
      when 'downgrade' then call holdfast_downgrade_1(v_op, v_now, v_answer, v_bells);
      when 'steal' then call holdfast_steal_1(v_op, v_now, v_answer, v_bells);
      when 'guard' then call holdfast_guard_1(v_op, v_answer);
      when 'inspect' then call holdfast_inspect_1(v_op, v_now, v_answer);
    end case;
    set v_answers = concat(v_answers, if(v_index = 0, '', ','), v_answer);
    set v_index = v_index + 1;
  end while;
  commit;

  if v_bells <> '' then call holdfast_ring_1(v_bells); end if;
  if rand() < 0.05 then delete from holdfast_tombstones where until_us <= v_now order by until_us limit 5000; end if;
  commit;
  select concat('[', v_answers, ']') as answers;
end`

export const RULE: readonly string[] = [
  HOLD,
  PASS,
  GUARD,
  PROMOTE,
  SETTLE,
  ATTEMPT,
  RENEW,
  WITHDRAW,
  DOWNGRADE,
  STEAL,
  INSPECT,
  RING,
  TURN,
]
