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
import { PURGE } from './purge.js'
import { SETTLE, HOLD, PASS, GUARD, PROMOTE } from './queue.js'
import { ATTEMPT, RENEW, WITHDRAW, DOWNGRADE, STEAL, INSPECT } from './verbs.js'

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
 * The names come sorted and without repetition. Rows are seldom missing, so they are locked first; when one is, the transaction
 * is undone, since to lock a row that is not there locks nothing, and missing rows are made outside of it. What fails in
 * between is undone as a whole.
 */
const TURN = /* sql */ `
create procedure if not exists holdfast_turn_1(
  in a_names longtext character set utf8mb4, in a_ops longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare v_name varbinary(512);
  declare v_op, v_answer longtext character set utf8mb4;
  declare v_answers longtext character set utf8mb4 default '[';
  declare v_bells longtext default '';
  declare v_now bigint;
  declare v_index, v_taken int default 0;
  declare v_count int default json_length(a_names);
  declare exit handler for sqlexception begin rollback; resignal; end;

  take: loop
    -- Without autocommit the session is in a transaction already, on a level of its own.
    commit;
    set transaction isolation level read committed;
    start transaction;
    set v_index = 0, v_taken = 0;
    while v_index < v_count do
      set v_name = json_unquote(json_extract(a_names, concat('$[', v_index, ']')));
      select count(*) + v_taken into v_taken from holdfast_locks where name = v_name for update;
      set v_index = v_index + 1;
    end while;
    if v_taken = v_count then leave take; end if;
    rollback;
    set v_index = 0;
    while v_index < v_count do
      set v_name = json_unquote(json_extract(a_names, concat('$[', v_index, ']')));
      if not exists (select 1 from holdfast_locks where name = v_name) then
        insert ignore into holdfast_locks (name) values (v_name);
      end if;
      set v_index = v_index + 1;
    end while;
  end loop;
  set v_now = timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  if v_count = 1 then call holdfast_settle_1(v_name, v_now, v_bells);
  else
    set v_index = 0;
    while v_index < v_count do
      call holdfast_settle_1(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))), v_now, v_bells);
      set v_index = v_index + 1;
    end while;
  end if;

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
  set v_answers = concat(v_answers, ']');
  commit;

  if v_bells <> '' then call holdfast_ring_1(v_bells); end if;
  if rand() < 0.05 then delete from holdfast_tombstones where until_us <= v_now order by until_us limit 5000; end if;
  commit;
  select v_answers as answers;
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
  PURGE,
]
