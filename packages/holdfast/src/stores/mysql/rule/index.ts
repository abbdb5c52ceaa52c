/**
 * The grant rule of `store/grant-rule.ts` as stored procedures. Clients call `turn_2`, with a list
 * of requests as JSON and answers back, in one round trip and one transaction, or `one_2` for a
 * single request (see plain.ts).
 *
 * Why it is safe: each first locks the rows of its locks, in the order that the client sorted them
 * in, and only then looks at anything else. In READ COMMITTED each statement sees what was
 * committed before it began, and so all that the one before us did under the same row lock.
 *
 * A procedure that is there is never replaced: MySQL would have to drop it first, under the calls
 * of clients. So a procedure whose text changes gets the next number, and so do those that call it.
 * Then clients of two versions share the tables while a new one is rolled out. They run with the
 * rights of their caller.
 */
import { COMMIT, ROLLBACK } from './ends.js'
import { PURGE } from './purge.js'
import { ONE, PLAIN } from './plain.js'
import { SETTLE, HOLD, PASS, GUARD, PROMOTE } from './queue.js'
import { ATTEMPT, RENEW, WITHDRAW, DOWNGRADE, STEAL, INSPECT } from './verbs.js'

/**
 * Rings the bells of clients: each sleeps in a statement that has its channel in it, which is
 * interrupted. Text without a character set of its own would be in that of the database, where a
 * comma may have two bytes or four.
 */
const RING = /* sql */ `
create procedure if not exists holdfast_ring_1(in a_bells longtext character set ascii)
reads sql data sql security invoker
begin
  declare v_bell bigint;
  declare v_rest longtext character set ascii default substring(a_bells, 2);
  declare v_channel varchar(64) character set ascii;
  -- Whoever sleeps no more looks by itself.
  declare continue handler for sqlexception begin end;
  while v_rest <> '' do
    set v_channel = substring_index(v_rest, ',', 1);
    set v_rest = substring(v_rest, char_length(v_channel) + 2);
    select max(id) into v_bell from information_schema.processlist
     where command = 'Query' and info like concat('select sleep%', v_channel, '%');
    if v_bell is not null then kill query v_bell; end if;
  end while;
end`

/**
 * The tombstones of a busy service are many, so now and then a call takes those away that have
 * served.
 */
const SWEEP = /* sql */ `
create procedure if not exists holdfast_sweep_1(in a_now bigint)
modifies sql data sql security invoker
begin
  -- On the level of most sessions it would also lock the gaps between them, and wait for releases that wait for it.
  ${COMMIT};
  set transaction isolation level read committed;
  start transaction;
  delete from holdfast_tombstones where until_us <= a_now order by until_us limit 5000;
  ${COMMIT};
end`

/**
 * The requests at the places of a list, or all of them, on locks whose rows are locked. The names
 * come without repetition. Where there is a list, the name and the request at a place belong
 * together.
 */
const ANSWER = /* sql */ `
create procedure if not exists holdfast_answer_2(
  in a_names longtext character set utf8mb4, in a_ops longtext character set utf8mb4, in a_places text character set ascii,
  out a_answers longtext character set utf8mb4, inout a_bells longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare v_op, v_answer longtext character set utf8mb4;
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_index int default 0;
  declare v_count int default json_length(a_names);
  while v_index < v_count do
    if a_places is null or find_in_set(v_index + 1, a_places) then
      call holdfast_settle_1(unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']')))), v_now, a_bells);
    end if;
    set v_index = v_index + 1;
  end while;
  set a_answers = '[', v_index = 0, v_count = json_length(a_ops);
  while v_index < v_count do
    if a_places is null or find_in_set(v_index + 1, a_places) then
      set v_op = json_extract(a_ops, concat('$[', v_index, ']'));
      case json_unquote(json_extract(v_op, '$.verb'))
        when 'attempt' then call holdfast_attempt_2(v_op, v_now, v_answer);
        when 'withdraw' then call holdfast_withdraw_1(v_op, v_now, v_answer, a_bells);
        when 'renew' then call holdfast_renew_1(v_op, v_now, v_answer);
        when 'downgrade' then call holdfast_downgrade_1(v_op, v_now, v_answer, a_bells);
        when 'steal' then call holdfast_steal_2(v_op, v_now, v_answer, a_bells);
        when 'guard' then call holdfast_guard_1(v_op, v_answer);
        when 'inspect' then call holdfast_inspect_1(v_op, v_now, v_answer);
      end case;
      set a_answers = concat(a_answers, if(a_answers = '[', '', ','), v_answer);
    end if;
    set v_index = v_index + 1;
  end while;
  set a_answers = concat(a_answers, ']');
end`

/**
 * The names come as hexadecimal digits, sorted and without repetition. `a_apart` says that there
 * are as many requests, and in the same order, so that plain ones are served together. They come
 * back as rows, and the others as JSON.
 *
 * Otherwise: rows are seldom missing, so they are locked first; when one is, the transaction is
 * undone, since to lock a row that is not there locks nothing, and missing rows are made outside of
 * it. What fails in between is undone as a whole.
 */
const TURN = /* sql */ `
create procedure if not exists holdfast_turn_2(
  in a_names longtext character set utf8mb4, in a_ops longtext character set utf8mb4, in a_apart boolean
)
modifies sql data sql security invoker
begin
  declare v_name varbinary(512);
  declare v_answers longtext character set utf8mb4;
  declare v_bells longtext character set ascii default '';
  declare v_left text character set ascii;
  declare v_late boolean default false;
  declare v_index, v_taken int default 0;
  declare v_count int default json_length(a_names);
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;

  -- Without autocommit the session is in a transaction already, on a level of its own.
  ${COMMIT};
  if a_apart then
    set transaction isolation level read committed;
    start transaction;
    call holdfast_plain_1(a_ops, v_left, v_late);
    if v_late then ${ROLLBACK}; end if;
  end if;
  take: while not a_apart or v_late do
    set transaction isolation level read committed;
    start transaction;
    set v_index = 0, v_taken = 0;
    while v_index < v_count do
      set v_name = unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))));
      select count(*) + v_taken into v_taken from holdfast_locks where name = v_name for update;
      set v_index = v_index + 1;
    end while;
    if v_taken = v_count then leave take; end if;
    ${ROLLBACK};
    set v_index = 0;
    while v_index < v_count do
      set v_name = unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))));
      if not exists (select 1 from holdfast_locks where name = v_name) then
        insert ignore into holdfast_locks (name) values (v_name);
      end if;
      set v_index = v_index + 1;
    end while;
    -- Without autocommit all this has begun a transaction, and the next one could not choose its level.
    ${COMMIT};
  end while;
  if not a_apart or v_late or v_left is not null then
    call holdfast_answer_2(a_names, a_ops, v_left, v_answers, v_bells);
  end if;
  ${COMMIT};

  if v_bells <> '' then call holdfast_ring_1(v_bells); end if;
  if v_answers is not null then select v_answers as answers; end if;
  if rand() < 0.05 then call holdfast_sweep_1(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))); end if;
end`

/** Names of locks that somebody holds or waits for, as hexadecimal digits. */
const NAMES = /* sql */ `
create procedure if not exists holdfast_names_1(in a_prefix varbinary(512), in a_after varbinary(512), in a_limit int)
reads sql data sql security invoker
begin
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;
  -- Without autocommit this would see what was so when the session last began a transaction, and leave one open.
  ${COMMIT};
  select hex(name) as name from (
    select name from holdfast_locks where sole_expires_us > 0 union
    select name from holdfast_holders union select name from holdfast_waiters
  ) used
   where name >= a_prefix and name > a_after and left(name, length(a_prefix)) = a_prefix order by used.name limit a_limit;
  ${COMMIT};
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
  SWEEP,
  ANSWER,
  PLAIN,
  TURN,
  ONE,
  NAMES,
  PURGE,
]
